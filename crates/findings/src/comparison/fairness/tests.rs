//! What speaks against a comparison, case by case.

use ipw_core::warning::Severity;
use serde_json::json;

use super::*;

fn facts() -> Facts {
    Facts {
        directory: "runs/a".to_owned(),
        model: "m".to_owned(),
        dataset: Some("starter".to_owned()),
        dataset_name: Some("starter".to_owned()),
        hardware: Some("H".to_owned()),
        status: Some("complete".to_owned()),
        load: Some("one after the other".to_owned()),
        generation: Some(json!({"parameters": {"temperature": 0}})),
        energy: How::Measured,
        basis: vec!["cpu".to_owned()],
        methods: vec!["counter".to_owned()],
        rows_counted_by_chunks: Some(0),
        rows_counted_by_tokenizer: Some(0),
        ipw: Some("0.1.0".to_owned()),
        ..Facts::default()
    }
}

/// The kind of a warning, how grave it is, and whether it is about energy.
fn said(warning: &Warning) -> (PairKind, Severity, bool) {
    match warning.kind {
        Kind::Pair(kind) => (kind, warning.severity, warning.kind.is_about_energy()),
        other => panic!("{other:?} is not about a pair"),
    }
}

fn found(b: Facts, ids: [&[u8]; 2]) -> Vec<Warning> {
    let run = |facts: Facts, ids: &[u8]| RunRows {
        facts,
        keys: ids.iter().map(|id| format!("{:016x}{id}", 7)).collect(),
        subjects: Vec::new(),
        scorers: Vec::new(),
        lines: Vec::new(),
    };
    let (a, b) = (run(facts(), ids[0]), run(b, ids[1]));
    let name = |name, run| NamedRun { name, run };
    unfair(name("A", &a), name("B", &b)).1
}

fn other() -> Facts {
    Facts {
        directory: "runs/b".to_owned(),
        ..facts()
    }
}

const SAME: [&[u8]; 2] = [&[1, 2, 3], &[1, 2, 3]];

fn only(doubts: &[Warning]) -> &Warning {
    assert_eq!(doubts.len(), 1, "{doubts:#?}");
    &doubts[0]
}

#[test]
fn two_runs_alike_raise_no_doubt() {
    assert_eq!(found(other(), SAME), []);
    assert_eq!(said(only(&found(facts(), SAME))).0, PairKind::SameRun);
}

#[test]
fn other_questions_are_refused_and_other_parts_of_them_are_not() {
    let mut b = other();
    b.dataset_name = Some("mine".to_owned());
    let doubts = found(b.clone(), [&[1, 2], &[3, 4]]);
    let refused = only(&doubts);
    assert_eq!(
        said(refused),
        (PairKind::OtherQuestions, Severity::Refusal, false)
    );
    assert!(refused.text.contains("`starter`, `mine`"), "{refused:?}");
    let doubts = found(b, SAME);
    assert_eq!(said(only(&doubts)).0, PairKind::OtherDataset);
    let doubts = found(other(), [&[1, 2, 3], &[2, 3]]);
    let fewer = only(&doubts);
    assert_eq!(
        said(fewer),
        (PairKind::OtherQueries, Severity::Caution, false)
    );
    assert!(fewer.advice().contains("only these"), "{fewer:?}");
    let doubts = found(other(), [&[1, 2, 3], &[3, 4, 5]]);
    assert!(only(&doubts).advice().contains("compared unpaired"));
}

#[test]
fn an_estimate_is_never_held_against_a_measurement() {
    let mut b = other();
    b.energy = How::Estimated;
    b.basis = vec!["cpu_estimated".to_owned()];
    b.methods = vec!["estimated".to_owned()];
    let doubts = found(b, SAME);
    let refused = only(&doubts);
    assert_eq!(
        said(refused),
        (PairKind::EstimatedAgainstMeasured, Severity::Refusal, true)
    );
    // Nothing is said of energy that is not there.
    let mut b = other();
    b.energy = How::Unknown;
    b.basis = Vec::new();
    b.methods = Vec::new();
    assert_eq!(found(b, SAME), []);
}

#[test]
fn what_differs_is_said_with_what_to_do() {
    let mut b = other();
    b.basis = vec!["gpu+cpu".to_owned()];
    b.methods = vec!["counter".to_owned(), "integrated".to_owned()];
    b.load = Some("8 at a time".to_owned());
    b.generation = Some(json!({"parameters": {"temperature": 1}, "system": "be brief"}));
    b.rows_counted_by_chunks = Some(3);
    b.ipw = Some("0.2.0".to_owned());
    b.model = "n".to_owned();
    b.hardware = Some("I".to_owned());
    b.status = Some("interrupted".to_owned());
    b.warnings = vec![
        Warning::new(RunKind::Throttled, "`gpu0`: the board was held back").advise("cool it"),
        Warning::new(RunKind::FewSamples, "few").advise("more"),
    ];
    let doubts = found(b, SAME);
    let ids: Vec<PairKind> = doubts.iter().map(|doubt| said(doubt).0).collect();
    assert_eq!(
        ids,
        [
            PairKind::OtherBasis,
            PairKind::OtherMethod,
            PairKind::OtherLoad,
            PairKind::OtherParameters,
            PairKind::OtherTokenCounts,
            PairKind::SeveralDifferences,
            PairKind::OtherVersion,
            PairKind::Unfinished,
            PairKind::Quality,
        ]
    );
    assert!(
        doubts
            .iter()
            .all(|doubt| doubt.severity == Severity::Caution && !doubt.advice().is_empty())
    );
    let said = &doubts[3].text;
    assert!(
        said.contains("`temperature=0`") && said.contains("a system text, `temperature=1`"),
        "{said}"
    );
    assert!(!said.contains("brief"), "{said}");
}

fn idle(watts: Option<f64>, from: &str) -> Vec<Idle> {
    vec![Idle {
        source: "rapl/package-0".to_owned(),
        watts,
        sigma_watts: 0.2,
        from: watts.map(|_| from.to_owned()),
    }]
}

#[test]
fn other_weights_are_said_and_unknown_ones_are_not() {
    let weighted = |weights: Option<&str>| Facts {
        weights: weights.map(str::to_owned),
        ..other()
    };
    let pair = |a: Facts, b: Facts| {
        let names = ["A", "B"];
        let facts = [&a, &b];
        Pair { names, facts }.energy()
    };
    let doubts = pair(weighted(Some("equal")), weighted(Some("tokens")));
    let doubt = only(&doubts);
    assert_eq!(
        said(doubt),
        (PairKind::OtherWeights, Severity::Caution, true)
    );
    assert!(doubt.text.contains("`equal` in A"), "{doubt:?}");
    let same = pair(weighted(Some("equal")), weighted(Some("equal")));
    assert_eq!(same, []);
    assert_eq!(pair(weighted(None), weighted(Some("tokens"))), []);
}

#[test]
fn other_idle_power_is_said_beyond_what_two_looks_may_differ() {
    let pair = |a: Vec<Idle>, b: Vec<Idle>, hardware: &str| {
        let (mut left, mut right) = (facts(), other());
        (left.idle, right.idle) = (a, b);
        right.hardware = Some(hardware.to_owned());
        let names = ["A", "B"];
        let facts = [&left, &right];
        Pair { names, facts }.energy()
    };
    let recorded = |watts| idle(Some(watts), "recorded");
    let given = |watts| idle(Some(watts), "given");
    assert_eq!(pair(recorded(25.0), recorded(26.0), "H"), []);
    let doubts = pair(recorded(25.0), given(45.0), "H");
    let doubt = only(&doubts);
    assert_eq!(said(doubt), (PairKind::OtherIdle, Severity::Caution, true));
    let words = "`rapl/package-0`: 25.0 W (recorded) in A and 45.0 W (given) in B";
    assert!(doubt.text.contains(words), "{doubt:?}");
    assert_eq!(
        said(only(&pair(recorded(25.0), recorded(45.0), "H"))).0,
        PairKind::OtherIdle
    );
    // Another machine draws something else: that is what is compared.
    assert_eq!(pair(recorded(25.0), recorded(45.0), "I"), []);
    assert_eq!(
        said(only(&pair(recorded(25.0), given(45.0), "I"))).0,
        PairKind::OtherIdle
    );
    let unknown = pair(recorded(25.0), idle(None, ""), "H");
    assert!(only(&unknown).text.contains("unknown in B"), "{unknown:?}");
    assert_eq!(pair(recorded(25.0), Vec::new(), "H"), []);
}

#[test]
fn another_scorer_is_said_where_it_graded_the_same_queries() {
    let pair = |of_a: &[&str], of_b: &[&str], counts: (u64, u64)| {
        let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let (mut a, mut b) = (facts(), other());
        (a.scorers, b.scorers) = (list(of_a), list(of_b));
        let names = ["A", "B"];
        let facts = [&a, &b];
        Pair { names, facts }.scorers(counts)
    };
    let judge = "judge m (correctness-1)";
    let doubt = pair(&["numeric"], &[judge], (24, 24)).unwrap();
    assert_eq!(
        said(&doubt),
        (PairKind::OtherScorer, Severity::Caution, false)
    );
    assert!(doubt.text.contains(judge), "{doubt:?}");
    // A smaller part of a mixed dataset has fewer scorers, and no other ones.
    assert_eq!(pair(&["numeric", "exact"], &["numeric"], (24, 0)), None);
    assert!(pair(&["exact"], &["numeric"], (0, 0)).is_some());
    assert_eq!(pair(&["exact"], &[], (0, 0)), None);
}

#[test]
fn estimates_of_one_machine_may_be_compared_and_of_two_may_not() {
    let pair = |hardware: &str| {
        let estimated = |facts: Facts| Facts {
            energy: How::Estimated,
            ..facts
        };
        let (a, mut b) = (estimated(facts()), estimated(other()));
        b.hardware = Some(hardware.to_owned());
        Pair {
            names: ["A", "B"],
            facts: [&a, &b],
        }
        .energy()
    };
    assert_eq!(said(only(&pair("H"))).0, PairKind::Estimated);
    let doubts = pair("I");
    assert_eq!(
        said(only(&doubts)),
        (PairKind::EstimatesOfOtherHardware, Severity::Refusal, true)
    );
}
