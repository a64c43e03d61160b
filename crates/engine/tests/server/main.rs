//! The server over real sockets, with a tiny model of random weights.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helper fails loudly"
)]

mod endpoints;
mod errors;
mod flow;
mod guard;
mod harness;
