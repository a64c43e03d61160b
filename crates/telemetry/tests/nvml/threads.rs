//! Real threads on real time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ipw_core::reading::Window;
use ipw_core::time::{Anchor, Clock, Timestamp};
use ipw_telemetry::{Role, Session, Setup};
use ipw_testkit::fake_nvml::{Board, FakeNvml, Machine, Time};
use ipw_testkit::or_skip;
use ipw_testkit::sensor::PowerTrace;
use rustix::time::{ClockId, clock_gettime};

use crate::bench::{constant, detect, joules, options};

/// The machine's own clock.
struct Monotonic;

impl Clock for Monotonic {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(monotonic())
    }

    fn anchor(&self) -> Anchor {
        Anchor {
            unix_nanos: 0,
            monotonic_nanos: 0,
        }
    }
}

fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap();
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap()
}

/// A session with real threads, on real time.
fn started(fake: &FakeNvml, root: &Path) -> Session {
    let setup = Setup {
        collectors: detect(&options(fake, root)),
        interval: Duration::from_millis(10),
        role: Role::Service,
        absent: None,
    };
    Session::start(setup, Arc::new(Monotonic)).unwrap()
}

#[test]
fn threads_and_real_time_find_the_same_joules() {
    let start = monotonic();
    let trace = PowerTrace::new(&[(0.7, 150.0), (0.5, 450.0)]);
    let mut machine = Machine::new(vec![Board::new(0, trace.clone())]);
    machine.time = Time::Monotonic(start);
    let Some(fake) = or_skip(FakeNvml::new(&machine)) else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let session = started(&fake, root.path());
    session.prime(Duration::from_secs(10));
    let from = Monotonic.now();
    let ticket = session.open(from);
    std::thread::sleep(Duration::from_secs(2));
    let to = Monotonic.now();
    session.landed(ticket);
    let energy = session.close(ticket, Window::new(from, to).unwrap());
    let seconds = |at: Timestamp| Duration::from_nanos(at.nanos() - start).as_secs_f64();
    let truth = trace.between(seconds(from), seconds(to));
    let sigma = energy.headline_sigma().unwrap().joules();
    let off = (joules(&energy) - truth).abs();
    assert!(
        off < 4.0 * sigma,
        "off by {off} J of {truth} J, sigma {sigma} J"
    );
}

#[test]
fn a_slow_board_slows_no_other() {
    let boards = (0..2).map(|number| Board::new(number, constant(200.0)));
    let mut machine = Machine::new(boards.collect());
    machine.time = Time::Monotonic(monotonic());
    let Some(fake) = or_skip(FakeNvml::new(&machine)) else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let session = started(&fake, root.path());
    session.prime(Duration::from_secs(10));
    let readings = || {
        let accounts = session.accounts();
        let of = |name: &str| {
            let (_, account) = accounts
                .iter()
                .find(|(source, _)| source.name == name)
                .unwrap();
            account.readings
        };
        (of("nvml/0/power"), of("nvml/1/power"))
    };
    // The script changes under the running library.
    machine.boards[1].delay_ms = 100;
    fake.act_as(&machine).unwrap();
    let before = readings();
    std::thread::sleep(Duration::from_secs(3));
    let after = readings();
    let (fast, slow) = (after.0 - before.0, after.1 - before.1);
    assert!(slow >= 2, "{slow}");
    assert!(fast > 2 * slow, "{fast} readings beside {slow}");
}
