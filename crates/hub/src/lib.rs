//! The Hugging Face hub, or a mirror of it: which files a repository has, and how one of them gets
//! into the cache.
//!
//! A file is in its [`Place`] only when it was checked: the SHA-256 decides where one is known, else
//! its length and its first bytes. What broke off is continued, one fetcher at a time. Everything
//! blocks. The environment is read by [`Hub::from_env`] and nowhere else, so that tests give their
//! own. What a file is good for is the caller's affair: that of [`models`], `datasets` and `tokens`.
//!
//! [`models`] is here because a model by name is a fetched file, checked by its name's SHA-256. The
//! engine, which opens it, needs no network.

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
pub use error::{CacheError, Denied, Failure};
pub use hub::{Hub, Kind, Patience, Remote};
pub use lock::Lock;
pub use name::{is_name, is_step};
pub use note::{read_note, write_note};
pub use part::{Arriving, Broken, Origin, Part};
pub use place::{Expected, Magic, Place, Verified};
pub use progress::{Progress, Report};
pub use record::{Check, Record};
pub use reference::{MAIN, PREFIX, Reference, ReferenceFault};
pub use shelf::{Access, ListedFile, Shelf};
pub use space::in_words as bytes_in_words;
pub use token::Token;
pub use tree::{Entry, Missing, Refusal};
