//! The seam between a run and a service: [`Client`], and which one a plan names ([`ClientSpec`]).
//!
//! A user's own client is a value of this trait; those that reach known services are in
//! `ipw-clients`.

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
    /// Names it in plans and directories.
    fn id(&self) -> &'static str;

    /// What it is called in messages.
    fn name(&self) -> &'static str;

    /// Where the service is.
    fn base_url(&self) -> &str;

    /// Where queries go, in words.
    fn place(&self) -> String {
        format!("{} at {}", self.id(), self.base_url())
    }

    /// Whether the service runs in this very process.
    fn in_process(&self) -> bool {
        false
    }

    /// Whether the service answers, and if not, why.
    fn health(&self) -> BoxFuture<'_, Result<(), NotReady>>;

    /// Makes the service ready for `model`. What comes back are warnings; a model that the
    /// service's list lacks is one of them, never a refusal.
    fn prepare<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<Vec<String>, NotReady>>;

    /// The models that the service lists.
    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, NotReady>>;

    /// What the service says of itself, for `client_info`.
    fn describe(&self) -> BoxFuture<'_, Value>;

    /// Opens `connections` connections before the first query needs one, one after the other. That one
    /// could not be opened is no fault: queries open their own. That none of them lasts is.
    fn warm(&self, _connections: usize) -> BoxFuture<'_, Result<(), NotReady>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Sends one query. Whatever happens becomes a reply with an outcome: this never fails.
    fn send<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Reply>;

    /// Lets go of connections.
    fn close(&self) -> BoxFuture<'_, Result<(), CloseError>>;
}

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
    #[serde(rename = "connect_timeout_seconds", with = "crate::seconds")]
    pub connect_timeout: Duration,
}

impl ClientSpec {
    /// The client of this id, at its usual place.
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

    /// The client of this id, with a service at this address.
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
    /// The environment variable of that name.
    Env(String),
    /// The first line of that file.
    File(PathBuf),
}

/// What the way to a service needs, as the plan stores it: where things are, never what they hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// A PEM file of authorities that are trusted beside the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// A file of `Name: value` lines that go with every request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header_file: Option<PathBuf>,
    /// Environment variables that hold one such line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub header_env: Vec<String>,
    /// Whether HTTP/2 is spoken, and nothing else; otherwise HTTP/1.1.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub http2: bool,
}

impl Network {
    /// Whether nothing was asked for.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// Size limit of a reply in bytes unless the plan sets another.
pub const MAX_REPLY: u64 = 256 << 20;

/// One query on its way.
pub struct Request<'a> {
    /// What to ask.
    pub query: &'a Query,
    /// Of which model.
    pub model: &'a str,
    /// Text for the system role; `None`: none is sent.
    pub system: Option<&'a str>,
    /// Generation parameters, the user's over the dataset's.
    pub parameters: &'a Map<String, Value>,
    /// How long the whole may take.
    pub timeout: Duration,
    /// How long the first token may take, from the start of the attempt; `None`: no limit but the
    /// whole's.
    pub first_token_timeout: Option<Duration>,
    /// How long the service may send no further event once the first token has come; `None`: no
    /// limit but the whole's.
    pub idle_timeout: Option<Duration>,
    /// How many bytes the body of the reply may have.
    pub max_reply: u64,
    /// Ends the query at once, keeping what came so far.
    pub cancel: Cancel,
    /// Observes the exchange; `None` in measured runs.
    pub witness: Option<&'a dyn Witness>,
}

/// The service is not there, not ready, or refuses our credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct NotReady {
    /// What happened.
    pub cause: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// A client that could not be closed cleanly.
#[derive(Debug, thiserror::Error)]
#[error("cannot close the client: {0}")]
pub struct CloseError(pub String);

/// Tells queries in flight to end.
#[derive(Debug)]
pub struct Canceller(watch::Sender<bool>);

/// A query's ear for its [`Canceller`].
#[derive(Debug, Clone)]
pub struct Cancel(watch::Receiver<bool>);

impl Canceller {
    /// A canceller and the first ear for it.
    pub fn new() -> (Self, Cancel) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Cancel(receiver))
    }

    /// Ends every query that listens, now and later.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }
}

impl Cancel {
    /// Returns when the query should end.
    pub async fn cancelled(&mut self) {
        if self.0.wait_for(|cancelled| *cancelled).await.is_err() {
            // The canceller is gone: nothing cancels any more.
            std::future::pending::<()>().await;
        }
    }
}
