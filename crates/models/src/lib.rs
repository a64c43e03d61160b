//! Models by name: what a name means, where its file lies, and how it gets there.
//!
//! A model is a name of the [catalogue], a file of the user's own, or a file of the hub
//! (`hf:owner/repo/file.gguf`). [`fetch`] returns the path of a file that was checked: the SHA-256
//! decides, whichever the source. Nothing here opens a model; that is `engine`. Everything blocks.
//! The environment is read by [`Cache::locate`] and [`Sources::from_env`] and nowhere else, so that
//! tests give their own.

pub mod catalogue;

mod cache;
mod digest;
mod error;
mod fetch;
mod http;
mod hub;
mod inventory;
mod lock;
mod part;
mod place;
mod progress;
mod record;
mod reference;
mod space;
mod transfer;
mod wheel;

pub use cache::Cache;
pub use catalogue::Entry;
pub use error::{Attempt, ModelError};
pub use fetch::{Sources, fetch};
pub use hub::{Hub, Patience, Token};
pub use inventory::{Listed, State, list, path, remove};
pub use progress::Progress;
pub use record::Check;
pub use reference::{HubFile, ModelRef};
pub use space::in_words as bytes_in_words;
