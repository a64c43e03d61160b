//! `ipw ping`: one query, and every phase and event of its reply.

mod sections;

use std::sync::Arc;

use ipw::ping::{Ping, ping};
use ipw::{clients, counting};
use ipw_core::reply::{Failure, Outcome};
use ipw_core::text::printable;
use ipw_core::time::Clock;
use ipw_findings::failures;
use ipw_runner::SystemClock;

use super::profile::{only_model, runtime};
use crate::args::PingArgs;
use crate::error::{CliError, Exit};
use crate::observe::Transfer;
use crate::{screen, settings};

/// Short, and any model can answer it.
const PROMPT: &str = "What is the capital of France? Answer in one sentence.";

pub(crate) fn run(args: &PingArgs) -> Result<Exit, CliError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let runtime = runtime()?;
    let ask = settings::ask(&mut args.as_profile(), |client| {
        runtime.block_on(only_model(client, &clock))
    })?;
    let client = Transfer::during(args.json, |progress| {
        clients::connect(&ask.client, &ask.model, Arc::clone(&clock), progress)
    })?;
    let tokens = Transfer::during(args.json, |progress| {
        let named = ask.tokenizer.as_deref();
        named
            .map(|named| counting::load(named, progress))
            .transpose()
    })?;
    let prompt = args.prompt.as_deref().unwrap_or(PROMPT);
    let mut ping = runtime.block_on(ping(&ask, client.as_ref(), prompt))?;
    if let Some(warning) = &ping.close_warning {
        screen::talk(&format!("warning: {warning}"));
    }
    if let Some(tokens) = &tokens {
        for warning in counting::warnings(Some(tokens), None) {
            screen::talk(&format!("warning: {}", printable(&warning)));
        }
        ping.count(tokens);
    }
    screen::print(&if args.json {
        screen::json(&ping.json())
    } else {
        sections::text(&ping)
    });
    verdict(&ping)
}

/// Exit code and advice for a failed reply.
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
