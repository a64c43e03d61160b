//! What metadata can say.

use ipw_core::text::excerpt;

/// A value of the header. Lists are kept by what they hold: a vocabulary as 49,152 enums would
/// take several times its size.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A whole number.
    Whole(i128),
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
    /// A text.
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
    /// A list of numbers or flags.
    Numbers(Vec<f64>),
    /// A list of lists; nothing that this engine reads has one.
    Nested(usize),
}

impl Value {
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_whole(&self) -> Option<u64> {
        match self {
            Self::Whole(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts, far below 2^52")]
    pub(super) fn as_number(&self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(*number as f64),
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn as_flag(&self) -> Option<bool> {
        match self {
            Self::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::Whole(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
            Self::Text(text) => format!("`{}`", excerpt(text, 60)),
            Self::Texts(list) => format!("a list of {} texts", list.len()),
            Self::Numbers(list) => format!("a list of {} numbers", list.len()),
            Self::Nested(length) => format!("a list of {length} lists"),
        }
    }
}
