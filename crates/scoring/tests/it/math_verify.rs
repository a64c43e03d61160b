//! `math` and `numeric` compared with math-verify, an independent implementation.
//!
//! The intended differences are in `differs.jsonl`, with their reasons. A new difference fails, and
//! so does a listed one that no longer occurs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ipw_core::verdict::Verdict;
use ipw_testkit::{Venv, or_skip};
use serde_json::{Value, json};

use crate::table::{Case, cases};

const SCRIPT: &str = include_str!("../math_verify.py");
/// Pinned: the list of differences applies to these versions.
const PACKAGES: [&str; 3] = [
    "math-verify==0.9.0",
    "latex2sympy2_extended==1.11.0",
    "antlr4-python3-runtime==4.13.2",
];

/// Cases that both can grade: math-verify does not remove reasoning and has no "unscored".
fn comparable() -> Vec<Case> {
    let is_comparable = |case: &Case| {
        matches!(case.scorer.as_str(), "math" | "numeric")
            && case.verdict != Verdict::Unscored
            && !case.answer.trim().is_empty()
            && !case.answer.contains("<think>")
    };
    cases().into_iter().filter(is_comparable).collect()
}

fn theirs(cases: &[Case]) -> Option<Vec<Value>> {
    let venv = or_skip(Venv::ensure("math-verify", &PACKAGES))?;
    let pairs = cases.iter().fold(String::new(), |mut text, case| {
        let _ = writeln!(text, "{}", json!([case.reference, case.answer]));
        text
    });
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("pairs.jsonl");
    std::fs::write(&file, pairs).expect("a file");
    let said = venv.run(SCRIPT, &[&file]).expect("math-verify's verdicts");
    Some(serde_json::from_str(&said).expect("one verdict a case"))
}

#[test]
fn every_difference_to_math_verify_is_known_and_explained() {
    let cases = comparable();
    let Some(theirs) = theirs(&cases) else { return };
    assert_eq!(theirs.len(), cases.len());
    let mut table: BTreeMap<(&str, bool, String), usize> = BTreeMap::new();
    let mut differs = Vec::new();
    for (case, theirs) in cases.iter().zip(theirs) {
        let ours = case.grade().verdict == Verdict::Correct;
        *table
            .entry((&case.scorer, ours, theirs.to_string()))
            .or_default() += 1;
        if theirs != json!(ours) {
            let (scorer, reference, answer) = (&case.scorer, &case.reference, &case.answer);
            differs.push(json!([scorer, reference, answer, ours, theirs]).to_string());
        }
    }
    println!("scorer   ours   theirs count");
    for ((scorer, ours, theirs), count) in &table {
        println!("{scorer:8} {ours:<6} {theirs:6} {count:5}");
    }
    let mut known = Vec::new();
    for line in include_str!("../differs.jsonl").lines() {
        let row: Value = serde_json::from_str(line).expect("one object a line");
        assert!(
            row["why"].as_str().is_some_and(|why| why.len() > 10),
            "{row}"
        );
        let fields = ["scorer", "reference", "answer", "ours", "theirs"].map(|name| &row[name]);
        known.push(json!(fields).to_string());
    }
    let missing: Vec<_> = differs.iter().filter(|one| !known.contains(one)).collect();
    let gone: Vec<_> = known.iter().filter(|one| !differs.contains(one)).collect();
    assert!(missing.is_empty(), "not in `differs.jsonl`: {missing:#?}");
    assert!(
        gone.is_empty(),
        "in `differs.jsonl`, but the same now: {gone:#?}"
    );
}
