use proptest::prelude::*;

use super::*;
use crate::line::Line;

fn close(found: Option<f64>, wanted: f64) -> bool {
    found.is_some_and(|found| (found - wanted).abs() < 1e-9)
}

fn row(tokens: f64) -> Line {
    Line {
        input_tokens: tokens.into(),
        output_tokens: tokens.into(),
        first_token: (2.0 * tokens + 1.0).into(),
        total: (3.0 * tokens).into(),
        joules: (4.0 * tokens).into(),
        share_watts: (10.0 + (2.0 * tokens).ln()).into(),
        ..Line::default()
    }
}

#[test]
fn a_perfect_line_is_found() {
    let fit = ols(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]);
    assert!(close(fit.slope, 2.0) && close(fit.intercept, 0.0) && close(fit.r2, 1.0));
    assert!(close(fit.avg_y, 4.0) && fit.count == 3);
}

#[test]
fn one_point_or_one_place_has_no_line() {
    let one = ols(&[f64::NAN], &[3.0]);
    assert_eq!((one.count, one.slope, one.avg_y), (1, None, Some(3.0)));
    let wall = ols(&[2.0, 2.0, 2.0], &[1.0, 2.0, 6.0]);
    assert_eq!((wall.count, wall.slope, wall.r2), (3, None, None));
    assert!(close(wall.avg_y, 3.0));
    assert_eq!(ols(&[], &[]), Fit::default());
    assert_eq!(LinearFit::through(&[1.0, 2.0], &[1.0, 2.0]), None);
    assert_eq!(RobustLine::through(&[2.0, 2.0], &[1.0, 2.0]), None);
}

#[test]
fn what_is_no_number_is_left_out_of_the_fit_but_not_of_the_mean() {
    let fit = ols(&[1.0, 2.0, f64::INFINITY, 3.0], &[1.0, 2.0, 9.0, 3.0]);
    assert_eq!(fit.count, 3);
    assert!(close(fit.slope, 1.0) && close(fit.avg_y, 3.75));
    assert_eq!(ols(&[1.0, 2.0, 3.0], &[1.0, 2.0, f64::NAN]).avg_y, None);
}

#[test]
fn a_level_line_explains_all_there_is() {
    let fit = ols(&[1.0, 2.0, 3.0], &[0.1, 0.1, 0.1]);
    assert!(close(fit.slope, 0.0) && close(fit.r2, 1.0));
}

#[test]
fn the_five_fits_have_the_originals_keys_and_warnings() {
    let mut rows: Vec<Line> = [1.0, 2.0, 4.0, 8.0].map(row).to_vec();
    rows[0].share_watts = 0.0.into();
    rows[1].first_token = 0.0.into();
    rows.push(Line::default());
    let found = regressions(&rows);
    let value = serde_json::to_value(&found).unwrap();
    let names: Vec<&str> = found.regressions.named().map(|(name, _)| name).to_vec();
    for name in &names {
        let keys: Vec<_> = value["regressions"][name]
            .as_object()
            .unwrap()
            .keys()
            .collect();
        assert_eq!(
            keys,
            ["count", "slope", "intercept", "r2", "avg_y"],
            "{name}"
        );
        assert!(value["lines"].get(name).is_some() && value["robust"].get(name).is_some());
    }
    assert_eq!(value["summary"]["total_samples"], 5);
    assert_eq!(
        found.warnings,
        [
            "encountered 1 per-query power samples equal to 0.0 in dataset",
            "encountered 1 TTFT samples equal to 0.0 in dataset",
        ]
    );
    let five = found.regressions;
    assert!(close(five.total_tokens_vs_energy.slope, 2.0));
    assert!(close(five.total_tokens_vs_power_log.slope, 1.0));
    assert_eq!(five.total_tokens_vs_power.count, 3);
    assert_eq!(five.input_tokens_vs_ttft.count, 4);
}

#[test]
fn tokens_without_a_logarithm_are_left_out_of_its_fit() {
    let mut rows = [0.0, 1.0, 2.0, 4.0].map(row);
    rows[0].share_watts = 5.0.into();
    let five = regressions(&rows).regressions;
    assert_eq!(five.total_tokens_vs_power.count, 4);
    assert_eq!(five.total_tokens_vs_power_log.count, 3);
}

#[test]
fn all_tokens_are_the_sum_of_those_that_are_known() {
    let only_output = |tokens: f64| Line {
        output_tokens: tokens.into(),
        total: (tokens * 0.5).into(),
        ..Line::default()
    };
    let found = regressions(&[only_output(2.0), only_output(6.0), Line::default()]);
    let fit = found.regressions.total_tokens_vs_latency;
    assert_eq!(fit.count, 2);
    assert!(close(fit.slope, 0.5));
}

#[test]
fn a_wild_point_moves_the_line_but_not_the_robust_one() {
    let x: Vec<f64> = (0..50).map(f64::from).collect();
    let mut y: Vec<f64> = x.iter().map(|x| 3.0 * x + 1.0).collect();
    y[49] = 1e5;
    assert!(ols(&x, &y).slope.unwrap() > 50.0);
    let robust = RobustLine::through(&x, &y).unwrap();
    assert!((robust.slope.value - 3.0).abs() < 1e-9 && robust.of_every == 1);
}

#[test]
fn many_points_are_sampled_evenly_and_it_is_said() {
    let x: Vec<f64> = (0..10_001).rev().map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| 0.5 * x).collect();
    let robust = RobustLine::through(&x, &y).unwrap();
    assert_eq!((robust.of_every, robust.points), (6, 1667));
    assert!((robust.slope.value - 0.5).abs() < 1e-12);
}

#[test]
fn a_band_is_narrowest_at_the_mean_and_a_prediction_is_wider() {
    let x: Vec<f64> = (0..20).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| x + (x * 7.0).sin()).collect();
    let line = LinearFit::through(&x, &y).unwrap();
    let width = |interval: Interval| interval.high - interval.low;
    let (middle, end) = (line.band(9.5).unwrap(), line.band(19.0).unwrap());
    assert!(width(middle.mean) < width(end.mean));
    assert!(width(end.mean) < width(end.prediction));
    assert_eq!(line.band(f64::NAN), None);
    assert!((line.from, line.until) == (0.0, 19.0));
}

proptest! {
    #[test]
    fn no_numbers_break_it(
        values in prop::collection::vec(any::<[Option<f64>; 6]>(), 0..30),
    ) {
        let rows: Vec<Line> = values.into_iter().map(|values| Line {
            input_tokens: values[0].into(),
            output_tokens: values[1].into(),
            first_token: values[2].into(),
            total: values[3].into(),
            joules: values[4].into(),
            share_watts: values[5].into(),
            ..Line::default()
        }).collect();
        // A non-finite value would be serialized as null where a number is required.
        let text = serde_json::to_string(&regressions(&rows)).unwrap();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        for line in read["lines"].as_object().unwrap().values().filter(|line| !line.is_null()) {
            prop_assert!(line["slope"]["low"].is_f64() && line["residual_sigma"].is_f64());
        }
        for line in read["robust"].as_object().unwrap().values().filter(|line| !line.is_null()) {
            prop_assert!(line["slope"]["low"].is_f64() && line["intercept"].is_f64());
        }
    }
}
