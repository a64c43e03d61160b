//! Texts as long as a page can hold: short ones whole, long ones cut alike, and marked.

use super::{QueryLine, Text};

/// Bytes that all texts of a page may take. With numbers, script and drawing, a page of ten
/// thousand queries stays below three megabytes.
const ALL_TEXTS: usize = 1_250_000;
/// No text is longer than this.
const LONGEST: usize = 64 << 10;
/// No text is cut below this.
const SHORTEST: usize = 24;

/// What a character takes in the page: JSON, with what markup would obey escaped.
pub(super) fn cost(character: char) -> usize {
    match character {
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => 6,
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        character if character < ' ' => 6,
        character => character.len_utf8(),
    }
}

/// As much of `text` as takes at most `most` bytes in the page.
pub(super) fn shorten(text: &str, most: usize) -> Text {
    let mut taken = 0;
    for (place, character) in text.char_indices() {
        taken += cost(character);
        if taken > most {
            return Text {
                text: text[..place].to_owned(),
                is_cut: true,
            };
        }
    }
    Text {
        text: text.to_owned(),
        is_cut: false,
    }
}

/// Cuts the longest texts until all fit.
pub(super) fn fit(lines: &mut [QueryLine]) {
    fit_into(lines, ALL_TEXTS);
}

fn fit_into(lines: &mut [QueryLine], all: usize) {
    let lengths = lines.iter().flat_map(texts).map(length).collect();
    let most = cap(lengths, all).clamp(SHORTEST, LONGEST);
    for text in lines.iter_mut().flat_map(texts_mut) {
        if length(text) > most {
            *text = Text {
                is_cut: true,
                ..shorten(&text.text, most)
            };
        }
    }
}

fn length(text: &Text) -> usize {
    text.text.chars().map(cost).sum()
}

fn texts(line: &QueryLine) -> impl Iterator<Item = &Text> {
    [
        &line.prompt,
        &line.answer,
        &line.expected,
        &line.reasoning,
        &line.error,
    ]
    .into_iter()
    .flatten()
}

fn texts_mut(line: &mut QueryLine) -> impl Iterator<Item = &mut Text> {
    [
        &mut line.prompt,
        &mut line.answer,
        &mut line.expected,
        &mut line.reasoning,
        &mut line.error,
    ]
    .into_iter()
    .flatten()
}

/// The longest that a text may be so that all of them take at most `all`.
fn cap(mut lengths: Vec<usize>, all: usize) -> usize {
    lengths.sort_unstable();
    let mut left = all;
    let mut count = lengths.len();
    for length in lengths {
        // If all that are left were as long as this one, would they fit?
        if length.saturating_mul(count) > left {
            return left / count;
        }
        left -= length;
        count -= 1;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(prompt: &str, answer: &str) -> QueryLine {
        let text = |text: &str| {
            Some(Text {
                text: text.to_owned(),
                is_cut: false,
            })
        };
        QueryLine {
            prompt: text(prompt),
            answer: text(answer),
            ..QueryLine::default()
        }
    }

    #[test]
    fn short_texts_stay_whole_and_long_ones_share_the_rest() {
        let mut lines = vec![line("short", &"x".repeat(500)), line(&"y".repeat(900), "z")];
        fit_into(&mut lines, 206);
        assert_eq!(lines[0].prompt.as_ref().unwrap().text, "short");
        let (one, other) = (
            lines[0].answer.as_ref().unwrap(),
            lines[1].prompt.as_ref().unwrap(),
        );
        assert_eq!((one.text.len(), other.text.len()), (100, 100));
        assert!(one.is_cut && other.is_cut);
        assert!(!lines[1].answer.as_ref().unwrap().is_cut);
    }

    #[test]
    fn what_fits_is_not_touched() {
        let mut lines = vec![line("prompt", "answer")];
        fit_into(&mut lines, 12);
        assert_eq!(lines, [line("prompt", "answer")]);
        fit_into(&mut [], 0);
    }

    #[test]
    fn a_character_costs_what_it_takes_in_the_page() {
        assert_eq!(shorten("<<<", 12).text, "<<");
        assert_eq!(shorten("ääa", 4).text, "ää");
        assert!(shorten("ääa", 4).is_cut);
        assert_eq!(shorten("\0\0", 6).text, "\0");
    }
}
