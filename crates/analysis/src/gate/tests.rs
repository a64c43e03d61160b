use super::*;
use crate::compare::{Tolerance, compare};
use crate::metric::Row;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// B takes twice the joules per token and answers one of six questions less.
fn comparisons() -> Vec<Comparison> {
    let run = |factor: f64, right: usize| -> Vec<Row<'static>> {
        NAMES
            .iter()
            .enumerate()
            .map(|(place, query)| Row {
                query,
                joules: Some(factor * f64::from(u8::try_from(place).unwrap() + 5)),
                seconds: Some(1.0),
                total_tokens: Some(10),
                latency: Some(0.25),
                is_answered: true,
                is_correct: Some(place < right),
                ..Row::default()
            })
            .map(Row::alone)
            .collect()
    };
    compare(
        &run(1.0, 4),
        &run(2.0, 3),
        &Metric::ALL,
        Tolerance::default(),
    )
}

fn judged(text: &str) -> ClauseResult {
    let mut judged = Gate::parse(text)
        .unwrap()
        .judge(&comparisons(), Criterion::Value);
    assert_eq!(judged.len(), 1);
    judged.remove(0)
}

fn message(text: &str) -> String {
    Gate::parse(text).unwrap_err().to_string()
}

#[test]
fn limits_are_read_as_people_write_them() {
    let gate = Gate::parse("joules_per_token<=+3%, Accuracy>=-1pp ,latency_p50<500ms").unwrap();
    let read: Vec<(Metric, Sign, LimitKind)> = gate
        .clauses
        .iter()
        .map(|clause| (clause.metric, clause.sign, clause.of))
        .collect();
    assert_eq!(
        read,
        [
            (Metric::JoulesPerToken, Sign::AtMost, LimitKind::Relative),
            (Metric::Accuracy, Sign::AtLeast, LimitKind::Absolute),
            (Metric::LatencyP50, Sign::Below, LimitKind::Value),
        ]
    );
    let limits: Vec<f64> = gate.clauses.iter().map(|clause| clause.limit).collect();
    for (found, wanted) in limits.iter().zip([0.03, -0.01, 0.5]) {
        assert!((found - wanted).abs() < 1e-12, "{limits:?}");
    }
    assert_eq!(
        gate.to_string(),
        "joules_per_token<=+3%,Accuracy>=-1pp,latency_p50<500ms"
    );
    for text in [
        "watts<=+5W",
        "ttft_p99<=+1e-3s",
        "ipj>0.2/J",
        "failed<=1%",
        "accuracy>=−2pp",
    ] {
        assert!(Gate::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn a_change_and_a_value_are_judged() {
    let failed = judged("joules_per_token<=+3%");
    assert_eq!(failed.outcome, Outcome::Fail);
    assert_eq!(
        failed.reason,
        "`joules_per_token` is +100%, which misses <= +3%"
    );
    assert_eq!(judged("joules_per_token<=+100%").outcome, Outcome::Pass);
    assert_eq!(judged("joules_per_query>=+7J").outcome, Outcome::Pass);
    assert_eq!(judged("joules_per_query<=14.9J").outcome, Outcome::Fail);
    let accuracy = judged("accuracy>=-20pp");
    assert_eq!(accuracy.outcome, Outcome::Pass);
    assert_eq!(
        accuracy.reason,
        "`accuracy` is -16.67pp, which keeps >= -20pp"
    );
    assert_eq!(judged("accuracy>=-10pp").outcome, Outcome::Fail);
    assert_eq!(judged("accuracy>=-10%").outcome, Outcome::Fail);
    assert_eq!(judged("accuracy>=50%").outcome, Outcome::Pass);
    assert_eq!(judged("failed<=0%").outcome, Outcome::Pass);
}

#[test]
fn what_is_not_known_passes_no_gate() {
    let unknown = judged("goodput>=-1pp");
    assert_eq!((unknown.outcome, unknown.found), (Outcome::Unknown, None));
    assert_eq!(
        unknown.reason,
        "`goodput` is unknown: A has no value for it"
    );
    let few = judged("latency_p99<=+5%");
    assert_eq!(
        few.reason,
        "`latency_p99` is unknown: 6 queries are too few: needs ≥ 368"
    );
    assert!(!is_passed(&[few]));
    let zero = judged("failed<=+5%");
    assert_eq!(zero.reason, "`failed` is unknown: A is zero");
    let gate = Gate::parse("watts<=+1W").unwrap();
    assert_eq!(
        gate.judge(&[], Criterion::Value)[0].reason,
        "`watts` was not compared"
    );
}

#[test]
fn by_its_interval_a_limit_must_surely_be_kept() {
    let gate = Gate::parse("accuracy>=-20pp").unwrap();
    let found = comparisons();
    assert!(is_passed(&gate.judge(&found, Criterion::Value)));
    assert!(!is_passed(&gate.judge(&found, Criterion::Interval)));
}

#[test]
fn mistakes_name_the_clause_and_where_it_is() {
    let unknown = message("accuracy>=-1pp, joules_per_tokn<=+3%");
    assert!(
        unknown.starts_with(
            "`joules_per_tokn<=+3%` at character 17 of the gate names an unknown metric"
        ),
        "{unknown}"
    );
    assert!(
        unknown.contains("did you mean `joules_per_token`?"),
        "{unknown}"
    );
    for metric in Metric::ALL {
        assert!(unknown.contains(&format!("`{}`", metric.name())));
    }
    assert!(message("").contains("is empty\nhelp: "));
    assert!(message("watts<=+1W,").starts_with("`` at character 12 of the gate is empty"));
    assert!(message("accuracy").contains("has no comparison"));
    assert!(message("accuracy=1").contains("has no comparison"));
    assert!(message("accuracy>=").contains("has no numeric limit"));
    assert!(message("accuracy>=often").contains("has no numeric limit"));
    assert!(message("accuracy>=-1").contains("has a limit in ``\nhelp: write `pp`"));
    assert!(message("watts<=+3ms").contains("has a limit in `ms`\nhelp: write `%`, `mW`"));
    assert!(message("watts<=+3MW").contains("has a limit in `MW`"));
    assert!(message("joules_per_token<=3%").contains("a change has a sign: `+3%` or `-3%`"));
    assert!(message("accuracy>=80pp").contains("a change has a sign"));
}
