//! Tokens counted by a tokenizer, where the service does not say how many there were, and checked
//! where it does.
//!
//! A [`TokenCounter`] is [`load`]ed from a `tokenizer.json` (a file, a directory, a repository of the
//! hub) or from a GGUF file, and works on replies that are over: no query waits for it. What it
//! counts is the text that came, and that is not always what the model generated: a model may split
//! a text otherwise than its tokenizer does, and tokens that end or mark something leave no text.
//! So whoever generated goes first ([`TokenCounter::settle`]).

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
