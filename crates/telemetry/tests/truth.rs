//! Joules against the truth: a known power trace, a sensor with defects, files, the real RAPL
//! collector, the real session. Time is simulated, so ten minutes take seconds.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helper fails loudly"
)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ipw_core::attribution::{Ledger, equal, steps};
use ipw_core::energy::{QueryEnergy, Reason};
use ipw_core::reading::{Reading, Window};
use ipw_core::source::Domain;
use ipw_core::time::{Clock, Timestamp};
use ipw_telemetry::collectors::rapl;
use ipw_telemetry::{Options, Poller, Role, Session, Setup};
use ipw_testkit::ManualClock;
use ipw_testkit::fuzz::Random;
use ipw_testkit::sensor::{Defects, PowerTrace, SimulatedRapl};

fn at(seconds: f64) -> Timestamp {
    Timestamp::ZERO.after(Duration::from_secs_f64(seconds))
}

/// A machine with one package, polled every 10 ms of its own time.
struct Bench {
    sensor: SimulatedRapl,
    trace: PowerTrace,
    session: Session,
    pollers: Vec<Poller>,
    clock: Arc<ManualClock>,
    now: f64,
    poll: f64,
    /// All that was taken to disk.
    readings: Vec<Reading>,
    root: tempfile::TempDir,
}

impl Bench {
    fn new(trace: PowerTrace, defects: Defects) -> Self {
        Self::limited(trace, defects, &[])
    }

    /// The same with a package that may draw these watts.
    fn limited(trace: PowerTrace, defects: Defects, limits: &[u64]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let sensor = SimulatedRapl::create(root.path(), 0, trace.clone(), defects).unwrap();
        let zone = root.path().join("class/powercap/intel-rapl:0");
        for (number, watts) in limits.iter().enumerate() {
            let file = zone.join(format!("constraint_{number}_power_limit_uw"));
            std::fs::write(file, format!("{}\n", watts * 1_000_000)).unwrap();
        }
        let options = Options {
            sysfs: root.path().to_owned(),
            proc: PathBuf::from("/proc"),
            dev: PathBuf::from("/dev"),
            estimate: false,
            cpu_tdp: None,
            ..Options::default()
        };
        let collectors = vec![
            rapl::detect(&options)
                .map_err(|absent| absent.reason)
                .unwrap(),
        ];
        let interval = Duration::from_millis(10);
        let setup = Setup {
            collectors,
            interval,
            role: Role::Service,
            absent: None,
        };
        let clock = Arc::new(ManualClock::default());
        let (session, pollers) = Session::new(setup, Arc::clone(&clock) as Arc<dyn Clock>);
        Self {
            sensor,
            trace,
            session,
            pollers,
            clock,
            now: 0.0,
            poll: 0.01,
            readings: Vec::new(),
            root,
        }
    }

    /// Lives until `seconds`, polling; readings are taken to disk as they would be.
    fn live_until(&mut self, seconds: f64) {
        while self.now < seconds {
            self.sensor.update(self.now).unwrap();
            self.clock.set(at(self.now));
            for poller in &mut self.pollers {
                poller.poll();
            }
            let saved = self.session.take_unsaved();
            if let Some(last) = saved.last() {
                self.session.saved(last.at);
            }
            self.readings.extend(saved);
            self.now += self.poll;
        }
    }

    /// The energy of a query from `start` to `end`.
    fn query(&mut self, start: f64, end: f64) -> QueryEnergy {
        self.live_until(start);
        let ticket = self.session.open(at(start));
        self.live_until(end);
        self.session.landed(ticket);
        self.live_until(end + 0.5);
        self.session
            .close(ticket, Window::new(at(start), at(end)).unwrap())
    }

    fn truth(&self, start: f64, end: f64) -> f64 {
        self.trace.between(start, end)
    }
}

fn window(start: f64, end: f64) -> Window {
    Window::new(at(start), at(end)).unwrap()
}

fn square() -> PowerTrace {
    PowerTrace::new(&[(0.35, 20.0), (0.4, 60.0), (0.25, 95.0)])
}

fn joules(energy: &QueryEnergy) -> f64 {
    energy
        .of(Domain::CpuPackage)
        .unwrap_or_else(|| panic!("no energy: {energy:?}"))
        .joules()
}

#[test]
fn windows_from_a_tenth_of_a_second_to_ten_minutes_have_their_joules() {
    for (length, allowed) in [
        (0.1, 0.06),
        (0.3, 0.03),
        (1.0, 0.02),
        (10.0, 0.002),
        (600.0, 0.0002),
    ] {
        let mut bench = Bench::new(square(), Defects::default());
        let (start, end) = (1.234, 1.234 + length);
        let energy = bench.query(start, end);
        let error = joules(&energy) / bench.truth(start, end) - 1.0;
        assert!(error.abs() < allowed, "{length} s: {:+.3} %", error * 100.0);
        let share = &energy.shares[0].energy;
        assert!((share.coverage - 1.0).abs() < 1e-9);
        let sigma = share.sigma.unwrap().joules();
        let off = (joules(&energy) - bench.truth(start, end)).abs();
        assert!(
            off < 4.0 * sigma,
            "{length} s: off by {off} J with a sigma of {sigma} J"
        );
    }
}

#[test]
fn a_long_query_keeps_its_first_second() {
    // Nearly all energy is in the first second: a rolling buffer would lose it.
    let trace = PowerTrace::new(&[(2.0, 100.0), (1000.0, 1.0)]);
    let mut bench = Bench::new(trace, Defects::default());
    let energy = bench.query(1.0, 61.0);
    let error = joules(&energy) / bench.truth(1.0, 61.0) - 1.0;
    assert!(error.abs() < 0.01, "{:+.2} %", error * 100.0);
}

#[test]
fn wraps_change_nothing() {
    // Wraps every 50 mJ to 5 J: many times in each query.
    for range in [4_999_999, 1_999_999] {
        let mut bench = Bench::new(
            square(),
            Defects {
                range,
                ..Defects::default()
            },
        );
        let energy = bench.query(1.0, 31.0);
        let error = joules(&energy) / bench.truth(1.0, 31.0) - 1.0;
        assert!(
            error.abs() < 0.002,
            "range {range}: {:+.3} %",
            error * 100.0
        );
    }
}

#[test]
fn coarse_counters_are_right_within_their_own_sigma() {
    for period in [0.01, 0.05, 0.1] {
        let mut bench = Bench::new(
            square(),
            Defects {
                period,
                quantum: 0.015,
                ..Defects::default()
            },
        );
        let energy = bench.query(1.0, 6.0);
        let off = (joules(&energy) - bench.truth(1.0, 6.0)).abs();
        let sigma = energy.shares[0].energy.sigma.unwrap().joules();
        assert!(
            off < 3.0 * sigma.max(1.0),
            "period {period}: off by {off} J, sigma {sigma} J"
        );
        assert!(
            off / bench.truth(1.0, 6.0) < 0.03,
            "period {period}: off by {off} J"
        );
    }
}

#[test]
fn a_gain_is_passed_on_as_it_is() {
    let mut bench = Bench::new(
        square(),
        Defects {
            gain: 0.9,
            ..Defects::default()
        },
    );
    let energy = bench.query(1.0, 11.0);
    let ratio = joules(&energy) / bench.truth(1.0, 11.0);
    assert!((ratio - 0.9).abs() < 0.002, "{ratio}");
}

#[test]
fn a_reset_costs_one_query_and_nothing_else() {
    let defects = Defects {
        resets: vec![5.0],
        ..Defects::default()
    };
    let mut bench = Bench::new(square(), defects);
    let before = bench.query(1.0, 3.0);
    let hit = bench.query(4.5, 5.5);
    let after = bench.query(6.5, 8.5);
    assert!((joules(&before) / bench.truth(1.0, 3.0) - 1.0).abs() < 0.01);
    assert_eq!(
        (hit.of(Domain::CpuPackage), hit.reason),
        (None, Some(Reason::CounterReset))
    );
    assert!((joules(&after) / bench.truth(6.5, 8.5) - 1.0).abs() < 0.01);
    let (_, account) = &bench.session.accounts()[0];
    assert_eq!(account.resets, 1);
}

/// 3,900 J in one poll passed as 20 kW for a fifth of a second, and made 4,292 J of 391 J.
#[test]
fn a_counter_that_jumps_is_not_believed_and_live_and_later_agree() {
    for jumps in [
        vec![(5.0, 3900.0)],
        vec![(4.6, 500.0), (4.9, 500.0), (5.2, 500.0), (5.4, 500.0)],
    ] {
        let count = jumps.len() as u64;
        let defects = Defects {
            jumps,
            ..Defects::default()
        };
        let mut bench = Bench::new(square(), defects);
        let hit = bench.query(4.5, 5.5);
        let after = bench.query(6.5, 8.5);
        let truth = bench.truth(4.5, 5.5);
        assert!(
            (joules(&hit) / truth - 1.0).abs() < 0.1,
            "{hit:?} for {truth}"
        );
        let said = hit.shares[0].energy;
        assert_eq!(said.reason, Some(Reason::Implausible));
        assert!(said.coverage < 1.0 && said.coverage > 0.9, "{said:?}");
        assert!((joules(&after) / bench.truth(6.5, 8.5) - 1.0).abs() < 0.01);
        let (_, account) = &bench.session.accounts()[0];
        assert_eq!((account.implausible, account.resets), (count, 0));
        assert!(account.energy.joules() < bench.truth(0.0, bench.now));
        let meter = *bench.session.meters().next().unwrap().meter;
        let mut ledger = Ledger::new(&meter, None, equal);
        let windows = [window(4.5, 5.5), window(6.5, 8.5)].map(|window| ((), window));
        let mut later = Vec::new();
        ledger.settle(steps(&meter, &bench.readings), windows, |(), energy| {
            later.push((energy.energy, energy.reason, energy.coverage));
        });
        for (live, later) in [said, after.shares[0].energy].iter().zip(later) {
            assert_eq!((live.energy, live.reason, live.coverage), later);
        }
    }
}

/// 220 J were believed once, as stamps could be 100 ms late. A package that says its limits is held
/// to them: four times as much.
#[test]
fn small_jumps_are_not_believed_either() {
    for (limits, jump) in [(&[][..], 40.0), (&[65, 120], 10.0)] {
        let defects = Defects {
            jumps: vec![(4.7, jump), (5.1, jump)],
            ..Defects::default()
        };
        let mut bench = Bench::limited(square(), defects, limits);
        let hit = bench.query(4.5, 5.5);
        let truth = bench.truth(4.5, 5.5);
        assert!(
            (joules(&hit) / truth - 1.0).abs() < 0.05,
            "{jump}: {hit:?} for {truth}"
        );
        assert_eq!(hit.shares[0].energy.reason, Some(Reason::Implausible));
        let (_, account) = &bench.session.accounts()[0];
        assert_eq!(account.implausible, 2, "{jump}");
    }
}

#[test]
fn a_file_that_vanishes_or_says_nonsense_is_a_gap_and_comes_back() {
    for defects in [
        Defects {
            vanished: vec![(5.0, 7.0)],
            ..Defects::default()
        },
        Defects {
            garbled: vec![(5.0, 7.0)],
            ..Defects::default()
        },
    ] {
        let mut bench = Bench::new(square(), defects);
        let hit = bench.query(4.0, 8.0);
        let share = &hit.shares[0].energy;
        assert_eq!(share.reason, Some(Reason::Gap), "{share:?}");
        assert!((0.4..0.55).contains(&share.coverage), "{}", share.coverage);
        if let Some(energy) = share.energy {
            assert!(
                energy.joules() < bench.truth(4.0, 8.0) * 0.6,
                "a gap is no energy"
            );
        }
        let inside = bench.query(9.0, 9.3);
        assert!(
            (joules(&inside) / bench.truth(9.0, 9.3) - 1.0).abs() < 0.04,
            "right again"
        );
        assert!(!bench.session.faults().is_empty());
    }
}

/// The file is open already: taking its permission away costs nothing. Root may read everything,
/// so the test's thread gives that right up; opening the file again would fail. (Files that are
/// unreadable from the start are covered by the collector's own tests.)
#[cfg(target_os = "linux")]
#[test]
fn a_permission_that_is_taken_away_mid_run_costs_nothing() {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let mut sets = capabilities(None).unwrap();
    sets.effective
        .remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
    set_capabilities(None, sets).unwrap();
    let mut bench = Bench::new(square(), Defects::default());
    bench.live_until(1.0);
    let path = bench
        .root
        .path()
        .join("class/powercap/intel-rapl:0/energy_uj");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o200)).unwrap();
    assert!(std::fs::read(&path).is_err(), "it may not be read any more");
    let energy = bench.query(2.0, 4.0);
    assert_eq!(energy.reason, None);
    assert!((joules(&energy) / bench.truth(2.0, 4.0) - 1.0).abs() < 0.01);
}

#[test]
fn a_short_dropout_costs_nothing() {
    let defects = Defects {
        garbled: vec![(5.0, 5.1)],
        ..Defects::default()
    };
    let mut bench = Bench::new(square(), defects);
    let energy = bench.query(4.0, 6.0);
    assert_eq!(energy.reason, None);
    assert!((joules(&energy) / bench.truth(4.0, 6.0) - 1.0).abs() < 0.02);
}

#[test]
fn a_sleeping_machine_is_a_gap_and_its_counter_is_not_believed_across_it() {
    let mut bench = Bench::new(square(), Defects::default());
    bench.live_until(5.0);
    let ticket = bench.session.open(at(4.0));
    // An hour passes that the clock does not count.
    bench.clock.sleep(Duration::from_hours(1));
    bench.live_until(7.0);
    bench.session.landed(ticket);
    let across = bench
        .session
        .close(ticket, Window::new(at(4.0), at(6.0)).unwrap());
    assert_eq!(across.shares[0].energy.reason, Some(Reason::Gap));
    assert!(across.shares[0].energy.coverage < 1.0);
    let after = bench.query(8.0, 9.0);
    assert_eq!(after.reason, None);
    assert!((joules(&after) / bench.truth(8.0, 9.0) - 1.0).abs() < 0.02);
}

#[test]
fn a_counter_that_never_moves_is_no_energy_rather_than_none_used() {
    let mut bench = Bench::new(
        square(),
        Defects {
            late_start: 1e9,
            ..Defects::default()
        },
    );
    let energy = bench.query(1.0, 3.0);
    assert_eq!(
        (energy.of(Domain::CpuPackage), energy.headline()),
        (None, None)
    );
    assert_eq!(energy.reason, Some(Reason::NoReading));
}

#[test]
fn a_counter_that_starts_late_is_partial_until_it_counts() {
    let mut bench = Bench::new(
        square(),
        Defects {
            late_start: 2.0,
            ..Defects::default()
        },
    );
    let early = bench.query(1.0, 1.5);
    assert_eq!(early.of(Domain::CpuPackage), None);
    let later = bench.query(3.0, 5.0);
    assert!((joules(&later) / bench.truth(3.0, 5.0) - 1.0).abs() < 0.01);
}

#[test]
fn two_queries_in_flight_share_what_was_used() {
    let mut bench = Bench::new(square(), Defects::default());
    bench.live_until(1.0);
    let first = bench.session.open(at(1.0));
    bench.live_until(1.5);
    let second = bench.session.open(at(1.5));
    bench.live_until(2.0);
    bench.session.landed(first);
    bench.live_until(3.0);
    bench.session.landed(second);
    bench.live_until(4.0);
    let whole = bench.session.window_energy(window(1.0, 3.0));
    let shares = [(first, 1.0, 2.0), (second, 1.5, 3.0)].map(|(ticket, start, end)| {
        let energy = bench.session.close(ticket, window(start, end));
        assert_eq!(energy.reason, None);
        joules(&energy)
    });
    assert!((shares.iter().sum::<f64>() - joules(&whole)).abs() < 1e-9);
    // Alone for half a second, then half of what both used.
    let truth = bench.truth(1.0, 1.5) + bench.truth(1.5, 2.0) / 2.0;
    assert!((shares[0] / truth - 1.0).abs() < 0.02, "{shares:?}");
    let alone = bench.query(5.0, 6.0);
    assert_eq!(alone.reason, None);
}

/// 20 W idle, and 80 W above it while a query of a tenth or a half second is in flight; each second
/// begins one.
fn busy_for(seconds: f64) -> PowerTrace {
    PowerTrace::new(&[(0.4, 20.0), (seconds, 100.0), (0.6 - seconds, 20.0)])
}

#[test]
fn a_coarse_counter_is_right_where_idle_is_known() {
    for (seconds, allowed) in [(0.15, 0.03), (0.5, 0.01)] {
        let coarse = Defects {
            period: 0.1013,
            ..Defects::default()
        };
        let quiet = PowerTrace::new(&[(1.0, 20.0)]);
        let mut bench = Bench::new(quiet, coarse.clone());
        let watch = bench.session.watch(at(0.0));
        bench.live_until(3.0);
        let idle = bench.session.idle_over(window(0.2, 3.0));
        bench.session.release(watch);
        let power = idle[0].unwrap();
        assert!((power.power.watts() - 20.0).abs() < 0.2, "{power:?}");
        let mut bench = Bench::new(busy_for(seconds), coarse);
        bench.session.set_idle(idle);
        let (mut sum, mut truth, mut inside) = (0.0, 0.0, 0);
        for second in 1..40 {
            let start = f64::from(second) + 0.4;
            let energy = bench.query(start, start + seconds);
            let share = &energy.shares[0].energy;
            let above = share.above_idle.unwrap().joules();
            assert!((joules(&energy) - above - 20.0 * seconds).abs() < 0.1);
            let off = joules(&energy) - bench.truth(start, start + seconds);
            inside += u32::from(off.abs() <= 2.0 * share.sigma.unwrap().joules());
            sum += joules(&energy);
            truth += bench.truth(start, start + seconds);
        }
        let error = sum / truth - 1.0;
        assert!(
            error.abs() < allowed,
            "{seconds} s: {:+.2} %",
            error * 100.0
        );
        assert!(inside >= 35, "{inside} of 39 within two sigma");
        let balance = bench.session.balance()[0].unwrap();
        // The work of the first second belongs to no query.
        let unassigned = balance.unassigned.unwrap().joules() - 80.0 * seconds;
        assert!(
            unassigned.abs() < 0.005 * balance.measured.joules(),
            "{balance:?}"
        );
    }
}

#[test]
fn a_machine_with_a_query_in_flight_is_not_idle() {
    let mut bench = Bench::new(square(), Defects::default());
    let ticket = bench.session.open(at(0.5));
    bench.live_until(3.0);
    assert_eq!(bench.session.idle_over(window(0.6, 2.9)), [None]);
    bench.session.release(ticket);
    let watch = bench.session.watch(at(3.2));
    bench.live_until(6.0);
    let idle = bench.session.idle_over(window(3.2, 5.9))[0].unwrap();
    let truth = bench.truth(3.2, 5.9) / 2.7;
    assert!((idle.power.watts() / truth - 1.0).abs() < 0.02, "{idle:?}");
    assert!(idle.sigma.watts() > 0.5, "it was far from steady: {idle:?}");
    bench.session.release(watch);
}

#[test]
fn the_run_s_books_balance_and_live_is_what_one_pass_over_the_readings_gives() {
    let defects = Defects {
        period: 0.05,
        resets: vec![11.0],
        garbled: vec![(17.0, 18.5)],
        ..Defects::default()
    };
    let mut bench = Bench::new(square(), defects);
    let mut random = Random::new(7);
    let mut millis = |limit: usize| f64::from(u32::try_from(random.below(limit)).unwrap()) / 1e3;
    let mut queries: Vec<(f64, f64)> = (0..60)
        .map(|_| {
            let start = 1.0 + millis(25_000);
            (start, start + 0.02 + millis(1500))
        })
        .collect();
    queries.sort_by(|left, right| left.0.total_cmp(&right.0));
    let mut events: Vec<(f64, usize, bool)> = Vec::new();
    for (number, (start, end)) in queries.iter().enumerate() {
        events.push((*start, number, true));
        events.push((*end, number, false));
    }
    events.sort_by(|left, right| left.0.total_cmp(&right.0));
    let mut tickets = vec![None; queries.len()];
    for (moment, number, begins) in events {
        bench.live_until(moment);
        if begins {
            tickets[number] = Some(bench.session.open(at(moment)));
        } else {
            bench.clock.set(at(moment));
            bench.session.landed(tickets[number].unwrap());
        }
    }
    bench.live_until(29.0);
    let mut live = Vec::new();
    for ((start, end), ticket) in queries.iter().zip(&tickets) {
        let energy = bench.session.close(ticket.unwrap(), window(*start, *end));
        live.push((
            energy.shares[0].energy.energy,
            energy.shares[0].energy.reason,
        ));
    }
    let (_, account) = &bench.session.accounts()[0];
    let meter = *bench.session.meters().next().unwrap().meter;
    let mut ledger = Ledger::new(&meter, None, equal);
    let mut later = Vec::new();
    let windows = queries
        .iter()
        .map(|(start, end)| ((), window(*start, *end)));
    let balance = ledger.settle(steps(&meter, &bench.readings), windows, |(), energy| {
        later.push((energy.energy, energy.reason));
    });
    for ((live, why), (later, why_later)) in live.iter().zip(&later) {
        assert_eq!((why, live.is_some()), (why_later, later.is_some()));
        let (live, later) = (live.unwrap_or_default(), later.unwrap_or_default());
        assert!((live - later).joules().abs() < 1e-9, "{live} and {later}");
    }
    assert!(
        later
            .iter()
            .any(|(_, why)| *why == Some(Reason::CounterReset))
    );
    assert!(later.iter().any(|(_, why)| *why == Some(Reason::Gap)));
    let books = bench.session.balance()[0].unwrap();
    for (books, pass) in [
        (books.measured, balance.measured),
        (books.queries, balance.queries),
        (books.no_query, balance.no_query),
        (books.gaps, balance.gaps),
        (books.measured - books.gaps, account.energy),
        (books.queries + books.no_query + books.gaps, books.measured),
    ] {
        assert!((books - pass).joules().abs() < 1e-6, "{books} and {pass}");
    }
}

#[test]
fn memory_stays_flat_over_an_hour_of_sampling() {
    let mut bench = Bench::new(square(), Defects::default());
    bench.poll = 0.1;
    bench.live_until(10.0);
    let early = bench.session.in_memory();
    bench.live_until(3600.0);
    let late = bench.session.in_memory();
    assert!(
        late <= early + 10,
        "{early} readings after ten seconds, {late} after an hour"
    );
    let ticket = bench.session.open(at(3600.0));
    bench.live_until(3700.0);
    assert!(
        bench.session.in_memory() > 900,
        "what an open query needs is kept"
    );
    bench.session.landed(ticket);
    bench
        .session
        .close(ticket, Window::new(at(3600.0), at(3699.0)).unwrap());
    assert!(
        bench.session.in_memory() <= early + 10,
        "and let go when it is closed"
    );
}
