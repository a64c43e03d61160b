//! `regex`: the reference is a pattern, and the answer matches it somewhere.
//!
//! Anchors (`^`, `$`) hold it to the ends of the answer, white space there left out; case counts
//! unless the pattern says `(?i)`. The engine is linear in the length of the answer, whatever the
//! pattern; it has neither look-around nor back-references.

use ipw_core::verdict::Grade;
use regex::RegexBuilder;

use crate::{Question, Scorer, both, correct, shown, wrong};

/// Its name in datasets and flags.
pub(crate) const ID: &str = "regex";

/// How large a compiled pattern may be, in bytes.
const SIZE: usize = 1 << 20;

/// Matches patterns.
pub(crate) struct Pattern;

impl Scorer for Pattern {
    fn id(&self) -> &'static str {
        ID
    }

    fn grade(&self, question: &Question<'_>) -> Grade {
        let reference = question.reference.map(str::trim).unwrap_or_default();
        if reference.is_empty() {
            return Grade::unscored(Some(ID), "no reference");
        }
        let pattern = match RegexBuilder::new(reference).size_limit(SIZE).build() {
            Ok(pattern) => pattern,
            Err(error) => {
                let error = error.to_string();
                let last = error.lines().next_back().unwrap_or_default().trim();
                let reason = format!("the reference is no pattern: {}", shown(last));
                return Grade::unscored(Some(ID), reason);
            }
        };
        let answer = match both(ID, question) {
            Ok((_, answer)) => answer,
            Err(grade) => return grade,
        };
        match pattern.find(answer) {
            Some(found) => correct(ID, found.as_str(), "the pattern matches"),
            None => wrong(ID, None, "the pattern matches nowhere"),
        }
    }
}
