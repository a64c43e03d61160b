use super::*;
use crate::efficiency::{Answers, Efficiency};

fn close(found: Option<f64>, wanted: f64) -> bool {
    found.is_some_and(|found| (found - wanted).abs() < 1e-12)
}

fn row(query: &str, joules: f64, is_correct: Option<bool>) -> Row<'_> {
    Row {
        query,
        joules: Some(joules),
        prefill_joules: Some(joules * 0.6),
        decode_joules: Some(joules * 0.4),
        seconds: Some(2.0),
        input_tokens: Some(60),
        output_tokens: Some(40),
        total_tokens: Some(100),
        first_token: Some(0.1),
        latency: Some(1.6),
        sent_first_token: Some(0.09),
        sent_latency: Some(1.59),
        per_output_token: Some(0.01),
        is_answered: true,
        is_correct,
        is_good: Some(true),
        ..Row::default()
    }
    .alone()
}

#[test]
fn without_energy_only_metrics_of_energy_are_unknown() {
    let mut rows = vec![row("a", 1.0, Some(true)); 400];
    for row in &mut rows {
        row.joules = None;
        row.placed.busy_joules = None;
    }
    let values = Values::of(&rows);
    for (metric, value) in values.iter() {
        assert_eq!(value.is_none(), metric.has_energy(), "{}", metric.name());
    }
}

#[test]
fn metrics_follow_their_formulas() {
    let mut rows = [
        row("a", 10.0, Some(true)),
        row("b", 30.0, Some(false)),
        row("c", 20.0, Some(true)),
        row("d", 40.0, None),
    ];
    rows[3].is_answered = false;
    rows[3] = rows[3].alone();
    let found = Values::of(&rows);
    let accuracy = 2.0 / 3.0;
    for (metric, wanted) in [
        (Metric::Accuracy, accuracy),
        (Metric::Watts, 12.5),
        (Metric::Ipw, accuracy / 12.5),
        (Metric::Ipj, accuracy / 25.0),
        (Metric::JoulesPerCorrect, 50.0),
        (Metric::JoulesPerQuery, 25.0),
        (Metric::JoulesPerToken, 0.25),
        (Metric::JoulesPerOutputToken, 0.625),
        (Metric::PrefillJoulesPerInputToken, 0.25),
        (Metric::DecodeJoulesPerOutputToken, 0.25),
        (Metric::QueryTokensPerSecond, 25.0),
        (Metric::TokensPerSecond, 15.0),
        (Metric::RequestsPerSecond, 0.375),
        (Metric::Failed, 0.25),
        (Metric::Goodput, 1.0),
    ] {
        let value = found.get(metric);
        assert!(close(value, wanted), "{}: {value:?}", metric.name());
    }
    assert_eq!(found.get(Metric::LatencyP50), None, "three are too few");
    let answers = Answers {
        correct: 2,
        wrong: 1,
        unscored: 1,
    };
    let efficiency = Efficiency::of(answers, &found);
    assert!(close(efficiency.intelligence_per_watt, accuracy / 12.5));
    assert!(close(
        efficiency.accuracy.map(|share| share.value),
        accuracy
    ));
}

#[test]
fn an_answer_without_a_token_count_leaves_throughput_unknown() {
    let mut rows = [row("a", 1.0, None), row("b", 1.0, None)];
    rows[1].output_tokens = None;
    rows[1] = rows[1].alone();
    let found = Values::of(&rows);
    assert_eq!(found.get(Metric::TokensPerSecond), None);
    assert!(close(found.get(Metric::RequestsPerSecond), 0.5));
}

#[test]
fn rows_without_numbers_have_no_metric_but_failed() {
    assert_eq!(Values::of(&[]), Values::default());
    let silent = Row {
        query: "a",
        joules: Some(f64::NAN),
        latency: Some(f64::INFINITY),
        is_answered: true,
        ..Row::default()
    };
    for (metric, value) in Values::of(&[silent]).iter() {
        assert_eq!(
            value.is_some(),
            metric == Metric::Failed,
            "{}",
            metric.name()
        );
    }
}

#[test]
fn rows_of_a_query_come_together() {
    let rows = [
        row("a", 1.0, None),
        row("b", 2.0, None),
        row("a", 3.0, None),
    ];
    let units = by_query(&rows);
    let seen: Vec<(&str, u64)> = units
        .iter()
        .map(|(query, unit)| (*query, unit.rows))
        .collect();
    assert_eq!(seen, [("a", 2), ("b", 1)]);
}

#[test]
fn the_dictionary_is_in_order_and_complete() {
    let mut labels = Vec::new();
    for metric in Metric::ALL {
        let definition = metric.definition();
        // The serialised name comes from the variant: a literal out of order shows here.
        assert_eq!(serde_json::to_value(metric).unwrap(), metric.name());
        for text in [
            definition.label,
            definition.title,
            definition.formula,
            definition.noun,
        ] {
            assert!(!text.is_empty(), "{}", metric.name());
        }
        assert!(!definition.columns.is_empty(), "{}", metric.name());
        labels.push(definition.label);
    }
    let all = labels.len();
    labels.sort_unstable();
    labels.dedup();
    assert_eq!(labels.len(), all, "two metrics share a label");
}

#[test]
fn values_are_read_as_they_were_written() {
    let found = Values::of(&[row("a", 10.0, Some(true)), row("b", 30.0, Some(false))]);
    let text = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Values>(&text).unwrap(), found);
    let other = serde_json::from_str::<Values>(r#"{"watts": 4.5, "of_later": 1}"#).unwrap();
    assert_eq!(other.get(Metric::Watts), Some(4.5));
    assert_eq!(other.get(Metric::Ipw), None);
}
