//! The interface between a run and a service: [`Client`], and its stored configuration
//! ([`ClientSpec`]).
//!
//! A custom client implements this trait; clients of known services are in `ipw-clients`.

use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::params::Params;
use crate::query::Query;
use crate::reply::Reply;
use crate::witness::Witness;

/// A future that a trait object can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An inference service, as the runner sees it.
///
/// Every [`Timestamp`](crate::time::Timestamp) of a reply must come from the clock of the run.
pub trait Client: Send + Sync {
    /// Its id in plans and directory names.
    fn id(&self) -> &'static str;

    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// Base URL of the service.
    fn base_url(&self) -> &str;

    /// Destination of the queries, for messages.
    fn place(&self) -> String {
        format!("{} at {}", self.id(), self.base_url())
    }

    /// Whether the service runs in this process.
    fn in_process(&self) -> bool {
        false
    }

    /// Checks that the service answers; the error says why it does not.
    fn health(&self) -> BoxFuture<'_, Result<(), NotReady>>;

    /// Prepares the service for `model` and returns warnings. A model missing from the service's
    /// list is a warning, not an error.
    fn prepare<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<Vec<String>, NotReady>>;

    /// The models that the service lists.
    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, NotReady>>;

    /// Facts about the service for `client_info`.
    fn describe(&self) -> BoxFuture<'_, Value>;

    /// Opens `connections` connections one after the other, before the first query needs one. A
    /// failed attempt is not an error, as queries open their own; a service that keeps none alive
    /// is.
    fn warm(&self, _connections: usize) -> BoxFuture<'_, Result<(), NotReady>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Sends one query. Any failure becomes a reply with an outcome.
    fn send<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Reply>;

    /// Closes the connections.
    fn close(&self) -> BoxFuture<'_, Result<(), CloseError>>;
}

/// The configuration of a client, as the plan stores it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientSpec {
    /// The client's id.
    pub id: String,
    /// Base URL of the service; `None` for the client's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The client's own parameters.
    #[serde(default)]
    pub params: Params,
    /// Where to read the key; never the key itself.
    #[serde(default)]
    pub key: KeySource,
    /// Whether a key may be sent unencrypted to another machine.
    #[serde(default)]
    pub insecure_key: bool,
    /// Network settings between this machine and the service.
    #[serde(default, skip_serializing_if = "Network::is_plain")]
    pub network: Network,
    /// Time limit for opening a connection.
    #[serde(rename = "connect_timeout_seconds", with = "crate::seconds")]
    pub connect_timeout: Duration,
}

impl ClientSpec {
    /// A client with this id and the default URL.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            base_url: None,
            params: Params::default(),
            key: KeySource::Default,
            insecure_key: false,
            network: Network::default(),
            connect_timeout: Duration::from_secs(5),
        }
    }

    /// A client with this id and base URL.
    pub fn at(id: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            base_url: Some(base_url.into()),
            ..Self::new(id)
        }
    }
}

/// Where a key comes from. The key itself is in no plan, file or log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    /// No key, except `OPENAI_API_KEY` for api.openai.com and `ANTHROPIC_API_KEY` for
    /// api.anthropic.com.
    #[default]
    Default,
    /// The environment variable with this name.
    Env(String),
    /// The first line of this file.
    File(PathBuf),
}

/// Network settings, as the plan stores them: names of files and variables, never their contents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// A PEM file of certificate authorities trusted in addition to the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// A file of `Name: value` lines, sent as headers with every request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header_file: Option<PathBuf>,
    /// Environment variables that hold one header line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub header_env: Vec<String>,
    /// Use HTTP/2 only; otherwise HTTP/1.1.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub http2: bool,
}

impl Network {
    /// Whether all settings are defaults.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// Default size limit of a reply, in bytes.
pub const MAX_REPLY: u64 = 256 << 20;

/// One query for a client to send.
pub struct Request<'a> {
    /// The query.
    pub query: &'a Query,
    /// The model to ask.
    pub model: &'a str,
    /// Text for the system role; `None` sends none.
    pub system: Option<&'a str>,
    /// Generation parameters; the user's override the dataset's.
    pub parameters: &'a Map<String, Value>,
    /// Time limit of the whole request.
    pub timeout: Duration,
    /// Time limit of the first token, from the start of the attempt; `None` for no limit of its
    /// own.
    pub first_token_timeout: Option<Duration>,
    /// Longest pause between two events after the first token; `None` for no limit of its own.
    pub idle_timeout: Option<Duration>,
    /// Size limit of the reply's body, in bytes.
    pub max_reply: u64,
    /// Ends the query at once; the partial reply is kept.
    pub cancel: Cancel,
    /// Observes the exchange; `None` in measured runs.
    pub witness: Option<&'a dyn Witness>,
}

/// The service is unreachable, not ready, or rejects the credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct NotReady {
    /// The fault.
    pub cause: String,
    /// Advice for the user.
    pub help: Option<String>,
}

/// A client that could not be closed cleanly.
#[derive(Debug, thiserror::Error)]
#[error("cannot close the client: {0}")]
pub struct CloseError(pub String);

/// Cancels queries in flight.
#[derive(Debug)]
pub struct Canceller(watch::Sender<bool>);

/// Receives the signal of a [`Canceller`].
#[derive(Debug, Clone)]
pub struct Cancel(watch::Receiver<bool>);

impl Canceller {
    /// A canceller and its first receiver.
    pub fn new() -> (Self, Cancel) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Cancel(receiver))
    }

    /// Cancels every query with a receiver, now and later.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }
}

impl Cancel {
    /// Returns when the query should end.
    pub async fn cancelled(&mut self) {
        if self.0.wait_for(|cancelled| *cancelled).await.is_err() {
            // The canceller is dropped: no signal can come any more.
            std::future::pending::<()>().await;
        }
    }
}
