//! Values of the metadata.

use ipw_core::text::excerpt;

/// A value of the header. Lists are stored by element type: a vocabulary as 49,152 enums would take
/// several times its size.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An integer.
    Whole(i128),
    /// A floating-point number.
    Number(f64),
    /// A boolean.
    Flag(bool),
    /// A string.
    Text(String),
    /// A list of strings.
    Texts(Vec<String>),
    /// A list of numbers or booleans.
    Numbers(Vec<f64>),
    /// The length of a list of lists; no key that this engine uses has one.
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
