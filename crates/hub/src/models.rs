//! Models by name: what a name means, where its file lies, and how it gets there.
//!
//! A model is a name of the [catalogue], a file of the user's own, or a file of the hub
//! (`hf:owner/repo/file.gguf`). [`fetch`] returns the path of a file that was checked: the SHA-256
//! decides, whichever the source. Nothing here opens a model; that is `engine`. [`Cache::locate`] and
//! [`Sources::from_env`] alone read the environment, so that tests give their own.

pub mod catalogue;

mod cache;
mod error;
mod fetch;
mod inventory;
mod reference;
mod wheel;

pub use cache::Cache;
pub use catalogue::Entry;
pub use error::{Attempt, ModelError};
pub use fetch::{Sources, fetch};
pub use inventory::{Listed, State, list, path, remove};
pub use reference::{HubFile, ModelRef};
