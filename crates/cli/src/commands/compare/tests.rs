use ipw_analysis::compare::{Tolerance, compare};
use ipw_analysis::gate::Outcome;
use ipw_analysis::metric::Row;

use super::table::Look;
use super::*;
use ipw_findings::comparison::{Against, Entrant, Facts, How, Overlap, SideBySide};

const HOSTILE: &str = "</td><img src=x onerror=alert(1)>`|`";

fn rows(names: &[String], factor: f64) -> Vec<Row<'_>> {
    names
        .iter()
        .zip(0_u32..)
        .map(|(query, n)| Row {
            query,
            joules: Some(factor * (10.0 + f64::from(n % 7))),
            seconds: Some(1.0),
            latency: Some(factor * (1.0 + f64::from(n % 3))),
            is_answered: true,
            is_correct: Some(n % 4 != 0),
            ..Row::default()
        })
        .collect()
}

fn findings() -> SideBySide {
    let names: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let tolerance = Tolerance::default();
    let (a, b) = (rows(&names, 1.0), rows(&names, 0.8));
    let facts = |model: &str, energy: How| Facts {
        model: model.to_owned(),
        directory: "runs/one".to_owned(),
        energy,
        ..Facts::default()
    };
    let run = |name: &str, facts: Facts| Entrant {
        name: name.to_owned(),
        facts,
    };
    let gate = Gate::parse("joules_per_query<=+3%,goodput>=90%").unwrap();
    let mut against = Against {
        name: "B".to_owned(),
        overlap: Overlap {
            a: 40,
            b: 40,
            common: 40,
            same_id_other_prompt: 0,
        },
        comparisons: compare(&a, &b, &Metric::ALL, tolerance),
        withheld: Vec::new(),
        warnings: Vec::new(),
        is_forced: false,
        gate: None,
    };
    against.gate = Some(against.judged(&gate, Criterion::Value));
    SideBySide {
        runs: vec![
            run("A", facts("plain", How::Measured)),
            run("B", facts(HOSTILE, How::Estimated)),
        ],
        against: vec![against],
        tolerance,
        by: Criterion::Value,
    }
}

#[test]
fn a_table_fits_the_terminal_or_shows_less() {
    let found = findings();
    for (width, has_values, has_interval) in
        [(40, false, false), (62, true, false), (80, true, true)]
    {
        let look = Look {
            width,
            colours: false,
        };
        let text = table::text(&found, look);
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(width), "{width}: {text}");
        let line = text
            .lines()
            .find(|line| line.starts_with("joules_per_query"));
        let line = line.unwrap_or_default();
        assert!(line.contains("−20 %") && line.ends_with("better"), "{line}");
        assert_eq!(line.contains("12.9 J"), has_values, "{line}");
        assert_eq!(line.contains(" to "), has_interval, "{line}");
        assert!(!text.contains('\u{1b}'));
    }
    let look = Look {
        width: 80,
        colours: true,
    };
    assert!(table::text(&found, look).contains("\u{1b}[32mbetter\u{1b}[0m"));
}

#[test]
fn an_estimate_is_called_one_everywhere() {
    let found = findings();
    let look = Look {
        width: 80,
        colours: false,
    };
    let text = table::text(&found, look);
    assert!(
        text.contains("~10.3 J") && text.contains("~ estimated, not measured"),
        "{text}"
    );
    assert!(markdown(&found).contains("10.3 J (estimated)"));
    assert!(html(&found).contains("10.3 J<span class=\"small\">estimated</span>"));
}

#[test]
fn names_from_outside_are_texts_in_every_format() {
    let found = findings();
    let page = html(&found);
    assert!(!page.contains("<img") && page.contains("&lt;img src=x"));
    assert!(!page.contains("<script") && page.contains("script-src 'none'"));
    let text = markdown(&found);
    assert!(
        text.contains("\\<img src=x onerror=alert(1)\\>\\`\\|\\`"),
        "{text}"
    );
    let json = found.json();
    assert_eq!(json["runs"][1]["model"], HOSTILE);
    assert_eq!(json["passed"], false);
    assert_eq!(json["against"][0]["gate"][1]["outcome"], "unknown");
}

#[test]
fn what_is_withheld_is_unknown_to_a_gate_and_says_why() {
    let mut found = findings();
    let one = &mut found.against[0];
    one.comparisons
        .retain(|comparison| !comparison.metric.has_energy());
    one.withheld = Metric::ALL
        .into_iter()
        .filter(|metric| metric.has_energy())
        .collect();
    let gate = Gate::parse("ipw>=-5%").unwrap();
    let judged = one.judged(&gate, Criterion::Value);
    assert_eq!(judged[0].outcome, Outcome::Unknown);
    assert!(
        judged[0].reason.starts_with("`ipw` was not compared"),
        "{}",
        judged[0].reason
    );
    let groups = one.not_made("A");
    assert_eq!(groups[0].1.len(), 9, "{groups:?}");
}
