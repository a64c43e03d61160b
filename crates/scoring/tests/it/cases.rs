//! The table of cases and the starter questions.
//!
//! To extend the table, add a line to `cases.jsonl`: `scorer`, `reference` (may be null),
//! `choices`, `answer`, `verdict` (`correct`, `wrong`, `unscored`), and `rules` for `instructions`.
//! Write realistic answers of models, and decide the verdict before running the test; at most
//! twenty lines of one pattern. A case of `math` or `numeric` that math-verify grades differently
//! also needs a line in `differs.jsonl`, with the reason.

use std::collections::BTreeMap;

use crate::table::{cases, texts};
use ipw_core::verdict::Verdict;
use ipw_scoring::{Question, judge, known, scorer};
use serde_json::Value;

#[test]
fn every_case_of_the_table_has_its_verdict() {
    let cases = cases();
    let failed: Vec<_> = cases
        .iter()
        .filter_map(|case| {
            let grade = case.grade();
            (grade.verdict != case.verdict).then(|| {
                let (line, answer) = (case.line, &case.answer);
                let reference = &case.reference;
                format!(
                    "line {line}: {reference:?} {answer:?} is {:?}\n  {grade:?}",
                    case.verdict
                )
            })
        })
        .collect();
    assert!(
        failed.is_empty(),
        "{} of {}:\n{}",
        failed.len(),
        cases.len(),
        failed.join("\n")
    );
}

#[test]
fn the_table_has_enough_cases_of_every_scorer_and_verdict_and_none_twice() {
    let cases = cases();
    assert!(cases.len() >= 700, "{}", cases.len());
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut seen = std::collections::BTreeSet::new();
    for case in &cases {
        let verdict = match case.verdict {
            Verdict::Correct => "correct",
            Verdict::Wrong => "wrong",
            Verdict::Unscored => "unscored",
        };
        *counts.entry((&case.scorer, verdict)).or_default() += 1;
        let key = format!(
            "{} {:?} {:?} {:?} {}",
            case.scorer, case.reference, case.choices, case.rules, case.answer
        );
        assert!(seen.insert(key), "line {} is there twice", case.line);
    }
    // A judge grades only when it is asked.
    for known in known().iter().filter(|known| known.id != judge::ID) {
        for (verdict, least) in [("correct", 12), ("wrong", 12), ("unscored", 2)] {
            let count = counts.get(&(known.id, verdict)).copied().unwrap_or(0);
            assert!(count >= least, "{} {verdict}: {count}", known.id);
        }
    }
}

#[test]
fn every_starter_question_accepts_its_reference_and_nothing_else() {
    for line in include_str!("../../../datasets/src/starter.jsonl").lines() {
        let row: Value = serde_json::from_str(line).expect("one object a line");
        let choices = texts(&row["choices"]);
        let (id, reference) = (
            row["scorer"].as_str().unwrap(),
            row["answer"].as_str().unwrap(),
        );
        let other = match id {
            "numeric" => "987654",
            "choice" if reference == "A" => "B",
            "choice" => "A",
            _ => "something else",
        };
        let verdict = |answer: &str| {
            let question = Question {
                reference: Some(reference),
                choices: &choices,
                rules: None,
                answer,
            };
            scorer(id).unwrap().grade(&question).verdict
        };
        assert_eq!(verdict(reference), Verdict::Correct, "{row}");
        assert_eq!(
            verdict(&format!("The answer is {reference}.")),
            Verdict::Correct,
            "{row}"
        );
        assert_eq!(verdict(other), Verdict::Wrong, "{row}");
    }
}
