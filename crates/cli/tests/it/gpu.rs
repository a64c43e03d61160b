//! GPU joules: the binary on a library that stands for NVIDIA's, against the script's truth.

use std::time::Duration;

use ipw_core::time::Clock;
use ipw_reference::Script;
use ipw_runner::SystemClock;
use ipw_testkit::fake_nvml::{Board, FakeNvml, Machine, Time};
use ipw_testkit::sensor::PowerTrace;
use ipw_testkit::{fake_library, or_skip};
use serde_json::{Value, json};

use crate::common::{Place, Said, ipw, metrics, rows, said, summary};

/// Boards that live on the machine's clock.
struct Boards {
    fake: FakeNvml,
    traces: Vec<PowerTrace>,
    began: u64,
}

impl Boards {
    /// `None` where the library cannot be built.
    fn start(change: impl Fn(u32, Board) -> Board) -> Option<Self> {
        let traces = vec![
            PowerTrace::new(&[(3.0, 250.0), (2.0, 400.0)]),
            PowerTrace::new(&[(1.0, 90.0)]),
        ];
        // Built before the boards begin to live.
        or_skip(fake_library("ipw-fake-nvml"))?;
        let began = SystemClock::start().anchor().monotonic_nanos;
        let boards = traces
            .iter()
            .zip(0..)
            .map(|(trace, number)| change(number, Board::new(number, trace.clone())))
            .collect();
        let machine = Machine {
            time: Time::Monotonic(began),
            ..Machine::new(boards)
        };
        let fake = or_skip(FakeNvml::new(&machine))?;
        Some(Self {
            fake,
            traces,
            began,
        })
    }

    /// Seconds from the traces' beginning to now.
    fn now(&self) -> f64 {
        let now = SystemClock::start().anchor().monotonic_nanos;
        Duration::from_nanos(now - self.began).as_secs_f64()
    }

    /// What a row should have cost, board by board.
    fn truth(&self, row: &Value, reference: u64) -> Vec<f64> {
        let shift = Duration::from_nanos(reference - self.began).as_secs_f64();
        let instant = |name: &str| row["timing"][name].as_f64().unwrap() + shift;
        let (start, end) = (instant("start_seconds"), instant("end_seconds"));
        let joules = self.traces.iter().map(|trace| trace.between(start, end));
        joules.collect()
    }

    fn profile(&self, place: &Place, more: &[&str]) -> Said {
        let mut command = place.profile(more);
        command
            .env("IPW_NVML_LIB", self.fake.library())
            .env("IPW_SYSFS_ROOT", place.sysfs());
        said(&mut command)
    }
}

fn place() -> Place {
    Place::new(|_| Script {
        first_token: Duration::from_millis(150),
        gap: Duration::from_millis(37),
        ..Script::words(5)
    })
}

fn reference(place: &Place) -> u64 {
    summary(&place.run())["parts"][0]["monotonic_nanos"]
        .as_u64()
        .unwrap()
}

fn share<'a>(row: &'a Value, name: &str) -> &'a Value {
    let shares = row["energy"]["shares"].as_array().unwrap();
    shares.iter().find(|share| share["name"] == name).unwrap()
}

#[test]
fn gpu_joules_of_300_ms_queries_match_the_truth_and_two_boards_stay_two() {
    let Some(boards) = Boards::start(|_, board| board) else {
        return;
    };
    let place = place();
    let ran = boards.profile(&place, &["--max-queries", "20", "--warmup", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("measured by counter (gpu)"), "{}", ran.out);
    let reference = reference(&place);
    let rows = rows(&place.run());
    assert_eq!(rows.len(), 20);
    let mut errors = [Vec::new(), Vec::new()];
    for row in &rows {
        let truth = boards.truth(row, reference);
        let mut sum = 0.0;
        for (board, errors) in errors.iter_mut().enumerate() {
            let share = share(row, &format!("nvml/{board}"));
            assert_eq!(share["method"], "counter");
            let joules = share["total_joules"].as_f64().unwrap();
            errors.push(joules / truth[board] - 1.0);
            sum += joules;
        }
        let metrics = metrics(row);
        let told = metrics["energy_metrics"]["per_query_joules"]
            .as_f64()
            .unwrap();
        assert!((told - sum).abs() < 1e-9 * sum, "{told} and {sum}");
        assert_eq!(metrics["energy_metrics"]["basis"], "gpu");
        assert_eq!(metrics["gpu_info"]["name"], "NVIDIA H100 80GB HBM3");
        assert_eq!(metrics["gpu_info"]["backend"], "nvml");
        let used = metrics["memory_metrics"]["gpu_mb"]["avg"].as_f64().unwrap();
        assert!((used - 2048.0).abs() < 1.0, "both boards' memory: {used}");
        let utilization = &metrics["hardware_utilization"]["gpu"];
        let busy = utilization["compute_utilization_pct"].as_f64().unwrap();
        assert!((busy - 87.0).abs() < 1e-9, "{busy}");
        assert_eq!(metrics["temperature_metrics"]["max"].as_f64(), Some(45.0));
    }
    for errors in &errors {
        // The sign matters: what one query has too much, its neighbour has too little.
        let mean = errors.iter().sum::<f64>() / 20.0;
        let spread = errors.iter().map(|error| error.abs()).sum::<f64>() / 20.0;
        assert!(mean.abs() < 0.03, "{mean}: {errors:?}");
        assert!(spread < 0.06, "{spread}: {errors:?}");
    }
    let summary = summary(&place.run());
    assert_eq!(summary["hardware_label"], "H100x2");
    assert_eq!(summary["gpu_info"]["vendor"], "NVIDIA");
    let devices = summary["telemetry"]["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 2, "{devices:?}");
    assert_ne!(devices[0]["uuid"], devices[1]["uuid"]);
    let sources = summary["telemetry"]["sources"].as_array().unwrap();
    let counter = sources
        .iter()
        .find(|source| source["about"]["name"] == "nvml/0")
        .unwrap();
    for moment in ["start", "end"] {
        let test = &counter["self_test"][moment];
        assert_eq!(test["monotone"], json!(true), "{test}");
    }
    let agreement = counter["self_test"]["end"]["against_power"]
        .as_f64()
        .unwrap();
    assert!((agreement - 1.0).abs() < 0.1, "{agreement}");
}

#[test]
fn a_reset_costs_the_query_it_hits_and_nothing_else() {
    // The moment is some seconds after the boards began; the run is longer than that.
    let boards = Boards::start(|number, mut board| {
        if number == 0 {
            board.resets = vec![4.0];
        }
        board
    });
    let Some(boards) = boards else { return };
    let place = place();
    let ran = boards.profile(&place, &["--max-queries", "24", "--warmup", "0"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(boards.now() > 6.0, "the run outlived the reset");
    let rows = rows(&place.run());
    let without: Vec<&Value> = rows
        .iter()
        .filter(|row| row["headline"]["joules"].is_null())
        .collect();
    // A reset lies in one step of the counter, which may touch two queries.
    assert!((1..=2).contains(&without.len()), "{without:?}");
    for row in without {
        assert_eq!(row["energy"]["reason"], "counter_reset");
        assert!(
            share(row, "nvml/1")["total_joules"].is_f64(),
            "the other board goes on"
        );
    }
    assert!(ran.out.contains("reset 1 time"), "{}", ran.out);
}

#[test]
fn a_board_that_is_lost_for_good_is_exit_5_with_everything_saved() {
    let boards = Boards::start(|number, mut board| {
        if number == 1 {
            board.lost = vec![(3.0, 1e9)];
        }
        board.with_state("throttle", 4.0)
    });
    let Some(boards) = boards else { return };
    let place = place();
    let ran = boards.profile(
        &place,
        &["--max-queries", "24", "--warmup", "0", "--require-energy"],
    );
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    assert!(
        ran.err.contains("`nvml/1` stopped reporting"),
        "{}",
        ran.err
    );
    let rows = rows(&place.run());
    assert_eq!(rows.len(), 24);
    assert_eq!(summary(&place.run())["status"], "complete");
    let last = rows.last().unwrap();
    assert!(
        last["headline"]["joules"].is_null(),
        "half a machine is no machine"
    );
    assert!(share(last, "nvml/0")["total_joules"].is_f64());
    assert!(
        ran.out.contains("throttled by heat or power"),
        "{}",
        ran.out
    );
}

#[test]
fn boards_can_be_chosen_and_watched() {
    let Some(boards) = Boards::start(|_, board| board) else {
        return;
    };
    let place = place();
    let with = |more: &[&str]| {
        let mut command = ipw();
        command
            .args(more)
            .env("IPW_NVML_LIB", boards.fake.library())
            .env("IPW_SYSFS_ROOT", place.sysfs());
        said(&mut command)
    };
    let doctor = with(&["doctor"]);
    assert!(doctor.out.starts_with("H100x2"), "{}", doctor.out);
    let one = with(&["doctor", "--gpu", "1"]);
    assert!(one.out.starts_with("H100 ("), "{}", one.out);
    assert!(
        one.out.contains("nvml/1") && !one.out.contains("nvml/0"),
        "{}",
        one.out
    );
    let watched = with(&["watch", "--count", "2", "--interval", "500ms", "--json"]);
    assert_eq!(watched.code, Some(0), "{}", watched.err);
    let lines: Vec<Value> = watched
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    let watts = lines[1]["sources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|source| source["name"] == "nvml/1")
        .unwrap()["watts"]
        .as_f64()
        .unwrap();
    assert!((watts / 90.0 - 1.0).abs() < 0.3, "{watts}");
}
