//! What runs are measured and compared by (docs/method.md §9.3).
//!
//! All but the percentiles are ratios of sums over rows: a metric is a recipe of which sums stand
//! above and which below. Its value, its bootstrap and its variance then follow from the same few
//! columns. The unit of all of them is the query: rows of one query resemble each other, so it is
//! queries that are drawn and paired, not rows.

use std::collections::HashMap;

use serde::Serialize;

use crate::interval::{known, real};

/// What one row tells; `None` where it is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Row<'a> {
    /// Which query it is: the same text in two runs is the same prompt.
    pub query: &'a str,
    /// Energy on the basis, in joules.
    pub joules: Option<f64>,
    /// How long it was under way, in seconds.
    pub seconds: Option<f64>,
    /// Tokens of prompt and reply.
    pub total_tokens: Option<u64>,
    /// Tokens of the reply.
    pub output_tokens: Option<u64>,
    /// To the first token, in seconds.
    pub first_token: Option<f64>,
    /// To the end, in seconds.
    pub latency: Option<f64>,
    /// Whether it was answered.
    pub is_answered: bool,
    /// Whether the answer is right; `None` where nobody graded it.
    pub is_correct: Option<bool>,
    /// Whether it kept the SLO; `None` where there is none, or where that is not known.
    pub is_good: Option<bool>,
}

/// What runs are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Mean energy of a query.
    JoulesPerQuery,
    /// Energy of all queries ÷ their tokens, of prompts and replies.
    JoulesPerToken,
    /// Energy of all queries ÷ right answers.
    JoulesPerCorrect,
    /// Energy of all queries ÷ their time.
    Watts,
    /// Right ÷ graded answers.
    Accuracy,
    /// Accuracy ÷ watts.
    Ipw,
    /// Accuracy ÷ mean energy of a query.
    Ipj,
    /// Median time to the first token.
    TtftP50,
    /// 99th percentile of the time to the first token.
    TtftP99,
    /// Median time to the end.
    LatencyP50,
    /// 99th percentile of the time to the end.
    LatencyP99,
    /// Tokens of all answered queries ÷ their time to the end: the speed of one query, not of the
    /// service.
    TokensPerSecond,
    /// The share of queries that kept the SLO.
    Goodput,
    /// The share of queries that were not answered.
    Failed,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less.
    Lower,
    /// More.
    Higher,
}

/// What a number of a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// J
    Joules,
    /// W
    Watts,
    /// s
    Seconds,
    /// 1/s
    PerSecond,
    /// 1/W
    PerWatt,
    /// 1/J
    PerJoule,
    /// From 0 to 1.
    Share,
}

/// How a metric comes about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Ratio(Recipe),
    Share(Recipe),
    Percentile(Time, f64),
}

/// A time of which there are percentiles.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Time {
    FirstToken,
    Latency,
}

/// A column that is summed over rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sum {
    Rows,
    Failed,
    Correct,
    Scored,
    Good,
    Judged,
    /// Of rows with joules: these, and one for each.
    Joules,
    Metered,
    /// Of rows with joules and time.
    TimedJoules,
    Seconds,
    /// Of rows with joules and tokens.
    TokenJoules,
    Tokens,
    /// Of answered rows with both.
    OutputTokens,
    AnswerSeconds,
}

const SUMS: usize = 14;

/// The sums over some rows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sums([f64; SUMS]);

/// Product of the sums above ÷ product of those below.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipe {
    above: &'static [Sum],
    below: &'static [Sum],
    /// Without these there is no value, and a query says nothing to a paired comparison.
    needs: Sum,
}

/// A query with the sums over its rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OneQuery {
    pub(crate) rows: u64,
    pub(crate) sums: Sums,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::JoulesPerQuery,
        Self::JoulesPerToken,
        Self::JoulesPerCorrect,
        Self::Watts,
        Self::Accuracy,
        Self::Ipw,
        Self::Ipj,
        Self::TtftP50,
        Self::TtftP99,
        Self::LatencyP50,
        Self::LatencyP99,
        Self::TokensPerSecond,
        Self::Goodput,
        Self::Failed,
    ];

    /// As it is written in a gate.
    pub const fn name(self) -> &'static str {
        match self {
            Self::JoulesPerQuery => "joules_per_query",
            Self::JoulesPerToken => "joules_per_token",
            Self::JoulesPerCorrect => "joules_per_correct",
            Self::Watts => "watts",
            Self::Accuracy => "accuracy",
            Self::Ipw => "ipw",
            Self::Ipj => "ipj",
            Self::TtftP50 => "ttft_p50",
            Self::TtftP99 => "ttft_p99",
            Self::LatencyP50 => "latency_p50",
            Self::LatencyP99 => "latency_p99",
            Self::TokensPerSecond => "tokens_per_second",
            Self::Goodput => "goodput",
            Self::Failed => "failed",
        }
    }

    /// Which way is better.
    pub const fn better(self) -> Better {
        match self {
            Self::Accuracy | Self::Ipw | Self::Ipj | Self::TokensPerSecond | Self::Goodput => {
                Better::Higher
            }
            _ => Better::Lower,
        }
    }

    /// Whether energy is in it.
    pub const fn has_energy(self) -> bool {
        matches!(
            self.unit(),
            Unit::Joules | Unit::Watts | Unit::PerWatt | Unit::PerJoule
        )
    }

    /// What its numbers are.
    pub const fn unit(self) -> Unit {
        match self {
            Self::JoulesPerQuery | Self::JoulesPerToken | Self::JoulesPerCorrect => Unit::Joules,
            Self::Watts => Unit::Watts,
            Self::Ipw => Unit::PerWatt,
            Self::Ipj => Unit::PerJoule,
            Self::TtftP50 | Self::TtftP99 | Self::LatencyP50 | Self::LatencyP99 => Unit::Seconds,
            Self::TokensPerSecond => Unit::PerSecond,
            Self::Accuracy | Self::Goodput | Self::Failed => Unit::Share,
        }
    }

    /// The metric over these rows, as each run reports it; `None` where it is not known.
    /// A percentile needs no more than one value here: [`crate::compare`] asks for support.
    pub fn of(self, rows: &[Row]) -> Option<f64> {
        match self.kind() {
            Kind::Ratio(recipe) | Kind::Share(recipe) => {
                let mut sums = Sums::default();
                for row in rows {
                    sums.add(&row.sums());
                }
                recipe.value(&sums)
            }
            Kind::Percentile(time, fraction) => {
                let mut values: Vec<f64> = rows.iter().filter_map(|row| row.time(time)).collect();
                values.sort_unstable_by(f64::total_cmp);
                ipw_core::stats::quantile(&values, fraction)
            }
        }
    }

    pub(crate) const fn kind(self) -> Kind {
        use Sum::{
            AnswerSeconds, Correct, Failed, Good, Joules, Judged, Metered, OutputTokens, Rows,
            Scored, Seconds, TimedJoules, TokenJoules, Tokens,
        };
        const fn recipe(above: &'static [Sum], below: &'static [Sum], needs: Sum) -> Recipe {
            Recipe {
                above,
                below,
                needs,
            }
        }
        match self {
            Self::JoulesPerQuery => Kind::Ratio(recipe(&[Joules], &[Metered], Metered)),
            Self::JoulesPerToken => Kind::Ratio(recipe(&[TokenJoules], &[Tokens], Tokens)),
            Self::JoulesPerCorrect => Kind::Ratio(recipe(&[Joules], &[Correct], Metered)),
            Self::Watts => Kind::Ratio(recipe(&[TimedJoules], &[Seconds], Seconds)),
            Self::Ipw => Kind::Ratio(recipe(&[Correct, Seconds], &[Scored, TimedJoules], Seconds)),
            Self::Ipj => Kind::Ratio(recipe(&[Correct, Metered], &[Scored, Joules], Metered)),
            Self::TokensPerSecond => {
                Kind::Ratio(recipe(&[OutputTokens], &[AnswerSeconds], AnswerSeconds))
            }
            Self::Accuracy => Kind::Share(recipe(&[Correct], &[Scored], Scored)),
            Self::Goodput => Kind::Share(recipe(&[Good], &[Judged], Judged)),
            Self::Failed => Kind::Share(recipe(&[Failed], &[Rows], Rows)),
            Self::TtftP50 => Kind::Percentile(Time::FirstToken, 0.5),
            Self::TtftP99 => Kind::Percentile(Time::FirstToken, 0.99),
            Self::LatencyP50 => Kind::Percentile(Time::Latency, 0.5),
            Self::LatencyP99 => Kind::Percentile(Time::Latency, 0.99),
        }
    }
}

impl Row<'_> {
    /// A time of an answered row.
    pub(crate) fn time(&self, time: Time) -> Option<f64> {
        let seconds = match time {
            Time::FirstToken => self.first_token,
            Time::Latency => self.latency,
        };
        seconds.filter(|_| self.is_answered).and_then(known)
    }

    pub(crate) fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        let mut put = |sum: Sum, value: f64| sums.0[sum as usize] = value;
        put(Sum::Rows, 1.0);
        put(Sum::Failed, f64::from(u8::from(!self.is_answered)));
        if let Some(is_correct) = self.is_correct {
            put(Sum::Correct, f64::from(u8::from(is_correct)));
            put(Sum::Scored, 1.0);
        }
        if let Some(is_good) = self.is_good {
            put(Sum::Good, f64::from(u8::from(is_good)));
            put(Sum::Judged, 1.0);
        }
        let joules = self.joules.and_then(known);
        if let Some(joules) = joules {
            put(Sum::Joules, joules);
            put(Sum::Metered, 1.0);
        }
        let seconds = self
            .seconds
            .and_then(known)
            .filter(|seconds| *seconds > 0.0);
        if let (Some(joules), Some(seconds)) = (joules, seconds) {
            put(Sum::TimedJoules, joules);
            put(Sum::Seconds, seconds);
        }
        let tokens = self.total_tokens.filter(|tokens| *tokens > 0);
        if let (Some(joules), Some(tokens)) = (joules, tokens) {
            put(Sum::TokenJoules, joules);
            put(Sum::Tokens, real(tokens));
        }
        let latency = self.time(Time::Latency).filter(|seconds| *seconds > 0.0);
        if let (Some(tokens), Some(seconds)) = (self.output_tokens, latency) {
            put(Sum::OutputTokens, real(tokens));
            put(Sum::AnswerSeconds, seconds);
        }
        sums
    }
}

impl Sums {
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, other) in self.0.iter_mut().zip(other.0) {
            *sum += other;
        }
    }

    pub(crate) fn over(mut self, count: u64) -> Self {
        for sum in &mut self.0 {
            *sum /= real(count);
        }
        self
    }

    fn of(&self, sum: Sum) -> f64 {
        self.0[sum as usize]
    }
}

impl Recipe {
    /// `None` where a sum below is nothing, or nothing is known: no joules are not nought.
    pub(crate) fn value(&self, sums: &Sums) -> Option<f64> {
        self.made_from(|sum| sums.of(sum))
    }

    /// The value without one of the queries.
    pub(crate) fn value_without(&self, sums: &Sums, one: &Sums) -> Option<f64> {
        self.made_from(|sum| sums.of(sum) - one.of(sum))
    }

    fn made_from(&self, get: impl Fn(Sum) -> f64) -> Option<f64> {
        let product = |columns: &[Sum]| columns.iter().map(|sum| get(*sum)).product::<f64>();
        let mut needed = self.below.iter().chain([&self.needs]);
        let is_there = needed.all(|sum| get(*sum) > 0.0);
        is_there
            .then(|| product(self.above) / product(self.below))
            .and_then(known)
    }

    /// By how much one query moves the logarithm of the value, to first order, times the number of
    /// queries: the sum of its relative distances from the means above, less that below. `None`
    /// where the value has no logarithm.
    pub(crate) fn influence(&self, one: &Sums, means: &Sums) -> Option<f64> {
        let distance = |columns: &[Sum]| -> Option<f64> {
            columns
                .iter()
                .map(|sum| {
                    let mean = means.of(*sum);
                    (mean > 0.0).then(|| one.of(*sum) / mean - 1.0)
                })
                .sum()
        };
        known(distance(self.above)? - distance(self.below)?)
    }

    /// Whether these sums say anything to the metric.
    pub(crate) fn is_known(&self, sums: &Sums) -> bool {
        sums.of(self.needs) > 0.0
    }

    /// The sum above, for a share: how many hits.
    pub(crate) fn hits(&self, sums: &Sums) -> f64 {
        self.above.iter().map(|sum| sums.of(*sum)).sum()
    }
}

/// Rows brought together by query, in the order in which queries first came.
pub(crate) fn by_query<'a>(rows: &[Row<'a>]) -> Vec<(&'a str, OneQuery)> {
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(rows.len());
    let mut units: Vec<(&str, OneQuery)> = Vec::new();
    for row in rows {
        let place = *places.entry(row.query).or_insert_with(|| {
            let empty = OneQuery {
                rows: 0,
                sums: Sums::default(),
            };
            units.push((row.query, empty));
            units.len() - 1
        });
        let unit = &mut units[place].1;
        unit.rows += 1;
        unit.sums.add(&row.sums());
    }
    units
}

/// The sums over these queries.
pub(crate) fn total<'a>(queries: impl IntoIterator<Item = &'a Sums>) -> Sums {
    let mut all = Sums::default();
    for one in queries {
        all.add(one);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::efficiency::{Answers, Spent};

    fn close(found: Option<f64>, wanted: f64) -> bool {
        found.is_some_and(|found| (found - wanted).abs() < 1e-12)
    }

    fn row(query: &str, joules: f64, is_correct: Option<bool>) -> Row<'_> {
        Row {
            query,
            joules: Some(joules),
            seconds: Some(2.0),
            total_tokens: Some(100),
            output_tokens: Some(40),
            first_token: Some(0.1),
            latency: Some(1.6),
            is_answered: true,
            is_correct,
            is_good: Some(true),
        }
    }

    #[test]
    fn what_nobody_metered_did_not_cost_nought() {
        let mut rows = [row("a", 1.0, Some(true)), row("b", 1.0, Some(true))];
        for row in &mut rows {
            row.joules = None;
        }
        for metric in Metric::ALL {
            let is_unknown = metric.of(&rows).is_none();
            assert_eq!(is_unknown, metric.has_energy(), "{}", metric.name());
        }
    }

    #[test]
    fn metrics_are_those_of_the_summary() {
        let mut rows = [
            row("a", 10.0, Some(true)),
            row("b", 30.0, Some(false)),
            row("c", 20.0, Some(true)),
            row("d", 40.0, None),
        ];
        rows[3].is_answered = false;
        let efficiency = Answers {
            correct: 2,
            wrong: 1,
            unscored: 1,
        }
        .efficiency(Spent {
            joules: Some(100.0),
            joules_per_query: Some(25.0),
            watts: Some(12.5),
        });
        assert!(close(
            Metric::Accuracy.of(&rows),
            efficiency.accuracy.unwrap().value
        ));
        assert!(close(
            Metric::Ipw.of(&rows),
            efficiency.intelligence_per_watt.unwrap()
        ));
        assert!(close(
            Metric::Ipj.of(&rows),
            efficiency.intelligence_per_joule.unwrap()
        ));
        let per_correct = efficiency.joules_per_correct_answer.unwrap();
        assert!(close(Metric::JoulesPerCorrect.of(&rows), per_correct));
        assert!(close(Metric::JoulesPerQuery.of(&rows), 25.0));
        assert!(close(Metric::JoulesPerToken.of(&rows), 0.25));
        assert!(close(Metric::TokensPerSecond.of(&rows), 25.0));
        assert!(close(Metric::Failed.of(&rows), 0.25));
        assert!(close(Metric::Goodput.of(&rows), 1.0));
        assert!(close(Metric::LatencyP50.of(&rows), 1.6));
    }

    #[test]
    fn what_nothing_tells_is_not_known() {
        for metric in Metric::ALL {
            assert_eq!(metric.of(&[]), None, "{}", metric.name());
        }
        let silent = Row {
            query: "a",
            joules: Some(f64::NAN),
            latency: Some(f64::INFINITY),
            is_answered: true,
            ..Row::default()
        };
        for metric in Metric::ALL
            .into_iter()
            .filter(|metric| *metric != Metric::Failed)
        {
            assert_eq!(metric.of(&[silent]), None, "{}", metric.name());
        }
    }

    #[test]
    fn rows_of_a_query_come_together() {
        let rows = [
            row("a", 1.0, None),
            row("b", 2.0, None),
            row("a", 3.0, None),
        ];
        let units = by_query(&rows);
        let seen: Vec<(&str, u64)> = units
            .iter()
            .map(|(query, unit)| (*query, unit.rows))
            .collect();
        assert_eq!(seen, [("a", 2), ("b", 1)]);
    }

    #[test]
    fn names_are_those_of_the_serialised_form() {
        for metric in Metric::ALL {
            let name = serde_json::to_value(metric).unwrap();
            assert_eq!(name, metric.name());
        }
    }
}
