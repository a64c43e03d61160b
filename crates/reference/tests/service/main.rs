//! The service over real sockets, with a client that checks the bytes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, outside of test functions"
)]

mod client;
mod connections;
mod faults;
mod pacing;
mod streams;
