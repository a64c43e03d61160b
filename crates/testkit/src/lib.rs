//! Dev only: what the tests and the demo need of the real world, installed by themselves.
//!
//! Everything lives under `lab` in the target directory and is made once: Python environments
//! ([`Venv`]), Hugging Face `datasets` old and new ([`hugging_face`]), a small model and a real
//! llama.cpp server ([`LlamaServer`]), real tokenizers ([`tokenizers`]), a server of HTTP/2
//! ([`Hypercorn`]), a browser ([`Browser`]), libraries that stand for a vendor's
//! ([`fake_library`]). What cannot be had is a [`Missing`]; a test hands it to [`or_skip`], which is
//! loud, and fatal in CI. A server by script ([`web`]), a tap on the wire ([`tap`]), a hub
//! of datasets ([`mimic_hub`]), services with bad manners ([`peer`]) and Parquet out of JSON need
//! nothing.

mod browser;
mod clock;
pub mod collector;
pub mod docs;
mod fake_library;
pub mod fake_nvml;
pub mod fuzz;
mod http;
pub mod hugging_face;
mod hypercorn;
mod lab;
pub mod mimic_hub;
#[cfg(target_os = "linux")]
pub mod network;
pub mod original;
mod parquet;
pub mod peer;
mod place;
pub mod proxy;
mod python;
pub mod relay;
pub mod sensor;
pub mod simulation;
mod skip;
mod spawned;
pub mod tap;
pub mod tiny_model;
pub mod tokenizers;
mod trace;
pub mod web;
mod wheel;

pub use browser::Browser;
pub use clock::ManualClock;
pub use fake_library::fake_library;
pub use http::{HttpFailed, Reply};
pub use hypercorn::Hypercorn;
pub use lab::{LlamaServer, MODEL_NAME, model};
pub use parquet::{parquet, write_parquet};
pub use python::{ScriptFailed, Venv};
pub use skip::{Missing, missing, or_skip};
