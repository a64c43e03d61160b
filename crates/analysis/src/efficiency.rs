//! Accuracy per watt and per joule (docs/method.md §7).

use ipw_core::row::Row;
use serde::{Deserialize, Serialize};

use crate::interval::{real, wilson};
use crate::metric::{Metric, Values};

/// Numbers of answers by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Answers {
    /// Correct answers.
    pub correct: u64,
    /// Wrong answers.
    pub wrong: u64,
    /// Ungraded answers, failed queries included.
    pub unscored: u64,
}

/// Accuracy with its 95 % interval (Wilson).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Correct ÷ (correct + wrong).
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Accuracy in relation to power and energy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Efficiency {
    /// Accuracy; `None` when nothing was graded.
    pub accuracy: Option<Accuracy>,
    /// Accuracy ÷ mean power of the service, per watt.
    pub intelligence_per_watt: Option<f64>,
    /// Accuracy ÷ mean energy of a query, per joule.
    pub intelligence_per_joule: Option<f64>,
    /// Joules of all queries ÷ correct answers; `None` without one.
    pub joules_per_correct_answer: Option<f64>,
}

impl Answers {
    /// The share of correct answers among the graded ones.
    pub fn accuracy(self) -> Option<Accuracy> {
        let share = wilson(self.correct, self.correct + self.wrong)?;
        Some(Accuracy {
            value: share.value,
            low: share.low,
            high: share.high,
        })
    }
}

impl Efficiency {
    /// The efficiency from the metrics of the same run.
    pub fn of(answers: Answers, values: &Values) -> Self {
        Self {
            accuracy: answers.accuracy(),
            intelligence_per_watt: values.get(Metric::Ipw),
            intelligence_per_joule: values.get(Metric::Ipj),
            joules_per_correct_answer: values.get(Metric::JoulesPerCorrect),
        }
    }
}

/// Running sums of [`Derived`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DerivedTally {
    joules: Sum,
    with_tokens: Sum,
    tokens: f64,
    with_work: Sum,
    work: f64,
    energy_delay: Sum,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sum {
    value: f64,
    count: u64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        self.value += value;
        self.count += 1;
    }

    fn mean(self) -> Option<f64> {
        (self.count > 0).then(|| self.value / real(self.count))
    }
}

/// Ratios of work, energy and time. Each is over the queries that know both sides (docs/method.md
/// §7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Derived {
    /// Number of queries with energy.
    pub queries: u64,
    /// Mean energy per query.
    pub joules_per_query: Option<f64>,
    /// Energy ÷ output tokens.
    pub joules_per_output_token: Option<f64>,
    /// Output tokens ÷ energy, which equals output tokens per second per watt.
    pub output_tokens_per_joule: Option<f64>,
    /// Mean energy-delay product per query.
    pub energy_delay_joule_seconds: Option<f64>,
    /// Floating-point operations ÷ energy.
    pub flops_per_joule: Option<f64>,
}

impl DerivedTally {
    /// Adds one query.
    pub fn push(&mut self, row: &Row<'_>) {
        let Some(joules) = row.energy.joules.filter(|joules| joules.is_finite()) else {
            return;
        };
        self.joules.add(joules);
        if let Some(tokens) = row.output_tokens.filter(|tokens| *tokens > 0) {
            self.with_tokens.add(joules);
            self.tokens += real(tokens);
        }
        if let Some(work) = row.flops.filter(|work| work.is_finite()) {
            self.with_work.add(joules);
            self.work += work;
        }
        let seconds = row.seconds().filter(|_| row.is_answered);
        if let Some(seconds) = seconds.filter(|seconds| seconds.is_finite()) {
            self.energy_delay.add(joules * seconds);
        }
    }

    /// The ratios over all added queries.
    pub fn finish(self) -> Derived {
        let ratio = |over: f64, under: f64| Some(over / under).filter(|ratio| ratio.is_finite());
        Derived {
            queries: self.joules.count,
            joules_per_query: self.joules.mean(),
            joules_per_output_token: ratio(self.with_tokens.value, self.tokens),
            output_tokens_per_joule: ratio(self.tokens, self.with_tokens.value),
            energy_delay_joule_seconds: self.energy_delay.mean(),
            flops_per_joule: ratio(self.work, self.with_work.value),
        }
    }
}

#[cfg(test)]
mod tests {
    use ipw_core::row::Energy;

    use super::*;

    #[test]
    fn ratios_are_over_queries_that_know_both_sides() {
        let mut gains = DerivedTally::default();
        assert_eq!(gains.finish(), Derived::default());
        let took = |joules| Energy {
            joules: Some(joules),
            ..Energy::default()
        };
        gains.push(&Row {
            energy: took(10.0),
            start: Some(1.0),
            end: Some(3.0),
            is_answered: true,
            output_tokens: Some(5),
            flops: Some(1e9),
            ..Row::default()
        });
        gains.push(&Row {
            energy: took(30.0),
            ..Row::default()
        });
        gains.push(&Row {
            output_tokens: Some(1000),
            ..Row::default()
        });
        let derived = gains.finish();
        assert_eq!(derived.queries, 2);
        let values = [
            (derived.joules_per_query, 20.0),
            (derived.joules_per_output_token, 2.0),
            (derived.output_tokens_per_joule, 0.5),
            (derived.energy_delay_joule_seconds, 20.0),
            (derived.flops_per_joule, 1e8),
        ];
        for (value, expected) in values {
            assert!(close(value.unwrap(), expected), "{value:?}");
        }
    }

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-9
    }

    #[test]
    fn accuracy_counts_only_what_was_graded() {
        let accuracy = Answers {
            correct: 3,
            wrong: 1,
            unscored: 96,
        }
        .accuracy()
        .unwrap();
        assert!(close(accuracy.value, 0.75));
        assert_eq!(
            Answers {
                unscored: 5,
                ..Answers::default()
            }
            .accuracy(),
            None
        );
    }

    /// Against statsmodels' `proportion_confint(8, 10, method="wilson")` and `(0, 10)`.
    #[test]
    fn intervals_are_wilsons() {
        let eight = Answers {
            correct: 8,
            wrong: 2,
            unscored: 0,
        }
        .accuracy()
        .unwrap();
        assert!((eight.low - 0.490_162_5).abs() < 1e-6 && (eight.high - 0.943_317_8).abs() < 1e-6);
        let none = Answers {
            correct: 0,
            wrong: 10,
            unscored: 0,
        }
        .accuracy()
        .unwrap();
        assert!(close(none.low, 0.0) && (none.high - 0.277_532_8).abs() < 1e-6);
    }
}
