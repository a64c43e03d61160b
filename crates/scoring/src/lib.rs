//! Deterministic scorers: each module decides in one way whether an answer is right.
//!
//! A scorer takes the reference, the choices and the model's answer, and returns `Correct`, `Wrong`
//! or `Unscored` with the extracted answer and a reason. This crate opens no files, asks no judge
//! and computes no accuracy (see `analysis`). To add a scorer: a module, an arm in [`scorer`], a
//! row in [`known`], and cases in `tests/cases.jsonl`.

mod choice;
mod contains;
mod exact;
mod instructions;
mod json;
pub mod judge;
mod math;
mod numeric;
mod pattern;
mod reasoning;
mod text;
mod value;

use std::borrow::Cow;

use ipw_core::nearest::nearest;
use ipw_core::verdict::{Grade, Verdict};
use serde_json::Value;

pub use instructions::rules_of;
pub use reasoning::without_reasoning;

/// The input of a scorer.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The right answer; `None` if the row has none.
    pub reference: Option<&'a str>,
    /// The texts of the options, in the order of their letters; empty without options.
    pub choices: &'a [String],
    /// Constraints on the answer, for `instructions`: `[{"id": …, "kwargs": {…}}]`, or `IFEval`'s
    /// own pair (see [`rules_of`]); `None` if the row has none.
    pub rules: Option<&'a Value>,
    /// The model's answer; reasoning inside it is removed by [`grade`].
    pub answer: &'a str,
}

/// A way to grade answers.
pub trait Scorer: Send + Sync {
    /// The scorer's id in datasets and flags.
    fn id(&self) -> &'static str;
    /// The verdict with its reason.
    fn grade(&self, question: &Question<'_>) -> Grade;
}

/// A scorer id that is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown scorer `{id}`{}\nhelp: one of {}", suggestion(.nearest.as_ref()), ids())]
pub struct UnknownScorer {
    /// The id as given.
    pub id: String,
    /// The most similar known id.
    pub nearest: Option<&'static str>,
}

/// A scorer, as shown in lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScorerInfo {
    /// Value of `--scorer`.
    pub id: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
}

/// The scorer with this id.
pub fn scorer(id: &str) -> Result<&'static dyn Scorer, UnknownScorer> {
    match id {
        exact::ID => Ok(&exact::Exact),
        numeric::ID => Ok(&numeric::Numeric),
        choice::ID => Ok(&choice::Choice),
        math::ID => Ok(&math::Math),
        contains::ID => Ok(&contains::Contains),
        pattern::ID => Ok(&pattern::Pattern),
        json::ID => Ok(&json::Json),
        instructions::ID => Ok(&instructions::Instructions),
        judge::ID => Ok(&judge::Judge),
        _ => Err(UnknownScorer {
            id: id.to_owned(),
            nearest: nearest(id, known().iter().map(|known| known.id)),
        }),
    }
}

/// All scorers.
pub fn known() -> &'static [ScorerInfo] {
    &[
        ScorerInfo {
            id: exact::ID,
            summary: "the same words, ignoring case and decoration",
        },
        ScorerInfo {
            id: numeric::ID,
            summary: "the same number, in any notation",
        },
        ScorerInfo {
            id: choice::ID,
            summary: "the same option, by letter or by text",
        },
        ScorerInfo {
            id: math::ID,
            summary: "the same value or expression, in LaTeX or plain",
        },
        ScorerInfo {
            id: contains::ID,
            summary: "the answer contains the reference's words; alternatives with `|`",
        },
        ScorerInfo {
            id: pattern::ID,
            summary: "the reference is a pattern that the answer matches",
        },
        ScorerInfo {
            id: json::ID,
            summary: "the answer's last JSON value equals the reference",
        },
        ScorerInfo {
            id: instructions::ID,
            summary: "the answer satisfies every constraint of the row (IFEval)",
        },
        ScorerInfo {
            id: judge::ID,
            summary: "a model compares the answer with the reference",
        },
    ]
}

/// Removes reasoning from the answer and grades it with `scorer`. An answer with cut-off reasoning
/// is unscored.
pub fn grade(scorer: &dyn Scorer, question: &Question<'_>) -> Grade {
    match without_reasoning(question.answer) {
        Some(answer) => scorer.grade(&Question {
            answer: &answer,
            ..*question
        }),
        None => Grade::unscored(Some(scorer.id()), "the reasoning was cut off"),
    }
}

/// The reference and the answer if both are present, else the grade that says why not.
fn both<'a>(id: &'static str, question: &Question<'a>) -> Result<(&'a str, &'a str), Grade> {
    let Some(reference) = question
        .reference
        .map(str::trim)
        .filter(|text| !text.is_empty())
    else {
        return Err(Grade::unscored(Some(id), "no reference"));
    };
    let answer = question.answer.trim();
    if answer.is_empty() {
        return Err(wrong(id, None, "empty answer"));
    }
    Ok((reference, answer))
}

fn correct(id: &'static str, extracted: &str, reason: impl Into<String>) -> Grade {
    Grade {
        verdict: Verdict::Correct,
        scorer: Some(id),
        extracted: Some(shown(extracted).into_owned()),
        reason: reason.into(),
        judge: None,
    }
}

fn wrong(id: &'static str, extracted: Option<&str>, reason: impl Into<String>) -> Grade {
    Grade {
        verdict: Verdict::Wrong,
        scorer: Some(id),
        extracted: extracted.map(|extracted| shown(extracted).into_owned()),
        reason: reason.into(),
        judge: None,
    }
}

/// How many characters of a text a grade quotes.
const SHOWN: usize = 200;

/// A text as quoted in a grade, cut if it is long.
fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

fn suggestion(nearest: Option<&&'static str>) -> String {
    nearest.map_or_else(String::new, |nearest| {
        format!(", did you mean `{nearest}`?")
    })
}

fn ids() -> String {
    let quoted: Vec<_> = known()
        .iter()
        .map(|known| format!("`{}`", known.id))
        .collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_scorer_is_found_under_its_own_name() {
        for known in known() {
            assert_eq!(scorer(known.id).map(Scorer::id), Ok(known.id));
        }
    }

    #[test]
    fn an_unknown_scorer_is_told_the_nearest_and_all_names() {
        let message = scorer("numerc").err().unwrap().to_string();
        assert!(message.contains("did you mean `numeric`?"), "{message}");
        assert!(
            message.contains("`exact`, `numeric`, `choice`"),
            "{message}"
        );
        assert!(
            !scorer("zzzz")
                .err()
                .unwrap()
                .to_string()
                .contains("did you mean")
        );
    }

    #[test]
    fn a_grade_repeats_no_long_text() {
        let long = "wörd ".repeat(10_000);
        for known in known() {
            let grade = grade(
                scorer(known.id).unwrap(),
                &Question {
                    reference: Some(&long),
                    choices: &[],
                    rules: None,
                    answer: &format!("{long}x"),
                },
            );
            let extracted = grade.extracted.unwrap_or_default();
            assert!(extracted.chars().count() <= SHOWN + 1, "{}", known.id);
            assert!(grade.reason.chars().count() <= SHOWN + 100, "{}", known.id);
        }
    }

    #[test]
    fn reasoning_that_was_cut_off_is_unscored() {
        let question = Question {
            reference: Some("5"),
            choices: &[],
            rules: None,
            answer: "<think>It is 5, since",
        };
        let grade = grade(scorer("numeric").unwrap(), &question);
        assert_eq!(grade.verdict, Verdict::Unscored);
        assert_eq!(grade.reason, "the reasoning was cut off");
    }
}
