//! A fault in a row, and the row's position.

use std::fmt;

use ipw_core::text::{excerpt, printable};

/// Limit of the excerpt in a message, in characters.
const LONGEST_EXCERPT: usize = 60;

/// The position of a row, as an editor or a data frame counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowPosition {
    /// The line in a text, from 1.
    Line(u64),
    /// The row in a table, from 0.
    Row(u64),
}

impl fmt::Display for RowPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(formatter, "line {line}"),
            Self::Row(row) => write!(formatter, "row {row}"),
        }
    }
}

/// What is wrong with one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The character in the line, from 1; `None` if the fault has no single place.
    pub column: Option<u64>,
    /// The expected content, in words.
    pub expected: String,
    /// The content found, in words.
    pub found: String,
    /// How to fix it; `None` if there is no advice.
    pub help: Option<String>,
    /// The part of the line around the fault, printable and short.
    pub excerpt: String,
}

impl Fault {
    pub(crate) fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            column: None,
            expected: expected.into(),
            found: found.into(),
            help: None,
            excerpt: String::new(),
        }
    }

    pub(crate) fn at_byte(self, line: &[u8], bytes_before: usize) -> Self {
        let before = line.get(..bytes_before).unwrap_or(line);
        let characters = before.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        Self {
            column: Some(characters as u64 + 1),
            ..self
        }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    /// Adds an excerpt of `line` around the fault.
    pub(crate) fn shown_in(mut self, line: &[u8]) -> Self {
        let line = String::from_utf8_lossy(line);
        let column = self
            .column
            .map_or(0, |column| usize::try_from(column).unwrap_or(usize::MAX));
        // Keeps the fault visible, with some text before it.
        let start = if column > LONGEST_EXCERPT * 2 / 3 {
            column - LONGEST_EXCERPT / 2
        } else {
            0
        };
        let lead = if start > 0 { "…" } else { "" };
        let rest = printable(&line.chars().skip(start).collect::<String>());
        let room = LONGEST_EXCERPT - 1 - lead.chars().count();
        self.excerpt = format!("{lead}{}", excerpt(rest.trim(), room));
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "expected {}, found {}",
            self.expected, self.found
        )?;
        if !self.excerpt.is_empty() {
            write!(formatter, ", in `{}`", self.excerpt)?;
        }
        match &self.help {
            Some(help) => write!(formatter, "; {help}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_short_printable_and_shows_the_fault() {
        let long = format!("{}\u{1b}[31m!{}", "é".repeat(200), "z".repeat(200));
        for bytes_before in [0, 30, 80, 90, 399, 406, 10_000] {
            let fault = Fault::new("a", "b")
                .at_byte(long.as_bytes(), bytes_before)
                .shown_in(long.as_bytes());
            assert!(fault.excerpt.chars().count() <= LONGEST_EXCERPT);
            assert!(!fault.excerpt.chars().any(char::is_control));
        }
        let fault = Fault::new("a", "b").at_byte(long.as_bytes(), 405);
        assert_eq!(fault.column, Some(206));
        assert!(fault.shown_in(long.as_bytes()).excerpt.contains('!'));
    }
}
