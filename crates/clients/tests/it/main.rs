//! The clients against the reference service.

#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

mod accounting;
mod anthropic;
mod bench;
mod faults;
mod flavours;
mod hostile;
mod http2;
mod limits;
mod llama;
mod ollama;
mod openai;
mod scripted;
mod served;
mod tutorial;
mod witness;
mod words;
