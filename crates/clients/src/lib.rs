//! How a query reaches an inference service.
//!
//! A [`Client`] is chosen by id with [`connect`]; the runner knows only the trait. Timing comes
//! from the transport (`http`), which stamps every read before anybody looks at the bytes.

mod client;
mod header;
mod http;
pub mod key;
mod message;
pub mod ndjson;
mod network;
mod ollama;
mod openai;
mod probe;
mod service;
pub mod sse;
mod stream;
mod witness;

pub use client::{BoxFuture, Cancel, Canceller, Client, CloseError, NotReady, Request};
pub use http::BaseUrl;
pub use key::KeySource;
pub use network::{Network, NetworkError, proxy};
pub use probe::probe;
pub use witness::{Meaning, Sight, Witness};

use std::sync::Arc;

use std::time::Duration;

use ipw_core::nearest::nearest;
use ipw_core::params::{ParamError, Params};
use ipw_core::time::Clock;
use serde::{Deserialize, Serialize};

/// Which client, as the plan stores it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientSpec {
    /// The client's id.
    pub id: String,
    /// Where the service is; the client's own default when it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The client's own parameters.
    #[serde(default)]
    pub params: Params,
    /// Where the key comes from: never the key.
    #[serde(default)]
    pub key: KeySource,
    /// Whether a key may travel unencrypted beyond this machine.
    #[serde(default)]
    pub insecure_key: bool,
    /// What lies between us and the service.
    #[serde(default, skip_serializing_if = "Network::is_plain")]
    pub network: Network,
    /// How long a connection may take.
    #[serde(rename = "connect_timeout_seconds", with = "ipw_core::seconds")]
    pub connect_timeout: Duration,
}

/// A client that `ipw list clients` shows.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Its id.
    pub id: &'static str,
    /// What it is for.
    pub summary: &'static str,
    /// Where it looks when no URL is given.
    pub default_url: &'static str,
    /// Its parameters and what they say.
    pub params: &'static [(&'static str, &'static str)],
    /// Fields of its request that are not generation parameters and that nobody else may set.
    pub reserved: &'static [&'static str],
}

/// All clients.
pub const fn known() -> &'static [Known] {
    &[openai::KNOWN, ollama::KNOWN]
}

/// A client that cannot be made from what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No client has that id.
    #[error("unknown client `{id}`{} (known: {known})", did_you_mean(.nearest.as_deref()))]
    Unknown {
        /// The id as given.
        id: String,
        /// The known id that it resembles.
        nearest: Option<String>,
        /// All known ids.
        known: String,
    },
    /// A parameter is unknown or ill-typed.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The base URL cannot be used.
    #[error("base URL `{url}` {problem}")]
    Url {
        /// The URL, without what looks like a secret.
        url: String,
        /// What is wrong, and how to mend it.
        problem: String,
    },
    /// The key cannot be used.
    #[error(transparent)]
    Key(#[from] key::KeyError),
    /// The way to the service cannot be used.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!("; did you mean `{name}`?"))
        .unwrap_or_default()
}

/// Makes the client that `spec` asks for; nothing is sent yet.
pub fn connect(spec: &ClientSpec, clock: Arc<dyn Clock>) -> Result<Box<dyn Client>, ClientError> {
    match spec.id.as_str() {
        "openai" => Ok(Box::new(openai::OpenAi::new(spec, clock)?)),
        "ollama" => Ok(Box::new(ollama::Ollama::new(spec, clock)?)),
        other => Err(ClientError::Unknown {
            id: other.to_owned(),
            nearest: nearest(other, known().iter().map(|known| known.id)).map(str::to_owned),
            known: known()
                .iter()
                .map(|known| known.id)
                .collect::<Vec<_>>()
                .join(", "),
        }),
    }
}
