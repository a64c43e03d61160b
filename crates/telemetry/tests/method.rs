//! Attribution against simulated truth: the requirements, and the table of docs/method.md §6.6,
//! which `cargo xtask method` writes.

use std::path::Path;
use std::sync::LazyLock;

use ipw_testkit::simulation::{Holds, Method, Nature, Scored, between_markers, scored, table};

static LINES: LazyLock<Vec<Scored>> = LazyLock::new(scored);

fn said(line: &Scored) -> String {
    let (case, score) = (line.case, line.of(Method::Rule));
    let nature = case.workload.nature.label();
    format!("{}, {nature}, {}: {score:?}", case.name, case.seen_by)
}

#[test]
fn with_idle_known_a_hundred_milliseconds_counter_is_right_on_average_for_every_gap() {
    let mut seen = 0;
    for line in &*LINES {
        let case = line.case;
        let is_assumed = case.workload.nature == Nature::AsAssumed;
        if !(is_assumed && case.seen_by.starts_with("counter") && case.holds != Holds::Untold) {
            continue;
        }
        let allowed = if case.workload.length < 0.2 {
            0.02
        } else {
            0.01
        };
        let score = line.of(Method::Rule);
        assert!(score.bias.abs() <= allowed, "{}", said(line));
        assert!(score.answered > 0.999, "{}", said(line));
        seen += 1;
    }
    assert!(seen >= 20, "{seen}");
}

#[test]
fn the_truth_lies_within_two_sigma_as_often_as_that_says() {
    for line in &*LINES {
        let within = line.of(Method::Rule).within.unwrap();
        match line.case.holds {
            Holds::Yes => assert!((0.90..=0.99).contains(&within), "{}", said(line)),
            Holds::Told => assert!(within >= 0.90, "{}", said(line)),
            Holds::Untold => {}
        }
    }
}

#[test]
fn the_run_s_total_is_exact_in_every_world_and_by_every_weight() {
    for line in &*LINES {
        for method in [Method::Rule, Method::Tokens] {
            assert!(line.of(method).unbalanced < 1e-9, "{}", said(line));
        }
    }
}

#[test]
fn the_rule_is_nearer_to_the_truth_than_what_others_do() {
    let worst = |method: Method, line: &Scored| {
        let score = line.of(method);
        score.bias.abs() + score.spread
    };
    for line in LINES.iter().filter(|line| line.case.holds == Holds::Yes) {
        let rule = worst(Method::Rule, line);
        for method in [Method::Naive, Method::OuterEdges] {
            assert!(rule < worst(method, line), "{method:?}: {}", said(line));
        }
        // Back to back and alike, the two are the same.
        let interpolated = worst(Method::Interpolated, line);
        assert!(rule < 1.05 * interpolated, "{}", said(line));
    }
}

#[test]
fn the_table_in_the_documentation_is_what_the_command_makes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/method.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, written, _) = between_markers(&text).unwrap();
    assert_eq!(
        written.trim(),
        table(&LINES).trim(),
        "help: run `cargo xtask method`"
    );
}
