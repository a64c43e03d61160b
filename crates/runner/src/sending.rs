//! Sends queries as planned: decides which are due, which can be sent, and collects replies.
//!
//! All queries run on one thread. In a closed loop a query is due when a slot becomes free, in an
//! open loop when the schedule says so. Due queries that cannot be sent yet wait. The wait counts
//! in latencies from the planned send; no query is dropped.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use ipw_core::event::Event;
use ipw_core::query::Query;
use ipw_core::reading::Window;
use ipw_core::reply::{Failure, Outcome, Reply};
use ipw_core::sink::Sink;
use ipw_core::time::Timestamp;
use ipw_telemetry::Ticket;
use tokio::time::MissedTickBehavior;

use crate::Arrivals;
use crate::assemble::{Assembler, FinishedQuery};
use crate::conversations::ReadyQuery;
use crate::dispatch::Dispatch;
use crate::pacer::Pacer;
use crate::pulse::{Pulse, TICK};
use crate::run::{Parts, RunEnd, RunError};
use crate::schedule::Schedule;
use crate::workload::Workload;
use crate::{Notices, prefix};

/// Pause while the store is behind.
const BREATH: Duration = Duration::from_millis(1);

/// A query with its reply.
struct Flight {
    query: Query,
    due: Timestamp,
    begun: FlightStart,
    reply: Reply,
}

/// State of a query at its start.
struct FlightStart {
    ticket: Ticket,
    /// Sum of all delays of our own thread before it.
    delayed: Duration,
}

/// Due queries, and the source of further ones.
struct DueQueue {
    /// Due times of queries not yet sent, in order.
    waiting: VecDeque<Timestamp>,
    /// Signals further due times; `None` at the end of the schedule.
    pacer: Option<Pacer>,
    /// Whether a free slot makes a query due (closed loop).
    is_closed: bool,
    /// No query is due at or after this.
    until: Option<Timestamp>,
}

impl DueQueue {
    fn begin(dispatch: &Dispatch<'_>) -> Result<Self, RunError> {
        let load = &dispatch.plan.load;
        let start = dispatch.now();
        let until = load.duration.map(|duration| start.after(duration));
        let mut waiting = VecDeque::new();
        let schedule = match &load.arrivals {
            Arrivals::Sequential => {
                waiting.push_back(start);
                None
            }
            Arrivals::Closed { concurrency } if load.ramp.is_zero() => {
                waiting.extend(std::iter::repeat_n(start, concurrency.get()));
                None
            }
            Arrivals::Closed { concurrency } => {
                Some(Schedule::places(concurrency.get(), load.ramp))
            }
            Arrivals::Open { rate, process, .. } => {
                Some(Schedule::made(*rate, *process, load.ramp, load.seed))
            }
            Arrivals::Trace { path, .. } => Some(Schedule::traced(path)?),
        };
        let pacer = schedule
            .map(|schedule| Pacer::start(schedule, start, until, Arc::clone(dispatch.clock)))
            .transpose()?;
        Ok(Self {
            waiting,
            pacer,
            is_closed: !load.arrivals.is_open(),
            until,
        })
    }

    /// Takes due times that have passed.
    fn look(&mut self) {
        while let Some(due) = self.pacer.as_mut().and_then(Pacer::ready) {
            self.waiting.push_back(due);
        }
    }

    /// Records a free slot.
    fn freed(&mut self, now: Timestamp) {
        if self.is_closed && self.until.is_none_or(|until| now < until) {
            self.waiting.push_back(now);
        }
    }

    /// Waits until another query is due or the schedule ends. Without a schedule it never returns.
    async fn next(&mut self) {
        let Some(pacer) = &mut self.pacer else {
            return std::future::pending().await;
        };
        match pacer.next().await {
            Some(due) => self.waiting.push_back(due),
            None => self.pacer = None,
        }
    }

    fn stop(&mut self) {
        self.waiting.clear();
        self.pacer = None;
        self.is_closed = false;
    }

    fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.pacer.is_none()
    }
}

/// Counts of sent and failed queries.
#[derive(Default)]
struct Tally {
    tried: u64,
    failed: u64,
}

/// Sends all queries of the plan.
pub(crate) async fn send_all<S: Sink + Send + 'static>(
    dispatch: &Dispatch<'_>,
    parts: &Parts<'_>,
    mut workload: Workload<'_>,
    assembler: &Assembler<S>,
    notices: &Notices,
) -> Result<RunEnd, RunError> {
    let plan = dispatch.plan;
    let most = plan.load.arrivals.concurrency();
    let most = most.map_or(usize::MAX, std::num::NonZeroUsize::get);
    let mut interrupt = dispatch.interrupt.clone();
    let mut due = DueQueue::begin(dispatch)?;
    let mut flights = FuturesUnordered::new();
    let mut tally = Tally::default();
    let mut ended = RunEnd::Complete;
    let mut pulse = Pulse::new(dispatch.now());
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.look();
        if ended == RunEnd::Complete && interrupt.is_draining() {
            notices.send(Event::Stopping {
                reason: "interrupted".to_owned(),
            });
            ended = RunEnd::Interrupted;
            due.stop();
        }
        if workload.is_over() {
            due.stop();
        }
        while flights.len() < most && !due.waiting.is_empty() && !assembler.is_behind() {
            // The remaining queries may wait for those in flight.
            let Some(ready) = workload.take()? else {
                break;
            };
            let Some(instant) = due.waiting.pop_front() else {
                break;
            };
            let now = dispatch.now();
            let delayed = pulse.beat(now);
            let ticket = parts.session.open(now);
            flights.push(fly(
                dispatch,
                parts,
                ready,
                instant,
                FlightStart { ticket, delayed },
            ));
        }
        if flights.is_empty() && due.is_over() {
            return Ok(ended);
        }
        let is_behind = assembler.is_behind();
        tokio::select! {
            biased;
            Some(mut flown) = flights.next(), if !flights.is_empty() => {
                let now = dispatch.now();
                let delay = pulse.beat(now).saturating_sub(flown.begun.delayed);
                // The engine timestamps its tokens on its own thread.
                flown.reply.timing.own_delay = (!parts.client.in_process()).then_some(delay);
                tally.count(&flown.reply);
                workload.landed(&flown.query, &flown.reply, now);
                if !assembler.push(landed(flown, parts.part)) {
                    // `Assembler::finish` returns the sink's error.
                    return Ok(ended);
                }
                due.freed(dispatch.now());
            }
            () = due.next(), if !due.is_over() => {}
            // Handled at the top of the loop.
            () = interrupt.draining(), if ended == RunEnd::Complete => {}
            () = tokio::time::sleep(BREATH), if is_behind => {}
            _ = ticks.tick(), if !flights.is_empty() => {
                pulse.beat(dispatch.now());
            }
        }
        if ended == RunEnd::Complete && plan.failures.stop_after(tally.failed, tally.tried) {
            let Tally { failed, tried } = tally;
            let reason = format!("{failed} of {tried} queries failed");
            notices.send(Event::Stopping { reason });
            ended = RunEnd::Failing {
                failed,
                sent: tried,
            };
            due.stop();
        }
    }
}

impl Tally {
    fn count(&mut self, reply: &Reply) {
        self.tried += 1;
        if matches!(reply.outcome, Outcome::TimedOut | Outcome::Failed(_)) {
            self.failed += 1;
        }
    }
}

async fn fly(
    dispatch: &Dispatch<'_>,
    parts: &Parts<'_>,
    ready: ReadyQuery,
    due: Timestamp,
    begun: FlightStart,
) -> Flight {
    let ReadyQuery {
        query,
        since,
        unaskable,
    } = ready;
    // A follow-up turn is not due before the reply that it answers.
    let due = since.map_or(due, |since| due.max(since));
    let reply = if let Some(why) = unaskable {
        Reply::unsent(dispatch.now(), Failure::History, why)
    } else {
        dispatch
            .send(&prefix::as_sent(&dispatch.plan.load, &query))
            .await
    };
    match Window::new(reply.timing.start, reply.timing.end) {
        Some(window) => parts.session.landed_after(begun.ticket, window),
        None => parts.session.landed(begun.ticket),
    }
    Flight {
        query,
        due,
        begun,
        reply,
    }
}

fn landed(flown: Flight, part: u32) -> FinishedQuery {
    let Flight {
        query,
        due,
        begun,
        reply,
    } = flown;
    FinishedQuery {
        query,
        part,
        due,
        reply,
        ticket: begun.ticket,
    }
}
