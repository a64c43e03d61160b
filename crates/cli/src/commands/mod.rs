//! The commands.

pub(crate) mod calibrate;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod list;
#[cfg(feature = "engine")]
pub(crate) mod models;
pub(crate) mod profile;
#[cfg(feature = "engine")]
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod sweep;
pub(crate) mod watch;
