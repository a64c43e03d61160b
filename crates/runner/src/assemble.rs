//! Turns replies into rows, on its own thread: waits for the readings of each query's window.
//!
//! Further queries are sent meanwhile. Rows are written in the order in which queries finish.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ipw_core::claim;
use ipw_core::energy::{QueryEnergy, Split};
use ipw_core::event::Event;
use ipw_core::query::Query;
use ipw_core::reading::Window;
use ipw_core::record::{Record, SloCheck};
use ipw_core::reply::Reply;
use ipw_core::rollup::Basis;
use ipw_core::sink::{Sink, SinkError};
use ipw_core::time::Timestamp;
use ipw_core::units::Joules;
use ipw_core::verdict::Grade;
use ipw_telemetry::{Session, Ticket};

use crate::notices::Notifier;

/// Backlog of replies above which no new query is sent. Sending stops instead of waiting here,
/// which would delay queries in flight.
const BEHIND: usize = 8192;

/// Pause between wake-ups. Waking the receiver for every reply would cost time on the thread that
/// takes timestamps.
const LINGER: Duration = Duration::from_millis(1);

/// Received items, with a pause whenever the channel is empty.
fn lingering<T>(receiver: &Receiver<T>) -> impl Iterator<Item = T> + '_ {
    std::iter::from_fn(move || {
        receiver.try_recv().ok().or_else(|| {
            std::thread::sleep(LINGER);
            receiver.recv().ok()
        })
    })
}

/// A finished query.
pub(crate) struct FinishedQuery {
    pub(crate) query: Query,
    pub(crate) part: u32,
    pub(crate) due: Timestamp,
    pub(crate) reply: Reply,
    pub(crate) ticket: Ticket,
}

/// Grades a reply.
pub type Grader = Arc<dyn Fn(&Query, &Reply) -> Grade + Send + Sync>;

/// Counts the tokens of a reply: missing counts, and a check of the service's.
pub type TokenCounter = Arc<dyn Fn(&Query, &mut Reply) + Send + Sync>;

/// Functions that complete a finished reply.
pub(crate) struct Readers {
    /// Size of the parts that the plan adds to every query, in bytes.
    pub(crate) sent_bytes: usize,
    pub(crate) counter: Option<TokenCounter>,
    pub(crate) grader: Grader,
    pub(crate) slo_check: Option<SloCheck>,
}

/// Turns finished queries into rows.
pub(crate) struct Assembler<S> {
    /// `None` after the end.
    worker: Option<Worker<S>>,
    waiting: Arc<AtomicUsize>,
}

/// The assembler's thread and the channel to it.
struct Worker<S> {
    sender: Sender<FinishedQuery>,
    thread: JoinHandle<(S, Result<(), SinkError>)>,
}

/// If a run's future is dropped, finished queries are still stored.
impl<S> Drop for Assembler<S> {
    fn drop(&mut self) {
        if let Some(Worker { sender, thread }) = self.worker.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

impl<S: Sink + Send + 'static> Assembler<S> {
    /// Starts the thread that writes to `sink`.
    pub(crate) fn start(
        session: Arc<Session>,
        mut sink: S,
        notifier: Notifier,
        readers: Readers,
    ) -> std::io::Result<Self> {
        let (sender, receiver) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&waiting);
        let thread = std::thread::Builder::new()
            .name("ipw-assemble".to_owned())
            .spawn(move || {
                let landed = lingering(&receiver).inspect(|_| {
                    left.fetch_sub(1, Ordering::Relaxed);
                });
                let assembled = assemble(landed, &session, &mut sink, &notifier, &readers);
                (sink, assembled)
            })?;
        Ok(Self {
            worker: Some(Worker { sender, thread }),
            waiting,
        })
    }

    /// Hands over a finished query; false if rows can no longer be stored.
    pub(crate) fn push(&self, landed: FinishedQuery) -> bool {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let worker = self.worker.as_ref();
        worker.is_some_and(|worker| worker.sender.send(landed).is_ok())
    }

    /// Whether the backlog is too long to send more queries.
    pub(crate) fn is_behind(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > BEHIND
    }

    pub(crate) fn finish(mut self) -> (S, Result<(), SinkError>) {
        let worker = self.worker.take();
        let Worker { sender, thread } = worker.expect("taken only at the end");
        drop(sender);
        match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn assemble(
    landed: impl Iterator<Item = FinishedQuery>,
    session: &Session,
    sink: &mut dyn Sink,
    notifier: &Notifier,
    readers: &Readers,
) -> Result<(), SinkError> {
    for landed in landed {
        let FinishedQuery {
            query,
            part,
            due,
            mut reply,
            ticket,
        } = landed;
        let energy = match Window::new(reply.timing.start, reply.timing.end) {
            Some(window) => session.close_in_phases(ticket, window, split(&reply)),
            None => QueryEnergy::default(),
        };
        claim::settle(&query, readers.sent_bytes, &mut reply);
        if let Some(counter) = &readers.counter {
            counter(&query, &mut reply);
        }
        let grade = (readers.grader)(&query, &reply);
        let mut record = Record {
            query,
            part,
            due,
            reply,
            energy,
            grade,
            kept: None,
        };
        record.kept = readers.slo_check.as_ref().map(|check| check(&record));
        notifier.send(finished(&record));
        sink.append(record)?;
    }
    Ok(())
}

/// The split of the reply's window into prefill and decode.
fn split(reply: &Reply) -> Option<Split> {
    Some(Split {
        sent: reply.timing.sent?,
        first_token: reply.timing.first_token?,
        prompt: reply.service_timing.prompt,
    })
}

fn finished(record: &Record) -> Event {
    let latency = record.latency();
    Event::QueryFinished {
        query_index: record.query.index,
        outcome: record.reply.outcome.label().into_owned(),
        total_seconds: latency.total.map(|time| time.as_secs_f64()),
        time_to_first_token_seconds: latency.first_token.map(|time| time.as_secs_f64()),
        start_seconds: record.reply.timing.start.seconds(),
        end_seconds: record.reply.timing.end.seconds(),
        input_tokens: record.reply.tokens.input,
        output_tokens: record.reply.tokens.output,
        joules: record.energy.headline().map(Joules::joules),
        basis: record.energy.basis().map(Basis::label),
        is_correct: record.grade.verdict.is_correct(),
    }
}
