//! Who looks on: a progress bar for people, JSON lines for programs.

mod json;
mod progress;

pub(crate) use json::JsonLines;
pub(crate) use progress::Progress;
