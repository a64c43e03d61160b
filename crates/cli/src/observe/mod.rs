//! Progress of a run as a bar or as JSON lines, and progress of downloads.

mod json;
mod progress;
mod transfer;

pub(crate) use json::JsonLines;
pub(crate) use progress::Progress;
pub(crate) use transfer::Transfer;
