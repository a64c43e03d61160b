//! What tokens cost where somebody sells them.

use serde::{Deserialize, Serialize};

use crate::reply::TokenCounts;

/// Prices are for so many tokens.
const PER: f64 = 1e6;

/// What a model's tokens cost, in US dollars for a million.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The model, as the service knows it.
    pub model: String,
    /// Whose price it is; `None`: wherever the model is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Tokens of the prompt.
    pub input: f64,
    /// Tokens generated.
    pub output: f64,
    /// Tokens of the prompt that came out of the service's cache; `None`: as the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// Tokens of the output that were reasoning; `None`: as the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<f64>,
    /// When it was looked up.
    pub date: String,
    /// Where.
    pub source: String,
}

/// What a reply cost, in US dollars; `None` where the tokens are not known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Its prompt.
    pub input: Option<f64>,
    /// What was generated.
    pub output: Option<f64>,
}

impl Cost {
    /// Both.
    pub fn total(self) -> Option<f64> {
        Some(self.input? + self.output?)
    }
}

impl Price {
    /// What a reply of so many tokens costs.
    pub fn of(&self, tokens: &TokenCounts) -> Cost {
        let sum = |all: Option<u64>, special: Option<u64>, usual: f64, other: Option<f64>| {
            let all = all?;
            // A service that counts more special ones than there are counts them differently.
            let special = special.unwrap_or(0).min(all);
            let other = other.unwrap_or(usual);
            Some((real(all - special) * usual + real(special) * other) / PER)
        };
        Cost {
            input: sum(tokens.input, tokens.cached, self.input, self.cached),
            output: sum(tokens.output, tokens.reasoning, self.output, self.reasoning),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody buys 2^52 tokens")]
fn real(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price() -> Price {
        Price {
            model: "m".to_owned(),
            host: None,
            input: 2.0,
            output: 10.0,
            cached: Some(0.5),
            reasoning: None,
            date: "2026-11-16".to_owned(),
            source: "a test".to_owned(),
        }
    }

    fn counts(input: Option<u64>, output: Option<u64>) -> TokenCounts {
        TokenCounts {
            input,
            output,
            ..TokenCounts::default()
        }
    }

    fn is(value: Option<f64>, wanted: f64) -> bool {
        value.is_some_and(|value| (value - wanted).abs() < 1e-12)
    }

    #[test]
    fn tokens_cost_what_they_are_priced_at_and_cached_ones_less() {
        let cost = price().of(&counts(Some(1_000_000), Some(500_000)));
        assert!(is(cost.input, 2.0) && is(cost.output, 5.0) && is(cost.total(), 7.0));
        let cached = TokenCounts {
            cached: Some(400_000),
            ..counts(Some(1_000_000), Some(0))
        };
        assert!(is(price().of(&cached).total(), 1.2 + 0.2));
        let reasoned = TokenCounts {
            reasoning: Some(100),
            ..counts(Some(0), Some(100))
        };
        assert!(is(price().of(&reasoned).output, 0.001));
        let strange = TokenCounts {
            cached: Some(2_000_000),
            ..counts(Some(1_000_000), Some(0))
        };
        assert!(is(price().of(&strange).input, 0.5));
    }

    #[test]
    fn what_is_not_counted_has_no_price() {
        let cost = price().of(&counts(Some(10), None));
        assert!(cost.input.is_some() && cost.output.is_none() && cost.total().is_none());
    }
}
