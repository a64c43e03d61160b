//! The reference service: a scripted inference server that knows what it really sent when.
//!
//! It speaks OpenAI's chat completions (server-sent events) and Ollama's chat (NDJSON), paces the
//! tokens to absolute deadlines without spinning, fails on demand, and logs every send on the
//! caller's clock, so that a client's measurement can be compared with the truth.
//!
//! It runs on plain threads of its own, one per connection: whatever the measured program does with
//! its runtime cannot delay the service, and the other way round only the scheduler stands between.
//! It understands no prompt and is no general web server.

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
