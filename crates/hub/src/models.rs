//! Models by name: what a name means, where its file is, and how it is fetched.
//!
//! A model is a name of the [catalogue], a local file, or a file of the hub
//! (`hf:owner/repo/file.gguf`). [`fetch`] returns the path of a checked file: the SHA-256 decides,
//! whatever the source. Nothing here opens a model; that is `engine`. Only [`Cache::locate`] and
//! [`Sources::from_env`] read the environment, so that tests can pass their own.

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
pub use inventory::{ModelListing, State, list, path, remove};
pub use reference::{HubFile, ModelRef};
