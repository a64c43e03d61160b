//! The page for Prometheus: what its own parsers make of it, and who gets it.

#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

mod client;
mod guard;
mod python;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{Asked, get};
use ipw_core::counter::Rollover;
use ipw_core::source::{Domain, Gauge, Method, Quantity, Role, Source};
use ipw_core::time::{Clock, Timestamp};
use ipw_monitor::exporter::Exporter;
use ipw_scrape::http::{HttpSpec, connect};
use ipw_telemetry::{Collector, Options, Poller, Session, Setup, detect};
use ipw_testkit::ManualClock;
use ipw_testkit::collector::{ScriptedCollector, Values, source};
use ipw_testkit::sensor::{Defects, PowerTrace, SimulatedRapl};

const ENERGY: Quantity = Quantity::Energy {
    domain: Domain::Gpu,
    rollover: Rollover::Resets,
};

const POWER: Quantity = Quantity::Power {
    domain: Domain::Platform,
    averaging: Duration::ZERO,
};

fn gauge(gauge: Gauge) -> Quantity {
    Quantity::Gauge { gauge }
}

fn at(milliseconds: u64) -> Timestamp {
    Timestamp::from_nanos(milliseconds * 1_000_000)
}

/// A session whose time and values a test moves, behind an exporter.
struct Bench {
    clock: Arc<ManualClock>,
    values: Values,
    pollers: Vec<Poller>,
    exporter: Exporter,
}

impl Bench {
    fn new(sources: Vec<Source>) -> Self {
        let values = Arc::new(Mutex::new(vec![None; sources.len()]));
        let clock = Arc::new(ManualClock::default());
        let collector = ScriptedCollector::saying(sources, &values);
        let (session, pollers) = Session::new(setup(vec![Box::new(collector)]), clock.clone());
        Self {
            exporter: exporter(session, clock.clone()),
            clock,
            values,
            pollers,
        }
    }

    /// It is that time, and these are the values.
    fn say(&mut self, milliseconds: u64, values: &[Option<f64>]) {
        self.clock.set(at(milliseconds));
        *self.values.lock().unwrap() = values.to_vec();
        self.pollers[0].poll();
    }

    fn page(&self) -> String {
        let answer = get(self.exporter.address(), "/metrics", Asked::default());
        assert_eq!(answer.status, 200);
        answer.body
    }
}

fn setup(collectors: Vec<Box<dyn Collector>>) -> Setup {
    Setup {
        collectors,
        interval: Duration::from_millis(100),
        role: Role::Service,
        absent: None,
    }
}

fn exporter(session: Session, clock: Arc<dyn Clock>) -> Exporter {
    let loopback: SocketAddr = "127.0.0.1:0".parse().unwrap();
    Exporter::start(Arc::new(session), clock, loopback, None).unwrap()
}

/// The value of the sample whose line begins so.
fn value(page: &str, start: &str) -> Option<f64> {
    let line = page.lines().find(|line| line.starts_with(start))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[test]
fn the_page_agrees_with_what_the_files_of_the_machine_say() {
    let root = tempfile::tempdir().unwrap();
    let trace = PowerTrace::new(&[(1.0, 30.0), (1.0, 90.0)]);
    let sensor = SimulatedRapl::create(root.path(), 0, trace.clone(), Defects::default()).unwrap();
    let options = Options {
        sysfs: root.path().to_owned(),
        proc: root.path().join("proc"),
        dev: root.path().join("dev"),
        estimate: false,
        ..Options::default()
    };
    let collectors = detect(&options).collectors;
    assert!(!collectors.is_empty());
    let clock = Arc::new(ManualClock::default());
    let (session, mut pollers) = Session::new(setup(collectors), clock.clone());
    let exporter = exporter(session, clock.clone());
    let page = || get(exporter.address(), "/metrics", Asked::default()).body;
    let mut last = 0.0;
    for second in 0..8_u32 {
        for tenth in 0..10_u32 {
            let seconds = f64::from(second) + f64::from(tenth) / 10.0;
            sensor.update(seconds).unwrap();
            clock.set(at(u64::from(second * 1000 + tenth * 100)));
            for poller in &mut pollers {
                poller.poll();
            }
        }
        let page = page();
        let labels = "{source=\"rapl/package-0\",domain=\"cpu_package\",method=\"counter\"}";
        let joules = value(&page, &format!("ipw_energy_joules_total{labels}")).unwrap();
        let truth = trace.energy(f64::from(second) + 0.9);
        assert!(
            (joules - truth).abs() < 0.01 * truth,
            "{second}: {joules} J of {truth} J"
        );
        assert!(joules >= last, "a counter never falls");
        let watts = value(&page, &format!("ipw_power_watts{labels}")).unwrap();
        // The page before was made a second earlier.
        let expected = if second == 0 {
            30.0
        } else {
            (truth - last) / 1.0
        };
        assert!(
            (watts / expected - 1.0).abs() < 0.02,
            "{second}: {watts} W, {expected} W"
        );
        last = joules;
    }
}

#[test]
fn power_is_the_mean_since_a_page_of_at_least_a_second_ago() {
    let mut bench = Bench::new(vec![source("a", ENERGY, Method::Counter)]);
    let watts = |bench: &Bench| value(&bench.page(), "ipw_power_watts{source=\"a\"");
    bench.say(0, &[Some(0.0)]);
    assert_eq!(watts(&bench), None, "nothing was seen yet");
    bench.say(400, &[Some(40.0)]);
    assert_eq!(watts(&bench), Some(100.0));
    bench.say(800, &[Some(60.0)]);
    assert_eq!(
        watts(&bench),
        Some(75.0),
        "since the start, not since the last page"
    );
    bench.say(1400, &[Some(240.0)]);
    assert_eq!(watts(&bench), Some(200.0), "since 400 ms");
    bench.say(1800, &[Some(240.0)]);
    bench.clock.set(at(60_000));
    let page = bench.page();
    assert!(
        value(&page, "ipw_power_watts").is_none(),
        "a silent source has no power: {page}"
    );
    assert_eq!(value(&page, "ipw_energy_joules_total"), Some(240.0));
}

#[test]
fn a_counter_never_falls_whatever_the_source_does() {
    let mut bench = Bench::new(vec![source("a", ENERGY, Method::Counter)]);
    let mut last = 0.0;
    let values = [5.0, 9.0, 1.0, 3.0, f64::NAN, 2.0, 4.0, 1e18, 0.0, 7.0];
    for (second, said) in (0..).zip(values) {
        bench.say(second * 200, &[Some(said)]);
        let page = bench.page();
        let joules = value(&page, "ipw_energy_joules_total").unwrap();
        assert!(joules >= last, "{said}: {joules} after {last}");
        assert!(!page.contains(" NaN") && !page.contains(" inf"), "{page}");
        last = joules;
    }
    let page = bench.page();
    assert!((last - (4.0 + 2.0 + 2.0 + 7.0)).abs() < 1e-9, "{last}");
    assert!(value(&page, "ipw_resets_total").unwrap() >= 3.0, "{page}");
}

#[test]
fn states_come_in_base_units_and_only_while_they_are_fresh() {
    let kinds = [
        (Gauge::GpuTemperature, 41.5, "ipw_temperature_celsius", 41.5),
        (Gauge::GpuUse, 50.0, "ipw_utilization_ratio", 0.5),
        (Gauge::MemoryUsed, 2.0, "ipw_memory_used_bytes", 2_097_152.0),
        (Gauge::GpuClock, 1500.0, "ipw_clock_hertz", 1.5e9),
        (Gauge::PowerLimit, 300.0, "ipw_power_limit_watts", 300.0),
        (Gauge::Throttle, 4.0, "ipw_throttle_reasons", 4.0),
        (Gauge::Processes, 2.0, "ipw_processes", 2.0),
    ];
    let sources = kinds
        .iter()
        .map(|(kind, _, name, _)| source(name, gauge(*kind), Method::Direct));
    let mut bench = Bench::new(sources.collect());
    let values: Vec<_> = kinds.iter().map(|(_, said, _, _)| Some(*said)).collect();
    bench.say(100, &values);
    let page = bench.page();
    for (_, _, name, expected) in kinds {
        assert_eq!(value(&page, &format!("{name}{{")), Some(expected), "{page}");
    }
    bench.clock.set(at(3_600_000));
    let page = bench.page();
    for (_, _, name, _) in kinds {
        assert_eq!(value(&page, &format!("{name}{{")), None, "{page}");
    }
    assert!(value(&page, "ipw_readings_total").is_some());
}

#[test]
fn our_own_page_is_a_source_of_ours() {
    let name = "a \"b\" \\ c\nd";
    let sources = vec![
        source(name, ENERGY, Method::Counter),
        source("other", ENERGY, Method::Counter),
    ];
    let mut bench = Bench::new(sources);
    bench.say(0, &[Some(5.0), Some(0.0)]);
    bench.say(300, &[Some(17.5), Some(1.0)]);
    let metric = r#"ipw_energy_joules_total{source="a \"b\" \\ c\nd";domain="gpu"}"#;
    let options = [("metric", metric), ("unit", "J"), ("period", "1s")];
    let options = options.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let url = format!("http://{}/metrics", bench.exporter.address());
    let spec = HttpSpec::parse(&url, &options.into_iter().collect()).unwrap();
    let mut collector = connect(&spec, &*bench.clock).unwrap();
    let mut taken = Vec::new();
    let polled = collector.poll(&*bench.clock, &mut |_, _, value| taken.push(value));
    assert_eq!((polled, taken), (Ok(()), vec![12.5]));
}
