//! Plugs with a known power: their joules come out right through a real session, and how often they
//! update is found.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ipw_core::reading::Window;
use ipw_core::source::Role;
use ipw_core::time::{Clock, Timestamp};
use ipw_runner::SystemClock;
use ipw_telemetry::{Collector, Poller, Session, Setup};
use ipw_testkit::ManualClock;
use ipw_testkit::sensor::PowerTrace;
use ipw_testkit::web::{Reply, Server};

use super::{body, connected, spec};

/// Watts over time; steps begin at whole seconds.
fn trace() -> PowerTrace {
    PowerTrace::new(&[(7.0, 40.0), (3.0, 310.0), (5.0, 120.0)])
}

fn at(milliseconds: u64) -> Timestamp {
    Timestamp::from_nanos(milliseconds * 1_000_000)
}

/// A plug that updates every `period` seconds, on this clock.
fn plug(clock: Arc<dyn Clock>, period: f64, trace: PowerTrace) -> Server {
    Server::start(move |_, _| {
        let now = (clock.now().seconds() / period + 1e-9).floor() * period;
        let watts = trace.between(now, now + 1e-6) * 1e6;
        // As finely as a real one tells it: milliwatt-hours.
        let watt_hours = (trace.energy(now) / 3.6).round() / 1000.0;
        body(&format!(
            r#"{{"apower": {watts:.1}, "aenergy": {{"total": {watt_hours:.3}}}}}"#
        ))
    })
}

fn session(collector: Box<dyn Collector>, clock: Arc<dyn Clock>) -> (Session, Vec<Poller>) {
    let setup = Setup {
        collectors: vec![collector],
        interval: Duration::from_millis(500),
        role: Role::Service,
        absent: None,
    };
    Session::new(setup, clock)
}

#[test]
fn the_joules_of_a_plug_are_those_of_its_trace() {
    for (only, most_off) in [("power", 0.02), ("energy", 0.02)] {
        let clock = Arc::new(ManualClock::default());
        let server = plug(clock.clone(), 1.0, trace());
        let options = [("preset", "shelly-gen2"), ("only", only), ("period", "1s")];
        let collector = connected(&server.url(), &options, &*clock).unwrap();
        let (session, mut pollers) = session(collector, clock.clone());
        for step in 0..260 {
            clock.set(at(step * 500));
            pollers[0].poll();
        }
        assert!(session.faults().is_empty(), "{:?}", session.faults());
        let window = Window::new(at(20_000), at(110_000)).unwrap();
        let energy = session.window_energy(window);
        let (found, truth) = (
            energy.headline().unwrap().joules(),
            trace().between(20.0, 110.0),
        );
        let off = (found / truth - 1.0).abs();
        assert!(off < most_off, "{only}: {found} J of {truth} J");
        let basis = energy.basis().unwrap();
        assert_eq!(basis.label(), "system");
    }
}

#[test]
fn a_silence_is_a_gap_and_a_reset_is_a_reset() {
    let clock = Arc::new(ManualClock::default());
    let time: Arc<dyn Clock> = clock.clone();
    let server = Server::start(move |_, _| {
        let now = time.now().seconds();
        if (40.0..60.0).contains(&now) {
            return Reply::Status(503, Vec::new());
        }
        // It was plugged in anew at 80 s.
        let since = if now < 80.0 { now } else { now - 80.0 };
        body(&format!(r#"{{"total": {}}}"#, since * 100.0))
    });
    let options = [("field", "total"), ("unit", "J"), ("period", "1s")];
    let collector = connected(&server.url(), &options, &*clock).unwrap();
    let (session, mut pollers) = session(collector, clock.clone());
    for step in 0..240 {
        clock.set(at(step * 500));
        pollers[0].poll();
    }
    let (_, account) = session.accounts().remove(0);
    assert_eq!((account.gaps, account.resets), (1, 1));
    // 40 s before the silence, 20 s up to the reset, 40 s after it, but for single steps.
    let expected = 100.0 * (40.0 + 20.0 + 40.0);
    let found = account.energy.joules();
    assert!((found / expected - 1.0).abs() < 0.02, "{found}");
    let faults = session.faults();
    assert!(faults.len() == 1 && faults[0].contains("503"), "{faults:?}");
}

#[test]
fn how_often_a_device_updates_is_found_in_real_time() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let server = plug(
        Arc::clone(&clock),
        0.8,
        PowerTrace::new(&[(0.8, 50.0), (0.8, 90.0)]),
    );
    let options = [("preset", "shelly-gen2"), ("only", "power")];
    let collector = connected(&server.url(), &options, &*clock).unwrap();
    let period = collector.sources()[0].period.unwrap();
    let ratio = period.as_secs_f64() / 0.8;
    assert!((0.8..1.2).contains(&ratio), "{period:?}");
    let interval = collector.interval(Duration::from_millis(10));
    assert_eq!(interval, period / 2);
    assert!(collector.aligned().unwrap().looks > 3);
}

#[test]
fn a_still_device_has_no_period_but_the_documented_one() {
    // The clock stands: the questions are counted.
    let clock = ManualClock::default();
    let page = "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 5\n";
    let server = super::serving(page);
    let collector = connected(&server.url(), &[("preset", "dcgm")], &clock).unwrap();
    assert_eq!(collector.sources()[0].period, Some(Duration::from_secs(30)));
    let own = [("metric", "DCGM_FI_DEV_POWER_USAGE"), ("unit", "W")];
    let collector = connected(&server.url(), &own, &clock).unwrap();
    assert_eq!(collector.sources()[0].period, None);
}

#[test]
fn a_counter_far_coarser_than_the_power_beside_it_is_left_out() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let time = Arc::clone(&clock);
    let server = Server::start(move |_, _| {
        let halves = (time.now().seconds() * 2.0).floor();
        let watts = 50.0 + halves % 7.0;
        body(&format!(
            r#"{{"apower": {watts}, "aenergy": {{"total": 12.0}}}}"#
        ))
    });
    let collector = connected(&server.url(), &[("preset", "shelly-gen2")], &*clock).unwrap();
    let names: Vec<&str> = collector
        .sources()
        .iter()
        .map(|source| &*source.name)
        .collect();
    assert!(
        names.len() == 1 && names[0].ends_with("/power"),
        "{names:?}"
    );
}

#[test]
fn a_session_of_threads_reads_a_plug_that_stumbles() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let time = Arc::clone(&clock);
    let is_broken = Arc::new(AtomicBool::new(false));
    let broken = Arc::clone(&is_broken);
    let server = Server::start(move |_, _| {
        if broken.load(Ordering::SeqCst) {
            return body("<html>busy</html>");
        }
        let joules = time.now().seconds() * 200.0;
        body(&format!(r#"{{"total": {joules}}}"#))
    });
    let options = [
        ("field", "total"),
        ("unit", "J"),
        ("period", "100ms"),
        ("interval", "50ms"),
    ];
    assert!(spec(&server.url(), &options).is_ok());
    let collector = connected(&server.url(), &options, &*clock).unwrap();
    let setup = Setup {
        collectors: vec![collector],
        interval: Duration::from_millis(50),
        role: Role::Service,
        absent: None,
    };
    let session = Session::start(setup, Arc::clone(&clock)).unwrap();
    session.prime(Duration::from_secs(5));
    let start = clock.now();
    for (is_wrong, milliseconds) in [(false, 300), (true, 300), (false, 1800)] {
        is_broken.store(is_wrong, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(milliseconds));
    }
    let window = Window::new(start, start.after(Duration::from_secs(2))).unwrap();
    let energy = session.window_energy(window);
    let share = &energy.shares[0].energy;
    let found = share.energy.unwrap().joules();
    assert!((found / 400.0 - 1.0).abs() < 0.15, "{found} {share:?}");
    assert!(session.faults().iter().any(|fault| fault.contains("busy")));
    let aligned = session.aligned()[0].unwrap();
    assert!(aligned.bound > Duration::ZERO && aligned.bound < Duration::from_secs(1));
}
