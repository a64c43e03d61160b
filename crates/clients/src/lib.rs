//! How a query reaches an inference service.
//!
//! A [`Client`] is chosen by id with [`connect`]; the runner knows only the trait. Timing comes
//! from the transport (`http`), which stamps every read before anybody looks at the bytes.

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

/// A client that `ipw list clients` shows.
#[derive(Debug, Clone, Copy)]
pub struct ClientInfo {
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
    /// Generation parameters without which its API takes no request, and what they say.
    pub required: &'static [(&'static str, &'static str)],
}

/// How a client is made.
type Make = fn(&ClientSpec, Arc<dyn Clock>) -> Result<Box<dyn Client>, ClientError>;

/// A client as the registry has it.
struct Entry {
    known: ClientInfo,
    make: Make,
    /// What can be told of the queries before the first is sent.
    check: fn(&ClientSpec, Option<&str>) -> Result<(), ClientError>,
}

/// All clients.
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

/// All clients, as `ipw list clients` shows them.
pub const fn known() -> &'static [ClientInfo] {
    &KNOWN
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
    /// Its API takes no request without a generation parameter.
    #[error(
        "`{client}` needs the generation parameter `{name}`: {meaning}\nhelp: add `{}`",
        Setting::Param.to(format_args!("{name}=…"))
    )]
    Required {
        /// The client's id.
        client: &'static str,
        /// The parameter.
        name: &'static str,
        /// What it says.
        meaning: &'static str,
    },
    /// Its API has no place for a system text.
    #[error(
        "the completions API has no system role, and the prompt is sent as it is\nhelp: leave `{}` out, or use `{}`",
        Setting::System,
        Setting::ClientParam.to("api=chat")
    )]
    NoSystem,
    /// The key cannot be used.
    #[error(transparent)]
    Key(#[from] key::KeyError),
    /// The way to the service cannot be used.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// Makes the client that `spec` asks for; nothing is sent yet.
pub fn connect(spec: &ClientSpec, clock: Arc<dyn Clock>) -> Result<Box<dyn Client>, ClientError> {
    (entry(&spec.id)?.make)(spec, clock).map(guarded::guarded)
}

/// Whether `spec`'s client can send queries with this system text and these generation parameters:
/// what its API refuses in every case is better told before the first request. Parameters that a
/// dataset's rows bring are not known yet.
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

/// Whether prompts go to the service as they are: no roles, and no chat template over there.
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
