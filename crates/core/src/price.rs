//! Token prices of commercial services.

use serde::{Deserialize, Serialize};

use crate::reply::TokenCounts;

/// Number of tokens that a price is for.
const PER: f64 = 1e6;

/// Token prices of a model, in US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The model, as the service knows it.
    pub model: String,
    /// Host of the service with this price; `None` for any service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Price of prompt tokens.
    pub input: f64,
    /// Price of generated tokens.
    pub output: f64,
    /// Price of cached prompt tokens; `None` for the price of other prompt tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// Price of reasoning tokens; `None` for the price of other output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<f64>,
    /// When the price was looked up.
    pub date: String,
    /// Where the price was looked up.
    pub source: String,
}

/// Cost of a reply, in US dollars; `None` where the tokens are unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Cost of its prompt.
    pub input: Option<f64>,
    /// Cost of its output.
    pub output: Option<f64>,
}

impl Cost {
    /// Cost of both.
    pub fn total(self) -> Option<f64> {
        Some(self.input? + self.output?)
    }
}

impl Price {
    /// Cost of a reply with these tokens.
    pub fn of(&self, tokens: &TokenCounts) -> Cost {
        let sum = |all: Option<u64>, special: Option<u64>, usual: f64, other: Option<f64>| {
            let all = all?;
            // A count of special tokens above the total follows another definition.
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

#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^52"
)]
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
