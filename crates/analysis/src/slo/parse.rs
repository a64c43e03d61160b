//! Parsing of SLOs.

use ipw_core::duration::{DurationError, positive_seconds};
use ipw_core::nearest::{known_are, nearest};

use super::{Objective, Quantity, Slo};
use crate::latency::Origin;

/// Why a text is not an SLO.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SloError {
    /// The text is empty.
    #[error("an SLO needs a limit\nhelp: write e.g. `ttft=500ms,tpot=50ms,e2e=5s`")]
    Empty,
    /// An item without a limit.
    #[error("`{item}` is not a limit\nhelp: write a name and a time, e.g. `ttft=500ms`")]
    NoLimit {
        /// As written.
        item: String,
    },
    /// An unknown name.
    #[error("`{name}` is not a latency of an SLO\nhelp: {}", known_names(.nearest.as_deref()))]
    UnknownName {
        /// As written.
        name: String,
        /// The nearest known name.
        nearest: Option<String>,
    },
    /// An invalid time.
    #[error("the limit of `{name}`: {reason}")]
    BadTime {
        /// Name of the limit.
        name: String,
        /// The fault in the time.
        reason: DurationError,
    },
    /// An unknown origin.
    #[error("`{name}` cannot start at `{origin}`\nhelp: write `@planned` or `@sent`")]
    UnknownOrigin {
        /// Name of the limit.
        name: String,
        /// As written.
        origin: String,
    },
    /// An origin for a latency without one.
    #[error("`{name}` lies between chunks, so it has no origin\nhelp: leave `@{origin}` out")]
    NoOrigin {
        /// Name of the limit.
        name: String,
        /// As written.
        origin: String,
    },
    /// A repeated limit.
    #[error("`{name}` has two limits\nhelp: leave one of them out")]
    Twice {
        /// Name of the limit.
        name: String,
    },
}

fn known_names(nearest: Option<&str>) -> String {
    known_are(nearest, Quantity::ALL.map(Quantity::name))
}

impl Slo {
    /// Parses `ttft=500ms,tpot=50ms,e2e=5s`. Names may be in any case. `@planned` or `@sent` after
    /// a name or a time sets the start of its latency, `origin` the default.
    pub fn parse(text: &str, origin: Origin) -> Result<Self, SloError> {
        let mut objectives: Vec<Objective> = Vec::new();
        if text.trim().is_empty() {
            return Err(SloError::Empty);
        }
        for item in text.split(',') {
            let objective = Objective::parse(item.trim(), origin)?;
            let quantity = objective.quantity;
            if objectives.iter().any(|known| known.quantity == quantity) {
                let name = quantity.name().to_owned();
                return Err(SloError::Twice { name });
            }
            objectives.push(objective);
        }
        Ok(Self { objectives })
    }
}

impl Objective {
    fn parse(item: &str, default: Origin) -> Result<Self, SloError> {
        let no_limit = || SloError::NoLimit {
            item: item.to_owned(),
        };
        let (left, right) = item.split_once('=').ok_or_else(no_limit)?;
        let (name, before) = without_origin(left);
        let (time, after) = without_origin(right);
        if name.is_empty() || (before.is_some() && after.is_some()) {
            return Err(no_limit());
        }
        let quantity = Quantity::parse(name)?;
        let limit_seconds = positive_seconds(time).map_err(|reason| SloError::BadTime {
            name: quantity.name().to_owned(),
            reason,
        })?;
        Ok(Self {
            quantity,
            limit_seconds,
            origin: quantity.origin(before.or(after), default)?,
        })
    }
}

impl Quantity {
    fn parse(name: &str) -> Result<Self, SloError> {
        let is_meant = |quantity: &Self| quantity.name().eq_ignore_ascii_case(name);
        Self::ALL.into_iter().find(is_meant).ok_or_else(|| {
            let known = Self::ALL.map(Self::name);
            SloError::UnknownName {
                name: name.to_owned(),
                nearest: nearest(name, known).map(str::to_owned),
            }
        })
    }

    fn origin(self, written: Option<&str>, default: Origin) -> Result<Option<Origin>, SloError> {
        let Some(written) = written else {
            return Ok((!self.lies_between_chunks()).then_some(default));
        };
        let (name, origin) = (self.name().to_owned(), written.to_owned());
        if self.lies_between_chunks() {
            return Err(SloError::NoOrigin { name, origin });
        }
        match written.to_ascii_lowercase().as_str() {
            "planned" => Ok(Some(Origin::Planned)),
            "sent" => Ok(Some(Origin::Sent)),
            _ => Err(SloError::UnknownOrigin { name, origin }),
        }
    }
}

/// A text and the part after its `@`.
fn without_origin(text: &str) -> (&str, Option<&str>) {
    match text.split_once('@') {
        Some((text, origin)) => (text.trim(), Some(origin.trim())),
        None => (text.trim(), None),
    }
}
