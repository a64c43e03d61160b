//! Counts tokens with a tokenizer where the service reports no count, and checks the count where it
//! does.
//!
//! A [`TokenCounter`] is [`load`]ed from a `tokenizer.json` (a file, a directory, a repository of
//! the hub) or from a GGUF file. It works on finished replies, so no query waits for it. It counts
//! the received text, which may differ from what the model generated: a model may split a text
//! unlike its tokenizer, and tokens that end or mark something have no text. So the service's own
//! count takes precedence ([`TokenCounter::settle`]).

mod about;
mod counter;
mod encoder;
mod error;
mod fetch;
#[cfg(feature = "engine")]
mod gguf;
mod json;
mod load;
mod reference;
mod settle;
#[cfg(feature = "engine")]
mod template;

pub use about::{About, File, Kind};
pub use counter::{SentQuery, TokenCounter};
pub use error::TokensError;
pub use ipw_hub::Access;
pub use load::load;
pub use reference::Reference;
