//! The table of cases, the starter questions, and what must hold for any text at all.

use ipw_core::verdict::Verdict;
use ipw_scoring::{Question, known, scorer, without_reasoning};
use proptest::prelude::*;
use serde_json::Value;

fn verdict(id: &str, reference: Option<&str>, choices: &[String], answer: &str) -> Verdict {
    scorer(id)
        .expect("a known scorer")
        .grade(&Question {
            reference,
            choices,
            answer,
        })
        .verdict
}

fn rows(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("one object a line"))
        .collect()
}

fn choices(row: &Value) -> Vec<String> {
    let listed = row["choices"].as_array().cloned().unwrap_or_default();
    listed
        .iter()
        .map(|choice| choice.as_str().expect("a text").to_owned())
        .collect()
}

#[test]
fn every_case_of_the_table_has_its_verdict() {
    let rows = rows(include_str!("cases.jsonl"));
    assert!(rows.len() >= 120);
    let mut failed = 0;
    for row in &rows {
        let choices = choices(row);
        let question = Question {
            reference: row["reference"].as_str(),
            choices: &choices,
            answer: row["answer"].as_str().unwrap(),
        };
        let grade = scorer(row["scorer"].as_str().unwrap())
            .unwrap()
            .grade(&question);
        let wanted = match row["verdict"].as_str().unwrap() {
            "correct" => Verdict::Correct,
            "wrong" => Verdict::Wrong,
            _ => Verdict::Unscored,
        };
        if grade.verdict != wanted {
            failed += 1;
            println!("{row}\n  {grade:?}");
        }
    }
    assert_eq!(failed, 0, "of {} cases", rows.len());
}

#[test]
fn every_starter_question_accepts_its_reference_and_nothing_else() {
    for row in rows(include_str!("../../datasets/src/starter.jsonl")) {
        let choices = choices(&row);
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
        let grade = |answer: &str| verdict(id, Some(reference), &choices, answer);
        assert_eq!(grade(reference), Verdict::Correct, "{row}");
        assert_eq!(
            grade(&format!("The answer is {reference}.")),
            Verdict::Correct,
            "{row}"
        );
        assert_eq!(grade(other), Verdict::Wrong, "{row}");
    }
}

/// Pieces that the scorers look for, so that random texts reach their branches.
const PIECES: [&str; 48] = [
    "answer", "is", ":", "The ", " ", "\n", "A", "B", "(C)", "**", "_", "`", "not", "isn't", "or",
    "and", ",", ".", "-", "−", "1", "23", "000", "/", "0", "e", "^", "×10^", "%", "\\boxed{", "}",
    "\\frac{", "}{", "٤", "½", "³", "=", "$", "Paris", "Rome", "<think>", "</think>", "ß", "İ",
    "\u{202f}", "é", "\u{0}", "😀",
];

#[test]
fn no_random_text_panics_and_each_is_graded_alike_twice() {
    let choices = ["Berlin", "Madrid", "Paris", "Rome"].map(str::to_owned);
    let references = [Some("Paris"), Some("12"), Some("C"), Some("1/2"), None];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut text = String::new();
    for round in 0..200_000 {
        text.clear();
        for _ in 0..random(14) {
            text.push_str(PIECES[random(PIECES.len())]);
        }
        let id = known()[round % 3].id;
        let reference = references[random(references.len())];
        let question = Question {
            reference,
            choices: &choices,
            answer: &text,
        };
        let grade = scorer(id).unwrap().grade(&question);
        if round % 16 == 0 {
            let _ = without_reasoning(&text);
            assert_eq!(grade, scorer(id).unwrap().grade(&question), "{text:?}");
            // The text as a reference must not panic either.
            let _ = verdict(id, Some(&text), &choices, "The answer is 1/2 (B)");
        }
    }
}

#[test]
fn a_long_answer_that_repeats_itself_is_graded_all_the_same() {
    let choices = ["Berlin", "Madrid", "Paris", "Rome"].map(str::to_owned);
    for piece in [
        "A ", "answer: ", "(B) or ", "1,22,", "not A ", "= ", "\\frac{", "<think>", "1/",
    ] {
        let text = piece.repeat(2_000);
        for known in known() {
            assert_ne!(
                verdict(known.id, Some("C"), &choices, &text),
                Verdict::Correct,
                "{piece}"
            );
            assert_ne!(
                verdict(known.id, Some("1"), &choices, &text),
                Verdict::Correct,
                "{piece}"
            );
        }
    }
}

fn any_answer() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..12)
        .prop_map(|pieces| pieces.concat());
    prop_oneof![pieces, any::<String>()]
}

proptest! {
    #[test]
    fn white_space_around_an_answer_changes_nothing(
        answer in any_answer(),
        before in "[ \t\n]{0,3}",
        after in "[ \t\n]{0,3}",
        reference in prop::sample::select(vec!["Paris", "12", "C", "0.5"]),
    ) {
        let choices = ["Berlin", "Madrid", "Paris", "Rome"].map(str::to_owned);
        let padded = format!("{before}{answer}{after}");
        for known in known() {
            prop_assert_eq!(
                verdict(known.id, Some(reference), &choices, &answer),
                verdict(known.id, Some(reference), &choices, &padded)
            );
        }
    }

    #[test]
    fn case_changes_nothing_for_exact(answer in any_answer(), reference in "[a-zA-Z ßéσΣ]{1,6}") {
        for answer in [answer, format!("The answer is {reference}")] {
            let wanted = verdict("exact", Some(&reference), &[], &answer);
            for changed in [answer.to_uppercase(), answer.to_lowercase()] {
                prop_assert_eq!(verdict("exact", Some(&reference), &[], &changed), wanted);
            }
        }
    }

    #[test]
    fn case_changes_nothing_for_a_choice_by_text(
        stated in 0_usize..4,
        lead in prop::sample::select(vec!["", "The answer is ", "Answer: ", "I know.\nanswer: **"]),
        upper in prop::collection::vec(any::<bool>(), 64),
    ) {
        let choices = ["a dog", "Paris", "not a cat", "It is so."].map(str::to_owned);
        let changed: String = format!("{lead}{}", choices[stated])
            .chars()
            .zip(upper)
            .map(|(c, upper)| if upper { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
            .collect();
        prop_assert_eq!(verdict("choice", Some("Paris"), &choices, &changed) == Verdict::Correct, stated == 1);
        prop_assert_eq!(verdict("choice", Some("A"), &choices, &changed) == Verdict::Correct, stated == 0);
    }
}
