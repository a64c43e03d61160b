//! The embedded engine: GGUF models of the llama family, in process and in pure Rust.
//!
//! A file is read by [`gguf`], checked, and its weights are held as the kernels like them; an
//! [`Engine`] generates replies on threads of its own, one after the other, and [`client`] is its
//! face to the runner. No part of it needs a C compiler, and only the vector kernels need `unsafe`.

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
pub use generate::{Ended, Finish, Part, Prompt};
pub use sampler::Sampling;
pub use settings::{BadParameter, MAX_TOKENS, PARAMETERS, Settings};
