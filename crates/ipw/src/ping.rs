//! Sends one query to a service and records the whole exchange.

mod exchange;
mod json;

use std::time::Duration;

use ipw_core::client::{Canceller, Client, ClientSpec, MAX_REPLY, Request};
use ipw_core::energy::{QueryEnergy, Reason};
use ipw_core::plan::Generation;
use ipw_core::query::Query;
use ipw_core::record::Record;
use ipw_core::reply::TokenCounts;
use ipw_core::verdict::Grade;
use ipw_tokens::{SentQuery, TokenCounter};
use serde_json::Value;

use crate::error::{Error, not_ready};
use exchange::Log;
pub use exchange::{Connection, EventPart, Exchange, Piece, ResponseHead, SentRequest};

/// The query to send, and where.
#[derive(Debug, Clone)]
pub struct Ask {
    /// How to reach the service.
    pub client: ClientSpec,
    /// Name of the model.
    pub model: String,
    /// Generation settings to send with the prompt.
    pub generation: Generation,
    /// Tokenizer that counts tokens besides the service.
    pub tokenizer: Option<String>,
    /// Timeout of the whole exchange.
    pub timeout: Duration,
}

/// A query that was sent, with everything observed.
pub struct Ping<'a> {
    /// The query, and where it was sent.
    pub ask: &'a Ask,
    /// The client that sent it.
    pub client: &'a dyn Client,
    /// The row that a run would store.
    pub row: Record,
    /// The exchange as observed.
    pub exchange: Exchange,
    /// Token counts by the tokenizer; `None` without a tokenizer or without text to count.
    pub counted: Option<TokenCounts>,
    /// Why the client could not be closed; `None` if closing succeeded.
    pub close_warning: Option<String>,
}

/// Sends the query.
pub async fn ping<'a>(
    ask: &'a Ask,
    client: &'a dyn Client,
    prompt: &str,
) -> Result<Ping<'a>, Error> {
    if client.in_process() {
        // In process, no service has the model loaded: load it now.
        let ready = client.prepare(&ask.model).await;
        ready.map_err(|error| not_ready(client, error))?;
    }
    let query = Query::asking(prompt.to_owned());
    let (_canceller, cancel) = Canceller::new();
    let log = Log::default();
    let reply = client
        .send(Request {
            query: &query,
            model: &ask.model,
            system: ask.generation.system.as_deref(),
            parameters: &ask.generation.parameters,
            timeout: ask.timeout,
            first_token_timeout: None,
            idle_timeout: None,
            max_reply: MAX_REPLY,
            cancel,
            witness: Some(&log),
        })
        .await;
    let closed = client.close().await;
    let row = Record {
        query,
        part: 0,
        due: reply.timing.start,
        reply,
        energy: QueryEnergy::unknown(Reason::NoSource),
        grade: Grade::unscored(None, "a ping is not graded"),
        kept: None,
    };
    Ok(Ping {
        ask,
        client,
        row,
        exchange: log.into_exchange(),
        counted: None,
        close_warning: closed.err().map(|error| error.to_string()),
    })
}

impl Ping<'_> {
    /// Counts tokens with a tokenizer, as a run does after the reply.
    pub fn count(&mut self, tokens: &TokenCounter) {
        let Record { query, reply, .. } = &mut self.row;
        let generation = &self.ask.generation;
        let asked = SentQuery {
            query,
            system: generation.system.as_deref(),
            parameters: &generation.parameters,
            is_raw: ipw_clients::is_raw(&self.ask.client),
        };
        self.counted = tokens.settle(&asked, reply);
    }

    /// All results as JSON, for programs. Times are seconds since the start, null if it did not
    /// happen.
    pub fn json(&self) -> Value {
        json::of(self)
    }
}
