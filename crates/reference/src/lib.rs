//! The reference service: a scripted inference server with a log of what it sent, and when.
//!
//! It speaks OpenAI's chat completions (server-sent events) and Ollama's chat (NDJSON). It paces
//! tokens to absolute deadlines without spinning and fails on demand. Every send is logged on the
//! caller's clock, so that a client's measurements can be compared with the true times.
//!
//! Each connection has its own plain thread: the measured program's runtime cannot delay the
//! service. It does not interpret prompts and is not a general web server.

mod connection;
mod http;
mod ledger;
mod ollama;
mod openai;
mod pace;
mod plan;
mod render;
mod reply;
mod script;
mod service;

pub use ledger::{Exchange, Received, Send, SendKind};
pub use script::{Fault, LineEnding, RoleChunk, Script, words};
pub use service::{Options, Service};
