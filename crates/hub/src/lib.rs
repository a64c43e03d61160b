//! The Hugging Face hub, or a mirror of it: lists the files of a repository, and fetches them into
//! the cache.
//!
//! A file is in its [`Place`] only after it was checked: by its SHA-256 if known, else by its
//! length and first bytes. Interrupted downloads are resumed, and one process fetches a file at a
//! time. All calls block. Only [`Hub::from_env`] reads the environment, so that tests can pass
//! their own. What a file contains is up to the callers: [`models`], `datasets` and `tokens`.
//!
//! [`models`] is here because a model by name is a fetched file, checked by the SHA-256 of its
//! name. The engine, which opens it, needs no network.

mod digest;
mod error;
mod http;
mod hub;
mod lock;
pub mod models;
mod name;
mod note;
mod part;
mod place;
mod progress;
mod record;
mod reference;
mod shelf;
pub mod space;
mod token;
mod transfer;
mod tree;

pub use digest::is_sha256;
pub use error::{AccessDenied, CacheError, Failure};
pub use hub::{Hub, Kind, Patience, Remote};
pub use lock::Lock;
pub use name::{is_name, is_step};
pub use note::{read_note, write_note};
pub use part::{Download, DownloadError, Origin, Part};
pub use place::{Expectation, Magic, Place, Verification};
pub use progress::{Progress, Report};
pub use record::{Check, Record};
pub use reference::{MAIN, PREFIX, Reference, ReferenceFault};
pub use shelf::{Access, ListedFile, Shelf};
pub use space::in_words as bytes_in_words;
pub use token::Token;
pub use tree::{Entry, MissingPart, Refusal};
