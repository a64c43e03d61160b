//! The steps of a run: health check, preparation, output (by the caller), warm-up, queries.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use ipw_core::claim;
use ipw_core::client::{Client, NotReady};
use ipw_core::dataset::{Dataset, ReadError};
use ipw_core::event::Event;
use ipw_core::query::Query;
use ipw_core::record::SloCheck;
use ipw_core::sink::{Sink, SinkError};
use ipw_core::time::Clock;
use ipw_telemetry::{SelfTest, Session};

use crate::assemble::{Assembler, Grader, Readers, TokenCounter};
use crate::conversations::Recall;
use crate::dispatch::Dispatch;
use crate::idle::{self, IdleMeasurements};
use crate::schedule::TraceError;
use crate::sending::send_all;
use crate::workload::Workload;
use crate::{FinishedSet, Interrupt, Notices, Plan, prefix};

/// Everything that a run needs besides its plan.
pub struct Parts<'a> {
    /// The client that sends the queries.
    pub client: &'a dyn Client,
    /// The source of queries.
    pub dataset: &'a dyn Dataset,
    /// The energy measurement.
    pub session: Arc<Session>,
    /// Counts tokens of replies; `None` without a tokenizer.
    pub counter: Option<TokenCounter>,
    /// Grades replies.
    pub grader: Grader,
    /// Checks latency objectives; `None` without objectives.
    pub slo_check: Option<SloCheck>,
    /// The clock of this part.
    pub clock: Arc<dyn Clock>,
    /// The number of this part.
    pub part: u32,
    /// Queries that earlier parts have finished.
    pub done: FinishedSet,
    /// Replies from earlier parts.
    pub recall: Recall,
    /// Results of the sources' self-tests, set after the warm-up.
    pub self_tests: OnceLock<Vec<SelfTest>>,
    /// Idle power of the sources.
    pub idled: IdleMeasurements,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// All queries were sent.
    Complete,
    /// It was interrupted.
    Interrupted,
    /// It stopped because too many queries failed.
    Failing {
        /// Failed queries.
        failed: u64,
        /// Sent queries.
        sent: u64,
    },
}

/// An error that ends a run; a failed query does not.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The service is not ready.
    #[error(transparent)]
    Service(#[from] NotReady),
    /// The trace is not usable.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A thread cannot be started.
    #[error("starting a thread")]
    Thread(#[from] std::io::Error),
    /// The dataset cannot be read.
    #[error(transparent)]
    Dataset(#[from] ReadError),
    /// Rows can no longer be stored.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

/// Checks the service's health and prepares it for the model; returns warnings. Writes nothing.
pub async fn make_ready(client: &dyn Client, model: &str) -> Result<Vec<String>, NotReady> {
    client.health().await?;
    client.prepare(model).await
}

/// Size of the parts that the plan adds to every query, in bytes.
fn sent_bytes(plan: &Plan) -> usize {
    let system = plan.generation.system.as_ref().map_or(0, String::len);
    system + claim::length(&plan.generation.parameters)
}

/// Warms up, then sends the dataset's queries as planned and writes one row each into `sink`.
/// Returns the sink and how the run ended.
pub async fn run<S: Sink + Send + 'static>(
    plan: &Plan,
    parts: &Parts<'_>,
    sink: S,
    notices: &Notices,
    interrupt: &Interrupt,
) -> Result<(S, Result<RunEnd, RunError>), std::io::Error> {
    let Parts {
        client, ref clock, ..
    } = *parts;
    let dispatch = Dispatch {
        plan,
        client,
        clock,
        interrupt,
    };
    let assembler = Assembler::start(
        Arc::clone(&parts.session),
        sink,
        notices.notifier(),
        Readers {
            sent_bytes: sent_bytes(plan),
            counter: parts.counter.clone(),
            grader: Arc::clone(&parts.grader),
            slo_check: parts.slo_check.clone(),
        },
    )?;
    let sent = warm_up_and_send(&dispatch, parts, &assembler, notices).await;
    let (sink, stored) = assembler.finish();
    let went = match stored {
        Ok(()) => sent,
        Err(error) => Err(error.into()),
    };
    Ok((sink, went))
}

async fn warm_up_and_send<S: Sink + Send + 'static>(
    dispatch: &Dispatch<'_>,
    parts: &Parts<'_>,
    assembler: &Assembler<S>,
    notices: &Notices,
) -> Result<RunEnd, RunError> {
    let load = &dispatch.plan.load;
    let recall = Arc::clone(&parts.recall);
    let workload = Workload::new(parts.dataset, load.rounds(), load.stop, &parts.done, recall)?;
    if let Some(first) = workload.peek() {
        warm_up(dispatch, first, notices).await;
    }
    let places = load.arrivals.concurrency().map_or(0, NonZeroUsize::get);
    if places > 1 {
        let mut interrupt = dispatch.interrupt.clone();
        tokio::select! {
            warmed = parts.client.warm(places.min(MOST_WARM)) => warmed?,
            // The interrupt takes effect before the next query.
            () = interrupt.draining() => {}
        }
    }
    let _ = parts.self_tests.set(parts.session.self_tests());
    let has_queries = !workload.is_over();
    if has_queries {
        idle::before(dispatch, &parts.session, &parts.idled, notices).await;
    }
    let ended = send_all(dispatch, parts, workload, assembler, notices).await;
    if has_queries && matches!(ended, Ok(RunEnd::Complete)) {
        idle::after(dispatch, &parts.session, &parts.idled, notices).await;
    }
    ended
}

/// Maximum number of connections opened before the first query.
const MOST_WARM: usize = 1024;

/// Warms the service up with prompts that are in no dataset: no row is spent, and no dataset prompt
/// gets cached. Each has a unique prefix. They use the parameters of the dataset's first query.
async fn warm_up(dispatch: &Dispatch<'_>, like: &Query, notices: &Notices) {
    const PROMPTS: [&str; 3] = [
        "Name one colour of the rainbow.",
        "Which day comes after Monday?",
        "Write one short sentence about rivers.",
    ];
    let of = dispatch.plan.load.warmup;
    let salt = dispatch.clock.anchor().unix_nanos;
    for (number, prompt) in (1..=of).zip(PROMPTS.iter().cycle()) {
        if dispatch.interrupt.is_draining() {
            return;
        }
        let problem = format!("{}{prompt}", prefix::of(salt, u64::from(number)));
        let query = Query {
            id: format!("warmup-{number}"),
            parameters: like.parameters.clone(),
            ..Query::asking(problem)
        };
        let outcome = dispatch.send(&query).await.outcome.label().into_owned();
        notices.send(Event::WarmedUp {
            number,
            of,
            outcome,
        });
    }
}
