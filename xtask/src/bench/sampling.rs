//! What sampling costs, how punctual it is, and how fast a window is answered.

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, anyhow};
use ipw_core::counter::Rollover;
use ipw_core::reading::{Reading, Window};
use ipw_core::source::{Domain, Method, Quantity};
use ipw_core::time::{Clock, Timestamp};
use ipw_runner::SystemClock;
use ipw_telemetry::collectors::{nvml, rapl};
use ipw_telemetry::{Collector, Options, Role, Session, Setup};
use ipw_testkit::ManualClock;
use ipw_testkit::collector::{ScriptedCollector, source};
use ipw_testkit::fake_nvml::{Board, FakeNvml, Machine, Time};
use ipw_testkit::sensor::{Defects, PowerTrace, SimulatedRapl};

use super::Effort;
use super::spread::{Spread, at, micros, sorted};
use super::table::Table;

const INTERVAL: Duration = Duration::from_millis(10);
const PACKAGES: u32 = 8;

pub(crate) fn run(effort: Effort) -> anyhow::Result<String> {
    let length = Duration::from_secs(effort.choose(1, 10));
    let rounds = effort.choose(1, 3);
    let mut table = Table::new(
        "Eight RAPL sources polled at 100 Hz (budget: under 1 % of one core)",
        [
            "cores",
            "CPU of the sampler, % of one core",
            "late p50, µs",
            "late p99, µs",
        ],
    );
    let floor: Vec<f64> = (0..rounds)
        .map(|_| bare_loop(length))
        .collect::<anyhow::Result<_>>()?;
    table.row([
        "idle, a thread that only sleeps".to_owned(),
        format!(
            "{:.2}",
            Spread::of(floor.into_iter().map(|share| share * 100.0))
        ),
        String::new(),
        String::new(),
    ]);
    for (name, busy) in [("idle", 0), ("both busy", 2)] {
        let rounds: Vec<Sampled> = (0..rounds)
            .map(|_| sample(length, busy))
            .collect::<anyhow::Result<_>>()?;
        table.row([
            name.to_owned(),
            format!("{:.2}", Spread::over(&rounds, |round| round.share * 100.0)),
            format!("{:.0}", Spread::over(&rounds, |round| at(&round.late, 0.5))),
            format!(
                "{:.0}",
                Spread::over(&rounds, |round| at(&round.late, 0.99))
            ),
        ]);
    }
    Ok(format!(
        "{table}\n{}\n{}",
        boards(length, rounds)?,
        windows(effort)
    ))
}

/// Eight boards through a library that stands for NVIDIA's.
fn boards(length: Duration, rounds: usize) -> anyhow::Result<String> {
    let mut table = Table::new(
        "Eight NVIDIA boards, scripted: energy and power at 20 Hz, state at 2 Hz (budget: under 1 % of one core)",
        ["what", "CPU of all samplers, % of one core"],
    );
    let machine = |boards: u32| {
        let began = SystemClock::start().anchor().monotonic_nanos;
        let trace = PowerTrace::new(&[(0.5, 90.0), (0.5, 300.0)]);
        let boards = (0..boards).map(|number| Board::new(number, trace.clone()));
        Machine {
            time: Time::Monotonic(began),
            ..Machine::new(boards.collect())
        }
    };
    for (name, count) in [("one board", 1), ("eight boards", 8)] {
        let shares = (0..rounds)
            .map(|_| sample_boards(&machine(count), length))
            .collect::<anyhow::Result<Vec<f64>>>()?;
        let percent = shares.into_iter().map(|share| share * 100.0);
        table.row([name.to_owned(), format!("{:.2}", Spread::of(percent))]);
    }
    Ok(table.to_string())
}

fn sample_boards(machine: &Machine, length: Duration) -> anyhow::Result<f64> {
    let fake = FakeNvml::new(machine).map_err(|missing| anyhow!("{missing}"))?;
    let root = tempfile::tempdir()?;
    let collectors = nvml::detect(&Options {
        sysfs: root.path().to_owned(),
        nvml: Some(fake.library().to_owned()),
        ..Options::default()
    })
    .map_err(|absent| anyhow!(absent.reason))?;
    share_of_a_core(collectors, length)
}

/// CPU time that sampling takes, over the time that it goes on.
fn share_of_a_core(collectors: Vec<Box<dyn Collector>>, length: Duration) -> anyhow::Result<f64> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let setup = Setup {
        collectors,
        interval: INTERVAL,
        role: Role::Service,
        absent: None,
    };
    let session = Session::start(setup, Arc::clone(&clock)).context("starting the session")?;
    std::thread::sleep(length);
    session.stop();
    let elapsed = clock.now().since(Timestamp::ZERO);
    Ok(session.own_cpu_time().as_secs_f64() / elapsed.as_secs_f64())
}

struct Sampled {
    share: f64,
    /// How late each poll was against its own grid, in µs, sorted.
    late: Vec<f64>,
}

/// Polls eight zones whose counters move, with `busy` threads that spin beside it.
fn sample(length: Duration, busy: usize) -> anyhow::Result<Sampled> {
    let root = tempfile::tempdir()?;
    let trace = PowerTrace::new(&[(0.5, 20.0), (0.5, 60.0)]);
    let sensors = (0..PACKAGES)
        .map(|number| SimulatedRapl::create(root.path(), number, trace.clone(), Defects::default()))
        .collect::<std::io::Result<Vec<_>>>()?;
    let collector = rapl::detect(&Options {
        sysfs: root.path().to_owned(),
        proc: PathBuf::from("/proc"),
        dev: PathBuf::from("/dev"),
        estimate: false,
        cpu_tdp: None,
        ..Options::default()
    })
    .map_err(|absent| anyhow!(absent.reason))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let setup = Setup {
        collectors: vec![collector],
        interval: INTERVAL,
        role: Role::Service,
        absent: None,
    };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for sensor in &sensors {
                    let _ = sensor.update(clock.now().seconds());
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        for _ in 0..busy {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    black_box((0..10_000).fold(0_u64, |sum, number| sum ^ black_box(number)));
                }
            });
        }
        let started = clock.now();
        let session = Session::start(setup, Arc::clone(&clock));
        std::thread::sleep(length);
        stop.store(true, Ordering::Relaxed);
        let session = session.context("starting the session")?;
        session.stop();
        let elapsed = clock.now().since(started);
        let share = session.own_cpu_time().as_secs_f64() / elapsed.as_secs_f64();
        Ok(Sampled {
            share,
            late: lateness(&session.take_unsaved()),
        })
    })
}

/// What a sampler costs that reads nothing: waking up a hundred times a second.
fn bare_loop(length: Duration) -> anyhow::Result<f64> {
    share_of_a_core(vec![Box::new(fast())], length)
}

/// How late each reading of the first source was, against the grid that begins with the first.
fn lateness(readings: &[Reading]) -> Vec<f64> {
    let own = readings.iter().filter(|reading| reading.source.0 == 0);
    let first = own
        .clone()
        .next()
        .map_or(Timestamp::ZERO, |reading| reading.at);
    let interval = INTERVAL.as_nanos();
    sorted(own.map(|reading| {
        let behind = reading.at.since(first).as_nanos() % interval;
        let late = u64::try_from(behind.min(interval - behind)).unwrap_or(u64::MAX);
        micros(Duration::from_nanos(late))
    }))
}

/// A counter that says something new at every poll.
fn fast() -> ScriptedCollector {
    let quantity = Quantity::Energy {
        domain: Domain::CpuPackage,
        rollover: Rollover::Resets,
    };
    let mut joules = 0.0;
    let source = source("fast", quantity, Method::Counter);
    ScriptedCollector::new(vec![source], move |clock, take| {
        joules += 0.1;
        take(0, clock.now(), joules);
        Ok(())
    })
}

fn windows(effort: Effort) -> String {
    let mut table = Table::new(
        "Energy of a one-second window, by readings in memory",
        ["readings", "per window, µs", "against the smallest"],
    );
    let mut smallest = None;
    for readings in effort.choose(vec![10_000, 100_000], vec![10_000, 1_000_000, 10_000_000]) {
        let times = window_times(readings);
        let median = at(&sorted(times.iter().copied()), 0.5);
        let against = median / *smallest.get_or_insert(median);
        table.row([
            readings.to_string(),
            format!("{:.1}", Spread::of(times)),
            format!("{against:.2} ×"),
        ]);
    }
    table.to_string()
}

/// Microseconds for windows all over a session that has kept everything.
fn window_times(readings: u64) -> Vec<f64> {
    let hands = Arc::new(ManualClock::default());
    let setup = Setup {
        collectors: vec![Box::new(fast())],
        interval: INTERVAL,
        role: Role::Service,
        absent: None,
    };
    let (session, mut pollers) = Session::new(setup, Arc::clone(&hands) as Arc<dyn Clock>);
    // A query that never ends: nothing may be forgotten.
    let _whole = session.open(Timestamp::ZERO);
    for tick in 0..readings {
        hands.set(Timestamp::from_nanos(tick * 10_000_000));
        for poller in &mut pollers {
            poller.poll();
        }
        if tick % 100_000 == 0 {
            session.take_unsaved();
        }
    }
    let seconds = readings / 100;
    let clock = SystemClock::start();
    let windows = (0..200).map(|number| {
        let start = (number * 7919) % (seconds - 3) + 1;
        let instant = |seconds: u64| Timestamp::from_nanos(seconds * 1_000_000_000);
        let window = Window::new(instant(start), instant(start + 1)).expect("it ends later");
        let ticket = session.open(window.start());
        session.landed(ticket);
        let began = clock.now();
        black_box(session.close(ticket, window));
        micros(clock.now().since(began))
    });
    windows.collect()
}
