//! Gathers the numbers of a run's rows in one pass, for analyses and figures.

mod accuracy;
pub mod analyses;
mod efficiency;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

use ipw_analysis::energy::{Breakdown, Energies};
use ipw_analysis::latency::{Latencies, LatencySummary};
pub use ipw_analysis::line::Line;
use ipw_analysis::metric::Values;
use ipw_core::row::{Fields, Row};
use ipw_store::overview::Counting;
use ipw_store::{Consumer, Overview, Run, StoreError};

use crate::load::ChunkSampler;
use crate::measured::{self, Measuring};
use crate::survey::Survey;
use crate::timeline::power::{self, Power};
use accuracy::Original;
use efficiency::Sureness;

/// The numbers of a run, for analyses and figures.
pub struct Look<'a> {
    /// The run.
    pub run: &'a Run,
    /// Counts and totals over the rows.
    pub overview: Overview,
    /// Its metrics.
    pub values: Values,
    /// The rows, or an even sample of them.
    pub lines: Vec<Line>,
    /// The breakdown of its energy.
    pub energy: Breakdown,
    /// Answers by subject.
    pub subjects: BTreeMap<String, Answers>,
    latency: Option<Latency>,
    original: Option<Original>,
    sureness: Option<Sureness>,
    /// Power of its sources, if requested.
    pub(crate) power: Option<Vec<Power>>,
}

/// Latencies, and the number of queries behind the gaps.
struct Latency {
    summary: LatencySummary,
    gaps_of_every: u64,
}

/// Graded answers on one subject.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answers {
    /// Right answers.
    pub correct: u64,
    /// Graded answers.
    pub graded: u64,
}

/// Which numbers to gather.
#[expect(
    clippy::struct_excessive_bools,
    reason = "five things, each wanted or not"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LookOptions {
    /// Sample the lines of a very large run. Counts and energies still cover all rows.
    pub sampled: bool,
    /// Latencies with their intervals.
    pub latency: bool,
    /// The figures of the original.
    pub original: bool,
    /// The data for intervals of metrics.
    pub intervals: bool,
    /// Power over time. A second thread reads the readings meanwhile.
    pub power: bool,
}

impl LookOptions {
    /// The union of two selections.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            sampled: self.sampled && other.sampled,
            latency: self.latency || other.latency,
            original: self.original || other.original,
            intervals: self.intervals || other.intervals,
            power: self.power || other.power,
        }
    }

    /// What figures need.
    pub const FIGURES: Self = Self {
        sampled: false,
        latency: false,
        original: false,
        intervals: false,
        power: false,
    };
    /// What a page needs. A page draws a sample of the rows.
    pub const PAGE: Self = Self {
        sampled: true,
        power: true,
        ..Self::FIGURES
    };
}

/// Limit on rows that a page draws. More of them would only make the drawing darker.
const DRAWN: u64 = 100_000;

impl<'a> Look<'a> {
    /// Reads a run. `overview` is [`Overview::of`] the same run, if known. `more` consumers are fed
    /// in the same pass.
    pub fn at(
        run: &'a Run,
        overview: Option<Overview>,
        wanted: LookOptions,
        more: &mut [&mut dyn Consumer],
    ) -> Result<Self, StoreError> {
        let rows = run.rows()?;
        let stored = measured::summarised(run).filter(|_| measured::is_of(run, rows));
        let needs_survey = stored.is_none() || wanted.intervals;
        let survey = needs_survey.then(|| Survey::of_run(run)).transpose()?;
        let frame = survey.map(|survey| survey.frame);
        let frame = frame.as_ref();
        let mut counting = overview.is_none().then(|| Counting::of(run));
        let mut looking = Looking::of(run, if wanted.sampled { DRAWN } else { u64::MAX }, rows);
        let mut measuring = frame.filter(|_| stored.is_none()).map(Measuring::within);
        let chunks = wanted.latency.then(|| run.chunks()).transpose()?;
        let mut latency = chunks.map(Timing::of);
        let mut original = wanted.original.then(Original::default);
        let mut sureness = frame
            .filter(|_| wanted.intervals)
            .map(|frame| efficiency::Sampling::of(frame, rows));
        let mut consumers: Vec<&mut dyn Consumer> = vec![&mut looking];
        consumers.extend(counting.as_mut().map(|one| one as &mut dyn Consumer));
        consumers.extend(measuring.as_mut().map(|one| one as &mut dyn Consumer));
        consumers.extend(latency.as_mut().map(|one| one as &mut dyn Consumer));
        consumers.extend(original.as_mut().map(|one| one as &mut dyn Consumer));
        consumers.extend(sureness.as_mut().map(|one| one as &mut dyn Consumer));
        for one in more {
            consumers.push(&mut **one);
        }
        let (power, fed) = thread::scope(|scope| {
            let power = wanted.power.then(|| scope.spawn(|| power::of(run)));
            let fed = run.feed(&mut consumers);
            let power = power.map(ScopedJoinHandle::join);
            // A panic in the thread continues here.
            let power = power.map(|read| read.unwrap_or_else(|panic| resume_unwind(panic)));
            (power, fed)
        });
        fed?;
        let values = stored.or_else(|| measuring.map(Measuring::finish));
        Ok(Self {
            run,
            overview: overview
                .or_else(|| counting.map(Counting::finish))
                .ok_or(StoreError::Changed)?,
            values: values.unwrap_or_default(),
            lines: looking.lines,
            energy: looking.energies.finish(),
            subjects: looking.subjects,
            latency: latency.map(Timing::finish),
            original,
            sureness: sureness.map(efficiency::Sampling::finish),
            power,
        })
    }

    /// Whether its energy is estimated.
    pub fn is_estimated(&self) -> bool {
        self.overview.energy.is_estimated()
    }
}

/// Gathers the lines, energies and subjects of a [`Look`].
struct Looking {
    most: u64,
    rows: u64,
    lines: Vec<Line>,
    energies: Energies,
    subjects: BTreeMap<String, Answers>,
}

impl Looking {
    fn of(run: &Run, most: u64, rows: u64) -> Self {
        let kept = usize::try_from(rows.min(most)).unwrap_or(0);
        Self {
            most,
            rows,
            lines: Vec::with_capacity(kept),
            energies: Energies::on(headline(run)),
            subjects: BTreeMap::new(),
        }
    }
}

impl Consumer for Looking {
    fn fields(&self) -> Fields {
        Fields::ID
            | Fields::SUBJECT
            | Fields::VERDICT
            | Fields::SPAN
            | Fields::LATENCY
            | Fields::TOKENS
            | Fields::ENERGY
            | Fields::SHARES
            | Fields::PHASES
    }

    fn row(&mut self, row: &Row<'_>) {
        self.energies.push(row);
        if let Some(is_correct) = row.is_correct {
            let name = row.subject.unwrap_or("(none)");
            if !self.subjects.contains_key(name) {
                self.subjects.insert(name.to_owned(), Answers::default());
            }
            if let Some(answers) = self.subjects.get_mut(name) {
                answers.graded += 1;
                answers.correct += u64::from(is_correct);
            }
        }
        if is_kept(row.index, self.most, self.rows) {
            self.lines.push(row.into());
        }
    }
}

/// Gathers the latencies of rows.
struct Timing {
    latencies: Latencies,
    thinned: ChunkSampler,
}

impl Timing {
    fn of(chunks: u64) -> Self {
        Self {
            latencies: Latencies::default(),
            thinned: ChunkSampler::of(chunks),
        }
    }

    fn finish(self) -> Latency {
        Latency {
            summary: self.latencies.finish(),
            gaps_of_every: self.thinned.of_every(),
        }
    }
}

impl Consumer for Timing {
    fn fields(&self) -> Fields {
        Fields::SPAN | Fields::LATENCY | Fields::CHUNKS | Fields::TOKENS
    }

    fn row(&mut self, row: &Row<'_>) {
        self.latencies.push(&self.thinned.row(row));
    }

    fn wants_more(&mut self) -> bool {
        self.thinned.restart();
        self.latencies.wants_more()
    }
}

/// Names of the sources of the figures. For a run with several bases, those of its headline basis.
fn headline(run: &Run) -> BTreeSet<String> {
    run.standing_sources()
        .ok()
        .flatten()
        .unwrap_or_else(|| run.headline_sources())
}

/// Whether a row is in the sample. The choice is repeatable, and not periodic: a repeated dataset
/// could be in step with a period.
fn is_kept(index: u64, most: u64, rows: u64) -> bool {
    if rows <= most {
        return true;
    }
    let mut mixed = (index ^ (index >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ (mixed >> 31)) % rows < most
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
