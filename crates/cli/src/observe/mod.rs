//! Who looks on: a progress bar for people, JSON lines for programs; and how a fetch looks.

mod json;
mod progress;
mod transfer;

pub(crate) use json::JsonLines;
pub(crate) use progress::Progress;
pub(crate) use transfer::Transfer;
