//! One question to a service, and everything that was seen of its answer.

mod json;
mod seen;

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
use seen::Log;
pub use seen::{Answered, Asked, Carried, Piece, Said, Seen};

/// What to ask, and where.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The client.
    pub client: ClientSpec,
    /// The model.
    pub model: String,
    /// What is sent beside the prompt.
    pub generation: Generation,
    /// What counts tokens beside the service.
    pub tokenizer: Option<String>,
    /// How long it may take.
    pub timeout: Duration,
}

/// A question that was asked.
pub struct Ping<'a> {
    /// What was asked, and where.
    pub ask: &'a Ask,
    /// What asked it.
    pub client: &'a dyn Client,
    /// As a run would store it.
    pub row: Record,
    /// What was seen of the exchange.
    pub seen: Seen,
    /// By the tokenizer, if one was named and there was something to count.
    pub counted: Option<TokenCounts>,
    /// Why the client could not be closed; `None` if it was.
    pub close_warning: Option<String>,
}

/// Asks.
pub async fn ping<'a>(
    ask: &'a Ask,
    client: &'a dyn Client,
    prompt: &str,
) -> Result<Ping<'a>, Error> {
    if client.in_process() {
        // There is no service that has the model loaded.
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
        seen: log.into_seen(),
        counted: None,
        close_warning: closed.err().map(|error| error.to_string()),
    })
}

impl Ping<'_> {
    /// Counts tokens as a run does, when all is over.
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

    /// All of it, for programs. Times are seconds since the start, null where it did not happen.
    pub fn json(&self) -> Value {
        json::of(self)
    }
}
