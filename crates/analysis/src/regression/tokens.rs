//! The original's five fits over a run's rows, and ours beside them.

use serde::Serialize;

use super::{Fit, LinearFit, Robust, ols};

/// Nearer to zero than this is zero, for the original and for us.
const ZERO: f64 = 1e-12;

/// What the fits need of one row; `None` where it is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Row {
    /// Tokens of the prompt.
    pub input_tokens: Option<f64>,
    /// Tokens of the reply.
    pub output_tokens: Option<f64>,
    /// Both; where it is not known, the sum of what is.
    pub total_tokens: Option<f64>,
    /// To the first token, in seconds.
    pub first_token: Option<f64>,
    /// To the end, in seconds.
    pub total: Option<f64>,
    /// Energy, in joules.
    pub joules: Option<f64>,
    /// Power, in watts.
    pub watts: Option<f64>,
}

/// The same thing for each of the five.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Five<T> {
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

/// How many rows were looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Samples {
    /// All of them, whatever they know.
    pub total_samples: u64,
}

/// What the fits say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Regressions {
    /// The original's fits under its keys.
    pub regressions: Five<Fit>,
    /// The same lines with errors and intervals; `None` below three points.
    pub lines: Five<Option<LinearFit>>,
    /// Theil and Sen's lines.
    pub robust: Five<Option<Robust>>,
    /// One line for each quantity that was zero in some rows.
    pub warnings: Vec<String>,
    /// How many rows.
    pub summary: Samples,
}

/// Points of one fit.
#[derive(Debug, Clone, Default)]
struct Points {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Points {
    fn push(&mut self, x: Option<f64>, y: Option<f64>) {
        if let (Some(x), Some(y)) = (x, y) {
            self.x.push(x);
            self.y.push(y);
        }
    }

    /// With the logarithm for the place; what has none becomes no number, and is left out by the
    /// fits as the original leaves it out.
    fn logarithmic(&self) -> Self {
        let logarithm = |x: &f64| if *x > 0.0 { x.ln() } else { f64::NAN };
        Self {
            x: self.x.iter().map(logarithm).collect(),
            y: self.y.clone(),
        }
    }
}

impl Row {
    fn all_tokens(&self) -> Option<f64> {
        let sum = || match (self.input_tokens, self.output_tokens) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0.0) + output.unwrap_or(0.0)),
        };
        self.total_tokens.or_else(sum)
    }

    /// What may be zero, in the order and the words of the original's warnings.
    fn named(&self) -> [(&'static str, Option<f64>); 7] {
        [
            ("per-query energy", self.joules),
            ("per-query power", self.watts),
            ("TTFT", self.first_token),
            ("latency", self.total),
            ("completion-token", self.output_tokens),
            ("prompt-token", self.input_tokens),
            ("total-token", self.all_tokens()),
        ]
    }
}

fn is_zero(value: f64) -> bool {
    value.abs() < ZERO
}

impl<T> Five<T> {
    fn map<U>(&self, get: impl Fn(&T) -> U) -> Five<U> {
        Five {
            input_tokens_vs_ttft: get(&self.input_tokens_vs_ttft),
            total_tokens_vs_energy: get(&self.total_tokens_vs_energy),
            total_tokens_vs_latency: get(&self.total_tokens_vs_latency),
            total_tokens_vs_power: get(&self.total_tokens_vs_power),
            total_tokens_vs_power_log: get(&self.total_tokens_vs_power_log),
        }
    }

    /// Each with its key.
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

/// The five fits over these rows. A power of zero is left out of its fits; other zeros stay in,
/// as in the original.
pub fn regressions(rows: impl IntoIterator<Item = Row>) -> Regressions {
    let mut points: Five<Points> = Five::default();
    let mut zeros = Row::default().named().map(|(name, _)| (name, 0_u64));
    let mut summary = Samples::default();
    for row in rows {
        summary.total_samples += 1;
        for ((_, zeros), (_, value)) in zeros.iter_mut().zip(row.named()) {
            *zeros += u64::from(value.is_some_and(is_zero));
        }
        let tokens = row.all_tokens();
        let watts = row.watts.filter(|watts| !is_zero(*watts));
        let Five {
            input_tokens_vs_ttft,
            total_tokens_vs_energy,
            total_tokens_vs_latency,
            total_tokens_vs_power,
            ..
        } = &mut points;
        input_tokens_vs_ttft.push(row.input_tokens, row.first_token);
        total_tokens_vs_energy.push(tokens, row.joules);
        total_tokens_vs_latency.push(tokens, row.total);
        total_tokens_vs_power.push(tokens, watts);
    }
    points.total_tokens_vs_power_log = points.total_tokens_vs_power.logarithmic();
    let warning = |(name, count): (&str, u64)| {
        format!("encountered {count} {name} samples equal to 0.0 in dataset")
    };
    Regressions {
        regressions: points.map(|points| ols(&points.x, &points.y)),
        lines: points.map(|points| LinearFit::through(&points.x, &points.y)),
        robust: points.map(|points| Robust::through(&points.x, &points.y)),
        warnings: zeros
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(warning)
            .collect(),
        summary,
    }
}
