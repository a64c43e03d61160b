//! `exact`: the same words, ignoring case and decoration.
//!
//! The scorer compares the whole answer, then its last line, then the text after the last "answer
//! is", so that shown working is accepted. An answer with additional words is wrong.

use ipw_core::verdict::Grade;

use crate::{Question, Scorer, both, correct, shown, text, wrong};

/// The scorer's id in datasets and flags.
pub(crate) const ID: &str = "exact";

pub(crate) struct Exact;

impl Scorer for Exact {
    fn id(&self) -> &'static str {
        ID
    }

    fn grade(&self, question: &Question<'_>) -> Grade {
        let (reference, answer) = match both(ID, question) {
            Ok(texts) => texts,
            Err(grade) => return grade,
        };
        // The exclamation mark may matter ("what does the program print?").
        let keep_bang = text::normalise(reference, true).ends_with(['!', '！']);
        let wanted = text::normalise(reference, keep_bang);
        let mut last = String::new();
        for (name, part) in parts(answer) {
            last = text::normalise(part, keep_bang);
            if last == wanted {
                return correct(ID, &last, format!("{name} equals the reference"));
            }
        }
        let reason = format!(
            "neither the answer nor its last part equals `{}`",
            shown(&wanted)
        );
        wrong(ID, Some(&last), reason)
    }
}

/// Candidates for the answer, in order, with their names.
fn parts(answer: &str) -> Vec<(&'static str, &str)> {
    let mut parts = vec![("the whole answer", answer)];
    if let Some(line) = lines(answer).next_back() {
        parts.push(("the last line", line));
    }
    let stated = text::answer_cues(answer)
        .pop()
        .and_then(|start| lines(&answer[start..]).next());
    if let Some(stated) = stated {
        parts.push(("the text after `answer`", stated));
    }
    parts
}

/// Non-empty lines, without code fences.
fn lines(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("```"))
}
