//! Coverage of 95 % intervals, from thousands of simulated runs with known truth.
//!
//! The results are in docs/method.md §9.4 and §9.6 (`--nocapture` prints them). The bounds here
//! allow for other seeds.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]
#![expect(
    clippy::print_stdout,
    reason = "the tables of docs/method.md are read from it"
)]

use ipw_analysis::bootstrap;
use ipw_analysis::compare::{Tolerance, Verdict, compare};
use ipw_analysis::metric::{Metric, Row};
use ipw_core::random::Random;

const RUNS: u32 = 2000;

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|place| format!("{prefix}{place}")).collect()
}

fn logarithmic(random: &mut Random, deviation: f64) -> f64 {
    // With mean 1.
    (deviation * random.normal() - deviation * deviation / 2.0).exp()
}

/// A run of queries with replies of these lengths: half a joule per token times `factor`, with
/// twenty percent noise, and proportional time.
fn run<'a>(names: &'a [String], lengths: &[f64], factor: f64, random: &mut Random) -> Vec<Row<'a>> {
    names
        .iter()
        .zip(lengths)
        .map(|(query, length)| {
            let joules = 0.5 * length * factor * logarithmic(random, 0.2);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "some hundreds"
            )]
            let tokens = length.ceil() as u64;
            Row {
                query,
                joules: Some(joules),
                seconds: Some(joules / 40.0),
                total_tokens: Some(tokens),
                output_tokens: Some(tokens),
                first_token: Some(joules / 400.0),
                latency: Some(joules / 40.0),
                is_answered: true,
                ..Row::default()
            }
            .alone()
        })
        .collect()
}

/// Lengths typical of replies: the longest is many times the shortest.
fn lengths(count: usize, random: &mut Random) -> Vec<f64> {
    (0..count)
        .map(|_| 20.0 + 200.0 * logarithmic(random, 0.8))
        .collect()
}

/// The share of simulated pairs of runs whose interval holds a change by `factor`.
fn held(count: usize, is_paired: bool, metric: Metric, factor: f64) -> f64 {
    let mut random = Random::new(count as u64 + u64::from(is_paired));
    let left = names("", count);
    let right = names(if is_paired { "" } else { "other " }, count);
    let mut hits = 0;
    for _ in 0..RUNS {
        let lengths_a = lengths(count, &mut random);
        let lengths_b = if is_paired {
            lengths_a.clone()
        } else {
            lengths(count, &mut random)
        };
        let a = run(&left, &lengths_a, 1.0, &mut random);
        let b = run(&right, &lengths_b, factor, &mut random);
        let found = compare(&a, &b, &[metric], Tolerance::default())[0];
        let relative = found.relative.unwrap();
        let truth = factor - 1.0;
        hits += u32::from(relative.low <= truth && truth <= relative.high);
    }
    f64::from(hits) / f64::from(RUNS)
}

#[track_caller]
fn within(found: f64, low: f64, high: f64, what: &str) {
    println!("{what}: {:.1} %", 100.0 * found);
    assert!((low..=high).contains(&found), "{what}: {found}");
}

#[test]
fn paired_ratios_hold_the_truth() {
    for count in [10, 30, 300] {
        for metric in [Metric::JoulesPerQuery, Metric::JoulesPerToken] {
            let found = held(count, true, metric, 0.82);
            within(
                found,
                0.91,
                0.97,
                &format!("paired {} of {count}", metric.name()),
            );
        }
    }
}

#[test]
fn unpaired_ratios_hold_the_truth() {
    for count in [10, 30, 300] {
        for metric in [Metric::JoulesPerQuery, Metric::JoulesPerToken] {
            let found = held(count, false, metric, 0.82);
            within(
                found,
                0.91,
                0.98,
                &format!("unpaired {} of {count}", metric.name()),
            );
        }
    }
}

#[test]
fn percentiles_hold_the_truth() {
    for (metric, count) in [
        (Metric::LatencyP50, 20),
        (Metric::LatencyP50, 200),
        (Metric::LatencyP99, 400),
    ] {
        for is_paired in [true, false] {
            let found = held(count, is_paired, metric, 1.25);
            let kind = if is_paired { "paired" } else { "unpaired" };
            within(
                found,
                0.92,
                1.0,
                &format!("{kind} {} of {count}", metric.name()),
            );
        }
    }
}

/// Hard queries are hard for both runs: where A is correct, B is correct more often.
fn shares_held(count: usize, is_paired: bool) -> f64 {
    let mut random = Random::new(7 + count as u64);
    let left = names("", count);
    let right = names(if is_paired { "" } else { "other " }, count);
    let graded = |query, is_correct| Row {
        query,
        is_answered: true,
        is_correct: Some(is_correct),
        ..Row::default()
    };
    let mut hits = 0;
    for _ in 0..RUNS {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for (left, right) in left.iter().zip(&right) {
            let is_right = random.unit() < 0.7;
            let chance = match (is_paired, is_right) {
                (false, _) => 0.64,
                (true, true) => 0.82,
                (true, false) => 0.22,
            };
            a.push(graded(left, is_right));
            b.push(graded(right, random.unit() < chance));
        }
        let found = compare(&a, &b, &[Metric::Accuracy], Tolerance::default())[0];
        let points = found.absolute.unwrap();
        let truth = -0.06;
        hits += u32::from(points.low <= truth && truth <= points.high);
    }
    f64::from(hits) / f64::from(RUNS)
}

#[test]
fn shares_hold_the_truth() {
    for count in [20, 60, 300] {
        for is_paired in [true, false] {
            let kind = if is_paired { "paired" } else { "unpaired" };
            let what = format!("{kind} accuracy of {count}");
            within(shares_held(count, is_paired), 0.935, 0.985, &what);
        }
    }
}

#[test]
fn no_change_is_rarely_called_one() {
    let mut random = Random::new(1);
    let names = names("", 40);
    let mut called = 0;
    for _ in 0..RUNS {
        let lengths = lengths(40, &mut random);
        let a = run(&names, &lengths, 1.0, &mut random);
        let b = run(&names, &lengths, 1.0, &mut random);
        let found = compare(&a, &b, &[Metric::JoulesPerToken], Tolerance::default())[0];
        called += u32::from(matches!(found.verdict, Verdict::Lower | Verdict::Higher));
    }
    let share = f64::from(called) / f64::from(RUNS);
    within(share, 0.02, 0.08, "false positives");
}

#[test]
fn bootstrapped_ratios_hold_the_truth() {
    for count in [20, 100] {
        let mut random = Random::new(3);
        let names = names("", count);
        let runs = 300_u32;
        let mut hits = 0;
        for seed in 0..runs {
            let lengths = lengths(count, &mut random);
            let rows = run(&names, &lengths, 1.0, &mut random);
            let found = bootstrap::intervals(&rows, &[Metric::JoulesPerToken], u64::from(seed));
            let sure = found[&Metric::JoulesPerToken].unwrap();
            // Tokens are rounded up: half a token of some two hundred and twenty.
            let truth = 0.5 * 220.0 / 220.5;
            hits += u32::from(sure.low <= truth && truth <= sure.high);
        }
        let share = f64::from(hits) / f64::from(runs);
        within(
            share,
            0.87,
            0.98,
            &format!("bootstrapped joules_per_token of {count}"),
        );
    }
}
