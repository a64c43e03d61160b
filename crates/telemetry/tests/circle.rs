//! Collectors that share a thread: together while they are quick, apart while one is slow.

#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use ipw_core::source::{Domain, Method, Quantity};
use ipw_core::time::{Anchor, Clock, Timestamp};
use ipw_telemetry::{Collector, Role, Session, Setup};
use ipw_testkit::collector::{ScriptedCollector, source};
use rustix::time::{ClockId, clock_gettime};

/// The machine's own clock.
struct Monotonic;

impl Clock for Monotonic {
    fn now(&self) -> Timestamp {
        let time = clock_gettime(ClockId::Monotonic);
        let seconds = u64::try_from(time.tv_sec).unwrap();
        Timestamp::from_nanos(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap())
    }

    fn anchor(&self) -> Anchor {
        Anchor {
            unix_nanos: 0,
            monotonic_nanos: 0,
        }
    }
}

/// The instructions to a collector, and what it observed.
#[derive(Default)]
struct Bench {
    delay_ms: AtomicU64,
    polls: AtomicU64,
    thread: Mutex<Option<ThreadId>>,
}

impl Bench {
    fn polls(&self) -> u64 {
        self.polls.load(Ordering::SeqCst)
    }

    fn thread(&self) -> Option<ThreadId> {
        *self.thread.lock().unwrap()
    }

    fn slow_down(&self, millis: u64) {
        self.delay_ms.store(millis, Ordering::SeqCst);
    }

    /// Waits until it has been polled this many times more.
    fn wait_for(&self, polls: u64) {
        let wanted = self.polls() + polls;
        until(|| self.polls() >= wanted);
    }
}

/// Waits for what must come.
fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn slowable(number: usize, bench: &Arc<Bench>) -> ScriptedCollector {
    let bench = Arc::clone(bench);
    let quantity = Quantity::Power {
        domain: Domain::Gpu,
        averaging: Duration::ZERO,
    };
    let source = source(&format!("slowable/{number}"), quantity, Method::Integrated);
    let mut collector = ScriptedCollector::new(vec![source], move |clock, take| {
        *bench.thread.lock().unwrap() = Some(std::thread::current().id());
        let delay = bench.delay_ms.load(Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(delay));
        take(0, clock.now(), 1.0);
        bench.polls.fetch_add(1, Ordering::SeqCst);
        Ok(())
    });
    collector.id = "slowable";
    collector.interval = Some(Duration::from_millis(2));
    collector.circle = Some("slowable");
    collector
}

fn session() -> (Session, [Arc<Bench>; 3]) {
    let benches: [Arc<Bench>; 3] = Default::default();
    let collectors = benches
        .iter()
        .enumerate()
        .map(|(number, bench)| Box::new(slowable(number, bench)) as Box<dyn Collector>);
    let setup = Setup {
        collectors: collectors.collect(),
        interval: Duration::from_millis(2),
        role: Role::Service,
        absent: None,
    };
    (Session::start(setup, Arc::new(Monotonic)).unwrap(), benches)
}

#[test]
fn quick_collectors_share_a_thread_and_a_slow_one_leaves_until_it_is_quick_again() {
    let (session, [first, second, third]) = session();
    let are_together = || first.thread() == second.thread() && second.thread() == third.thread();
    first.wait_for(5);
    until(are_together);
    second.slow_down(60);
    until(|| second.thread() != first.thread() && first.thread() == third.thread());
    // The others go on while one poll of the slow one takes place.
    let (before, slow) = (first.polls(), second.polls());
    second.wait_for(4);
    let (others, slow) = (first.polls() - before, second.polls() - slow);
    assert!(others > 2 * slow, "{others} polls beside {slow}");
    second.slow_down(0);
    until(are_together);
    session.stop();
    assert_eq!(session.faults(), Vec::<String>::new());
    assert!(session.own_cpu_time() > Duration::ZERO);
}

#[test]
fn a_driver_that_does_not_return_holds_up_neither_the_others_nor_the_end() {
    let (session, [first, second, third]) = session();
    first.wait_for(5);
    second.slow_down(600_000);
    until(|| second.thread() != first.thread() && first.thread() == third.thread());
    let stuck = second.polls();
    first.wait_for(50);
    third.wait_for(50);
    assert_eq!(second.polls(), stuck);
    session.stop();
    let faults = session.faults().join("\n");
    assert!(faults.contains("did not return"), "{faults}");
}
