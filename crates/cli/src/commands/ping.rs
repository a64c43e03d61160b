//! `ipw ping`: one question, and everything that was seen of its answer.

mod program;
mod seen;
mod told;

use std::sync::Arc;

use anyhow::Context;
use ipw_clients::{Canceller, Client, Request};
use ipw_core::energy::{QueryEnergy, Reason};
use ipw_core::query::Query;
use ipw_core::record::Record;
use ipw_core::reply::{Failure, Outcome, TokenCounts};
use ipw_core::text::printable;
use ipw_core::time::Clock;
use ipw_core::verdict::Grade;
use ipw_runner::SystemClock;
use ipw_tokens::SentQuery;

use super::profile::{not_ready, only_model};
use crate::args::PingArgs;
use crate::error::{CliError, Exit};
use crate::settings::{self, Ask};
use crate::{clients, counting, failures, screen};
use seen::{Log, Seen};

/// Short, and nobody has to think about the answer.
const PROMPT: &str = "What is the capital of France? Answer in one sentence.";

/// All there is to say.
struct Ping<'a> {
    ask: &'a Ask,
    client: &'a dyn Client,
    /// As a run would store it.
    row: Record,
    seen: Seen,
    /// By the tokenizer, if one was named and there was something to count.
    counted: Option<TokenCounts>,
}

pub(crate) fn run(args: &PingArgs) -> Result<Exit, CliError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting the runtime")?;
    let ask = settings::ask(&mut args.as_profile(), |client| {
        runtime.block_on(only_model(client, &clock))
    })?;
    let client = clients::connect(&ask.client, &ask.model, Arc::clone(&clock), args.json)?;
    let tokens = counting::load(ask.tokenizer.as_deref(), args.json)?;
    let prompt = args.prompt.as_deref().unwrap_or(PROMPT);
    let mut ping = runtime.block_on(ping(&ask, client.as_ref(), prompt))?;
    if let Some(tokens) = &tokens {
        ping.count(tokens);
    }
    screen::print(&if args.json {
        screen::json(&program::json(&ping))
    } else {
        told::text(&ping)
    });
    verdict(&ping)
}

async fn ping<'a>(
    ask: &'a Ask,
    client: &'a dyn Client,
    prompt: &str,
) -> Result<Ping<'a>, CliError> {
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
            max_reply: ipw_clients::MAX_REPLY,
            cancel,
            witness: Some(&log),
        })
        .await;
    let closed = client.close().await;
    if let Err(error) = closed {
        screen::talk(&format!("warning: {error}"));
    }
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
    })
}

impl Ping<'_> {
    /// Counts as a run does, when all is over.
    fn count(&mut self, tokens: &ipw_tokens::TokenCounter) {
        for warning in counting::warnings(Some(tokens), None) {
            screen::talk(&format!("warning: {}", printable(&warning)));
        }
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
}

/// What a failed reply means for the one who asked.
fn verdict(ping: &Ping<'_>) -> Result<Exit, CliError> {
    let reply = &ping.row.reply;
    if reply.outcome.is_answered() {
        return Ok(Exit::Done);
    }
    let exit = match reply.outcome {
        Outcome::Failed(
            Failure::Dns
            | Failure::Connect
            | Failure::Tls
            | Failure::Protocol
            | Failure::Http(401 | 403 | 407 | 503),
        ) => Exit::Service,
        _ => Exit::Failed,
    };
    let label = reply.outcome.label();
    let why = reply.error.clone().unwrap_or_else(|| "no reply".to_owned());
    let place = ping.client.place();
    let error = anyhow::anyhow!(why).context(format!("no reply from {place} ({label})"));
    let error = CliError::new(exit, error);
    Err(match failures::advice(&label) {
        Some(advice) => error.help(advice),
        None => error,
    })
}
