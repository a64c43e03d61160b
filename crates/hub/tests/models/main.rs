//! Fetching for real: a server on loopback, the user's pip, full disks and broken lines.

#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

mod cache;
mod common;
mod hub;
mod resume;
mod wheel;
