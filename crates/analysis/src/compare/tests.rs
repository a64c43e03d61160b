use ipw_core::random::Random;
use proptest::prelude::*;

use super::*;
use crate::metric::Values;

const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];

fn by(a: &[Row], b: &[Row], metric: Metric) -> Comparison {
    compare(a, b, &[metric], Tolerance::default())[0]
}

fn row(query: &str, joules: f64) -> Row<'_> {
    Row {
        query,
        joules: Some(joules),
        prefill_joules: Some(joules * 0.7),
        decode_joules: Some(joules * 0.3),
        seconds: Some(joules / 50.0),
        input_tokens: Some(50),
        output_tokens: Some(50),
        total_tokens: Some(100),
        first_token: Some(joules / 500.0),
        latency: Some(joules / 50.0),
        sent_first_token: Some(joules / 600.0),
        sent_latency: Some(joules / 60.0),
        per_output_token: Some(joules / 3000.0),
        is_answered: true,
        is_correct: Some(true),
        ..Row::default()
    }
    .alone()
}

/// Queries that differ much from each other, in a run that takes `factor` times as much.
fn run(factor: f64, noise: f64, seed: u64) -> Vec<Row<'static>> {
    let mut random = Random::new(seed);
    NAMES
        .iter()
        .zip(1_u32..)
        .map(|(query, place)| {
            let own = f64::from(place * place) * 10.0;
            row(query, own * factor * (1.0 + noise * random.normal()))
        })
        .collect()
}

#[test]
fn pairs_show_what_the_spread_between_queries_hides() {
    let (a, b) = (run(1.0, 0.03, 1), run(0.8, 0.03, 2));
    let paired = by(&a, &b, Metric::JoulesPerQuery);
    assert_eq!(
        (paired.pairing, paired.verdict),
        (Pairing::Paired, Verdict::Lower)
    );
    assert_eq!(
        (paired.queries_a, paired.queries_b, paired.left_out),
        (12, 12, 0)
    );
    assert_eq!(paired.is_better(), Some(true));
    let renamed: Vec<Row> = b
        .iter()
        .zip(["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L"])
        .map(|(row, query)| Row { query, ..*row })
        .collect();
    let unpaired = by(&a, &renamed, Metric::JoulesPerQuery);
    assert_eq!(
        (unpaired.pairing, unpaired.verdict),
        (Pairing::Unpaired, Verdict::CannotTell)
    );
    let (left, right) = (paired.relative.unwrap(), unpaired.relative.unwrap());
    assert!((left.value - right.value).abs() < 1e-9);
    assert!(right.high - right.low > 10.0 * (left.high - left.low));
}

#[test]
fn a_run_is_no_different_from_itself() {
    let a = run(1.0, 0.1, 4);
    for comparison in compare(&a, &a, &Metric::ALL, Tolerance::default()) {
        let name = comparison.metric.name();
        match comparison.metric {
            // There is no SLO, and twelve queries are too few for p99.
            Metric::Goodput => {
                let unknown = NotCompared::Unknown { run: Side::A };
                assert_eq!(comparison.reason, Some(unknown));
            }
            metric if metric.name().ends_with("p99") => {
                let few = NotCompared::TooFew {
                    queries: 12,
                    needs: 368,
                };
                assert_eq!(comparison.reason, Some(few));
            }
            _ => {
                let difference = comparison.difference().unwrap().value;
                assert!(difference.abs() < 1e-12, "{name} {difference}");
                assert!(comparison.is_better().is_none(), "{name}");
            }
        }
    }
}

#[test]
fn sentences_are_plain() {
    let (a, b) = (run(1.0, 0.0, 1), run(0.82, 0.0, 1));
    let less = by(&a, &b, Metric::JoulesPerQuery);
    assert_eq!(
        less.sentence("A", "B"),
        "B uses 18 % less energy per query (95 %: 18 to 18 % less)"
    );
    let latency = by(&b, &a, Metric::LatencyP50);
    assert!(
        latency
            .sentence("old", "new")
            .starts_with("median latency: no difference found"),
        "{}",
        latency.sentence("old", "new")
    );
    let same = by(&a, &a, Metric::Watts);
    assert_eq!(
        same.sentence("A", "B"),
        "power while queries are in flight: unchanged (0 %, 95 %: 0 to 0 %)"
    );
    let unknown = by(&a, &b, Metric::Goodput);
    assert_eq!(
        unknown.sentence("A", "B"),
        "goodput: cannot be compared, as A has no value for it"
    );
    let few = by(&a, &b, Metric::TtftP99);
    assert_eq!(
        few.sentence("A", "B"),
        "p99 of the time to first token: cannot be compared, as 12 queries are too few: needs ≥ 368"
    );
}

fn graded(names: &[String], is_correct: impl Fn(usize) -> bool) -> Vec<Row<'_>> {
    names
        .iter()
        .enumerate()
        .map(|(place, query)| Row {
            query,
            is_answered: true,
            is_correct: Some(is_correct(place)),
            ..Row::default()
        })
        .collect()
}

#[test]
fn accuracy_is_compared_in_points() {
    let names: Vec<String> = (0..250).map(|place| place.to_string()).collect();
    let a = graded(&names, |place| place < 150);
    // Three more wrong and none more correct: too little for a verdict.
    let b = graded(&names, |place| place < 147);
    let little = by(&a, &b, Metric::Accuracy);
    assert_eq!(
        (little.verdict, little.method),
        (Verdict::CannotTell, Some(Method::NewcombePaired))
    );
    assert!((little.p_value.unwrap() - 0.25).abs() < 1e-12);
    let sentence = little.sentence("A", "B");
    assert!(
        sentence.starts_with("accuracy: no difference found (−1.2 pp, 95 %: −"),
        "{sentence}"
    );
    let worse = by(&a, &graded(&names, |place| place < 100), Metric::Accuracy);
    assert_eq!(
        (worse.verdict, worse.is_better()),
        (Verdict::Lower, Some(false))
    );
    assert!(
        worse
            .sentence("A", "B")
            .starts_with("B's accuracy is 20 pp lower (95 %: 1")
    );
}

#[test]
fn a_query_that_one_run_does_not_know_counts_in_neither() {
    let (a, mut b) = (run(1.0, 0.02, 1), run(0.9, 0.02, 2));
    b[11].joules = None;
    b.pop();
    b[3].joules = None;
    let found = by(&a, &b, Metric::JoulesPerQuery);
    assert_eq!(
        (found.queries_a, found.queries_b, found.left_out),
        (10, 10, 3)
    );
    let kept: Vec<Row> = a
        .iter()
        .enumerate()
        .filter(|(place, _)| *place != 3 && *place != 11)
        .map(|(_, row)| *row)
        .collect();
    assert!(
        (found.a.unwrap() - Values::of(&kept).get(Metric::JoulesPerQuery).unwrap()).abs() < 1e-9
    );
}

#[test]
fn a_run_that_asked_twice_did_not_ask_more() {
    let (a, b) = (run(1.0, 0.02, 1), run(0.9, 0.02, 2));
    let mut twice = b.clone();
    twice.extend_from_slice(&b);
    let (once, twice) = (
        by(&a, &b, Metric::JoulesPerToken),
        by(&a, &twice, Metric::JoulesPerToken),
    );
    let (once, twice) = (once.relative.unwrap(), twice.relative.unwrap());
    assert!((once.low - twice.low).abs() < 1e-9 && (once.high - twice.high).abs() < 1e-9);
    let mut again = a.clone();
    again.extend_from_slice(&a);
    let accuracy = by(&again, &a, Metric::Accuracy);
    assert_eq!(accuracy.method, Some(Method::Paired));
}

#[test]
fn empty_and_single_runs_are_not_compared() {
    for comparison in compare(&[], &[], &Metric::ALL, Tolerance::default()) {
        assert_eq!(comparison.verdict, Verdict::CannotTell);
        assert!(comparison.reason.is_some(), "{:?}", comparison.metric);
    }
    let one = [row("a", 1.0)];
    let found = by(&one, &one, Metric::JoulesPerQuery);
    assert_eq!(
        found.reason,
        Some(NotCompared::TooFew {
            queries: 1,
            needs: 2
        })
    );
    let one_sided = by(&one, &[], Metric::JoulesPerQuery);
    assert_eq!(
        one_sided.reason,
        Some(NotCompared::Unknown { run: Side::B })
    );
}

#[test]
fn nothing_spent_has_a_difference_but_no_ratio() {
    let mut a = run(1.0, 0.0, 1);
    for row in &mut a {
        row.joules = Some(0.0);
    }
    let found = by(&a, &run(1.0, 0.0, 1), Metric::JoulesPerQuery);
    assert_eq!(found.relative, None);
    assert!(found.absolute.is_some());
}

proptest! {
    #[test]
    fn no_numbers_break_it(
        values in prop::collection::vec(
            (0_usize..12, any::<[Option<f64>; 4]>(), any::<(bool, Option<bool>, Option<bool>)>()),
            0..40,
        ),
        cut in 0_usize..40,
    ) {
        let rows: Vec<Row> = values.iter().map(|(name, values, flags)| Row {
            query: NAMES[*name],
            joules: values[0],
            seconds: values[1],
            first_token: values[2],
            latency: values[3],
            total_tokens: Some(10),
            output_tokens: Some(3),
            is_answered: flags.0,
            is_correct: flags.1,
            is_good: flags.2,
            ..Row::default()
        }.alone()).collect();
        let (a, b) = rows.split_at(cut.min(rows.len()));
        for found in compare(a, b, &Metric::ALL, Tolerance::default()) {
            for value in [found.a, found.b, found.p_value].into_iter().flatten() {
                prop_assert!(value.is_finite());
            }
            for one in [found.relative, found.absolute].into_iter().flatten() {
                prop_assert!(one.value.is_finite() && one.low.is_finite() && one.high.is_finite());
                prop_assert!(one.low <= one.high);
            }
            let sentence = found.sentence("A", "B");
            prop_assert!(!sentence.contains("NaN") && !sentence.contains("inf"));
        }
    }
}
