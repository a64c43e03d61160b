//! The original's five fits over a run's rows, with uncertainties and robust lines.

use serde::Serialize;

use super::{Fit, LinearFit, RobustLine, ols};
use crate::line::Line;

/// Values closer to zero count as zero, as in the original.
const ZERO: f64 = 1e-12;

/// A value for each of the five fits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct TokenFits<T> {
    /// Tokens of the prompt → seconds to the first token.
    pub input_tokens_vs_ttft: T,
    /// All tokens → joules.
    pub total_tokens_vs_energy: T,
    /// All tokens → seconds.
    pub total_tokens_vs_latency: T,
    /// All tokens → watts.
    pub total_tokens_vs_power: T,
    /// Natural logarithm of all tokens → watts.
    pub total_tokens_vs_power_log: T,
}

/// Number of rows in the fits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Samples {
    /// All rows, whether their values are known or not.
    pub total_samples: u64,
}

/// Results of the fits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Regressions {
    /// The original's fits under its keys.
    pub regressions: TokenFits<Fit>,
    /// The same lines with standard errors and intervals; `None` below three points.
    pub lines: TokenFits<Option<LinearFit>>,
    /// Theil–Sen lines.
    pub robust: TokenFits<Option<RobustLine>>,
    /// A message for each quantity that is zero in some rows.
    pub warnings: Vec<String>,
    /// Number of rows.
    pub summary: Samples,
}

/// Quantities that may be zero, in the order and wording of the original's warnings.
fn named(line: &Line) -> [(&'static str, Option<f64>); 7] {
    [
        ("per-query energy", line.joules.get()),
        ("per-query power", line.share_watts.get()),
        ("TTFT", line.first_token.get()),
        ("latency", line.total.get()),
        ("completion-token", line.output_tokens.get()),
        ("prompt-token", line.input_tokens.get()),
        ("total-token", line.known_tokens()),
    ]
}

fn is_zero(value: f64) -> bool {
    value.abs() < ZERO
}

impl<T> TokenFits<T> {
    fn map<U>(&self, get: impl Fn(&T) -> U) -> TokenFits<U> {
        TokenFits {
            input_tokens_vs_ttft: get(&self.input_tokens_vs_ttft),
            total_tokens_vs_energy: get(&self.total_tokens_vs_energy),
            total_tokens_vs_latency: get(&self.total_tokens_vs_latency),
            total_tokens_vs_power: get(&self.total_tokens_vs_power),
            total_tokens_vs_power_log: get(&self.total_tokens_vs_power_log),
        }
    }

    /// Each value with its key.
    pub fn named(&self) -> [(&'static str, &T); 5] {
        [
            ("input_tokens_vs_ttft", &self.input_tokens_vs_ttft),
            ("total_tokens_vs_energy", &self.total_tokens_vs_energy),
            ("total_tokens_vs_latency", &self.total_tokens_vs_latency),
            ("total_tokens_vs_power", &self.total_tokens_vs_power),
            ("total_tokens_vs_power_log", &self.total_tokens_vs_power_log),
        ]
    }
}

/// The five fits over these rows. As in the original, zero power is left out of its fits and other
/// zeros stay in.
pub fn regressions(lines: &[Line]) -> Regressions {
    let mut zeros = named(&Line::default()).map(|(name, _)| (name, 0_u64));
    for line in lines {
        for ((_, zeros), (_, value)) in zeros.iter_mut().zip(named(line)) {
            *zeros += u64::from(value.is_some_and(is_zero));
        }
    }
    let logarithm = |x: f64| if x > 0.0 { x.ln() } else { f64::NAN };
    let watts = |line: &Line| line.share_watts.get().filter(|watts| !is_zero(*watts));
    // One after the other, to keep the points of only one fit in memory.
    let fits = TokenFits {
        input_tokens_vs_ttft: Fits::of(lines, |line| {
            Some((line.input_tokens.get()?, line.first_token.get()?))
        }),
        total_tokens_vs_energy: Fits::of(lines, |line| {
            Some((line.known_tokens()?, line.joules.get()?))
        }),
        total_tokens_vs_latency: Fits::of(lines, |line| {
            Some((line.known_tokens()?, line.total.get()?))
        }),
        total_tokens_vs_power: Fits::of(lines, |line| Some((line.known_tokens()?, watts(line)?))),
        // A logarithm of zero is not finite, and the fits leave it out as the original does.
        total_tokens_vs_power_log: Fits::of(lines, |line| {
            Some((logarithm(line.known_tokens()?), watts(line)?))
        }),
    };
    let warning = |(name, count): (&str, u64)| {
        format!("encountered {count} {name} samples equal to 0.0 in dataset")
    };
    Regressions {
        regressions: fits.map(|fits| fits.original),
        lines: fits.map(|fits| fits.line),
        robust: fits.map(|fits| fits.robust),
        warnings: zeros
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(warning)
            .collect(),
        summary: Samples {
            total_samples: lines.len() as u64,
        },
    }
}

/// The three fits of one pair of quantities.
#[derive(Debug, Clone, Copy)]
struct Fits {
    original: Fit,
    line: Option<LinearFit>,
    robust: Option<RobustLine>,
}

impl Fits {
    fn of(lines: &[Line], point: impl Fn(&Line) -> Option<(f64, f64)>) -> Self {
        let (x, y): (Vec<f64>, Vec<f64>) = lines.iter().filter_map(point).unzip();
        Self {
            original: ols(&x, &y),
            line: LinearFit::through(&x, &y),
            robust: RobustLine::through(&x, &y),
        }
    }
}
