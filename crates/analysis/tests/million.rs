//! All analyses and plots of a run with a million rows take seconds. An algorithm over all pairs of
//! rows would not finish.

use ipw_analysis::bootstrap::{self, Method};
use ipw_analysis::compare::{Tolerance, Verdict, compare};
use ipw_analysis::density::Density;
use ipw_analysis::ecdf::Ecdf;
use ipw_analysis::line::Line;
use ipw_analysis::metric::{Metric, Row};
use ipw_analysis::outliers::outliers;
use ipw_analysis::regression::regressions;
use ipw_analysis::timeline::{Traffic, held};
use ipw_core::random::Random;

const ROWS: u32 = 1_000_000;

struct Run {
    names: Vec<String>,
    tokens: Vec<f64>,
    latency: Vec<f64>,
    joules: Vec<f64>,
}

fn run(factor: f64, seed: u64) -> Run {
    let mut random = Random::new(seed);
    let mut lengths = Random::new(0);
    let tokens: Vec<f64> = (0..ROWS)
        .map(|_| 10.0 + (lengths.gamma(2.0) * 100.0).floor())
        .collect();
    let latency: Vec<f64> = tokens
        .iter()
        .map(|tokens| (0.1 + 0.01 * tokens) * (1.0 + 0.05 * random.normal()))
        .collect();
    Run {
        names: (0..ROWS).map(|place| place.to_string()).collect(),
        joules: latency
            .iter()
            .map(|seconds| factor * 80.0 * seconds)
            .collect(),
        tokens,
        latency,
    }
}

fn rows(run: &Run) -> Vec<Row<'_>> {
    (0..ROWS as usize)
        .map(|place| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "some hundreds"
            )]
            let tokens = run.tokens[place] as u64;
            Row {
                query: &run.names[place],
                joules: Some(run.joules[place]),
                seconds: Some(run.latency[place]),
                total_tokens: Some(tokens),
                output_tokens: Some(tokens),
                first_token: Some(run.latency[place] / 10.0),
                latency: Some(run.latency[place]),
                is_answered: true,
                is_correct: Some(place % 3 > 0),
                is_good: Some(place % 5 > 0),
                ..Row::default()
            }
            .alone()
        })
        .collect()
}

#[test]
fn a_million_rows_are_compared_and_bootstrapped() {
    let (a, b) = (run(1.0, 1), run(0.82, 2));
    let (a, b) = (rows(&a), rows(&b));
    let found = compare(&a, &b, &Metric::ALL, Tolerance::default());
    let joules = found
        .iter()
        .find(|one| one.metric == Metric::JoulesPerToken)
        .unwrap();
    assert_eq!(
        (joules.verdict, joules.queries_a),
        (Verdict::Lower, 1_000_000)
    );
    assert!(
        joules
            .sentence("A", "B")
            .starts_with("B uses 18 % less energy per token")
    );
    let latency = found
        .iter()
        .find(|one| one.metric == Metric::LatencyP99)
        .unwrap();
    assert_eq!(latency.verdict, Verdict::Unchanged);
    let sure = bootstrap::intervals(&a, &[Metric::Ipj], 0)[&Metric::Ipj].unwrap();
    assert_eq!(sure.method, Method::Delta);
    assert!(sure.low < sure.value && sure.value < sure.high);
}

#[test]
fn a_million_rows_are_fitted_and_searched() {
    let mut run = run(1.0, 3);
    run.latency[500_000] *= 5.0;
    let lines: Vec<Line> = (0..ROWS as usize)
        .map(|place| Line {
            is_answered: true,
            input_tokens: 50.0.into(),
            output_tokens: run.tokens[place].into(),
            total: run.latency[place].into(),
            joules: run.joules[place].into(),
            ..Line::default()
        })
        .collect();
    let found = regressions(&lines);
    let slope = found.regressions.total_tokens_vs_latency.slope.unwrap();
    assert!((slope - 0.01).abs() < 1e-5, "{slope}");
    let robust = found.robust.total_tokens_vs_latency.unwrap();
    assert_eq!((robust.of_every, robust.points), (500, 2000));
    assert_eq!(outliers(&lines, 5).outliers[0].row, 500_000);
}

#[test]
fn a_million_rows_are_drawn_in_a_few_points() {
    let run = run(1.0, 4);
    let density = Density::of(run.latency.clone()).unwrap();
    assert!(density.is_binned && density.x.len() == 512);
    let curve = Ecdf::of(run.latency.clone(), 1000).unwrap();
    assert!(curve.points.len() <= 1000);
    let mut now = 0.0;
    let spans: Vec<(f64, f64)> = run
        .latency
        .iter()
        .map(|seconds| {
            now += 0.25 * seconds;
            (now, now + seconds)
        })
        .collect();
    let readings: Vec<(f64, f64)> = spans.iter().map(|span| (span.0, 80.0)).collect();
    let traffic = Traffic::of(spans.iter().copied(), (0.0, now), 800).unwrap();
    let found = traffic.under(&held(&readings, 1e3));
    let middle = &found[400];
    assert!((middle.mean_in_flight - 4.0).abs() < 0.5, "{middle:?}");
    assert!((middle.mean_watts.unwrap() - 80.0).abs() < 1e-9);
}
