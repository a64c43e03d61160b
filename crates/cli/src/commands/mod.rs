//! The commands.

pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod list;
pub(crate) mod profile;
pub(crate) mod show;
