//! From replies to rows: waits for the readings that a query's window needs, on a thread of its own.
//!
//! The next query is already on its way meanwhile. Rows leave in the order in which queries ended.

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

/// More replies than this wait for their readings or the disk: nothing new is sent meanwhile, as
/// waiting here would hold up what is in flight.
const BEHIND: usize = 8192;

/// A receiver that waits must be woken for every reply, at the cost of the thread that stamps: more
/// are left to come first.
const LINGER: Duration = Duration::from_millis(1);

/// Everything that is received, with a pause whenever there is nothing more for now.
fn lingering<T>(receiver: &Receiver<T>) -> impl Iterator<Item = T> + '_ {
    std::iter::from_fn(move || {
        receiver.try_recv().ok().or_else(|| {
            std::thread::sleep(LINGER);
            receiver.recv().ok()
        })
    })
}

/// A query that is over.
pub(crate) struct Landed {
    pub(crate) query: Query,
    pub(crate) part: u32,
    pub(crate) due: Timestamp,
    pub(crate) reply: Reply,
    pub(crate) ticket: Ticket,
}

/// Says whether a reply is right.
pub type Grader = Arc<dyn Fn(&Query, &Reply) -> Grade + Send + Sync>;

/// Counts the tokens of a reply: where the service did not say, and to see whether it was right.
pub type TokenCounter = Arc<dyn Fn(&Query, &mut Reply) + Send + Sync>;

/// Who reads a reply when it is over.
pub(crate) struct Readers {
    /// Bytes that the plan sends with every query.
    pub(crate) sent_bytes: usize,
    pub(crate) counter: Option<TokenCounter>,
    pub(crate) grader: Grader,
    pub(crate) slo_check: Option<SloCheck>,
}

/// Makes rows of what has landed.
pub(crate) struct Assembler<S> {
    /// `None` when it is over.
    rail: Option<Rail<S>>,
    waiting: Arc<AtomicUsize>,
}

/// The way to the assembler's thread.
struct Rail<S> {
    sender: Sender<Landed>,
    thread: JoinHandle<(S, Result<(), SinkError>)>,
}

/// A run whose future is dropped stores the rows that have landed.
impl<S> Drop for Assembler<S> {
    fn drop(&mut self) {
        if let Some(Rail { sender, thread }) = self.rail.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

impl<S: Sink + Send + 'static> Assembler<S> {
    /// Starts the thread; rows go to `sink`.
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
            rail: Some(Rail { sender, thread }),
            waiting,
        })
    }

    /// Hands a reply over; false when rows can no longer be stored.
    pub(crate) fn push(&self, landed: Landed) -> bool {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let rail = self.rail.as_ref();
        rail.is_some_and(|rail| rail.sender.send(landed).is_ok())
    }

    /// Whether so many replies wait that no more queries should go out.
    pub(crate) fn is_behind(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > BEHIND
    }

    /// Waits for the last row.
    pub(crate) fn finish(mut self) -> (S, Result<(), SinkError>) {
        let rail = self.rail.take();
        let Rail { sender, thread } = rail.expect("it is taken at the end alone");
        drop(sender);
        match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn assemble(
    landed: impl Iterator<Item = Landed>,
    session: &Session,
    sink: &mut dyn Sink,
    notifier: &Notifier,
    readers: &Readers,
) -> Result<(), SinkError> {
    for landed in landed {
        let Landed {
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

/// Where the reply divides into prefill and decode.
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
