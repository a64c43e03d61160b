//! Clients for inference services.
//!
//! [`connect`] makes a [`Client`] by id; the runner knows only the trait. Timestamps are taken in
//! the transport (`http`) for every read, before any parsing.

mod anthropic;
mod fault;
mod guarded;
mod header;
mod http;
pub mod key;
mod llamacpp;
mod lmstudio;
mod message;
pub mod ndjson;
mod network;
mod ollama;
mod openai;
mod probe;
#[cfg(test)]
#[path = "../tests/it/served.rs"]
#[expect(dead_code, reason = "the tests beside it use all of it")]
mod served;
mod service;
mod sglang;
pub mod sse;
mod stream;
mod tgi;
mod vllm;

pub use http::BaseUrl;
pub use ipw_core::client::{
    BoxFuture, Cancel, Canceller, Client, ClientSpec, CloseError, KeySource, MAX_REPLY, Network,
    NotReady, Request,
};
pub use ipw_core::witness::{ExchangeEvent, Meaning, Witness};
pub use network::{NetworkError, proxy};
pub use probe::probe;

use std::sync::Arc;

use ipw_core::nearest::{did_you_mean, nearest};
use ipw_core::params::ParamError;
use ipw_core::setting::Setting;
use ipw_core::time::Clock;
use serde_json::{Map, Value};

/// A client, as shown by `ipw list clients`.
#[derive(Debug, Clone, Copy)]
pub struct ClientInfo {
    /// Value of `--client`.
    pub id: &'static str,
    /// One line for the list.
    pub summary: &'static str,
    /// The base URL without `--client-base-url`.
    pub default_url: &'static str,
    /// Client parameters, each with its meaning.
    pub params: &'static [(&'static str, &'static str)],
    /// Request fields that the client sets itself; generation parameters cannot set them.
    pub reserved: &'static [&'static str],
    /// Generation parameters that the API requires, each with its meaning.
    pub required: &'static [(&'static str, &'static str)],
}

/// Constructor of a client.
type Constructor = fn(&ClientSpec, Arc<dyn Clock>) -> Result<Box<dyn Client>, ClientError>;

/// A client in the registry.
struct Entry {
    known: ClientInfo,
    make: Constructor,
    /// Checks the settings before the first request.
    check: fn(&ClientSpec, Option<&str>) -> Result<(), ClientError>,
}

/// The registry.
const CLIENTS: &[Entry] = &[
    openai::CLIENT,
    ollama::CLIENT,
    vllm::CLIENT,
    sglang::CLIENT,
    llamacpp::CLIENT,
    tgi::CLIENT,
    anthropic::CLIENT,
    lmstudio::CLIENT,
];

const KNOWN: [ClientInfo; CLIENTS.len()] = {
    let mut known = [CLIENTS[0].known; CLIENTS.len()];
    let mut at = 1;
    while at < known.len() {
        known[at] = CLIENTS[at].known;
        at += 1;
    }
    known
};

/// All clients, as shown by `ipw list clients`.
pub const fn known() -> &'static [ClientInfo] {
    &KNOWN
}

/// Why a client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The client's id is unknown.
    #[error("unknown client `{id}`{} (known: {known})", did_you_mean(.nearest.as_deref()))]
    Unknown {
        /// The id as given.
        id: String,
        /// The most similar known id.
        nearest: Option<String>,
        /// All known ids, for the message.
        known: String,
    },
    /// A client parameter is unknown or ill-typed.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The base URL is not usable.
    #[error("base URL `{url}` {problem}")]
    Url {
        /// The URL with possible secrets masked.
        url: String,
        /// The problem and the help.
        problem: String,
    },
    /// A required generation parameter is missing.
    #[error(
        "`{client}` needs the generation parameter `{name}`: {meaning}\nhelp: add `{}`",
        Setting::Param.to(format_args!("{name}=…"))
    )]
    Required {
        /// The client's id.
        client: &'static str,
        /// Name of the parameter.
        name: &'static str,
        /// Meaning of the parameter.
        meaning: &'static str,
    },
    /// The completions API has no system role.
    #[error(
        "the completions API has no system role, and the prompt is sent as it is\nhelp: remove `{}`, or use `{}`",
        Setting::System,
        Setting::ClientParam.to("api=chat")
    )]
    NoSystem,
    /// The API key is not usable.
    #[error(transparent)]
    Key(#[from] key::KeyError),
    /// A header, certificate or proxy is not usable.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// Makes the client of `spec`. Sends nothing yet.
pub fn connect(spec: &ClientSpec, clock: Arc<dyn Clock>) -> Result<Box<dyn Client>, ClientError> {
    (entry(&spec.id)?.make)(spec, clock).map(guarded::guarded)
}

/// Checks that the client of `spec` can send queries with this system text and these generation
/// parameters, to fail before the first request. A dataset's rows may add parameters later.
pub fn check(
    spec: &ClientSpec,
    system: Option<&str>,
    parameters: &Map<String, Value>,
) -> Result<(), ClientError> {
    let entry = entry(&spec.id)?;
    for (name, meaning) in entry.known.required {
        if !parameters.contains_key(*name) {
            return Err(ClientError::Required {
                client: entry.known.id,
                name,
                meaning,
            });
        }
    }
    (entry.check)(spec, system)
}

/// Whether prompts are sent unchanged: without roles or the service's chat template.
pub fn is_raw(spec: &ClientSpec) -> bool {
    openai::is_raw(spec)
}

fn entry(id: &str) -> Result<&'static Entry, ClientError> {
    let ids = || known().iter().map(|known| known.id);
    let found = CLIENTS.iter().find(|entry| entry.known.id == id);
    found.ok_or_else(|| ClientError::Unknown {
        id: id.to_owned(),
        nearest: nearest(id, ids()).map(str::to_owned),
        known: ids().collect::<Vec<_>>().join(", "),
    })
}
