//! Single letters that may name an option, and their context.

use super::option::Options;
use crate::text::{is_negated, near_end, near_start, whole_word};

/// Decoration before and after a letter.
const OPEN: &[char] = &['(', '[', '*', '_', '`', '"', '\'', '“'];
const CLOSE: &[char] = &[')', ']', '*', '_', '`', '"', '\'', '”'];
/// Words that introduce a conclusion.
const CONCLUSIVE: [&str; 26] = [
    "so",
    "therefore",
    "thus",
    "hence",
    "is",
    "be",
    "choose",
    "pick",
    "select",
    "chose",
    "it's",
    "but",
    "answer",
    "with",
    "must",
    "say",
    "namely",
    "definitely",
    "clearly",
    "actually",
    "conclude",
    "that's",
    "choosing",
    "picking",
    "leaves",
    "leaving",
];
/// Words between those and the letter.
const FILLERS: [&str; 5] = ["option", "choice", "letter", "the", "answer"];
const CONNECTIVES: [&str; 11] = [
    "than", "over", "instead", "because", "since", "as", "for", "due", "which", "based", "given",
];

/// A letter that is a word by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mention {
    /// Byte offset of the letter.
    pub(super) start: usize,
    /// The option that it may name.
    pub(super) index: usize,
    /// Whether it is a capital.
    pub(super) is_upper: bool,
    /// Whether brackets or emphasis set it apart.
    pub(super) is_marked: bool,
}

/// All single letters that may name an option, in order.
pub(super) fn mentions(text: &str, options: &Options) -> Vec<Mention> {
    text.char_indices()
        .filter(|(_, c)| c.is_ascii_alphabetic())
        .filter_map(|(start, c)| {
            let (before, after) = (&text[..start], &text[start + 1..]);
            let index = options
                .of_letter(c)
                .filter(|_| stands_alone(before, after))?;
            let is_upper = c.is_ascii_uppercase();
            let opened = before.ends_with(OPEN);
            let closed = after.starts_with(CLOSE)
                || before.ends_with(['*', '_']) && after.starts_with(['.', ':']);
            let bracketed = before.ends_with('(') && after.starts_with(')');
            let is_marked = if is_upper {
                opened && closed || after.starts_with(')')
            } else {
                bracketed
            };
            Some(Mention {
                start,
                index,
                is_upper,
                is_marked,
            })
        })
        .collect()
}

/// Whether the letter is not part of a word, abbreviation or name.
fn stands_alone(before: &str, after: &str) -> bool {
    let mut left = before.chars().rev();
    let mut right = after.chars();
    let (near, far) = (left.next(), left.next());
    let (next, second) = (right.next(), right.next());
    let wordy = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let joint = |c: Option<char>| c.is_some_and(|c| "'_-.&(".contains(c));
    !(wordy(near)
        || wordy(next)
        || joint(near) && wordy(far)
        || joint(next) && wordy(second)
        || near.is_some_and(|c| "°&\\".contains(c))
        || next.is_some_and(|c| "+#".contains(c)))
}

impl Mention {
    /// The text after the letter, without closing decoration.
    pub(super) fn after<'a>(&self, text: &'a str) -> &'a str {
        text[self.start + 1..].trim_start_matches(CLOSE)
    }

    /// The text before the letter, without opening decoration.
    pub(super) fn before<'a>(&self, text: &'a str) -> &'a str {
        text[..self.start].trim_end_matches(OPEN)
    }

    /// Whether the text before negates it.
    pub(super) fn is_denied(&self, lower: &str) -> bool {
        is_negated(self.before(lower))
    }

    /// Whether the text after rejects it: "is wrong", "does not fit".
    pub(super) fn is_rejected(&self, lower: &str) -> bool {
        let after = near_start(self.after(lower));
        let clause = after.split(['.', ';', '\n']).next().unwrap_or(after);
        let is_no = whole_word(clause.trim_start_matches([':', '-', ' ']), "no").is_some();
        is_no
            || clause
                .split(|c: char| !c.is_alphanumeric() && c != '\'')
                .any(|word| {
                    matches!(
                        word,
                        "wrong"
                            | "incorrect"
                            | "false"
                            | "not"
                            | "cannot"
                            | "out"
                            | "too"
                            | "never"
                    ) || word.ends_with("n't")
                })
    }

    /// Whether "is correct", "it is" or ": yes" follows.
    pub(super) fn is_affirmed(&self, lower: &str) -> bool {
        let after = near_start(self.after(lower));
        let bare = after.trim_start_matches([':', '-', ' ']);
        let is_settled = whole_word(bare, "it is").is_some_and(ends_clause);
        if is_settled || bare.len() < after.len() && whole_word(bare, "yes").is_some() {
            return true;
        }
        let mut words = after.split_whitespace();
        let verb = words.next();
        let next = words.next().map(|word| {
            if word == "the" {
                words.next()
            } else {
                Some(word)
            }
        });
        let word = next.flatten().unwrap_or_default();
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        verb == Some("is") && matches!(word, "correct" | "right" | "best" | "true" | "answer")
    }

    /// Whether a word such as "so" or "choose" leads to it.
    pub(super) fn is_concluded(&self, lower: &str) -> bool {
        let before = near_end(self.before(lower));
        let clause = before
            .rsplit(['.', '!', '?', ';', '\n'])
            .next()
            .unwrap_or(before);
        clause
            .split_whitespace()
            .rev()
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\''))
            .find(|word| !FILLERS.contains(word))
            .is_some_and(|word| CONCLUSIVE.contains(&word))
            || clause.trim_end().ends_with("answer")
    }

    /// Whether it begins a clause.
    pub(super) fn begins_clause(&self, text: &str) -> bool {
        let before = self.before(text).trim_end_matches(' ');
        before.is_empty() || before.ends_with(['.', '!', '?', ';', ',', ':', '\n', '>', '='])
    }

    /// Whether it ends its clause, or only its reason or its option's text follows.
    pub(super) fn ends_clause(&self, lower: &str, options: &Options) -> bool {
        let after = self.after(lower);
        ends_clause(after)
            || options.at_start(after).is_some_and(|(index, rest)| {
                options.are_same(index, self.index) && ends_clause(&rest)
            })
    }

    /// Whether this and the next letter form a list: "A or B", "A, B".
    pub(super) fn is_beside(&self, next: &Self, lower: &str, options: &Options) -> bool {
        if self.index == next.index || self.is_denied(lower) || next.start <= self.start {
            return false;
        }
        let between = lower[self.start + 1..next.start]
            .trim_matches(|c: char| CLOSE.contains(&c) || OPEN.contains(&c) || c == ' ');
        match between {
            "or" | ", or" | "/" | "and/or" | "or option" | "or maybe" | "or perhaps" => true,
            "" | "and" | "&" | "," | ", and" => next.ends_clause(lower, options),
            _ => false,
        }
    }
}

/// Whether the clause ends here, or only its reason follows.
pub(super) fn ends_clause(after: &str) -> bool {
    let after = after.trim_start_matches([' ', '*', '_', '`', '"', ')', ']', '\'']);
    let decimal =
        after.starts_with(['.', ',']) && after[1..].starts_with(|c: char| c.is_alphanumeric());
    let is_sign = |c: char| !c.is_alphanumeric() && !"/&=+%".contains(c);
    after.is_empty()
        || after.starts_with(is_sign) && !decimal
        || CONNECTIVES
            .iter()
            .any(|word| whole_word(after, word).is_some())
}
