//! Whether an answer is right: deterministic scorers, one module each.
//!
//! A scorer takes the reference, the choices and what the model answered, and says `Correct`,
//! `Wrong` or `Unscored` with what it extracted and why. Nothing here opens a file, asks a judge or
//! counts: accuracy is `analysis`, verdicts are stored by `store`. To add a scorer: a module, an
//! arm in [`scorer`], a row in [`known`], cases in `tests/cases.jsonl`.

mod choice;
mod exact;
pub mod judge;
mod numeric;
mod reasoning;
mod text;

use ipw_core::nearest::nearest;
use ipw_core::verdict::{Grade, Verdict};

pub use reasoning::without_reasoning;

/// What a scorer is given.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The right answer; `None` when the row has none.
    pub reference: Option<&'a str>,
    /// The texts of the options, in the order of their letters; empty when there are none.
    pub choices: &'a [String],
    /// The model's answer, its reasoning already apart.
    pub answer: &'a str,
}

/// One way to tell a right answer from a wrong one.
pub trait Scorer: Send + Sync {
    /// The name that datasets and flags use.
    fn id(&self) -> &'static str;
    /// The verdict, with its grounds.
    fn grade(&self, question: &Question<'_>) -> Grade;
}

/// A scorer's name that nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown scorer `{id}`{}\nhelp: one of {}", suggestion(.nearest.as_ref()), ids())]
pub struct UnknownScorer {
    /// What was asked for.
    pub id: String,
    /// What was perhaps meant.
    pub nearest: Option<&'static str>,
}

/// A scorer as lists show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub id: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
}

/// The scorer with this name.
pub fn scorer(id: &str) -> Result<&'static dyn Scorer, UnknownScorer> {
    match id {
        exact::ID => Ok(&exact::Exact),
        numeric::ID => Ok(&numeric::Numeric),
        choice::ID => Ok(&choice::Choice),
        judge::ID => Ok(&judge::Judge),
        _ => Err(UnknownScorer {
            id: id.to_owned(),
            nearest: nearest(id, known().iter().map(|known| known.id)),
        }),
    }
}

/// Every scorer there is.
pub fn known() -> &'static [Known] {
    &[
        Known {
            id: exact::ID,
            summary: "the same words, whatever their case and decoration",
        },
        Known {
            id: numeric::ID,
            summary: "the same number, however it is written",
        },
        Known {
            id: choice::ID,
            summary: "the same option, by letter or by text",
        },
        Known {
            id: judge::ID,
            summary: "a model compares it with the reference (`ipw score RUN --judge-model NAME`)",
        },
    ]
}

/// Takes the reasoning out of the answer, then asks the scorer; reasoning that was cut off leaves
/// nothing to grade.
pub fn grade(scorer: &dyn Scorer, question: &Question<'_>) -> Grade {
    match without_reasoning(question.answer) {
        Some(answer) => scorer.grade(&Question {
            answer: &answer,
            ..*question
        }),
        None => Grade::unscored(Some(scorer.id()), "the reasoning was cut off"),
    }
}

/// The reference and the answer, both with something in them, or the grade that says otherwise.
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

fn correct(id: &'static str, extracted: String, reason: impl Into<String>) -> Grade {
    Grade {
        verdict: Verdict::Correct,
        scorer: Some(id),
        extracted: Some(extracted),
        reason: reason.into(),
        judge: None,
    }
}

fn wrong(id: &'static str, extracted: Option<String>, reason: impl Into<String>) -> Grade {
    Grade {
        verdict: Verdict::Wrong,
        scorer: Some(id),
        extracted,
        reason: reason.into(),
        judge: None,
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
    fn reasoning_that_was_cut_off_is_unscored() {
        let question = Question {
            reference: Some("5"),
            choices: &[],
            answer: "<think>It is 5, since",
        };
        let grade = grade(scorer("numeric").unwrap(), &question);
        assert_eq!(grade.verdict, Verdict::Unscored);
        assert_eq!(grade.reason, "the reasoning was cut off");
    }
}
