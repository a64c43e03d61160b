//! Regressions, bootstraps, densities and comparisons against numpy, scipy and statsmodels.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::fs;

use ipw_analysis::bootstrap::{self, Method, RESAMPLES};
use ipw_analysis::compare::{self, Comparison, Pairing, Tolerance, compare};
use ipw_analysis::density::Density;
use ipw_analysis::distribution::{normal_quantile, normal_share, student_quantile};
use ipw_analysis::ecdf::Ecdf;
use ipw_analysis::interval::Estimate;
use ipw_analysis::line::{Line, OptionalNumber};
use ipw_analysis::metric::{Metric, Row};
use ipw_analysis::regression::{LinearFit, RobustLine, ols, regressions};
use ipw_core::random::Random;
use ipw_testkit::{Venv, or_skip};
use serde_json::{Value, json};

const TRUTH: &str = include_str!("statsmodels.py");
const PLACES: [f64; 5] = [-10.0, 0.0, 17.5, 60.0, 900.0];
const SEED: u64 = 99;
const BOOTSTRAPPED: [Metric; 5] = [
    Metric::Accuracy,
    Metric::Ipw,
    Metric::Ipj,
    Metric::JoulesPerCorrect,
    Metric::JoulesPerToken,
];
/// Both correct, only A, only B, neither.
const TABLES: [[u64; 4]; 6] = [
    [43, 6, 12, 39],
    [0, 5, 9, 0],
    [20, 0, 0, 0],
    [1, 30, 30, 2],
    [900, 31, 55, 14],
    [2, 1, 0, 1],
];
const SHARES: [[u64; 4]; 4] = [
    [56, 70, 48, 80],
    [0, 10, 0, 20],
    [10, 10, 3, 5],
    [999, 1000, 900, 1000],
];

#[track_caller]
fn same(found: f64, truth: &Value, what: &str) {
    let truth = truth.as_f64().expect("a number is there");
    let bound = (1e-9 * truth.abs()).max(1e-11);
    assert!(
        (found - truth).abs() <= bound,
        "{what}: {found} is not {truth}"
    );
}

#[track_caller]
fn same_option(found: Option<f64>, truth: &Value, what: &str) {
    match found {
        Some(found) => same(found, truth, what),
        None => assert!(truth.is_null(), "{what}: nothing is not {truth}"),
    }
}

#[track_caller]
fn same_estimate(found: Estimate, truth: &Value, what: &str) {
    same(found.value, &truth[0], what);
    same(found.low, &truth[1], what);
    same(found.high, &truth[2], what);
}

fn list(truth: &Value) -> std::slice::Iter<'_, Value> {
    truth.as_array().unwrap().iter()
}

/// Rows typical of a run: some tokens, times or joules unknown, some zero.
fn run(count: usize, random: &mut Random) -> Vec<Line> {
    (0..count)
        .map(|_| {
            let input = (random.unit() * 2000.0).floor();
            let output = (random.unit() * 300.0).floor();
            let mut some =
                |value: f64| OptionalNumber::from((random.unit() > 0.1).then_some(value));
            Line {
                input_tokens: some(input),
                output_tokens: some(output),
                first_token: some(if input < 50.0 {
                    0.0
                } else {
                    0.1 + input * 3e-4
                }),
                total: some(0.2 + output * 0.02 + input * 3e-4),
                joules: some(5.0 + output * 1.1 + (input * 0.7).sin()),
                share_watts: some(if output < 20.0 {
                    0.0
                } else {
                    60.0 + (output * 0.3).cos()
                }),
                ..Line::default()
            }
        })
        .collect()
}

fn points(count: u32, random: &mut Random) -> Vec<(f64, f64)> {
    (0..count)
        .map(|_| {
            let x = (random.unit() * 100.0).floor();
            (
                x,
                3.0 + 0.4 * x + random.normal() * 5.0 + random.exponential(),
            )
        })
        .collect()
}

/// Joules, seconds, tokens and correctness of some queries.
#[derive(Default)]
struct Queries {
    names: Vec<String>,
    joules: Vec<f64>,
    seconds: Vec<f64>,
    tokens: Vec<u64>,
    correct: Vec<u8>,
}

impl Queries {
    fn new(count: usize, random: &mut Random) -> Self {
        let mut all = Self::default();
        for place in 0..count {
            let tokens = 5 + random.up_to(400);
            let joules = f64::from(u32::try_from(tokens).unwrap()) * random.gamma(3.0);
            all.names.push(place.to_string());
            all.joules.push(joules);
            all.seconds.push(joules / (30.0 + 10.0 * random.unit()));
            all.tokens.push(tokens as u64);
            all.correct.push(u8::from(random.unit() < 0.6));
        }
        all
    }

    fn rows(&self) -> Vec<Row<'_>> {
        (0..self.names.len())
            .map(|place| {
                Row {
                    query: &self.names[place],
                    joules: Some(self.joules[place]),
                    seconds: Some(self.seconds[place]),
                    total_tokens: Some(self.tokens[place]),
                    is_answered: true,
                    is_correct: Some(self.correct[place] == 1),
                    ..Row::default()
                }
                .alone()
            })
            .collect()
    }

    fn given(&self) -> Value {
        json!({
            "joules": self.joules,
            "seconds": self.seconds,
            "tokens": self.tokens,
            "correct": self.correct,
        })
    }

    fn with_places(&self) -> Value {
        let mut given = self.given();
        given["places"] = json!(bootstrap::places(self.names.len(), RESAMPLES, SEED));
        given
    }
}

fn fits_are_theirs(runs: &[Vec<Line>], truth: &Value) {
    for (rows, truth) in runs.iter().zip(list(truth)) {
        let found = regressions(rows);
        for (name, fit) in found.regressions.named() {
            let truth = &truth[name];
            assert_eq!(fit.count, truth["count"].as_u64().unwrap(), "{name}");
            same_option(fit.slope, &truth["slope"], name);
            same_option(fit.intercept, &truth["intercept"], name);
            same_option(fit.r2, &truth["r2"], name);
            same_option(fit.avg_y, &truth["avg_y"], name);
        }
    }
}

fn lines_are_theirs(sets: &[Vec<(f64, f64)>], truth: &Value) {
    for (points, truth) in sets.iter().zip(list(truth)) {
        let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        let found = LinearFit::through(&x, &y).unwrap();
        for (place, coefficient) in [found.intercept, found.slope].into_iter().enumerate() {
            same(coefficient.value, &truth["values"][place], "value");
            same(coefficient.standard_error, &truth["errors"][place], "error");
            same(coefficient.low, &truth["intervals"][place][0], "low");
            same(coefficient.high, &truth["intervals"][place][1], "high");
        }
        same(found.residual_sigma, &truth["sigma"], "sigma");
        same(ols(&x, &y).r2.unwrap(), &truth["r2"], "r2");
        for (place, truth) in PLACES.into_iter().zip(list(&truth["bands"])) {
            let band = found.band(place).unwrap();
            let (mean, prediction) = (band.mean, band.prediction);
            let all = [
                band.value,
                mean.low,
                mean.high,
                prediction.low,
                prediction.high,
            ];
            for (found, truth) in all.into_iter().zip(list(truth)) {
                same(found, truth, "band");
            }
        }
        let robust = RobustLine::through(&x, &y).unwrap();
        same_estimate(robust.slope, &truth["robust"], "robust");
        same(robust.intercept, &truth["robust"][3], "robust intercept");
    }
}

fn bootstraps_are_theirs(sets: &[Queries], truth: &Value) {
    for (queries, truth) in sets.iter().zip(list(truth)) {
        let found = bootstrap::intervals(&queries.rows(), &BOOTSTRAPPED, SEED);
        for (metric, sure) in found {
            let sure = sure.unwrap();
            assert_eq!(sure.method, Method::Bca, "{metric:?}");
            let (value, low, high) = (sure.value, sure.low, sure.high);
            same_estimate(
                Estimate { value, low, high },
                &truth[metric.name()],
                metric.name(),
            );
        }
    }
}

fn by_delta_is_theirs(queries: &Queries, truth: &Value) {
    let metrics = [Metric::Ipw, Metric::Ipj, Metric::JoulesPerToken];
    for (metric, sure) in bootstrap::intervals(&queries.rows(), &metrics, SEED) {
        let sure = sure.unwrap();
        assert_eq!(sure.method, Method::Delta);
        let (value, low, high) = (sure.value, sure.low, sure.high);
        same_estimate(
            Estimate { value, low, high },
            &truth[metric.name()],
            metric.name(),
        );
    }
}

fn densities_are_theirs(sets: &[Vec<f64>], truth: &Value) {
    for (values, truth) in sets.iter().zip(list(truth)) {
        let found = Density::of(values.clone()).unwrap();
        assert!(!found.is_binned);
        same(found.bandwidth, &truth["width"], "bandwidth");
        same(found.mean, &truth["mean"], "mean");
        same(found.median, &truth["median"], "median");
        for ((x, y), place) in found.x.iter().zip(&found.y).zip(0..) {
            let place: usize = place;
            same(*x, &truth["x"][place], "place");
            same(*y, &truth["y"][place], "density");
        }
    }
}

fn compared(a: &[Row], b: &[Row], metric: Metric) -> Comparison {
    compare(a, b, &[metric], Tolerance::default())[0]
}

/// Rows whose names are the same in two runs if `side` is.
fn spent<'a>(names: &'a [String], joules: &[f64]) -> Vec<Row<'a>> {
    names
        .iter()
        .zip(joules)
        .map(|(query, joules)| Row {
            query,
            joules: Some(*joules),
            is_answered: true,
            ..Row::default()
        })
        .collect()
}

fn named(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|place| format!("{prefix}{place}")).collect()
}

type Samples = (Vec<f64>, Vec<f64>, bool);

fn means_are_theirs(sets: &[Samples], truth: &Value) {
    for ((a, b, is_paired), truth) in sets.iter().zip(list(truth)) {
        let left = named("", a.len());
        let right = named(if *is_paired { "" } else { "other " }, b.len());
        let found = compared(&spent(&left, a), &spent(&right, b), Metric::JoulesPerQuery);
        assert_eq!(found.pairing == Pairing::Paired, *is_paired);
        same_estimate(found.absolute.unwrap(), &truth["absolute"], "absolute");
        same_estimate(found.relative.unwrap(), &truth["relative"], "relative");
    }
}

fn graded(names: &[String], hits: impl Fn(u64) -> bool) -> Vec<Row<'_>> {
    names
        .iter()
        .zip(0..)
        .map(|(query, place)| Row {
            query,
            is_answered: true,
            is_correct: Some(hits(place)),
            ..Row::default()
        })
        .collect()
}

fn shares_are_theirs(truth: &Value) {
    for ([both, only_a, only_b, neither], truth) in TABLES.into_iter().zip(list(&truth["tables"])) {
        let names = named(
            "",
            usize::try_from(both + only_a + only_b + neither).unwrap(),
        );
        let a = graded(&names, |place| place < both + only_a);
        let is_b =
            |place: u64| place < both || (both + only_a..both + only_a + only_b).contains(&place);
        let found = compared(&a, &graded(&names, is_b), Metric::Accuracy);
        assert_eq!(found.method, Some(compare::Method::NewcombePaired));
        same(found.p_value.unwrap(), &truth[0], "McNemar");
        let truth = json!([truth[1], truth[2], truth[3]]);
        same_estimate(found.absolute.unwrap(), &truth, "paired shares");
    }
    for ([hits_a, all_a, hits_b, all_b], truth) in SHARES.into_iter().zip(list(&truth["shares"])) {
        let [left, right] = [("a", all_a), ("b", all_b)]
            .map(|(prefix, count)| named(prefix, usize::try_from(count).unwrap()));
        let a = graded(&left, |place| place < hits_a);
        let found = compared(
            &a,
            &graded(&right, |place| place < hits_b),
            Metric::Accuracy,
        );
        assert_eq!(found.method, Some(compare::Method::Newcombe));
        same_estimate(found.absolute.unwrap(), truth, "shares");
    }
}

fn samples(random: &mut Random) -> Vec<Samples> {
    let mut sample = |count: usize, scale: f64| -> Vec<f64> {
        (0..count).map(|_| scale * random.gamma(2.0)).collect()
    };
    let mut sets: Vec<Samples> = [(2, 2), (3, 50), (40, 25), (900, 700)]
        .map(|(a, b)| (sample(a, 10.0), sample(b, 8.0), false))
        .to_vec();
    for count in [2, 12, 300] {
        let a = sample(count, 10.0);
        let noise = sample(count, 1.0);
        let b = a.iter().zip(noise).map(|(a, noise)| 0.8 * a + noise);
        sets.push((a.clone(), b.collect(), true));
    }
    sets
}

#[test]
fn analyses_are_those_of_numpy_scipy_and_statsmodels() {
    let wanted = ["numpy", "scipy", "statsmodels"];
    let Some(python) = or_skip(Venv::ensure("statsmodels", &wanted)) else {
        return;
    };
    let random = &mut Random::new(20_250_202);
    let runs = [0, 1, 2, 30, 2000].map(|count| run(count, random));
    let lines = [3, 4, 25, 600].map(|count| points(count, random));
    let queries = [10, 37, 250].map(|count| Queries::new(count, random));
    let many = Queries::new(bootstrap::MOST_DRAWN + 1, random);
    let densities = [2_usize, 40, 1500].map(|count| {
        let tokens = (0..count).map(|_| (random.gamma(2.0) * 80.0).floor());
        tokens.collect::<Vec<f64>>()
    });
    let samples = samples(random);
    let freedoms = [1.0, 1.3, 2.5, 7.77, 42.42, 399.9, 400.1, 5000.5];
    let normal = [-4.0, -2.2, -0.3, 0.0, 1.0, 1.959_963_984_540_054];
    let curve = Ecdf::of(densities[2].clone(), 60).unwrap();
    let at: Vec<f64> = curve.points.iter().map(|point| point.value).collect();
    let row = |row: &Line| {
        json!({
            "input": row.input_tokens.get(),
            "output": row.output_tokens.get(),
            "ttft": row.first_token.get(),
            "total": row.total.get(),
            "joules": row.joules.get(),
            "watts": row.share_watts.get(),
        })
    };
    let given = json!({
        "five": runs.iter().map(|rows| rows.iter().map(row).collect()).collect::<Vec<Vec<_>>>(),
        "lines": lines,
        "places": PLACES,
        "normal": normal,
        "student": freedoms,
        "bootstrap": queries.iter().map(Queries::with_places).collect::<Vec<_>>(),
        "delta": many.given(),
        "density": densities,
        "ecdf": [(&densities[2], &at)],
        "means": samples,
        "tables": TABLES,
        "shares": SHARES,
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("given.json");
    fs::write(&path, given.to_string()).unwrap();
    let truth: Value = serde_json::from_str(&python.run(TRUTH, &[&path]).unwrap()).unwrap();

    fits_are_theirs(&runs, &truth["five"]);
    lines_are_theirs(&lines, &truth["lines"]);
    for (value, truth) in normal.into_iter().zip(list(&truth["normal"])) {
        same(normal_share(value), &truth[0], "share");
        same(
            normal_quantile(normal_share(value)).unwrap(),
            &truth[1],
            "quantile",
        );
    }
    for (freedom, truth) in freedoms.into_iter().zip(list(&truth["student"])) {
        same(
            student_quantile(freedom).unwrap(),
            truth,
            &format!("{freedom} degrees"),
        );
    }
    bootstraps_are_theirs(&queries, &truth["bootstrap"]);
    by_delta_is_theirs(&many, &truth["delta"]);
    densities_are_theirs(&densities, &truth["density"]);
    for (point, truth) in curve.points.iter().zip(list(&truth["ecdf"][0])) {
        same(point.share, truth, "share");
    }
    means_are_theirs(&samples, &truth["means"]);
    shares_are_theirs(&truth);
}
