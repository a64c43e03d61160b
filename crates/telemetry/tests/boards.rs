//! Joules of the boards' collectors against the truth: a known power trace, written to files as the
//! drivers would show it (or fed as samples), the real collectors, the real session, simulated time.
//!
//! The trees are those of the collectors' own tests, where their sources are named.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helper fails loudly"
)]

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ipw_core::energy::{QueryEnergy, Reason};
use ipw_core::hardware::Device;
use ipw_core::reading::Window;
use ipw_core::source::Domain;
use ipw_core::time::{Clock, Timestamp};
use ipw_telemetry::collectors::apple::chip::{Feed, Sample, Survey};
use ipw_telemetry::collectors::{battery, intel_gpu, jetson};
use ipw_telemetry::{Absent, Collector, Options, Poller, Role, Session, Setup};
use ipw_testkit::ManualClock;
use ipw_testkit::sensor::PowerTrace;

type Found = Result<Vec<Box<dyn Collector>>, Absent>;

fn at(seconds: f64) -> Timestamp {
    Timestamp::ZERO.after(Duration::from_secs_f64(seconds))
}

fn write(root: &Path, file: &str, content: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// In place and always as long: a reader sees the old value or the new one, as in sysfs.
fn rewrite(root: &Path, file: &str, content: &str) {
    let file = OpenOptions::new().write(true).open(root.join(file));
    let content = format!("{content:<20}\n");
    file.unwrap().write_all_at(content.as_bytes(), 0).unwrap();
}

fn options(root: &Path) -> Options {
    Options {
        sysfs: root.join("sys"),
        proc: root.join("proc"),
        dev: root.join("dev"),
        estimate: false,
        ..Options::default()
    }
}

/// What the machine shows at a moment.
type Show = Box<dyn Fn(f64)>;

/// A machine whose files follow `show`, polled every `poll` seconds.
struct Bench {
    show: Show,
    session: Session,
    pollers: Vec<Poller>,
    clock: Arc<ManualClock>,
    now: f64,
    poll: f64,
}

impl Bench {
    fn new(found: Found, poll: f64, show: Show) -> Self {
        let setup = Setup {
            collectors: found.map_err(|absent| absent.reason).unwrap(),
            interval: Duration::from_secs_f64(poll),
            role: Role::Service,
            absent: None,
        };
        let clock = Arc::new(ManualClock::default());
        let (session, pollers) = Session::new(setup, Arc::clone(&clock) as Arc<dyn Clock>);
        Self {
            show,
            session,
            pollers,
            clock,
            now: 0.0,
            poll,
        }
    }

    fn live_until(&mut self, seconds: f64) {
        while self.now < seconds {
            (self.show)(self.now);
            self.clock.set(at(self.now));
            for poller in &mut self.pollers {
                poller.poll();
            }
            self.now += self.poll;
        }
    }

    fn query(&mut self, start: f64, end: f64) -> QueryEnergy {
        self.live_until(start);
        let ticket = self.session.open(at(start));
        self.live_until(end);
        self.session.landed(ticket);
        self.live_until(end + 1.5);
        let window = Window::new(at(start), at(end)).unwrap();
        self.session.close(ticket, window)
    }
}

fn joules(energy: &QueryEnergy) -> f64 {
    energy
        .headline()
        .unwrap_or_else(|| panic!("no energy: {energy:?}"))
        .joules()
}

fn off(energy: &QueryEnergy, truth: f64) -> f64 {
    (joules(energy) / truth - 1.0).abs()
}

/// Bursts as inference makes them.
fn square() -> PowerTrace {
    PowerTrace::new(&[(0.35, 6.0), (0.8, 22.0), (0.45, 15.0)])
}

const RAILS: &str = "sys/bus/i2c/drivers/ina3221/1-0040/hwmon/hwmon3";

/// A Jetson whose input draws what `trace` says, and whose GPU draws half of that. The chip shows
/// the mean over its last `averaging` seconds.
fn jetson(root: &Path, trace: PowerTrace, averaging: f64) -> Show {
    for (number, label) in [(1, "VDD_IN"), (2, "VDD_GPU"), (3, "VDD_SOC")] {
        write(root, &format!("{RAILS}/in{number}_label"), label);
        write(root, &format!("{RAILS}/in{number}_input"), "5000\n");
        write(root, &format!("{RAILS}/curr{number}_input"), "0\n");
    }
    let millis = averaging * 1000.0;
    write(
        root,
        &format!("{RAILS}/update_interval"),
        &format!("{millis:.0}\n"),
    );
    let root: PathBuf = root.to_owned();
    Box::new(move |now| {
        let watts = trace.between((now - averaging).max(0.0), now) / averaging;
        for (number, share) in [(1, 1.0), (2, 0.5), (3, 0.1)] {
            let milliamperes = watts * share / 5.0 * 1000.0;
            let file = format!("{RAILS}/curr{number}_input");
            rewrite(&root, &file, &format!("{milliamperes:.0}"));
        }
    })
}

#[test]
fn a_jetson_has_its_joules_and_its_rails_are_not_added_to_them() {
    for (length, allowed) in [(0.5, 0.15), (2.0, 0.05), (30.0, 0.005)] {
        let root = tempfile::tempdir().unwrap();
        let show = jetson(root.path(), square(), 0.05);
        let mut bench = Bench::new(jetson::detect(&options(root.path())), 0.05, show);
        let (start, end) = (1.234, 1.234 + length);
        let energy = bench.query(start, end);
        let truth = square().between(start, end);
        let error = off(&energy, truth);
        assert!(error < allowed, "{length} s: {:.2} %", error * 100.0);
        let off = (joules(&energy) - truth).abs();
        let sigma = energy.headline_sigma().unwrap().joules();
        assert!(
            off < 4.0 * sigma,
            "{length} s: off by {off} J, sigma {sigma} J"
        );
        assert_eq!(energy.basis().unwrap().label(), "soc");
        let gpu = energy.of(Domain::Gpu).unwrap().joules();
        assert!((gpu / joules(&energy) - 0.5).abs() < 0.01, "{gpu} J");
    }
}

#[test]
fn a_jetson_whose_chip_vanishes_has_a_gap_and_is_right_again_afterwards() {
    let root = tempfile::tempdir().unwrap();
    let show = jetson(root.path(), square(), 0.05);
    let path = root.path().join(RAILS);
    let aside = root.path().join("aside");
    let show: Show = Box::new(move |now| {
        let is_away = (5.0..7.0).contains(&now);
        if is_away && path.exists() {
            fs::rename(&path, &aside).unwrap();
        } else if !is_away && aside.exists() {
            fs::rename(&aside, &path).unwrap();
        }
        if !is_away {
            show(now);
        }
    });
    let mut bench = Bench::new(jetson::detect(&options(root.path())), 0.05, show);
    let hit = bench.query(4.0, 8.0);
    assert_eq!(hit.shares[0].energy.reason, Some(Reason::Gap), "{hit:?}");
    assert!(hit.shares[0].energy.coverage < 0.6);
    let after = bench.query(10.0, 15.0);
    assert_eq!(after.shares[0].energy.reason, None);
    assert!(off(&after, square().between(10.0, 15.0)) < 0.03);
    assert!(!bench.session.faults().is_empty());
}

const ARC: &str = "sys/class/drm/card0/device";

/// A board whose counter starts anew at each of `resets`.
fn arc(root: &Path, trace: PowerTrace, resets: &'static [f64]) -> Show {
    write(root, &format!("{ARC}/vendor"), "0x8086\n");
    write(root, &format!("{ARC}/device"), "0xe20b\n");
    write(root, &format!("{ARC}/power/runtime_status"), "active\n");
    write(root, &format!("{ARC}/hwmon/hwmon2/name"), "xe\n");
    for (number, label) in [(1, "card"), (2, "pkg")] {
        write(
            root,
            &format!("{ARC}/hwmon/hwmon2/energy{number}_label"),
            label,
        );
        write(
            root,
            &format!("{ARC}/hwmon/hwmon2/energy{number}_input"),
            "0\n",
        );
    }
    let root: PathBuf = root.to_owned();
    Box::new(move |now| {
        let since = resets.iter().copied().filter(|reset| *reset <= now);
        let since = since.fold(0.0, f64::max);
        let microjoules = trace.between(since, now) * 1e6;
        for (number, share) in [(1, 1.0), (2, 0.7)] {
            let file = format!("{ARC}/hwmon/hwmon2/energy{number}_input");
            rewrite(&root, &file, &format!("{:.0}", microjoules * share));
        }
    })
}

fn busy() -> PowerTrace {
    PowerTrace::new(&[(0.35, 40.0), (0.8, 190.0), (0.45, 120.0)])
}

#[test]
fn a_board_has_the_joules_of_its_card_alone() {
    for (length, allowed) in [(0.3, 0.05), (2.0, 0.02), (60.0, 0.001)] {
        let root = tempfile::tempdir().unwrap();
        let show = arc(root.path(), busy(), &[]);
        let mut bench = Bench::new(intel_gpu::detect(&options(root.path())), 0.01, show);
        let energy = bench.query(1.234, 1.234 + length);
        let truth = busy().between(1.234, 1.234 + length);
        let error = off(&energy, truth);
        assert!(error < allowed, "{length} s: {:.2} %", error * 100.0);
        assert_eq!(energy.basis().unwrap().label(), "gpu");
        assert_eq!(energy.shares.len(), 2, "the package is shown");
    }
}

/// `flightlessmango/MangoHud#1793`: millions of watts.
#[test]
fn a_counter_that_starts_anew_costs_one_query_and_is_no_number() {
    let root = tempfile::tempdir().unwrap();
    let show = arc(root.path(), busy(), &[5.0]);
    let mut bench = Bench::new(intel_gpu::detect(&options(root.path())), 0.01, show);
    let before = bench.query(1.0, 3.0);
    let hit = bench.query(4.6, 5.5);
    let after = bench.query(8.0, 10.0);
    assert!(off(&before, busy().between(1.0, 3.0)) < 0.02);
    assert_eq!(
        (hit.headline(), hit.reason),
        (None, Some(Reason::CounterReset))
    );
    assert!(off(&after, busy().between(8.0, 10.0)) < 0.02);
    assert_eq!(bench.session.accounts()[0].1.resets, 1);
}

#[test]
fn a_board_that_sleeps_is_a_gap_and_its_counter_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let show = arc(root.path(), busy(), &[]);
    let tree = root.path().to_owned();
    let show: Show = Box::new(move |now| {
        let is_asleep = (4.0..6.0).contains(&now);
        let status = if is_asleep { "suspended" } else { "active" };
        rewrite(&tree, &format!("{ARC}/power/runtime_status"), status);
        show(now);
    });
    let mut bench = Bench::new(intel_gpu::detect(&options(root.path())), 0.01, show);
    let asleep = bench.query(4.2, 5.8);
    assert_eq!(asleep.headline(), None);
    let after = bench.query(8.0, 10.0);
    assert!(off(&after, busy().between(8.0, 10.0)) < 0.02);
    assert!(bench.session.faults().is_empty(), "sleep is no fault");
}

#[test]
fn a_laptop_on_its_battery_has_the_joules_of_the_whole_machine() {
    let root = tempfile::tempdir().unwrap();
    let supply = "sys/class/power_supply/BAT0";
    write(root.path(), &format!("{supply}/type"), "Battery\n");
    write(root.path(), &format!("{supply}/status"), "Discharging\n");
    write(root.path(), &format!("{supply}/power_now"), "0\n");
    let slow = PowerTrace::new(&[(10.0, 8.0), (20.0, 30.0)]);
    let (tree, trace) = (root.path().to_owned(), slow.clone());
    let show: Show = Box::new(move |now| {
        let microwatts = trace.between((now - 1.0).max(0.0), now) * 1e6;
        write(
            &tree,
            &format!("{supply}/power_now"),
            &format!("{microwatts:.0}\n"),
        );
        let status = if now < 100.0 {
            "Discharging\n"
        } else {
            "Charging\n"
        };
        write(&tree, &format!("{supply}/status"), status);
    });
    let mut bench = Bench::new(battery::detect(&options(root.path())), 0.5, show);
    let energy = bench.query(5.0, 65.0);
    assert!(off(&energy, slow.between(5.0, 65.0)) < 0.05, "{energy:?}");
    assert_eq!(energy.basis().unwrap().label(), "system");
    let charging = bench.query(120.0, 130.0);
    assert_eq!(charging.headline(), None, "nothing is made up on the mains");
    assert!(bench.session.faults().is_empty(), "the mains are no fault");
}

/// A chip whose samples are exact means over uneven stretches: joules fall where they were drawn.
#[test]
fn the_means_of_a_chip_lie_where_they_were_drawn() {
    let trace = square();
    let mut look = Survey::new();
    let powers = |watts: f64, elapsed: f64| Sample {
        elapsed: Duration::from_secs_f64(elapsed),
        cpu: Some(watts),
        gpu: Some(watts * 3.0),
        ane: Some(0.0),
        ..Sample::default()
    };
    look.see(&powers(1.0, 0.1));
    let last = Mutex::new(0.0_f64);
    let drawn = trace.clone();
    let next = move |clock: &dyn Clock| {
        let now = clock.now();
        let seconds = now.seconds();
        let mut last = last.lock().unwrap();
        let elapsed = (seconds - *last).max(1e-3);
        let watts = drawn.between(seconds - elapsed, seconds) / elapsed;
        *last = seconds;
        Ok((now, powers(watts, elapsed)))
    };
    let feed = Feed {
        next: Box::new(next),
        is_paced: false,
    };
    let chip = look.into_chip(Device::default(), "none", feed);
    // 137 ms between polls: neither the interval nor a divisor of the trace. The short windows hold
    // one burst each, so that joules which lie too late would be missed.
    let mut bench = Bench::new(Ok(vec![Box::new(chip)]), 0.137, Box::new(|_| {}));
    for (start, end, allowed) in [(1.95, 2.75, 0.04), (6.75, 7.55, 0.04), (10.0, 20.0, 0.005)] {
        let energy = bench.query(start, end);
        let truth = trace.between(start, end) * 4.0;
        let error = off(&energy, truth);
        assert!(
            error < allowed,
            "{start} s to {end} s: {:.2} %",
            error * 100.0
        );
        assert_eq!(energy.basis().unwrap().label(), "soc");
        let names: Vec<&str> = energy
            .shares
            .iter()
            .map(|share| &*share.source.name)
            .collect();
        assert_eq!(
            names,
            ["apple/cpu", "apple/gpu"],
            "the neural engine never moved"
        );
    }
}
