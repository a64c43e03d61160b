//! Real tokenizers against texts whose tokens are known, Python's own library, and a hub.

#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

mod golden;
mod loading;
mod python;
mod service;
mod template;
