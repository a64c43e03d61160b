//! Percentiles, intervals, slopes and fits against numpy and scipy.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::fs;

use ipw_analysis::interval::{Estimate, student_t, wilson};
use ipw_analysis::marginal::{self, Observation};
use ipw_analysis::percentile::{Percentile, Summary, needed, ranks};
use ipw_analysis::saturation::theil_sen;
use ipw_testkit::{Venv, or_skip};
use serde_json::{Value, json};

const TRUTH: &str = include_str!("numpy.py");

/// Random numbers from a fixed seed.
struct Random(ipw_core::random::Random);

impl Random {
    /// Uniform in (0, 1].
    fn uniform(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "52 bits")]
        let share = ((self.0.number() >> 12) + 1) as f64 / (1_u64 << 52) as f64;
        share
    }

    /// Latencies typical of services: many short, some long.
    fn latency(&mut self) -> f64 {
        0.2 - self.uniform().ln() + self.uniform().powi(-2) * 1e-3
    }
}

fn samples(random: &mut Random) -> Vec<Vec<f64>> {
    let sizes = [1, 2, 5, 6, 35, 36, 71, 72, 100, 367, 368, 1000, 20_000];
    let mut samples: Vec<Vec<f64>> = sizes
        .iter()
        .map(|size| (0..*size).map(|_| random.latency()).collect())
        .collect();
    // With ties, as from a clock with low resolution.
    samples.push(
        (0..2000)
            .map(|_| (random.latency() * 5.0).floor() / 5.0)
            .collect(),
    );
    samples
}

fn observations(random: &mut Random, is_weighted: bool) -> Vec<Observation> {
    (0..40)
        .map(|_| {
            let input_tokens = (random.uniform() * 4000.0).ceil();
            let output_tokens = (random.uniform() * 600.0).ceil();
            let seconds = 0.2 + random.uniform() * 5.0;
            let noise = (random.uniform() - 0.5) * 40.0;
            Observation {
                input_tokens,
                output_tokens,
                seconds,
                joules: 0.03 * input_tokens + 0.9 * output_tokens + 55.0 * seconds + noise,
                weight: if is_weighted {
                    0.1 + random.uniform()
                } else {
                    1.0
                },
            }
        })
        .collect()
}

fn points(random: &mut Random) -> Vec<Vec<(f64, f64)>> {
    let line = |count: u32, slope: f64, random: &mut Random| -> Vec<(f64, f64)> {
        (0..count)
            .map(|x| (f64::from(x) * 3.0, slope * f64::from(x) + random.latency()))
            .collect()
    };
    let mut sets = vec![
        line(2, 1.0, random),
        line(3, -1.0, random),
        line(8, 0.0, random),
        line(32, 0.05, random),
        line(101, -0.2, random),
    ];
    // Ties in one of the two, and in both.
    for (x_step, y_step) in [(30.0, 1e-9), (3.0, 2.0), (30.0, 2.0)] {
        let line = line(40, 0.1, random);
        let tied = line
            .iter()
            .map(|(x, y)| ((x / x_step).floor(), (y / y_step).floor()));
        sets.push(tied.collect());
    }
    sets
}

/// Sample sizes for which the ranks are compared.
const COUNTS: [usize; 9] = [6, 37, 100, 368, 1000, 4321, 50_000, 333_333, 1_000_000];
const FRACTIONS: [f64; 7] = [0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999];
const SHARES: [(u64, u64); 5] = [(0, 10), (3, 7), (8, 10), (500, 1000), (99_999, 100_000)];

#[track_caller]
fn same(found: f64, truth: &Value, what: &str) {
    let truth = truth.as_f64().expect("scipy has a number");
    let bound = (1e-9 * truth.abs()).max(1e-12);
    assert!(
        (found - truth).abs() <= bound,
        "{what}: {found} is not {truth}"
    );
}

#[track_caller]
fn same_estimate(found: Estimate, truth: &Value, what: &str) {
    same(found.value, &truth[0], what);
    same(found.low, &truth[1], what);
    same(found.high, &truth[2], what);
}

#[track_caller]
fn same_percentile(found: Percentile, truth: &Value, what: &str) {
    match found {
        Percentile::Known { value, low, high } => {
            same_estimate(Estimate { value, low, high }, truth, what);
        }
        Percentile::Unsupported { .. } => {
            // scipy returns an end that is not finite.
            assert!(truth[1].is_null() || truth[2].is_null(), "{what}: {truth}");
        }
    }
}

fn summaries_are_theirs(samples: Vec<Vec<f64>>, truth: &Value) {
    for (values, truth) in samples.into_iter().zip(truth.as_array().unwrap()) {
        let what = format!("{} values", values.len());
        let found = Summary::of(values).unwrap();
        same(found.mean, &truth["mean"], &what);
        same(found.min, &truth["min"], &what);
        same(found.max, &truth["max"], &what);
        match (found.standard_deviation, found.mean_interval) {
            (Some(deviation), Some(interval)) => {
                same(deviation, &truth["deviation"], &what);
                same(interval.low, &truth["interval"][0], &what);
                same(interval.high, &truth["interval"][1], &what);
            }
            none => assert_eq!((none, found.count), ((None, None), 1)),
        }
        let percentiles = [found.p50, found.p90, found.p95, found.p99];
        for (percentile, truth) in percentiles
            .into_iter()
            .zip(truth["percentiles"].as_array().unwrap())
        {
            same_percentile(percentile, truth, &what);
        }
    }
}

fn ranks_are_theirs(truth: &Value) {
    let mut truth = truth.as_array().unwrap().iter();
    for count in COUNTS {
        for fraction in FRACTIONS {
            let (low, high) = ranks(count, fraction).unzip();
            let truth = truth.next().unwrap();
            let is_supported = count as u64 >= needed(fraction).unwrap();
            let theirs = is_supported.then(|| truth[0].as_u64().zip(truth[1].as_u64()));
            let (their_low, their_high) = theirs.flatten().unzip();
            assert_eq!(
                (low.map(|low| low as u64), high.map(|high| high as u64)),
                (their_low, their_high),
                "{fraction} of {count}: scipy says {truth}"
            );
            // For unsupported percentiles, scipy's end also lies outside the sample.
            let is_inside =
                truth[0].as_i64() >= Some(0) && truth[1].as_i64() < i64::try_from(count).ok();
            assert_eq!(is_supported, is_inside, "{fraction} of {count}");
        }
    }
}

fn fits_are_theirs(sets: &[Vec<Observation>], truth: &Value) {
    for (set, truth) in sets.iter().zip(truth.as_array().unwrap()) {
        let found = marginal::fit(set).unwrap();
        same_estimate(found.joules_per_input_token, &truth["costs"][0], "input");
        same_estimate(found.joules_per_output_token, &truth["costs"][1], "output");
        same_estimate(found.idle_watts, &truth["costs"][2], "idle");
        same(found.residual_joules, &truth["residual"], "residual");
        same(found.condition, &truth["condition"], "condition");
    }
}

#[test]
fn statistics_are_those_of_numpy_and_scipy() {
    let Some(python) = or_skip(Venv::ensure("scipy", &["numpy", "scipy"])) else {
        return;
    };
    let random = &mut Random(ipw_core::random::Random::new(20_250_101));
    let samples = samples(random);
    let sets = [false, true].map(|is_weighted| observations(random, is_weighted));
    let points = points(random);
    let freedoms: Vec<u64> = (1..=60).chain([399, 400, 401, 1000, 999_999]).collect();
    let row = |one: &Observation| {
        [
            one.input_tokens,
            one.output_tokens,
            one.seconds,
            one.joules,
            one.weight,
        ]
    };
    let given = json!({
        "samples": samples,
        "counts": COUNTS,
        "fractions": FRACTIONS,
        "freedoms": freedoms,
        "shares": SHARES,
        "fits": sets.iter().map(|set| set.iter().map(row).collect()).collect::<Vec<Vec<_>>>(),
        "points": points,
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("given.json");
    fs::write(&path, given.to_string()).unwrap();
    let truth: Value = serde_json::from_str(&python.run(TRUTH, &[&path]).unwrap()).unwrap();

    summaries_are_theirs(samples, &truth["samples"]);
    ranks_are_theirs(&truth["ranks"]);
    for (freedom, truth) in freedoms.iter().zip(truth["student"].as_array().unwrap()) {
        same(
            student_t(*freedom).unwrap(),
            truth,
            &format!("{freedom} degrees"),
        );
    }
    for ((hits, count), truth) in SHARES.into_iter().zip(truth["shares"].as_array().unwrap()) {
        same_estimate(wilson(hits, count).unwrap(), truth, "share");
    }
    fits_are_theirs(&sets, &truth["fits"]);
    for (points, truth) in points.iter().zip(truth["slopes"].as_array().unwrap()) {
        let found = theil_sen(points).unwrap();
        let (value, low, high) = (found.slope, found.low, found.high);
        same_estimate(
            Estimate { value, low, high },
            truth,
            &format!("{} points", points.len()),
        );
    }
}
