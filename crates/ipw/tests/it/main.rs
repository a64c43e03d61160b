//! The library as others use it: examples, a program outside the workspace, misuse.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod examples;
mod misuse;
mod outside;

/// A runtime of one thread, as a run wants it.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}
