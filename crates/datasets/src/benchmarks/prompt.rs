//! The prompt of a benchmark question: the question as published, and for a choice its options and
//! one closing line.

use std::fmt::Write as _;
use std::str::FromStr;

use crate::columns::letter;

const CLOSING: &str = "Answer with the letter of the correct option.";

/// The form of a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Template {
    /// The question, the options, and the closing line.
    #[default]
    Plain,
    /// The question alone.
    Raw,
}

impl FromStr for Template {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "plain" => Ok(Self::Plain),
            "raw" => Ok(Self::Raw),
            _ => Err(()),
        }
    }
}

impl Template {
    /// The prompt of a question with these options.
    pub(super) fn prompt(self, question: &str, options: &[String]) -> String {
        let mut prompt = question.to_owned();
        if self == Self::Plain && !options.is_empty() {
            prompt.push_str("\n\n");
            for (option, letter) in options.iter().zip((0..).map_while(letter)) {
                let _ = writeln!(prompt, "{letter}. {option}");
            }
            prompt.push('\n');
            prompt.push_str(CLOSING);
        }
        prompt
    }
}
