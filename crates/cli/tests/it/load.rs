//! Load: the schedule is followed, no query is dropped, both latencies are reported.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use ipw_core::stats::quantile;
use ipw_reference::{Exchange, Fault, Script};
use ipw_testkit::fuzz::Random;
use serde_json::{Value, json};

use crate::common::{
    Place, Said, all_cores, ipw, metrics, no_other_load, questions, rows, said, spawn, summary,
    wait_until,
};

fn profile(place: &Place, queries: usize, more: &[&str]) -> Said {
    let dataset = place.jsonl("d", questions(queries));
    let mut args = vec!["--dataset", dataset.to_str().unwrap(), "--overwrite"];
    args.extend_from_slice(more);
    let said = said(&mut place.profile(&args));
    assert_eq!(said.code, Some(0), "{}", said.err);
    said
}

/// The largest number of requests that the service had at a time.
fn most_at_once(log: &[Exchange]) -> usize {
    let mut events: Vec<(u64, i32)> = Vec::new();
    for exchange in log {
        let Some(last) = exchange.sends.last() else {
            continue;
        };
        events.push((exchange.arrived.nanos(), 1));
        events.push((last.at.nanos(), -1));
    }
    events.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, change) in events {
        now += change;
        most = most.max(now);
    }
    usize::try_from(most).unwrap()
}

fn seconds(row: &Value, name: &str) -> f64 {
    row["timing"][name].as_f64().unwrap()
}

fn p99(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.99).unwrap()
}

#[test]
fn a_closed_loop_keeps_so_many_in_flight_and_no_more() {
    let _busy = all_cores();
    let place = Place::new(|_| Script {
        first_token: Duration::from_millis(40),
        ..Script::words(3)
    });
    let args = ["--concurrency", "8", "--warmup", "0"];
    profile(&place, 100, &args);
    let log = place.service.log();
    assert_eq!(most_at_once(&log), 8);
    let connections: BTreeSet<u64> = log.iter().map(|exchange| exchange.connection).collect();
    assert_eq!(connections.len(), 8, "connections are used again");
    let rows = rows(&place.run_of("d"));
    let indices: BTreeSet<u64> = rows
        .iter()
        .map(|row| row["query_index"].as_u64().unwrap())
        .collect();
    assert_eq!((rows.len(), indices.len()), (100, 100));
    assert!(
        rows.iter()
            .all(|row| row["http"]["connection_reused"] == json!(true))
    );
    let config = &summary(&place.run_of("d"))["profiler_config"];
    assert_eq!(config["max_concurrency"], json!(8));
}

#[test]
fn a_ramp_opens_the_places_one_after_the_other() {
    let place = Place::new(|_| Script {
        first_token: Duration::from_millis(50),
        ..Script::words(3)
    });
    profile(
        &place,
        60,
        &["--concurrency", "4", "--ramp", "800ms", "--warmup", "0"],
    );
    let rows = rows(&place.run_of("d"));
    let mut starts: Vec<f64> = rows
        .iter()
        .map(|row| seconds(row, "start_seconds"))
        .collect();
    starts.sort_by(f64::total_cmp);
    let early = starts
        .iter()
        .filter(|start| **start - starts[0] < 0.19)
        .count();
    assert!(
        early <= 5,
        "one place for the first fifth of a second: {early}"
    );
    assert_eq!(most_at_once(&place.service.log()), 4);
}

#[test]
fn an_open_loop_follows_its_schedule_and_the_seed_decides_it() {
    let _alone = no_other_load();
    let place = Place::new(|_| Script {
        first_token: Duration::from_millis(30),
        ..Script::words(3)
    });
    let offsets = |seed: &str| -> Vec<f64> {
        let args = ["--rate", "200", "--seed", seed, "--warmup", "0"];
        profile(&place, 300, &args);
        let mut rows = rows(&place.run_of("d"));
        rows.sort_by_key(|row| row["query_index"].as_u64());
        assert_eq!(rows.len(), 300);
        let lags: Vec<f64> = rows
            .iter()
            .map(|row| seconds(row, "schedule_lag_seconds"))
            .collect();
        assert!(
            lags.iter().all(|lag| *lag >= 0.0),
            "nothing goes before it is due"
        );
        let first = seconds(&rows[0], "due_seconds");
        rows.iter()
            .map(|row| seconds(row, "due_seconds") - first)
            .collect()
    };
    let (one, again, other) = (offsets("1"), offsets("1"), offsets("2"));
    let near = |left: &[f64], right: &[f64]| {
        left.iter()
            .zip(right)
            .all(|(left, right)| (left - right).abs() < 1e-6)
    };
    assert!(near(&one, &again), "the same seed, the same schedule");
    assert!(!near(&one, &other));
    let mean = one.last().unwrap() / 299.0;
    assert!((mean * 200.0 - 1.0).abs() < 0.2, "{mean}");
    // The service saw them when they were due.
    let log = place.service.log();
    let mut arrived: Vec<f64> = log[log.len() - 300..]
        .iter()
        .map(|exchange| exchange.arrived.seconds())
        .collect();
    arrived.sort_by(f64::total_cmp);
    let gaps = |times: &[f64]| -> f64 { times.last().unwrap() - times[0] };
    assert!((gaps(&arrived) / gaps(&other) - 1.0).abs() < 0.05);
}

#[test]
fn a_stalled_service_does_not_hide_behind_the_queries_that_wait() {
    let _busy = all_cores();
    let stall = |place: &Place, more: &[&str]| -> (f64, f64) {
        let mut args = vec!["--rate", "100", "--arrival", "constant", "--warmup", "0"];
        args.extend_from_slice(more);
        profile(place, 400, &args);
        let rows = rows(&place.run_of("d"));
        assert_eq!(rows.len(), 400, "none is dropped");
        let planned = rows.iter().map(|row| {
            row["planned_latency"]["total_query_seconds"]
                .as_f64()
                .unwrap()
        });
        let actual = rows.iter().map(|row| {
            metrics(row)["latency_metrics"]["total_query_seconds"]
                .as_f64()
                .unwrap()
        });
        (p99(planned.collect()), p99(actual.collect()))
    };
    // Request 100 delays all requests of the next two seconds.
    let stalling = || {
        let until = std::sync::Mutex::new(None::<std::time::SystemTime>);
        Place::new(move |received| {
            let mut until = until.lock().unwrap();
            #[expect(clippy::disallowed_methods, reason = "the service's own stall")]
            let now = std::time::SystemTime::now();
            if received.number == 100 {
                *until = Some(now + Duration::from_secs(2));
            }
            let left = until.and_then(|until| until.duration_since(now).ok());
            Script {
                first_token: left.unwrap_or_default(),
                ..Script::words(3)
            }
        })
    };
    let (planned, actual) = stall(&stalling(), &[]);
    assert!(planned > 1.5 && actual > 1.5, "{planned} and {actual}");
    // With few places the queries wait here: only what counts from the planned send shows it.
    let place = stalling();
    let (planned, _) = stall(&place, &["--concurrency", "4"]);
    assert!(planned > 1.5, "{planned}");
    assert!(most_at_once(&place.service.log()) <= 4);
    let rows = rows(&place.run_of("d"));
    let waited = rows
        .iter()
        .filter(|row| seconds(row, "schedule_lag_seconds") > 0.5)
        .count();
    assert!(
        waited > 100,
        "{waited} queries were late, and their rows say so"
    );
}

#[test]
fn a_trace_is_followed_and_a_duration_ends_a_run_that_repeats_its_dataset() {
    let place = Place::new(|_| Script::words(3));
    let trace = place.path().join("trace.txt");
    std::fs::write(&trace, "10\n10.1\n10.4\n10.5\n").unwrap();
    profile(
        &place,
        10,
        &["--trace", trace.to_str().unwrap(), "--warmup", "0"],
    );
    let of = |rows: &[Value]| -> Vec<f64> {
        let mut due: Vec<f64> = rows.iter().map(|row| seconds(row, "due_seconds")).collect();
        due.sort_by(f64::total_cmp);
        due
    };
    let due = of(&rows(&place.run_of("d")));
    let offsets: Vec<f64> = due
        .iter()
        .map(|instant| ((instant - due[0]) * 10.0).round())
        .collect();
    assert_eq!(
        offsets,
        [0.0, 1.0, 4.0, 5.0],
        "the trace ends, and so does the run"
    );
    let args = [
        "--rate",
        "50",
        "--arrival",
        "constant",
        "--duration",
        "1s",
        "--warmup",
        "0",
    ];
    profile(&place, 7, &args);
    let rows = rows(&place.run_of("d"));
    assert_eq!(rows.len(), 50, "seven questions, again and again");
    let indices: BTreeSet<u64> = rows
        .iter()
        .map(|row| row["query_index"].as_u64().unwrap())
        .collect();
    assert_eq!(indices.len(), 50);
    let again = profile(
        &place,
        7,
        &["--repeat", "3", "--concurrency", "2", "--warmup", "0"],
    );
    assert!(again.out.contains("queries   21"), "{}", again.out);
}

#[test]
fn a_failed_query_is_sent_again_only_when_asked_and_its_row_says_how_often() {
    let place = Place::new(|received| Script {
        fault: (received.number % 3 == 0).then(|| Fault::Status(503, "busy".to_owned())),
        ..Script::words(3)
    });
    let args = ["--warmup", "0", "--max-failed", "100%"];
    profile(&place, 9, &args);
    let without = rows(&place.run_of("d"));
    assert_eq!(
        without
            .iter()
            .filter(|row| row["outcome"] == "failed:http_503")
            .count(),
        3
    );
    assert!(
        without
            .iter()
            .all(|row| row["http"]["attempts"] == json!(1))
    );
    profile(&place, 9, &["--warmup", "0", "--retries", "3"]);
    let with = rows(&place.run_of("d"));
    assert!(with.iter().all(|row| row["outcome"] == "complete"));
    let attempts: Vec<u64> = with
        .iter()
        .map(|row| row["http"]["attempts"].as_u64().unwrap())
        .collect();
    assert!(
        attempts.contains(&2) && attempts.contains(&1),
        "{attempts:?}"
    );
    for row in with
        .iter()
        .filter(|row| row["http"]["attempts"] == json!(2))
    {
        let whole = row["planned_latency"]["total_query_seconds"]
            .as_f64()
            .unwrap();
        let last = metrics(row)["latency_metrics"]["total_query_seconds"]
            .as_f64()
            .unwrap();
        assert!(whole >= last, "the time runs on: {whole} and {last}");
    }
}

#[test]
fn every_prompt_begins_differently_when_asked_and_warm_ups_always_do() {
    let place = Place::new(|_| Script::words(3));
    let prompts = |place: &Place| -> Vec<String> {
        let log = place.service.log();
        let prompt = |exchange: &Exchange| {
            let messages = exchange.received.body["messages"]
                .as_array()
                .unwrap()
                .clone();
            messages.last().unwrap()["content"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        log.iter().map(prompt).collect()
    };
    profile(&place, 5, &["--unique-prefix", "--warmup", "2"]);
    profile(&place, 5, &["--warmup", "2"]);
    let seen = prompts(&place);
    assert_eq!(seen.len(), 14);
    let beginnings: BTreeSet<&str> = seen[..9].iter().map(|prompt| &prompt[..18]).collect();
    assert_eq!(beginnings.len(), 9, "{seen:?}");
    assert!(seen[2].ends_with("] question number 0"), "{seen:?}");
    assert_eq!(seen[9], "question number 0", "verbatim unless asked");
    let rows = rows(&place.run_of("d"));
    assert_eq!(rows[0]["problem"], "question number 0");
}

#[test]
fn kills_and_resumes_with_64_in_flight_lose_and_double_nothing() {
    let _busy = all_cores();
    let place = Place::new(|_| Script {
        first_token: Duration::from_millis(15),
        ..Script::words(3)
    });
    let queries = 60_000;
    let dataset = place.jsonl("d", questions(queries));
    let args = [
        "--dataset",
        dataset.to_str().unwrap(),
        "--concurrency",
        "64",
        "--warmup",
        "0",
        "--quiet",
        "--max-queries",
        "12000",
    ];
    let mut child = spawn(&mut place.profile(&args));
    wait_until("the run is there", || {
        place.run_of("d").join("summary.json").exists()
    });
    let run = place.run_of("d");
    let mut random = Random::new(64);
    let mut kills = 0;
    while kills < 100 {
        std::thread::sleep(Duration::from_millis(20 + random.below(60) as u64));
        if child.try_wait().unwrap().is_some() {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        child = spawn(ipw().args(["profile", "--quiet", "--resume"]).arg(&run));
    }
    let last = child.wait_with_output().unwrap();
    assert!(
        last.status.success(),
        "{}",
        String::from_utf8_lossy(&last.stderr)
    );
    assert!(kills > 20, "{kills}");
    let rows = rows(&run);
    let indices: BTreeSet<u64> = rows
        .iter()
        .map(|row| row["query_index"].as_u64().unwrap())
        .collect();
    assert_eq!(
        (rows.len(), indices.len()),
        (12_000, 12_000),
        "after {kills} kills"
    );
    assert_eq!(summary(&run)["status"], "complete");
}

#[test]
fn one_in_five_goes_wrong_with_256_in_flight_and_every_row_is_there() {
    let _busy = all_cores();
    let place = Place::new(|received| {
        let mut random = Random::new(received.number);
        let fault = (random.below(5) == 0).then(|| match random.below(5) {
            0 => Fault::Status(500, "broken".to_owned()),
            1 => Fault::ResetBeforeHead,
            2 => Fault::CloseAfter(1),
            3 => Fault::Garbage,
            _ => Fault::ErrorEventAfter(1, "lost".to_owned()),
        });
        Script {
            first_token: Duration::from_millis(20),
            fault,
            ..Script::words(3)
        }
    });
    let args = [
        "--concurrency",
        "256",
        "--warmup",
        "0",
        "--max-failed",
        "100%",
    ];
    profile(&place, 4000, &args);
    let rows = rows(&place.run_of("d"));
    assert_eq!(rows.len(), 4000);
    let failed = rows
        .iter()
        .filter(|row| row["outcome"] != "complete")
        .count();
    assert!((600..1000).contains(&failed), "{failed}");
    let ours = rows
        .iter()
        .filter(|row| row["outcome"] == "failed:connect" || row["outcome"] == "timed_out");
    assert_eq!(ours.count(), 0);
}

#[test]
fn five_thousand_streams_at_a_time_without_an_error_of_ours() {
    let _alone = no_other_load();
    let place = Place::new(|_| Script {
        // Longer than it takes to open them all, on a busy machine too.
        first_token: Duration::from_secs(12),
        ..Script::words(4)
    });
    profile(
        &place,
        5000,
        &["--concurrency", "5000", "--ramp", "3s", "--warmup", "0"],
    );
    let rows = rows(&place.run_of("d"));
    assert_eq!(rows.len(), 5000);
    let complete = rows
        .iter()
        .filter(|row| row["outcome"] == "complete")
        .count();
    assert_eq!(complete, 5000);
    assert_eq!(most_at_once(&place.service.log()), 5000);
}

#[test]
fn limits_have_a_verdict_per_row_and_the_steady_time_is_told() {
    let place = Place::new(|received| Script {
        // Every fourth is slow.
        first_token: Duration::from_millis(if received.number % 4 == 0 { 400 } else { 50 }),
        gap: Duration::from_millis(5),
        fault: (received.number == 6).then(|| Fault::Status(500, "broken".to_owned())),
        ..Script::words(4)
    });
    let args = [
        "--concurrency",
        "4",
        "--warmup",
        "0",
        "--slo",
        "ttft=200ms,tpot=1s",
    ];
    let ran = profile(&place, 80, &args);
    let run = place.run_of("d");
    let rows = rows(&run);
    let met = rows
        .iter()
        .filter(|row| row["slo"]["is_met"] == json!(true))
        .count();
    assert_eq!(met, 59, "three of four, but for the one that failed");
    let slow: Vec<_> = rows
        .iter()
        .filter(|row| row["slo"]["missed"] == "ttft")
        .collect();
    assert_eq!(slow.len(), 20);
    assert_eq!(
        rows.iter()
            .filter(|row| row["slo"]["missed"] == "failed")
            .count(),
        1
    );
    let load = &summary(&run)["load"];
    assert_eq!(load["slo"]["whole"]["met"], json!(59));
    let steady = &load["steady"];
    let in_flight = steady["mean_in_flight"].as_f64().unwrap();
    assert!((3.5..=4.0).contains(&in_flight), "{steady}");
    // The service's own log says how many came back in that time.
    assert!(
        steady["requests_per_second"].as_f64().unwrap() > 5.0,
        "{steady}"
    );
    let p50 = &load["latency"]["total_seconds"]["sent"]["p50"];
    assert!(p50["low"].as_f64() <= p50["value"].as_f64(), "{p50}");
    assert_eq!(
        load["latency"]["total_seconds"]["sent"]["p99"]["needs"],
        json!(368)
    );
    for words in [
        "4 at a time",
        "steady for",
        "% of queries met it",
        "n/a: too few",
    ] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    let wrong = said(&mut place.profile(&["--slo", "speed=3s"]));
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);
}

#[test]
fn a_sweep_is_a_run_for_each_load_and_a_table_over_them() {
    let _busy = all_cores();
    // Four places: more at a time only wait.
    let busy = std::sync::Arc::new(std::sync::Mutex::new(vec![0_u64; 4]));
    let place = Place::new(move |received| {
        let mut busy = busy.lock().unwrap();
        let place = usize::try_from(received.number).unwrap() % 4;
        #[expect(clippy::disallowed_methods, reason = "the service's own queue")]
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap();
        let now = u64::try_from(now.as_millis()).unwrap();
        busy[place] = busy[place].max(now) + 40;
        Script {
            first_token: Duration::from_millis(busy[place] - now),
            ..Script::words(3)
        }
    });
    let dataset = place.jsonl("d", questions(20));
    let mut command = place.profile(&[
        "--dataset",
        dataset.to_str().unwrap(),
        "--warmup",
        "0",
        "--sweep",
        "concurrency=1,4,16,32",
        "--duration",
        "1s",
    ]);
    let ran = said(&mut command);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let directory = place.runs().join("sweep_reference_d_concurrency_openai");
    let text = std::fs::read(directory.join("sweep.json")).unwrap();
    let sweep: Value = serde_json::from_slice(&text).unwrap();
    let points = sweep["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    let rate = |place: usize| points[place]["requests_per_second"].as_f64().unwrap();
    assert!(rate(1) > 2.0 * rate(0), "{points:?}");
    assert!(rate(3) < 1.5 * rate(1), "{points:?}");
    assert_eq!(
        sweep["knee"]["recommended"]["load"],
        json!(4.0),
        "{}",
        sweep["knee"]
    );
    for point in points {
        let run = Path::new(point["directory"].as_str().unwrap());
        assert_eq!(summary(run)["status"], "complete");
    }
    assert!(
        ran.out.contains("stopped growing after concurrency 4"),
        "{}",
        ran.out
    );
}
