//! The commands.

pub(crate) mod completions;
pub(crate) mod list;
pub(crate) mod profile;
pub(crate) mod show;
