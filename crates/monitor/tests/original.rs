//! The reader against a server in Python that speaks the original's protocol: as it is, as it was,
//! and as it should not be.

#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

use std::sync::Arc;
use std::time::Duration;

use ipw_core::alignment::AlignmentMethod;
use ipw_core::energy::{QueryEnergy, Reason};
use ipw_core::params::Params;
use ipw_core::reading::Window;
use ipw_core::source::Domain;
use ipw_core::time::{Clock, Timestamp};
use ipw_monitor::remote::{self, Remote, RemoteError, RemoteSpec};
use ipw_runner::SystemClock;
use ipw_telemetry::{Collector as _, Role, Session, Setup};
use ipw_testkit::or_skip;
use ipw_testkit::original::Original;

fn start(mode: &str) -> Option<Original> {
    or_skip(Original::start(mode))
}

fn spec(original: &Original, params: &[(&str, &str)]) -> RemoteSpec {
    let params: Params = params
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    RemoteSpec::parse(&format!("grpc://127.0.0.1:{}", original.port()), &params).unwrap()
}

/// A session that reads it.
struct Reading {
    session: Session,
    clock: Arc<dyn Clock>,
}

impl Reading {
    fn of(remote: Remote, clock: Arc<dyn Clock>) -> Self {
        let setup = Setup {
            collectors: vec![Box::new(remote)],
            interval: Duration::from_millis(10),
            role: Role::Client,
            absent: None,
        };
        let session = Session::start(setup, Arc::clone(&clock)).unwrap();
        session.prime(Duration::from_secs(5));
        Self { session, clock }
    }

    fn start(original: &Original) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let remote = remote::connect(&spec(original, &[]), &clock).unwrap();
        Self::of(remote, clock)
    }

    /// The energy of the next while.
    fn measure(&self, length: Duration) -> (QueryEnergy, Window) {
        let start = self.clock.now();
        let ticket = self.session.open(start);
        std::thread::sleep(length);
        let window = Window::new(start, self.clock.now()).unwrap();
        (self.session.close(ticket, window), window)
    }

    fn wait_for_fault(&self, words: &str) -> bool {
        for _ in 0..600 {
            if self
                .session
                .faults()
                .iter()
                .any(|fault| fault.contains(words))
            {
                return true;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        false
    }
}

fn watts(energy: &QueryEnergy, window: Window) -> f64 {
    energy.headline().unwrap().joules() / window.length().as_secs_f64()
}

fn is_about(value: f64, truth: f64) -> bool {
    (value / truth - 1.0).abs() < 0.1
}

const WHILE: Duration = Duration::from_millis(1500);

#[test]
fn the_original_is_read_with_its_sentinels_as_nulls() {
    let Some(original) = start("new") else {
        return;
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let remote = remote::connect(&spec(&original, &[]), &clock).unwrap();
    assert_eq!(
        remote.host(),
        "gpu1",
        "a tunnel's end does not say which machine it is"
    );
    let names: Vec<&str> = remote
        .sources()
        .iter()
        .map(|source| &*source.name)
        .collect();
    assert_eq!(
        names,
        [
            "gpu1/monitor/gpu",
            "gpu1/monitor/gpu/power",
            "gpu1/monitor/cpu",
            "gpu1/monitor/cpu/power",
            "gpu1/monitor/gpu/temperature",
            "gpu1/monitor/gpu/memory_used",
            "gpu1/monitor/memory_used",
            "gpu1/monitor/gpu/use",
            "gpu1/monitor/gpu/memory_use",
        ]
    );
    let system = remote.system().unwrap();
    assert_eq!((system.cpu_count, &system.cpu_brand), (Some(96), &None));
    assert_eq!(
        remote.devices()[0].name.as_deref(),
        Some("NVIDIA H100 80GB HBM3")
    );
    assert_eq!(remote.devices()[0].memory_total_mib, Some(81559.0));
    let aligned = remote.aligned().unwrap();
    assert_eq!(aligned.how, AlignmentMethod::Arrival);
    assert!(!aligned.bound.is_zero() && aligned.bound < Duration::from_millis(100));
    assert!(
        remote.notes()[0].contains("cannot be queried"),
        "{:?}",
        remote.notes()
    );
    let reading = Reading::of(remote, clock);
    let (energy, window) = reading.measure(WHILE);
    assert_eq!(energy.basis().unwrap().label(), "gpu+cpu");
    assert!(is_about(watts(&energy, window), 250.0), "{energy:?}");
    assert!(energy.of(Domain::Ane).is_none());
    assert!(
        is_about(energy.gpu.temperature.unwrap().mean, 41.5),
        "{energy:?}"
    );
    let share = &energy.shares[0];
    assert!(share.energy.sigma.unwrap().joules() > 0.0 && share.energy.coverage > 0.99);
}

#[test]
fn an_old_monitor_has_no_cpu_instead_of_one_of_zero_joules() {
    let Some(original) = start("old") else {
        return;
    };
    let reading = Reading::start(&original);
    let names: Vec<String> = reading.session.sources().map(|s| s.name.clone()).collect();
    assert!(
        !names.iter().any(|name| name.ends_with("/cpu")),
        "{names:?}"
    );
    let (energy, window) = reading.measure(WHILE);
    assert_eq!(energy.basis().unwrap().label(), "gpu");
    assert!(is_about(watts(&energy, window), 200.0), "{energy:?}");
    assert_eq!(energy.gpu.compute, None, "0.0 for ever is not known");
}

#[test]
fn a_wall_clock_that_is_an_hour_off_or_is_set_moves_nothing() {
    for mode in ["skewed", "set"] {
        let Some(original) = start(mode) else {
            return;
        };
        let reading = Reading::start(&original);
        if mode == "set" {
            assert!(
                reading.wait_for_fault("its clock was set"),
                "{:?}",
                reading.session.faults()
            );
        }
        let (energy, window) = reading.measure(WHILE);
        assert!(
            is_about(watts(&energy, window), 250.0),
            "{mode}: {energy:?}"
        );
    }
}

#[test]
fn a_lie_is_a_fault_and_a_gap_and_never_a_number() {
    for (mode, words) in [
        ("stale", "stand still"),
        ("error", "collector failed"),
        ("malformed", "the connection was lost"),
    ] {
        let Some(original) = start(mode) else {
            return;
        };
        let reading = Reading::start(&original);
        assert!(
            reading.wait_for_fault(words),
            "{mode}: {:?}",
            reading.session.faults()
        );
        if mode == "stale" {
            std::thread::sleep(Duration::from_millis(700));
            let (energy, _) = reading.measure(Duration::from_millis(300));
            assert!(energy.headline().is_none(), "{energy:?}");
            assert_eq!(energy.reason, Some(Reason::NoReading));
            continue;
        }
        // It comes back by itself.
        std::thread::sleep(Duration::from_secs(1));
        let (energy, window) = reading.measure(WHILE);
        assert!(
            is_about(watts(&energy, window), 250.0),
            "{mode}: {energy:?}"
        );
    }
}

#[test]
fn what_is_no_number_is_not_taken() {
    let Some(original) = start("nan") else {
        return;
    };
    let reading = Reading::start(&original);
    let (energy, window) = reading.measure(WHILE);
    assert!(is_about(watts(&energy, window), 250.0), "{energy:?}");
    assert_eq!(energy.gpu.temperature, None);
}

#[test]
fn a_flood_is_held_back_and_still_right() {
    let Some(original) = start("flood") else {
        return;
    };
    let reading = Reading::start(&original);
    let (energy, window) = reading.measure(WHILE);
    assert!(is_about(watts(&energy, window), 250.0), "{energy:?}");
    let readings: u64 = reading
        .session
        .accounts()
        .iter()
        .map(|(_, account)| account.readings)
        .sum();
    let most = 9 * 1000 * (reading.clock.now().since(Timestamp::ZERO).as_secs() + 1);
    assert!(readings < most, "{readings} readings, at most {most}");
}

#[test]
fn a_monitor_that_dies_leaves_a_gap_and_is_found_again() {
    let Some(original) = start("dies") else {
        return;
    };
    let port = original.port();
    let reading = Reading::start(&original);
    assert!(reading.wait_for_fault("the connection was lost"));
    std::thread::sleep(Duration::from_millis(700));
    let (energy, _) = reading.measure(Duration::from_millis(300));
    assert!(energy.headline().is_none(), "{energy:?}");
    drop(original);
    let _again = Original::start_at("new", port).unwrap();
    let found = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        reading.session.lost().is_empty()
    });
    assert!(found, "{:?}", reading.session.faults());
    std::thread::sleep(Duration::from_millis(500));
    let (energy, window) = reading.measure(WHILE);
    assert!(is_about(watts(&energy, window), 250.0), "{energy:?}");
    let (_, account) = &reading.session.accounts()[0];
    assert!(account.gaps + account.resets >= 1, "{account:?}");
}

#[test]
fn a_monitor_that_measures_nothing_says_so() {
    let Some(original) = start("null") else {
        return;
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let remote = remote::connect(&spec(&original, &[("name", "box")]), &clock).unwrap();
    assert_eq!(remote.host(), "box");
    assert!(remote.sources().is_empty(), "{:?}", remote.sources());
    let notes = remote.notes().join("\n");
    assert!(
        notes.contains("not healthy") && notes.contains("measures energy"),
        "{notes}"
    );
}

#[test]
fn a_stream_without_a_word_and_a_port_without_a_server_are_errors_with_help() {
    let Some(original) = start("silent") else {
        return;
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let error = remote::connect(&spec(&original, &[]), &clock)
        .err()
        .unwrap();
    assert!(matches!(error, RemoteError::Nonsense { .. }), "{error}");
    let spec = spec(&original, &[]);
    drop(original);
    let error = remote::connect(&spec, &clock).err().unwrap();
    assert!(matches!(error, RemoteError::Unreachable { .. }), "{error}");
    assert!(error.help().unwrap().contains("ipw monitor"), "{error}");
}
