//! Sending queries by the plan: which are due, which may go, what becomes of them.
//!
//! All of them run on one thread. A query is due at an instant: in a closed loop when a place became
//! free, in an open loop when the schedule says so. Due queries that may not go yet wait, and their
//! wait shows in what counts from the planned send; none is dropped.

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
use crate::assemble::{Assembler, Landed};
use crate::conversations::Ready;
use crate::dispatch::Dispatch;
use crate::pacer::Pacer;
use crate::pulse::{Pulse, TICK};
use crate::run::{Ended, Parts, RunError};
use crate::schedule::Schedule;
use crate::workload::Workload;
use crate::{Notices, prefix};

/// How long to wait for the store when it is behind.
const BREATH: Duration = Duration::from_millis(1);

/// A query that has come back.
struct Flown {
    query: Query,
    due: Timestamp,
    begun: Begun,
    reply: Reply,
}

/// What is known of a query when it goes.
struct Begun {
    ticket: Ticket,
    /// All delays of our own thread before.
    delayed: Duration,
}

/// What is due, and what has been sent so far.
struct Due {
    /// Instants whose queries have not gone yet, in order.
    waiting: VecDeque<Timestamp>,
    /// Says when more are due; `None` when there are no more.
    pacer: Option<Pacer>,
    /// Whether a place that becomes free makes a query due.
    is_closed: bool,
    /// From here on nothing is due.
    until: Option<Timestamp>,
}

impl Due {
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

    /// Takes what has become due meanwhile.
    fn look(&mut self) {
        while let Some(due) = self.pacer.as_mut().and_then(Pacer::ready) {
            self.waiting.push_back(due);
        }
    }

    /// A place became free.
    fn freed(&mut self, now: Timestamp) {
        if self.is_closed && self.until.is_none_or(|until| now < until) {
            self.waiting.push_back(now);
        }
    }

    /// Returns when something more is due, or there is nothing more.
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

/// How the queries went so far.
#[derive(Default)]
struct Tally {
    tried: u64,
    failed: u64,
}

/// Sends everything that the plan wants sent.
pub(crate) async fn send_all<S: Sink + Send + 'static>(
    dispatch: &Dispatch<'_>,
    parts: &Parts<'_>,
    mut workload: Workload<'_>,
    assembler: &Assembler<S>,
    notices: &Notices,
) -> Result<Ended, RunError> {
    let plan = dispatch.plan;
    let most = plan.load.arrivals.concurrency();
    let most = most.map_or(usize::MAX, std::num::NonZeroUsize::get);
    let mut interrupt = dispatch.interrupt.clone();
    let mut due = Due::begin(dispatch)?;
    let mut flights = FuturesUnordered::new();
    let mut tally = Tally::default();
    let mut ended = Ended::Complete;
    let mut pulse = Pulse::new(dispatch.now());
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.look();
        if ended == Ended::Complete && interrupt.is_draining() {
            notices.send(Event::Stopping {
                reason: "told to stop".to_owned(),
            });
            ended = Ended::Interrupted;
            due.stop();
        }
        if workload.is_over() {
            due.stop();
        }
        while flights.len() < most && !due.waiting.is_empty() && !assembler.is_behind() {
            // What is left may wait for what is in flight.
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
                Begun { ticket, delayed },
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
                // The engine's own thread stamps what it makes.
                flown.reply.timing.own_delay = (!parts.client.in_process()).then_some(delay);
                tally.count(&flown.reply);
                workload.landed(&flown.query, &flown.reply, now);
                if !assembler.push(landed(flown, parts.part)) {
                    // The sink's own error is told when the assembler ends.
                    return Ok(ended);
                }
                due.freed(dispatch.now());
            }
            () = due.next(), if !due.is_over() => {}
            // What follows from it is decided above.
            () = interrupt.draining(), if ended == Ended::Complete => {}
            () = tokio::time::sleep(BREATH), if is_behind => {}
            _ = ticks.tick(), if !flights.is_empty() => {
                pulse.beat(dispatch.now());
            }
        }
        if ended == Ended::Complete && plan.failures.stop_after(tally.failed, tally.tried) {
            let Tally { failed, tried } = tally;
            let reason = format!("{failed} of {tried} queries failed");
            notices.send(Event::Stopping { reason });
            ended = Ended::Failing {
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
    ready: Ready,
    due: Timestamp,
    begun: Begun,
) -> Flown {
    let Ready {
        query,
        since,
        unaskable,
    } = ready;
    // Nobody can plan to ask before the reply is there that the question is about.
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
    Flown {
        query,
        due,
        begun,
        reply,
    }
}

fn landed(flown: Flown, part: u32) -> Landed {
    let Flown {
        query,
        due,
        begun,
        reply,
    } = flown;
    Landed {
        query,
        part,
        due,
        reply,
        ticket: begun.ticket,
    }
}
