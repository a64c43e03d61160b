//! Compares the energy of rows and session with the simulated sensor's true energy.

use ipw_findings::calibration::{Check, Unit};

use super::bound::{About, at_most, check, from_to, within};
use super::pipeline::Measurement;
use super::rows::Row;
use super::scenario::{SEQUENTIAL, STREAMS};
use super::sensor::{FAST, SLOW, between};

/// Real sensors are off by a few percent; this tool's own error must be small beside that.
const JOULES_BIAS: f64 = 0.02;
/// Mean error of single queries: power sometimes changes between two polls.
const QUERY_ERROR_FAST: f64 = 0.02;
/// Queries are shorter than a step of this counter, so a change within a step is spread over it.
const QUERY_ERROR_SLOW: f64 = 0.2;
/// About 95 % should lie within 2 sigma. Below this share, sigma is too small.
const LEAST_WITHIN: f64 = 0.85;
/// The counters' own totals and the run's must agree except for rounding.
const COUNTED_BIAS: f64 = 0.001;
/// Sampling draws power on the machine that it measures.
const SAMPLER_SHARE: f64 = 0.02;

const OFF: &str = "energy is off by this much, on top of the sensor's own error";
const QUERY_OFF: &str =
    "energy of single queries is off by this much, on top of the sensor's own error";
const SIGMA: &str = "the standard deviation of a query's energy is too small";
const COUNTED: &str = "readings are lost or counted twice in a run's joules";

/// Checks of the energy of queries that ran one at a time.
pub(super) fn of_queries(taken: &Measurement) -> Vec<Check> {
    let mut checks = fast(&taken.rows).to_vec();
    checks.extend(slow(&taken.rows));
    let about = (
        "sampling, share of one core",
        Unit::Share,
        "sampling itself draws noticeable power on this machine",
    );
    let bound = at_most(SAMPLER_SHARE);
    checks.push(check(
        SEQUENTIAL,
        "sampler_share",
        about,
        taken.sampler,
        bound,
    ));
    checks
}

fn fast(rows: &[Row]) -> [Check; 3] {
    let found = Energy::of(rows, FAST);
    let (error, most) = (found.error, at_most(QUERY_ERROR_FAST));
    let share = |what, otherwise| -> About { (what, Unit::Share, otherwise) };
    [
        (
            "joules_fast",
            share("joules, counter of 1 ms", OFF),
            found.bias,
            within(JOULES_BIAS),
        ),
        (
            "query_joules_fast",
            share("joules of a query, 1 ms, mean error", QUERY_OFF),
            error,
            most,
        ),
        (
            "sigma_fast",
            share("queries within 2 sigma, 1 ms", SIGMA),
            found.near,
            from_to(LEAST_WITHIN, 1.0),
        ),
    ]
    .map(|(id, about, value, bound)| check(SEQUENTIAL, id, about, value, bound))
}

fn slow(rows: &[Row]) -> [Check; 3] {
    let found = Energy::of(rows, SLOW);
    let (error, most) = (found.error, at_most(QUERY_ERROR_SLOW));
    let share = |what, otherwise| -> About { (what, Unit::Share, otherwise) };
    [
        (
            "joules_slow",
            share("joules, counter of 100 ms", OFF),
            found.bias,
            within(JOULES_BIAS),
        ),
        (
            "query_joules_slow",
            share("joules of a query, 100 ms, mean error", QUERY_OFF),
            error,
            most,
        ),
        (
            "sigma_slow",
            share("queries within 2 sigma, 100 ms", SIGMA),
            found.near,
            from_to(LEAST_WITHIN, 1.0),
        ),
    ]
    .map(|(id, about, value, bound)| check(SEQUENTIAL, id, about, value, bound))
}

/// Checks of the run's total energy, whether or not queries were in flight.
pub(super) fn of_run(taken: &Measurement) -> Vec<Check> {
    let about = [
        ("counted_fast", "joules of the run, counter of 1 ms"),
        ("counted_slow", "joules of the run, counter of 100 ms"),
    ];
    let checks = about
        .into_iter()
        .zip(taken.counted)
        .map(|((id, what), counted)| {
            let known = counted.filter(|(_, told)| *told > 0.0);
            let bias = known.map(|(counted, told)| counted / told - 1.0);
            let about = (what, Unit::Share, COUNTED);
            check(STREAMS, id, about, bias, within(COUNTED_BIAS))
        });
    checks.collect()
}

/// Energy of rows by one source against the true energy of their windows; all `None` if a row has
/// none.
#[derive(Debug, Default)]
struct Energy {
    /// Relative error of the sum.
    bias: Option<f64>,
    /// Mean magnitude of the relative error of one row.
    error: Option<f64>,
    /// Share of rows whose true energy lies within 2 sigma.
    near: Option<f64>,
}

impl Energy {
    fn of(rows: &[Row], source: &str) -> Self {
        let (mut found, mut drawn, mut errors, mut near, mut count) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for row in rows {
            let truth = between(row.timing.start, row.timing.end);
            let Some((joules, sigma)) = row.energy(source) else {
                return Self::default();
            };
            let error = (joules - truth).abs();
            found += joules;
            drawn += truth;
            count += 1.0;
            near += f64::from(u8::from(error <= 2.0 * sigma));
            errors += error / truth;
        }
        Self {
            bias: (drawn > 0.0).then(|| found / drawn - 1.0),
            error: (drawn > 0.0).then(|| errors / count),
            near: (count > 0.0).then(|| near / count),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(start: f64, end: f64, joules: Option<f64>) -> Row {
        serde_json::from_value(json!({
            "query_index": 0,
            "outcome": "complete",
            "timing": {
                "due_seconds": start,
                "start_seconds": start,
                "sent_seconds": start,
                "first_token_seconds": null,
                "end_seconds": end,
                "chunk_seconds": [],
            },
            "energy": {"shares": [
                {"name": FAST, "total_joules": joules, "sigma_joules": 0.1},
            ]},
        }))
        .unwrap()
    }

    #[test]
    fn rows_that_are_off_by_a_tenth_are_found_to_be() {
        let starts = (0..10_u32).map(f64::from);
        let off = |factor: f64| -> Vec<Row> {
            let starts = starts.clone();
            let row = |start: f64| {
                row(
                    start,
                    start + 0.5,
                    Some(factor * between(start, start + 0.5)),
                )
            };
            starts.map(row).collect()
        };
        let right = Energy::of(&off(1.0), FAST);
        assert!(right.bias.unwrap().abs() < 1e-12 && right.error.unwrap() < 1e-12);
        assert_eq!(right.near, Some(1.0));
        let wrong = Energy::of(&off(1.1), FAST);
        assert!((wrong.bias.unwrap() - 0.1).abs() < 1e-9);
        assert!((wrong.error.unwrap() - 0.1).abs() < 1e-9);
        assert_eq!(wrong.near, Some(0.0));
    }

    #[test]
    fn a_row_without_energy_leaves_nothing_to_say() {
        let rows = [row(0.0, 1.0, Some(1.0)), row(1.0, 2.0, None)];
        let found = Energy::of(&rows, FAST);
        assert_eq!((found.bias, found.error, found.near), (None, None, None));
        assert_eq!(Energy::of(&rows[..1], SLOW).bias, None);
        assert!(fast(&rows).iter().all(|check| !check.passed));
    }
}
