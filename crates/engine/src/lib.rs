//! The embedded engine: GGUF models of the llama family, in process and in pure Rust.
//!
//! [`gguf`] reads and checks a file, and its weights are stored in the layout of the kernels. An
//! [`Engine`] generates replies on its own threads, one at a time; [`client`] connects it to the
//! runner. No part needs a C compiler, and only the vector kernels need `unsafe`.

pub mod client;
mod engine;
mod error;
mod forward;
mod generate;
pub mod gguf;
mod kernels;
pub mod language;
mod matrix;
mod model;
mod quant;
mod sampler;
pub mod server;
mod settings;
mod shape;
mod stops;
pub mod template;
pub mod tokenizer;
mod work;

pub use engine::{About, Engine, Generation, Options};
pub use error::LoadError;
pub use generate::{Ending, Finish, Part, Prompt};
pub use sampler::Sampling;
pub use settings::{BadParameter, MAX_TOKENS, PARAMETERS, Settings};
