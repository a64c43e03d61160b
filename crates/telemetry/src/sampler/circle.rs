//! Collectors that share a thread while all of them are fast.
//!
//! Waking a thread costs more than most polls, so eight boards on eight threads would spend most
//! of the CPU budget on waking up. A circle has a leader thread that polls and a second one that
//! watches it. When a poll takes too long, the watching thread becomes the leader of the other
//! collectors, and the slow collector keeps its blocked thread until it is fast again. A driver
//! call that never returns delays the others once, by this limit.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ipw_core::time::{Clock, Timestamp};

use super::{Poller, next_deadline, own_cpu_nanos};
use crate::PollError;
use crate::session::Shared;

/// A poll that takes longer hands the other collectors to another thread.
const PATIENCE: Duration = Duration::from_millis(20);
/// Number of fast polls in a row after which a slow collector rejoins the others.
const QUICK_AGAIN: u32 = 100;
/// How long to wait for a driver call in progress when the session stops.
const LAST_CALL: Duration = Duration::from_secs(5);
const LAST_CALL_TICK: Duration = Duration::from_millis(2);

/// The threads that poll a circle of collectors.
pub(crate) struct Sampler {
    circle: Arc<Circle>,
}

struct Circle {
    name: String,
    clock: Arc<dyn Clock>,
    shared: Arc<Shared>,
    state: Mutex<State>,
    /// Signals a stop, or the return of a slow collector.
    bell: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<Turn>,
    /// Index of the thread that polls the circle.
    leader: usize,
    /// Start of the leader's current poll.
    polling_since: Option<Timestamp>,
    threads: Vec<Thread>,
    is_over: bool,
    /// No collector is polled for now.
    is_paused: bool,
}

/// A collector and its next deadline.
struct Turn {
    due: Timestamp,
    poller: Poller,
}

struct Thread {
    handle: Option<JoinHandle<()>>,
    cpu_nanos: Arc<AtomicU64>,
}

/// The first task of a thread.
#[derive(Clone, Copy)]
enum Post {
    Leads,
    Watches,
}

impl Sampler {
    /// Starts the threads that poll these collectors, circle by circle.
    pub(crate) fn start_all(pollers: Vec<Poller>) -> std::io::Result<Vec<Self>> {
        let mut circles: BTreeMap<&'static str, Vec<Poller>> = BTreeMap::new();
        let mut groups = Vec::new();
        for poller in pollers {
            match poller.circle() {
                Some(name) => circles.entry(name).or_default().push(poller),
                None => groups.push((poller.collector.id(), vec![poller])),
            }
        }
        groups.extend(circles);
        let started = groups
            .into_iter()
            .filter_map(|(name, pollers)| Self::start(name, pollers).transpose());
        started.collect()
    }

    fn start(name: &str, pollers: Vec<Poller>) -> std::io::Result<Option<Self>> {
        let Some(first) = pollers.first() else {
            return Ok(None);
        };
        let clock = Arc::clone(&first.clock);
        let now = clock.now();
        let is_shared = pollers.len() > 1;
        let waiting = pollers.into_iter().map(|poller| Turn { due: now, poller });
        let waiting: Vec<_> = waiting.collect();
        let circle = Arc::new(Circle {
            name: format!("ipw-{name}"),
            clock,
            shared: Arc::clone(&waiting[0].poller.shared),
            state: Mutex::new(State {
                waiting,
                ..State::default()
            }),
            bell: Condvar::new(),
        });
        let sampler = Self {
            circle: Arc::clone(&circle),
        };
        let mut state = circle.lock();
        circle.spawn(&mut state, Post::Leads)?;
        if is_shared {
            circle.spawn(&mut state, Post::Watches)?;
        }
        drop(state);
        Ok(Some(sampler))
    }

    /// CPU time used by the threads.
    pub(crate) fn cpu_time(&self) -> Duration {
        let nanos = |thread: &Thread| thread.cpu_nanos.load(Ordering::Relaxed);
        Duration::from_nanos(self.circle.lock().threads.iter().map(nanos).sum())
    }

    /// Stops polling (`true`) or resumes it (`false`).
    pub(crate) fn pause(&self, is_paused: bool) {
        self.circle.lock().is_paused = is_paused;
        self.circle.bell.notify_all();
    }

    /// Stops the threads and waits for them, except for driver calls that do not return.
    pub(crate) fn stop(&self) {
        let mut state = self.circle.lock();
        state.is_over = true;
        let handles = state
            .threads
            .iter_mut()
            .filter_map(|thread| thread.handle.take());
        let mut left: Vec<_> = handles.collect();
        drop(state);
        self.circle.bell.notify_all();
        let mut waited = Duration::ZERO;
        loop {
            for over in left.extract_if(.., |handle| handle.is_finished()) {
                let _ = over.join();
            }
            if left.is_empty() {
                return;
            }
            if waited >= LAST_CALL {
                break;
            }
            std::thread::sleep(LAST_CALL_TICK);
            waited += LAST_CALL_TICK;
        }
        let words = "a driver call did not return: its thread was abandoned".to_owned();
        self.circle
            .shared
            .fault(&self.circle.name, &PollError::Retry(words));
    }
}

impl Circle {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spawn(self: &Arc<Self>, state: &mut State, post: Post) -> std::io::Result<()> {
        let number = state.threads.len();
        let cpu_nanos = Arc::new(AtomicU64::new(0));
        let (circle, spent) = (Arc::clone(self), Arc::clone(&cpu_nanos));
        let handle =
            std::thread::Builder::new()
                .name(self.name.clone())
                .spawn(move || match post {
                    Post::Leads => circle.lead(number, &spent),
                    Post::Watches => circle.watch(number, &spent),
                })?;
        state.threads.push(Thread {
            handle: Some(handle),
            cpu_nanos,
        });
        Ok(())
    }

    /// Waits for the signal or until `until`; `None` when it is time to stop.
    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        until: Timestamp,
    ) -> Option<MutexGuard<'a, State>> {
        if state.is_over {
            return None;
        }
        let left = until.since(self.clock.now());
        let (mut state, _) = self
            .bell
            .wait_timeout(state, left)
            .unwrap_or_else(PoisonError::into_inner);
        while state.is_paused && !state.is_over {
            let woken = self.bell.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        (!state.is_over).then_some(state)
    }

    /// Polls the collectors that are due, until another thread takes over.
    fn lead(&self, me: usize, spent: &AtomicU64) {
        let mut state = self.lock();
        while !state.is_over {
            let now = self.clock.now();
            // No collector left: all of them are slow and on their own threads for now.
            let due = state.next_due().unwrap_or(now.after(PATIENCE * 5));
            if due > now {
                spent.store(own_cpu_nanos(), Ordering::Relaxed);
                match self.wait(state, due) {
                    Some(again) => state = again,
                    None => return,
                }
                continue;
            }
            let Some(mut turn) = state.take_due() else {
                continue;
            };
            state.polling_since = Some(now);
            drop(state);
            turn.poll(&*self.clock);
            state = self.lock();
            if state.leader != me {
                drop(state);
                return self.alone(turn, spent);
            }
            state.polling_since = None;
            state.waiting.push(turn);
        }
    }

    /// Takes over when the leader is blocked in a poll.
    fn watch(self: &Arc<Self>, me: usize, spent: &AtomicU64) {
        let mut state = self.lock();
        while !state.is_over {
            let now = self.clock.now();
            let next = match state.polling_since {
                Some(since) if now.since(since) >= PATIENCE => {
                    state.leader = me;
                    state.polling_since = None;
                    // If no thread can watch it, the new leader works unwatched.
                    let _ = self.spawn(&mut state, Post::Watches);
                    drop(state);
                    return self.lead(me, spent);
                }
                Some(since) => since.after(PATIENCE),
                None => state.next_due().unwrap_or(now).max(now).after(PATIENCE),
            };
            spent.store(own_cpu_nanos(), Ordering::Relaxed);
            match self.wait(state, next) {
                Some(again) => state = again,
                None => return,
            }
        }
    }

    /// Polls one slow collector until it is fast again.
    fn alone(&self, mut turn: Turn, spent: &AtomicU64) {
        let mut quick = 0;
        while quick < QUICK_AGAIN {
            spent.store(own_cpu_nanos(), Ordering::Relaxed);
            let mut state = self.lock();
            while turn.due > self.clock.now() {
                match self.wait(state, turn.due) {
                    Some(again) => state = again,
                    None => return,
                }
            }
            let is_over = state.is_over;
            drop(state);
            if is_over {
                return;
            }
            let began = self.clock.now();
            turn.poll(&*self.clock);
            let is_quick = self.clock.now().since(began) < PATIENCE / 2;
            quick = if is_quick { quick + 1 } else { 0 };
        }
        self.lock().waiting.push(turn);
        self.bell.notify_all();
    }
}

impl State {
    fn next_due(&self) -> Option<Timestamp> {
        self.waiting.iter().map(|turn| turn.due).min()
    }

    fn take_due(&mut self) -> Option<Turn> {
        let due = self.next_due()?;
        let place = self.waiting.iter().position(|turn| turn.due == due)?;
        Some(self.waiting.remove(place))
    }
}

impl Turn {
    fn poll(&mut self, clock: &dyn Clock) {
        let pause = self.poller.poll();
        self.due = next_deadline(self.due, pause, clock.now());
    }
}
