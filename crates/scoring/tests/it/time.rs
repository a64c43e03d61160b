//! Grading time grows linearly with the length of an answer.

use std::time::Duration;

use ipw_scoring::{Question, known, scorer, without_reasoning};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

/// Repetitions of a model in a loop, and texts that make scorers look far ahead or back.
const PIECES: [&str; 37] = [
    "answer: ",
    "$",
    "{",
    "}",
    "[",
    "[1,",
    "{\"a\":",
    "(",
    "\\boxed{",
    "\\boxed",
    "\\frac{",
    "\\frac{1}{",
    "<think>",
    "</think>",
    "<",
    "A ",
    "A) x\nB) y\n",
    "answer: A ",
    "answer to ",
    "(B) or ",
    "not A ",
    "222,22,",
    "111,",
    "1/",
    "1-",
    "= ",
    "x=1, ",
    "```",
    "*",
    "** ",
    "\"",
    ".",
    "#### 1\n",
    "#",
    "\n",
    "é",
    "************ ",
];

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).expect("not before the start"),
        u32::try_from(time.tv_nsec).expect("below a second"),
    )
}

/// The shorter of two measurements, to ignore a single disturbance.
fn least(what: impl Fn()) -> Duration {
    let measure = || {
        let start = processor_time();
        what();
        processor_time().saturating_sub(start)
    };
    (0..2).map(|_| measure()).min().expect("two of them")
}

#[test]
fn ten_times_the_answer_takes_no_more_than_thirty_times_the_time() {
    let choices = ["Berlin", "Madrid", "Paris", "Rome"].map(str::to_owned);
    let rules = json!([
        {"id": "length_constraints:number_sentences", "kwargs": {"num_sentences": 0, "relation": "at least"}},
        {"id": "detectable_content:number_placeholders", "kwargs": {"num_placeholders": 0}},
        {"id": "detectable_format:number_highlighted_sections", "kwargs": {"num_highlights": 0}},
        {"id": "detectable_format:multiple_sections", "kwargs": {"section_spliter": "A", "num_sections": 0}},
        {"id": "detectable_format:title", "kwargs": {}},
        {"id": "keywords:forbidden_words", "kwargs": {"forbidden_words": ["answer", "a"]}}
    ]);
    let mut slow = Vec::new();
    for piece in PIECES {
        let short = piece.repeat(10_000 / piece.len());
        let long = piece.repeat(100_000 / piece.len());
        for known in known() {
            let scorer = scorer(known.id).unwrap();
            let reference = match known.id {
                "numeric" | "math" => "7",
                "json" => "{}",
                _ => "C",
            };
            let time = |answer: &str| {
                least(|| {
                    let question = Question {
                        reference: Some(reference),
                        choices: &choices,
                        rules: Some(&rules),
                        answer,
                    };
                    let _ = scorer.grade(&question);
                })
            };
            let (few, many) = (time(&short), time(&long));
            // Shorter times are below the clock's useful resolution.
            let few = few.max(Duration::from_micros(50));
            if many > 30 * few {
                slow.push(format!("{} over {piece:?}: {few:?}, {many:?}", known.id));
            }
        }
        let (few, many) = (
            least(|| drop(without_reasoning(&short))),
            least(|| drop(without_reasoning(&long))),
        );
        if many > 30 * few.max(Duration::from_micros(50)) {
            slow.push(format!("reasoning over {piece:?}: {few:?}, {many:?}"));
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}
