//! What it takes to grade a reply, by scorer, over the table of cases that its tests use.

use anyhow::{Context, ensure};
use ipw_core::time::Clock as _;
use ipw_runner::SystemClock;
use ipw_scoring::{Question, ScorerInfo, grade, judge, known, scorer};
use serde_json::Value;

use super::spread::{Spread, micros, number};
use super::table::Table;
use super::{Effort, say_round};

const CASES: &str = include_str!("../../../crates/scoring/tests/cases.jsonl");

/// One reply with what it is graded by.
struct Case {
    scorer: String,
    reference: Option<String>,
    choices: Vec<String>,
    rules: Option<Value>,
    answer: String,
}

pub(crate) fn run(effort: Effort) -> anyhow::Result<String> {
    let replies = effort.choose(10_000, 1_000_000);
    let rounds = effort.choose(1, 3);
    let cases = cases()?;
    let clock = SystemClock::start();
    // A judge grades nothing by itself.
    let mut measured: Vec<(&ScorerInfo, Vec<f64>, Vec<f64>)> = known()
        .iter()
        .filter(|known| known.id != judge::ID)
        .map(|known| (known, Vec::new(), Vec::new()))
        .collect();
    for round in 0..rounds {
        say_round("scoring", round, rounds);
        for (known, graded, copied) in &mut measured {
            let of: Vec<&Case> = cases
                .iter()
                .filter(|case| case.scorer == known.id)
                .collect();
            ensure!(!of.is_empty(), "no case of `{}`", known.id);
            let replies = count(known, replies);
            let time = |what: &dyn Fn(&Case)| {
                let start = clock.now();
                of.iter().cycle().take(replies).for_each(|case| what(case));
                micros(clock.now().since(start)) / number(replies as u64)
            };
            copied.push(time(&|case| {
                std::hint::black_box(case.answer.to_lowercase());
            }));
            let scorer = scorer(known.id)?;
            graded.push(time(&|case| {
                std::hint::black_box(grade(
                    scorer,
                    &Question {
                        reference: case.reference.as_deref(),
                        choices: &case.choices,
                        rules: case.rules.as_ref(),
                        answer: &case.answer,
                    },
                ));
            }));
        }
    }
    let mut table = Table::new(
        "Grading: replies of the table of cases",
        [
            "scorer",
            "replies",
            "µs per reply",
            "yardstick: the reply in lower case, µs",
            "ratio",
        ],
    );
    for (known, graded, copied) in &measured {
        let ratios = graded
            .iter()
            .zip(copied)
            .map(|(graded, copied)| graded / copied);
        table.row([
            format!("`{}`", known.id),
            count(known, replies).to_string(),
            format!("{:.2}", Spread::of(graded.iter().copied())),
            format!("{:.2}", Spread::of(copied.iter().copied())),
            format!("{:.0}", Spread::of(ratios)),
        ]);
    }
    Ok(table.to_string())
}

/// How many of its replies are graded: a pattern is compiled for each, which takes long.
fn count(known: &ScorerInfo, replies: usize) -> usize {
    if known.id == "regex" {
        replies / 20
    } else {
        replies
    }
}

fn cases() -> anyhow::Result<Vec<Case>> {
    CASES
        .lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line)?;
            let text = |name: &str| row[name].as_str().map(str::to_owned);
            let choices = row["choices"].as_array().into_iter().flatten();
            Ok(Case {
                scorer: text("scorer").context("a case without a scorer")?,
                reference: text("reference"),
                choices: choices
                    .filter_map(|choice| choice.as_str().map(str::to_owned))
                    .collect(),
                rules: row.get("rules").cloned(),
                answer: text("answer").context("a case without an answer")?,
            })
        })
        .collect()
}
