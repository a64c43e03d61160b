//! The clients against the reference service.

#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

mod bench;
mod faults;
mod limits;
mod ollama;
mod openai;
mod witness;
