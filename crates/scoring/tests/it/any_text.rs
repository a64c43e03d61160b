//! Properties that hold for any text.

use ipw_core::verdict::Verdict;
use ipw_scoring::{Question, judge, known, scorer, without_reasoning};
use ipw_testkit::fuzz::{Random, damaged, rounds};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::table::{Case, cases};

/// Pieces that the scorers look for, so that random texts reach their branches.
const PIECES: [&str; 76] = [
    "answer",
    "is",
    ":",
    "The ",
    " ",
    "\n",
    "A",
    "B",
    "(C)",
    "**",
    "_",
    "`",
    "not",
    "isn't",
    "or",
    "and",
    ",",
    ".",
    "-",
    "−",
    "1",
    "23",
    "000",
    "/",
    "0",
    "e",
    "^",
    "×10^",
    "%",
    "\\boxed{",
    "}",
    "\\frac{",
    "}{",
    "٤",
    "½",
    "³",
    "=",
    "$",
    "Paris",
    "Rome",
    "<think>",
    "</think>",
    "ß",
    "İ",
    "\u{202f}",
    "é",
    "\u{0}",
    "😀",
    "\\sqrt",
    "\\left(",
    "\\right]",
    "\\{",
    "\\}",
    "\\pm",
    "\\cup",
    "\\begin{pmatrix}",
    "\\\\",
    "&",
    "\\end{pmatrix}",
    "\\text{ cm}",
    "x",
    "|",
    "!",
    "\\infty",
    "<",
    "≥",
    "{\"a\":",
    "[1,",
    "]",
    "\"",
    "```json",
    "```",
    "***",
    "<<",
    ">>",
    "\u{200f}",
];

fn choices() -> Vec<String> {
    ["Berlin", "Madrid", "Paris", "Rome"]
        .map(str::to_owned)
        .into()
}

/// Constraints that examine all parts of an answer.
fn rules() -> Value {
    let count = |id: &str, name: &str| json!({"id": id, "kwargs": {name: 1}});
    json!([
        count("detectable_content:number_placeholders", "num_placeholders"),
        count("detectable_format:number_bullet_lists", "num_bullets"),
        count("detectable_format:number_highlighted_sections", "num_highlights"),
        count("length_constraints:number_paragraphs", "num_paragraphs"),
        {"id": "length_constraints:number_sentences", "kwargs": {"num_sentences": 2, "relation": "less than"}},
        {"id": "detectable_format:title"},
        {"id": "combination:two_responses"},
        {"id": "detectable_format:json_format"},
        {"id": "startend:quotation"},
        {"id": "change_case:english_lowercase"},
    ])
}

fn verdict(id: &str, reference: Option<&str>, answer: &str) -> Verdict {
    let (choices, rules) = (choices(), rules());
    let question = Question {
        reference,
        choices: &choices,
        rules: Some(&rules),
        answer,
    };
    scorer(id).expect("a known scorer").grade(&question).verdict
}

#[test]
fn a_million_damaged_replies_are_graded_without_a_panic_and_alike_twice() {
    let cases = cases();
    let corpus: Vec<&[u8]> = cases.iter().map(|case| case.answer.as_bytes()).collect();
    let pieces = PIECES.map(str::as_bytes);
    let of = |id: &str| -> Vec<&Case> { cases.iter().filter(|case| case.scorer == id).collect() };
    let mut by_scorer: Vec<Vec<&Case>> = known()
        .iter()
        .filter(|known| !["regex", judge::ID].contains(&known.id))
        .map(|known| of(known.id))
        .collect();
    // Rarely (once in 29): compiling a pattern takes longer than grading by any other scorer.
    by_scorer.extend_from_within(..);
    by_scorer.extend_from_within(..);
    by_scorer.push(of("regex"));
    let mut random = Random::new(11);
    for round in 0..rounds(1_000_000) {
        let bytes = damaged(&mut random, &corpus, &pieces);
        let reply = String::from_utf8_lossy(&bytes);
        let of_scorer = &by_scorer[round % by_scorer.len()];
        let case = of_scorer[random.below(of_scorer.len())];
        let grade = case.grade_of(&reply);
        assert!(
            grade
                .extracted
                .is_none_or(|text| text.chars().count() <= 201)
        );
        if round % 64 == 0 {
            let again = case.grade_of(&reply);
            assert_eq!(grade.verdict, again.verdict, "{reply:?}");
            assert_eq!(grade.reason, again.reason, "{reply:?}");
            // A text as reference must not panic either.
            let _ = verdict(&case.scorer, Some(&reply), "The answer is 1/2 (B)");
            let _ = without_reasoning(&reply);
        }
    }
}

#[test]
fn a_long_answer_that_repeats_itself_is_graded_all_the_same() {
    for piece in [
        "A ", "answer: ", "(B) or ", "1,22,", "not A ", "= ", "\\frac{", "<think>", "1/", "((",
        "{{", "\\sqrt", "-", "|",
    ] {
        let text = piece.repeat(2_000);
        for known in known().iter().filter(|known| known.id != "contains") {
            for reference in ["C", "7"] {
                let verdict = verdict(known.id, Some(reference), &text);
                assert_ne!(verdict, Verdict::Correct, "{} {piece}", known.id);
            }
        }
    }
}

#[test]
fn the_answers_of_the_table_are_graded_alike_with_white_space_around_them() {
    for case in cases() {
        let padded = format!(" \n\t{}\n \n", case.answer);
        let verdict = case.grade_of(&padded).verdict;
        assert_eq!(verdict, case.verdict, "line {}", case.line);
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
        reference in prop::sample::select(vec!["Paris", "12", "C", "0.5", "x^2", "[1]", "a|b"]),
    ) {
        let padded = format!("{before}{answer}{after}");
        for known in known() {
            prop_assert_eq!(
                verdict(known.id, Some(reference), &answer),
                verdict(known.id, Some(reference), &padded),
                "{}", known.id
            );
        }
    }

    #[test]
    fn case_changes_nothing_for_exact_and_contains(
        answer in any_answer(),
        reference in "[a-zA-Z ßéσΣ]{1,6}",
    ) {
        for answer in [answer, format!("The answer is {reference}")] {
            for id in ["exact", "contains"] {
                let wanted = verdict(id, Some(&reference), &answer);
                for changed in [answer.to_uppercase(), answer.to_lowercase()] {
                    prop_assert_eq!(verdict(id, Some(&reference), &changed), wanted);
                }
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
        let is_correct = |reference: &str| {
            let question = Question {
                reference: Some(reference),
                choices: &choices,
                rules: None,
                answer: &changed,
            };
            scorer("choice").unwrap().grade(&question).verdict == Verdict::Correct
        };
        prop_assert_eq!(is_correct("Paris"), stated == 1);
        prop_assert_eq!(is_correct("A"), stated == 0);
    }

    #[test]
    fn a_number_is_itself_in_every_writing(number in -99_999_i64..99_999, below in 1_i64..50) {
        let fraction = format!("{number}/{below}");
        let latex = format!("\\boxed{{\\frac{{{number}}}{{{below}}}}}");
        let doubled = format!("The answer is ${}/{}$.", number * 2, below * 2);
        for answer in [&latex, &doubled, &fraction] {
            prop_assert_eq!(verdict("math", Some(&fraction), answer), Verdict::Correct, "{}", answer);
        }
        let other = format!("\\boxed{{\\frac{{{}}}{{{below}}}}}", number + 1);
        prop_assert_eq!(verdict("math", Some(&fraction), &other), Verdict::Wrong);
        let arabic: String = number
            .to_string()
            .chars()
            .map(|c| c.to_digit(10).map_or(c, |digit| char::from_u32(0x660 + digit).unwrap()))
            .collect();
        prop_assert_eq!(verdict("numeric", Some(&number.to_string()), &arabic), Verdict::Correct);
    }
}
