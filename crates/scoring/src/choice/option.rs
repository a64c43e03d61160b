//! The options of a question, normalised for comparison.

use crate::text;

/// Number of valid letters if the row lists no options.
const UNLISTED: usize = 10;

/// The options of a question.
pub(super) struct Options {
    texts: Vec<String>,
    /// Maximum text length to search for an option at its start: keeps the time linear for answers
    /// with many letters.
    pub(super) reach: usize,
    /// Number of valid letters, from A on.
    pub(super) count: usize,
}

impl Options {
    pub(super) fn new(choices: &[String]) -> Self {
        let count = if choices.is_empty() {
            UNLISTED
        } else {
            choices.len().min(26)
        };
        let longest = choices.iter().map(|choice| choice.chars().count()).max();
        Self {
            texts: choices.iter().take(26).map(|choice| bare(choice)).collect(),
            reach: 2 * longest.unwrap_or(0) + 64,
            count,
        }
    }

    /// The option of a letter.
    pub(super) fn of_letter(&self, letter: char) -> Option<usize> {
        let letter = letter.to_ascii_uppercase();
        let index = (letter.is_ascii_uppercase()).then(|| usize::from(letter as u8 - b'A'))?;
        (index < self.count).then_some(index)
    }

    /// The option with exactly this text.
    pub(super) fn of_text(&self, text: &str) -> Option<usize> {
        let text = bare(text);
        self.texts
            .iter()
            .position(|choice| !choice.is_empty() && *choice == text)
    }

    /// The longest option that the line begins with, and the rest of the line.
    pub(super) fn at_start(&self, text: &str) -> Option<(usize, String)> {
        if self.texts.is_empty() {
            return None;
        }
        let line = text.chars().take(self.reach).take_while(|c| *c != '\n');
        let text = bare(&line.collect::<String>());
        let (index, choice) = self
            .texts
            .iter()
            .enumerate()
            .filter(|(_, choice)| !choice.is_empty() && text.starts_with(choice.as_str()))
            .max_by_key(|(_, choice)| choice.len())?;
        // A single letter is treated as a letter, not as a text.
        let is_letter = choice.len() == 1 && choice.chars().all(|c| c.is_ascii_alphabetic());
        (!is_letter).then(|| (index, text[choice.len()..].to_owned()))
    }

    /// The option of a reference: a letter (`B`, `(B)`, `B.`), a text, or both (`B) Paris`).
    pub(super) fn of_reference(&self, reference: &str) -> Option<usize> {
        let core = reference.trim_matches(['(', ')', '[', ']', '.', ':', ' ']);
        let mut chars = core.chars();
        match (chars.next(), chars.next()) {
            (Some(letter), None) if self.of_letter(letter).is_some() => self.of_letter(letter),
            (Some(letter), Some(')' | '.' | ':')) => self
                .of_text(reference)
                .or_else(|| self.of_text(chars.as_str()).and(self.of_letter(letter))),
            _ => self.of_text(reference),
        }
    }

    /// Whether both are the same option or have the same text.
    pub(super) fn are_same(&self, left: usize, right: usize) -> bool {
        let texts = self.texts.get(left).zip(self.texts.get(right));
        left == right || texts.is_some_and(|(left, right)| !left.is_empty() && left == right)
    }
}

pub(super) fn letter(index: usize) -> char {
    u8::try_from(index).map_or('?', |index| char::from(b'A'.saturating_add(index)))
}

/// Folded text without emphasis, quotes, final full stop and leading article.
fn bare(text: &str) -> String {
    let kept: String = text.chars().filter(|c| !"*`\"“”".contains(*c)).collect();
    let folded = text::collapse(&text::fold(&kept));
    let core = folded.trim_matches(['_', ' ']);
    let core = core.strip_suffix('.').unwrap_or(core);
    let core = ["the ", "an ", "a "]
        .iter()
        .find_map(|word| core.strip_prefix(word))
        .unwrap_or(core);
    core.to_owned()
}
