//! `regex`: the reference is a pattern, and a part of the answer matches it.
//!
//! Anchors (`^`, `$`) mean the ends of the trimmed answer. Matching is case-sensitive unless the
//! pattern has `(?i)`. The engine's time is linear in the answer's length; it has no look-around
//! and no back-references.

use ipw_core::verdict::Grade;
use regex::RegexBuilder;

use crate::{Question, Scorer, both, correct, shown, wrong};

/// The scorer's id in datasets and flags.
pub(crate) const ID: &str = "regex";

/// Maximum size of a compiled pattern, in bytes.
const SIZE: usize = 1 << 20;

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
                let reason = format!("the reference is not a valid pattern: {}", shown(last));
                return Grade::unscored(Some(ID), reason);
            }
        };
        let answer = match both(ID, question) {
            Ok((_, answer)) => answer,
            Err(grade) => return grade,
        };
        match pattern.find(answer) {
            Some(found) => correct(ID, found.as_str(), "the pattern matches"),
            None => wrong(ID, None, "the pattern does not match"),
        }
    }
}
