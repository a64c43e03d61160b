//! Compact rows, for analyses that need all rows in memory at once.

use ipw_core::row::Row;

use crate::interval::real;

/// An optional number in half the size of an `Option`: a run may have millions of rows.
#[derive(Debug, Clone, Copy)]
pub struct OptionalNumber(f64);

impl Default for OptionalNumber {
    fn default() -> Self {
        Self(f64::NAN)
    }
}

impl From<Option<f64>> for OptionalNumber {
    fn from(value: Option<f64>) -> Self {
        value.map_or_else(Self::default, Self)
    }
}

impl From<f64> for OptionalNumber {
    fn from(value: f64) -> Self {
        Self(value)
    }
}

impl OptionalNumber {
    fn count(value: Option<u64>) -> Self {
        value.map(real).into()
    }

    /// The number, if it is known.
    pub fn get(self) -> Option<f64> {
        self.0.is_finite().then_some(self.0)
    }
}

/// The numbers of one row.
#[derive(Debug, Clone, Copy, Default)]
pub struct Line {
    /// Hash of the query's id.
    pub query: u64,
    /// Its part of the run.
    pub part: u32,
    /// Whether it was answered.
    pub is_answered: bool,
    /// Whether the reply was complete.
    pub is_complete: bool,
    /// Whether the answer is correct; `None` if it is ungraded.
    pub is_correct: Option<bool>,
    /// When the query began, in seconds of the part.
    pub start: OptionalNumber,
    /// When the query ended, in seconds of the part.
    pub end: OptionalNumber,
    /// Tokens of the prompt.
    pub input_tokens: OptionalNumber,
    /// Tokens generated.
    pub output_tokens: OptionalNumber,
    /// Seconds to the first token.
    pub first_token: OptionalNumber,
    /// Seconds of the whole query.
    pub total: OptionalNumber,
    /// Energy on the basis, in joules.
    pub joules: OptionalNumber,
    /// The query's share of power, in watts.
    pub share_watts: OptionalNumber,
}

impl From<&Row<'_>> for Line {
    fn from(row: &Row<'_>) -> Self {
        Self {
            query: fingerprint(row.id),
            part: row.part,
            is_answered: row.is_answered,
            is_complete: row.outcome == "complete",
            is_correct: row.is_correct,
            start: row.start.into(),
            end: row.end.into(),
            input_tokens: OptionalNumber::count(row.input_tokens),
            output_tokens: OptionalNumber::count(row.output_tokens),
            first_token: row.time_to_first_token.into(),
            total: row.total.into(),
            joules: row.energy.joules.into(),
            share_watts: row.energy.share_watts.into(),
        }
    }
}

impl Line {
    /// When the query began and ended, in seconds of the part.
    pub fn span(&self) -> Option<(f64, f64)> {
        self.start.get().zip(self.end.get())
    }

    /// Tokens of prompt and reply.
    pub fn all_tokens(&self) -> Option<f64> {
        Some(self.input_tokens.get()? + self.output_tokens.get()?)
    }

    /// Tokens of prompt and reply, or of the one that is known.
    pub fn known_tokens(&self) -> Option<f64> {
        match (self.input_tokens.get(), self.output_tokens.get()) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0.0) + output.unwrap_or(0.0)),
        }
    }
}

/// FNV-1a hash of a text. A million distinct texts collide with a probability of about one in ten
/// million.
pub fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_number_stays_unknown() {
        assert_eq!(OptionalNumber::default().get(), None);
        assert_eq!(OptionalNumber::from(None).get(), None);
        assert_eq!(OptionalNumber::from(f64::INFINITY).get(), None);
        assert_eq!(OptionalNumber::from(Some(0.0)).get(), Some(0.0));
        let line = Line {
            output_tokens: 3.0.into(),
            ..Line::default()
        };
        assert_eq!((line.all_tokens(), line.known_tokens()), (None, Some(3.0)));
    }

    #[test]
    fn ids_that_differ_have_other_fingerprints() {
        let mut all: Vec<u64> = (0..100_000)
            .map(|n| fingerprint(&format!("query-{n}")))
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 100_000);
    }
}
