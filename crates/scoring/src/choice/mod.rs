//! `choice`: the same option, by letter or by text.
//!
//! The scorer looks for what the answer *states*, such as "the answer is (B)", a line of only the
//! letter, "so B", or an option's text. Negated letters ("not B", "C is wrong"), ordinary words ("A
//! cat", "I think") and lists ("A or B") do not count. A reference of one letter means that letter,
//! even if an option's text is the letter.

mod line;
mod mention;
mod option;
mod statement;

use ipw_core::verdict::Grade;
use option::Options;
use statement::{StatedChoice, last_stated};

use crate::{Question, Scorer, both, correct, wrong};

/// The scorer's id in datasets and flags.
pub(crate) const ID: &str = "choice";

/// Compares options.
pub(crate) struct Choice;

impl Scorer for Choice {
    fn id(&self) -> &'static str {
        ID
    }

    fn grade(&self, question: &Question<'_>) -> Grade {
        let options = Options::new(question.choices);
        let wanted = question
            .reference
            .map(str::trim)
            .filter(|text| !text.is_empty());
        let wanted = match wanted.map(|reference| options.of_reference(reference)) {
            Some(None) => return Grade::unscored(Some(ID), "the reference does not name a choice"),
            Some(found) => found,
            None => None,
        };
        let (answer, wanted) = match (both(ID, question), wanted) {
            (Ok((_, answer)), Some(wanted)) => (answer, wanted),
            (Err(grade), _) => return grade,
            (Ok(_), None) => return Grade::unscored(Some(ID), "no reference"),
        };
        match last_stated(&plain(answer), &options) {
            None => wrong(ID, None, "no choice stated"),
            Some(StatedChoice::Several) => wrong(ID, None, "more than one choice stated"),
            Some(StatedChoice::One(index)) => {
                let letter = option::letter(index).to_string();
                if options.are_same(index, wanted) {
                    correct(ID, &letter, "the choice last stated is the reference")
                } else {
                    let wanted = option::letter(wanted);
                    wrong(
                        ID,
                        Some(&letter),
                        format!("the choice last stated is not {wanted}"),
                    )
                }
            }
        }
    }
}

/// Converts full-width letters and curly apostrophes to ASCII, and LaTeX boxes to "answer:".
fn plain(answer: &str) -> String {
    let text: String = answer
        .chars()
        .map(|c| match c {
            '\u{ff01}'..='\u{ff5e}' => {
                char::from_u32(u32::from(c) - 0xfee0).expect("ASCII is 0xfee0 below full width")
            }
            '’' | '‘' => '\'',
            _ => c,
        })
        .collect();
    if !text.contains('\\') {
        return text;
    }
    text.replace("\\boxed{", " answer: ")
        .replace("\\text{", "")
        .replace("\\textbf{", "")
        .replace("\\mathrm{", "")
        .replace("\\(", "")
        .replace("\\)", "")
        .replace(['{', '}', '$'], " ")
}
