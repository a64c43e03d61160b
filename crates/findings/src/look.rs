//! What there is to see in a run: its rows' numbers, gathered in one pass, for analyses and figures.

mod accuracy;
pub mod analyses;
pub mod sources;

use std::collections::{BTreeMap, BTreeSet};

use ipw_analysis::energy::{self, Breakdown, Energies};
use ipw_analysis::metric::Values;
use ipw_analysis::{outliers, regression};
use ipw_store::overview::OTHER_BASIS;
use ipw_store::queries::{QueryRow, RowPhases};
use ipw_store::{Overview, Run, StoreError};

use crate::measured;

/// A run, looked at.
pub struct Look<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its rows, counted.
    pub overview: &'a Overview,
    /// Its metrics.
    pub values: Values,
    /// Its rows, or an even sample of them.
    pub lines: Vec<Line>,
    /// Where its joules went.
    pub energy: Breakdown,
    /// Answers by subject.
    pub subjects: BTreeMap<String, Answers>,
}

/// Answers to the questions on one subject.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answers {
    /// Right ones.
    pub correct: u64,
    /// Graded ones.
    pub graded: u64,
}

/// A number that may not be known. Half the size of an `Option`: a run may have millions.
#[derive(Debug, Clone, Copy)]
pub struct Maybe(f64);

impl From<Option<f64>> for Maybe {
    fn from(value: Option<f64>) -> Self {
        Self(value.unwrap_or(f64::NAN))
    }
}

impl Maybe {
    fn count(value: Option<u64>) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "tokens are far below 2^52")]
        value.map(|value| value as f64).into()
    }

    /// The number, if it is known.
    pub fn get(self) -> Option<f64> {
        self.0.is_finite().then_some(self.0)
    }
}

/// The numbers of one row.
#[derive(Debug, Clone)]
pub struct Line {
    /// Id of the query.
    pub id: Box<str>,
    /// Its part of the run.
    pub part: u32,
    /// Whether it was answered.
    pub is_answered: bool,
    /// Whether the reply was complete.
    pub is_complete: bool,
    /// Whether the answer is right; `None` ungraded.
    pub is_correct: Option<bool>,
    /// When it began, in seconds of the part.
    pub start: Maybe,
    /// When it was over, in seconds of the part.
    pub end: Maybe,
    /// Tokens of the prompt.
    pub input_tokens: Maybe,
    /// Tokens generated.
    pub output_tokens: Maybe,
    /// Seconds to the first token.
    pub first_token: Maybe,
    /// Seconds of the whole query.
    pub total: Maybe,
    /// Energy on the basis.
    pub joules: Maybe,
    /// The query's share of power, in watts.
    pub share_watts: Maybe,
}

impl Line {
    fn of(row: &QueryRow<'_>) -> Self {
        Self {
            id: row.id.into(),
            part: row.part,
            is_answered: row.is_answered,
            is_complete: row.outcome == "complete",
            is_correct: row.is_correct,
            start: row.instants.start.into(),
            end: row.instants.end.into(),
            input_tokens: Maybe::count(row.input_tokens),
            output_tokens: Maybe::count(row.output_tokens),
            first_token: row.time_to_first_token_seconds.into(),
            total: row.total_seconds.into(),
            joules: row.energy.joules.into(),
            share_watts: row.energy.share_watts.into(),
        }
    }

    /// Tokens of prompt and reply.
    pub fn all_tokens(&self) -> Option<f64> {
        Some(self.input_tokens.get()? + self.output_tokens.get()?)
    }

    /// The row as regressions take it.
    pub fn regression(&self) -> regression::Row {
        regression::Row {
            input_tokens: self.input_tokens.get(),
            output_tokens: self.output_tokens.get(),
            total_tokens: self.all_tokens(),
            first_token: self.first_token.get(),
            total: self.total.get(),
            joules: self.joules.get(),
            watts: self.share_watts.get(),
        }
    }

    fn outlier(&self) -> outliers::Row<'_> {
        outliers::Row {
            query: &self.id,
            part: self.part,
            start: self.start.get(),
            end: self.end.get(),
            is_answered: self.is_answered,
            input_tokens: self.input_tokens.get(),
            output_tokens: self.output_tokens.get(),
            first_token: self.first_token.get(),
            latency: self.total.get(),
            joules: self.joules.get(),
        }
    }
}

/// Rows that a page draws at most: more of them are only darker.
const DRAWN: u64 = 100_000;

impl<'a> Look<'a> {
    /// Reads the rows of a run in one pass. `overview` is [`Overview::of`] the same run.
    pub fn at(run: &'a Run, overview: &'a Overview) -> Result<Self, StoreError> {
        Self::keeping(run, overview, u64::MAX)
    }

    /// The same with a sample of the lines where there are very many; counts and energies are of
    /// all rows.
    pub fn sampled(run: &'a Run, overview: &'a Overview) -> Result<Self, StoreError> {
        Self::keeping(run, overview, DRAWN)
    }

    fn keeping(run: &'a Run, overview: &'a Overview, most: u64) -> Result<Self, StoreError> {
        let headline = headline(run, overview);
        let none = BTreeSet::new();
        let mut lines = Vec::new();
        let mut energies = Energies::default();
        let mut subjects: BTreeMap<String, Answers> = BTreeMap::new();
        run.for_each_query(|row| {
            let line = Line::of(row);
            let is_apart = row.energy.reason == Some(OTHER_BASIS);
            let headline = if is_apart { &none } else { &headline };
            let shares: Vec<_> = row
                .shares
                .iter()
                .filter_map(|share| sources::share(share, headline))
                .collect();
            energies.push(&energy::Row {
                shares: &shares,
                phases: phases(&row.phases),
                input_tokens: line.input_tokens.get(),
                output_tokens: line.output_tokens.get(),
            });
            if let Some(is_correct) = row.is_correct {
                let name = row.subject.unwrap_or("(none)");
                if !subjects.contains_key(name) {
                    subjects.insert(name.to_owned(), Answers::default());
                }
                if let Some(answers) = subjects.get_mut(name) {
                    answers.graded += 1;
                    answers.correct += u64::from(is_correct);
                }
            }
            if is_kept(row.index, most, overview.rows) {
                lines.push(line);
            }
        })?;
        Ok(Self {
            run,
            overview,
            values: measured::values(run, overview)?,
            lines,
            energy: energies.finish(),
            subjects,
        })
    }

    /// Whether its energy is a model's.
    pub fn is_estimated(&self) -> bool {
        self.overview.energy.is_estimated()
    }
}

/// Names of the sources that the figures are made from. Of a run with several bases they are those
/// of the basis that stands for it.
fn headline(run: &Run, overview: &Overview) -> BTreeSet<String> {
    match &overview.energy.by_basis[..] {
        [first, _, ..] => first.sources.iter().cloned().collect(),
        _ => run.headline_sources(),
    }
}

/// Whether a row is in the sample: the same ones each time, and never every so-many-th, which a
/// repeated dataset might be in step with.
fn is_kept(index: u64, most: u64, rows: u64) -> bool {
    if rows <= most {
        return true;
    }
    let mut mixed = (index ^ (index >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ (mixed >> 31)) % rows < most
}

fn phases(phases: &RowPhases<'_>) -> Option<energy::Phases> {
    let kind = phases.kind?;
    Some(energy::Phases {
        is_prefill: kind != "wait_and_prefill",
        before: phases.before,
        after: phases.after,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_as_large_as_was_asked_for_and_not_in_step_with_anything() {
        let (rows, most) = (1_000_000, 100_000);
        let kept: Vec<u64> = (0..rows).filter(|&one| is_kept(one, most, rows)).collect();
        assert!(kept.len().abs_diff(100_000) < 1500, "{}", kept.len());
        for step in [2, 3, 7, 10, 164] {
            let in_step = kept.iter().filter(|one| one.is_multiple_of(step)).count() as u64;
            let fair = 100_000 / step;
            assert!(in_step.abs_diff(fair) < fair / 5 + 100, "{step}: {in_step}");
        }
        assert!((0..50).all(|one| is_kept(one, 50, 50)));
    }
}
