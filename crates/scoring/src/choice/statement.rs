//! Finds what an answer states: the last statement of the strongest kind.
//!
//! The strongest kind is "The answer is B", a line of only `B`, "B is correct" or "so B". Next
//! comes an option written out on its own line, and last a letter or option set apart (`(B)`,
//! `**Paris**`). Lines that repeat the options as a list state nothing.

use std::ops::Range;

use super::line::{core, item, lines, listing, lone_letter};
use super::mention::{Mention, ends_clause, mentions};
use super::option::Options;
use crate::text::{answer_cues, is_negated, whole_word};

/// What the answer states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatedChoice {
    /// The option with this index.
    One(usize),
    /// Several options at once.
    Several,
}

/// How explicit a statement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    SetApart,
    WrittenOut,
    Plain,
}

struct Statement {
    strength: Strength,
    position: usize,
    said: StatedChoice,
}

/// The option that the answer states; `None` without a statement.
pub(super) fn last_stated(text: &str, options: &Options) -> Option<StatedChoice> {
    let lower = text.to_ascii_lowercase();
    let letters = mentions(text, options);
    let listing = listing(text, options);
    let several = side_by_side(&letters, &lower, options);
    let reader = Reader {
        text,
        lower: &lower,
        letters: &letters,
        several: &several,
        options,
    };
    let mut statements = reader.lines(&listing);
    statements.extend(reader.cues());
    statements.extend(reader.emphasised(&listing));
    statements.extend(
        letters
            .iter()
            .filter_map(|letter| reader.letter(letter, &listing)),
    );
    statements
        .into_iter()
        .max_by_key(|statement| (statement.strength, statement.position))
        .map(|statement| statement.said)
}

struct Reader<'a> {
    text: &'a str,
    /// The text in ASCII lower case, with the same offsets.
    lower: &'a str,
    letters: &'a [Mention],
    several: &'a [usize],
    options: &'a Options,
}

impl Reader<'_> {
    /// Lines of only an option.
    fn lines(&self, listing: &[Range<usize>]) -> Vec<Statement> {
        let is_sole = self
            .text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .count()
            == 1;
        let strength = if is_sole {
            Strength::Plain
        } else {
            Strength::WrittenOut
        };
        lines(self.text)
            .filter(|line| !is_within(listing, line.start))
            .filter_map(|line| {
                let core = core(&self.text[line.clone()]);
                let position = line.start;
                if let Some(index) = lone_letter(core, self.options) {
                    return Some(Statement {
                        strength: Strength::Plain,
                        position,
                        said: StatedChoice::One(index),
                    });
                }
                if let Some(index) = self.options.of_text(concluded(core)) {
                    return Some(Statement {
                        strength,
                        position,
                        said: StatedChoice::One(index),
                    });
                }
                let (letter, rest) = item(core, self.options)?;
                let index = self.options.of_text(rest)?;
                let is_same = self.options.are_same(letter, index);
                let said = if is_same {
                    StatedChoice::One(letter)
                } else {
                    StatedChoice::Several
                };
                Some(Statement {
                    strength,
                    position,
                    said,
                })
            })
            .collect()
    }

    /// The option after "the answer is".
    fn cues(&self) -> Option<Statement> {
        // Only the last cue that leads to an option counts.
        let cues = answer_cues(self.text).into_iter().rev();
        let mut found = cues.filter_map(|position| {
            let said = self.target(position)?;
            Some(Statement {
                strength: Strength::Plain,
                position,
                said,
            })
        });
        found.next()
    }

    /// The last option text in bold.
    fn emphasised(&self, listing: &[Range<usize>]) -> Option<Statement> {
        let mut position = 0;
        let mut found = None;
        for (number, part) in self.text.split("**").enumerate() {
            let start = position;
            position += part.len() + 2;
            let is_inside = number % 2 == 1 && position <= self.text.len();
            let is_told = is_inside && part.len() <= self.options.reach && !part.contains('\n');
            if !is_told || is_within(listing, start) || is_negated(&self.lower[..start]) {
                continue;
            }
            let said = self.options.of_text(part).map(StatedChoice::One);
            found = said.map(|said| (start, said)).or(found);
        }
        found.map(|(position, said)| Statement {
            strength: Strength::SetApart,
            position,
            said,
        })
    }

    fn target(&self, position: usize) -> Option<StatedChoice> {
        let rest = self.text[position..].trim_start();
        if let Some((index, after)) = self.options.at_start(rest) {
            if let Some(other) = after.trim_start().strip_prefix("or ") {
                let is_other = self.options.at_start(other).is_some();
                return Some(if is_other {
                    StatedChoice::Several
                } else {
                    StatedChoice::One(index)
                });
            }
            if ends_clause(&after) {
                return Some(StatedChoice::One(index));
            }
        }
        let mut at = self.text.len() - rest.len();
        loop {
            let here = &self.lower[at..];
            let bare = here.trim_start_matches(['(', '[', '*', '_', '`', '"', '\'', ' ', '“']);
            let fillers = [
                "option",
                "choice",
                "letter",
                "either",
                "definitely",
                "clearly",
                "probably",
            ];
            let next = fillers
                .iter()
                .find_map(|word| whole_word(bare, word))
                .unwrap_or(bare);
            at = self.lower.len() - next.len();
            if next.len() == here.len() {
                break;
            }
        }
        let letter = self
            .letters
            .binary_search_by_key(&at, |letter| letter.start)
            .ok()
            .map(|found| &self.letters[found])?;
        if self.is_one_of_several(letter) {
            return Some(StatedChoice::Several);
        }
        let is_stated = letter.is_marked || letter.ends_clause(self.lower, self.options);
        let said = self.with_text(letter);
        is_stated.then_some(said)
    }

    /// A letter, if its context makes it a statement.
    fn letter(&self, letter: &Mention, listing: &[Range<usize>]) -> Option<Statement> {
        if letter.is_denied(self.lower) || !(letter.is_upper || letter.is_marked) {
            return None;
        }
        let ends = letter.ends_clause(self.lower, self.options);
        let is_several = self.is_one_of_several(letter);
        let is_rejected = letter.is_rejected(self.lower);
        let is_listed = is_within(listing, letter.start);
        let concluded = letter.is_concluded(self.lower) && (ends || letter.is_marked || is_several);
        let affirmed = letter.is_affirmed(self.lower) && !is_rejected;
        let strength = if affirmed || concluded && !(letter.is_marked && is_rejected && !ends) {
            Strength::Plain
        } else if is_listed || is_rejected {
            return None;
        } else if letter.is_marked || is_several || ends && letter.begins_clause(self.text) {
            Strength::SetApart
        } else {
            return None;
        };
        let said = if is_several {
            StatedChoice::Several
        } else {
            self.with_text(letter)
        };
        Some(Statement {
            strength,
            position: letter.start,
            said,
        })
    }

    /// A letter followed by another option's text contradicts itself.
    fn with_text(&self, letter: &Mention) -> StatedChoice {
        let after = letter
            .after(self.text)
            .trim_start_matches(['.', ':', ')', ' ', '*', '-']);
        match self.options.at_start(after) {
            Some((index, rest))
                if rest.is_empty() && !self.options.are_same(index, letter.index) =>
            {
                StatedChoice::Several
            }
            _ => StatedChoice::One(letter.index),
        }
    }

    fn is_one_of_several(&self, letter: &Mention) -> bool {
        self.several.binary_search(&letter.start).is_ok()
    }
}

/// The conclusion of a line: the part after "so:", or the whole line.
fn concluded(line: &str) -> &str {
    let Some((before, after)) = line.rsplit_once(": ") else {
        return line;
    };
    let word = before.split_whitespace().next_back().unwrap_or_default();
    let leads = [
        "so",
        "therefore",
        "thus",
        "hence",
        "conclusion",
        "choice",
        "result",
    ];
    if leads.contains(&word.to_ascii_lowercase().as_str()) {
        after
    } else {
        line
    }
}

/// Whether one of the sorted ranges contains `at`.
fn is_within(ranges: &[Range<usize>], at: usize) -> bool {
    let next = ranges.partition_point(|range| range.end <= at);
    ranges.get(next).is_some_and(|range| range.contains(&at))
}

/// Positions of letters that are listed next to other letters, in order.
fn side_by_side(letters: &[Mention], lower: &str, options: &Options) -> Vec<usize> {
    let shown: Vec<_> = letters
        .iter()
        .filter(|one| one.is_upper || one.is_marked)
        .collect();
    let mut several: Vec<usize> = shown
        .windows(2)
        .filter(|pair| pair[0].is_beside(pair[1], lower, options))
        .flat_map(|pair| [pair[0].start, pair[1].start])
        .collect();
    several.dedup();
    several
}
