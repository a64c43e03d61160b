//! The product: the real binary against the reference service, a real server and Python.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helper fails loudly"
)]

mod common;
mod energy;
mod grading;
mod kill;
mod llama;
mod seed;
mod settings;
mod stop;
mod tls;
