//! The order of a run: health, prepare, (the caller prepares the output,) warm-up, queries.

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
use crate::idle::{self, Idled};
use crate::schedule::TraceError;
use crate::sending::send_all;
use crate::workload::Workload;
use crate::{Done, Interrupt, Notices, Plan, prefix};

/// What a run is put together from.
pub struct Parts<'a> {
    /// Where queries go.
    pub client: &'a dyn Client,
    /// Where they come from.
    pub dataset: &'a dyn Dataset,
    /// What the hardware reports.
    pub session: Arc<Session>,
    /// Who counts their tokens; `None` without a tokenizer.
    pub counter: Option<TokenCounter>,
    /// Who says whether replies are right.
    pub grader: Grader,
    /// Who says how they kept their limits; `None` without limits.
    pub slo_check: Option<SloCheck>,
    /// The clock of this part.
    pub clock: Arc<dyn Clock>,
    /// The number of this part.
    pub part: u32,
    /// What earlier parts have done.
    pub done: Done,
    /// What came back for it.
    pub recall: Recall,
    /// What the sources' self-tests say after the warm-up, once it is over.
    pub self_tests: OnceLock<Vec<SelfTest>>,
    /// What the sources drew with nobody in flight.
    pub idled: Idled,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All queries were sent.
    Complete,
    /// It was told to stop.
    Interrupted,
    /// Too many queries failed to go on.
    Failing {
        /// How many.
        failed: u64,
        /// Of how many.
        sent: u64,
    },
}

/// What breaks a run; a query that fails does not.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The service is not fit to be asked.
    #[error(transparent)]
    Service(#[from] NotReady),
    /// The trace cannot be followed.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A thread cannot be started.
    #[error("starting a thread")]
    Thread(#[from] std::io::Error),
    /// The dataset cannot be read on.
    #[error(transparent)]
    Dataset(#[from] ReadError),
    /// Rows can no longer be stored.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

/// Makes sure that the service answers and is ready for the model. Nothing has been written yet.
/// What comes back are warnings.
pub async fn make_ready(client: &dyn Client, model: &str) -> Result<Vec<String>, NotReady> {
    client.health().await?;
    client.prepare(model).await
}

/// Bytes that the plan sends with every query.
fn sent_bytes(plan: &Plan) -> usize {
    let system = plan.generation.system.as_ref().map_or(0, String::len);
    system + claim::length(&plan.generation.parameters)
}

/// Warms up, then sends the dataset's queries by the plan, one row each into `sink`, which comes
/// back with how it ended.
pub async fn run<S: Sink + Send + 'static>(
    plan: &Plan,
    parts: &Parts<'_>,
    sink: S,
    notices: &Notices,
    interrupt: &Interrupt,
) -> Result<(S, Result<Ended, RunError>), std::io::Error> {
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
) -> Result<Ended, RunError> {
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
            // What follows from it is decided when queries would be sent.
            () = interrupt.draining() => {}
        }
    }
    let _ = parts.self_tests.set(parts.session.self_tests());
    let has_queries = !workload.is_over();
    if has_queries {
        idle::before(dispatch, &parts.session, &parts.idled, notices).await;
    }
    let ended = send_all(dispatch, parts, workload, assembler, notices).await;
    if has_queries && matches!(ended, Ok(Ended::Complete)) {
        idle::after(dispatch, &parts.session, &parts.idled, notices).await;
    }
    ended
}

/// Connections that are opened before the first query at the most.
const MOST_WARM: usize = 1024;

/// Wakes the service up with prompts that are in no dataset, so that no row is spent and no prompt
/// of the dataset is in a cache; each begins with a text that no earlier run sent. They ask for the parameters that the dataset's first query does.
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
