//! Ranks runs. Each dataset has its own section, and measured energy is never ranked with estimated
//! energy.

pub mod columns;
mod filter;
pub mod submission;

use std::cmp::Ordering;
use std::collections::HashSet;
use std::path::Path;

use ipw_analysis::bootstrap;
use ipw_analysis::interval::wilson;
use ipw_analysis::metric::{Better, Metric, Row, Values};
use ipw_analysis::percentile::Percentile;
use ipw_core::rollup::Choice;
use ipw_core::text::{printable, with_causes};
use ipw_core::warning::{Kind, RunKind};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::comparison::{Facts, How, RunRows};
use crate::runs::FoundRun;

pub use filter::Filter;

/// Fixed, so that the same runs always give the same intervals.
const SEED: u64 = 0;
/// Warnings that the board shows in another place.
const SAID: [Kind; 2] = [
    Kind::Run(RunKind::Estimated),
    Kind::Run(RunKind::FewSamples),
];

/// What to rank, and how.
pub struct BoardRequest<'a> {
    /// The metric to rank by.
    pub sort: Metric,
    /// Which runs to include.
    pub filter: &'a Filter,
    /// Basis of the energy; `None` keeps each run's own.
    pub basis: Option<Choice>,
    /// Runs with fewer graded answers are listed without a rank.
    pub least_graded: u64,
}

/// A number with its 95 % interval; `None` if unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Figure {
    /// The number.
    pub value: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
}

impl Figure {
    fn within(value: f64, low: f64, high: f64) -> Self {
        Self {
            value: Some(value),
            low: Some(low),
            high: Some(high),
        }
    }

    fn alone(value: Option<f64>) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }

    /// Both ends.
    pub fn ends(self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }
}

/// A run with its numbers.
#[derive(Serialize)]
pub struct Entry {
    /// Rank in its section, from 1; `None` if the metric is unknown. Equal values share a rank.
    pub rank: Option<u64>,
    /// What the run's files say about it.
    #[serde(flatten)]
    pub facts: Facts,
    /// Path below the searched directory.
    #[serde(skip)]
    pub place: String,
    /// Its metrics.
    #[serde(serialize_with = "by_name")]
    pub metrics: Vec<(Metric, Figure)>,
    /// Reservations about the run's numbers.
    pub marks: Vec<String>,
    /// The entry for the original's leaderboard.
    #[serde(skip)]
    pub submission: Value,
    /// Number of graded answers.
    pub graded: u64,
    #[serde(skip)]
    /// Identifies its set of queries.
    pub queries: (usize, u64),
}

/// Runs that are comparable with each other.
#[derive(Serialize)]
pub struct Section {
    /// The dataset of all runs in the section.
    pub dataset: String,
    /// How their energy was obtained.
    pub energy: How,
    /// The sources of the energy; `None` without energy.
    pub basis: Option<String>,
    /// Ranked runs, the best first.
    pub runs: Vec<Entry>,
    /// Runs with too few graded answers for a rank.
    pub too_few: Vec<Entry>,
}

/// A run without a rank, and the reason.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct NotRanked {
    /// Path of the run.
    pub directory: String,
    /// Why it has no rank.
    pub reason: String,
}

/// The leaderboard.
pub struct Board {
    /// The metric that runs are ranked by.
    pub sort: Metric,
    /// Sections of comparable runs.
    pub sections: Vec<Section>,
    /// Runs without a rank.
    pub not_ranked: Vec<NotRanked>,
    /// Number of runs that the filter excluded.
    pub filtered_out: u64,
}

#[expect(clippy::ptr_arg, reason = "serde hands over what the field is")]
fn by_name<S: serde::Serializer>(
    metrics: &Vec<(Metric, Figure)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let named = |(metric, figure): &(Metric, Figure)| (metric.name().to_owned(), json!(figure));
    metrics
        .iter()
        .map(named)
        .collect::<Map<String, Value>>()
        .serialize(serializer)
}

impl Entry {
    /// A metric of the run.
    pub fn figure(&self, metric: Metric) -> Figure {
        let found = self.metrics.iter().find(|(known, _)| *known == metric);
        found.map_or_else(Figure::default, |(_, figure)| *figure)
    }

    fn of(run: &RunRows, root: &Path) -> Self {
        let rows = run.rows();
        let directory = Path::new(&run.facts.directory);
        let place = directory.strip_prefix(root).unwrap_or(directory);
        Self {
            place: printable(&place.display().to_string()),
            rank: None,
            metrics: figures(&rows),
            marks: marks(&run.facts),
            submission: submission::one(run),
            graded: rows.iter().filter(|row| row.is_correct.is_some()).count() as u64,
            queries: run.queries(),
            facts: run.facts.clone(),
        }
    }
}

fn figures(rows: &[Row<'_>]) -> Vec<(Metric, Figure)> {
    let intervals = bootstrap::intervals(rows, &Metric::ALL, SEED);
    let values = Values::of(rows);
    let figure = |metric: Metric| match metric {
        Metric::Accuracy => {
            let graded = rows.iter().filter_map(|row| row.is_correct);
            let right = graded.clone().filter(|is_correct| *is_correct).count();
            wilson(right as u64, graded.count() as u64).map_or_else(Figure::default, |share| {
                Figure::within(share.value, share.low, share.high)
            })
        }
        Metric::TtftP50 => percentile(rows, 0.5, |row| row.first_token),
        Metric::TtftP99 => percentile(rows, 0.99, |row| row.first_token),
        Metric::LatencyP50 => percentile(rows, 0.5, |row| row.latency),
        Metric::LatencyP99 => percentile(rows, 0.99, |row| row.latency),
        _ => match intervals.get(&metric).copied().flatten() {
            Some(sure) => Figure::within(sure.value, sure.low, sure.high),
            None => Figure::alone(values.get(metric)),
        },
    };
    Metric::ALL
        .into_iter()
        .map(|metric| (metric, figure(metric)))
        .collect()
}

fn percentile(rows: &[Row<'_>], fraction: f64, time: impl Fn(&Row<'_>) -> Option<f64>) -> Figure {
    let answered = rows.iter().filter(|row| row.is_answered);
    let mut times: Vec<f64> = answered.filter_map(time).collect();
    times.sort_unstable_by(f64::total_cmp);
    match Percentile::of(&times, fraction) {
        Some(Percentile::Known { value, low, high }) => Figure::within(value, low, high),
        _ => Figure::default(),
    }
}

fn marks(facts: &Facts) -> Vec<String> {
    let mut marks: Vec<String> = facts
        .warnings
        .iter()
        .filter(|warning| !SAID.contains(&warning.kind))
        .map(|warning| warning.text.clone())
        .collect();
    if facts.energy == How::PartlyEstimated {
        marks.push("its energy is partly estimated".to_owned());
    }
    if facts.failed > 0 {
        marks.push(format!(
            "{} of {} queries were not answered",
            facts.failed, facts.rows
        ));
    }
    marks
}

impl Board {
    /// Reads the runs found below `root`, and ranks them.
    pub fn of(root: &Path, found: Vec<FoundRun>, asked: &BoardRequest<'_>) -> Self {
        let BoardRequest {
            sort,
            filter,
            basis,
            least_graded,
        } = *asked;
        let mut board = Self {
            sort,
            sections: Vec::new(),
            not_ranked: Vec::new(),
            filtered_out: 0,
        };
        for one in found {
            match one {
                FoundRun::Unreadable { path, reason } => {
                    board.leave_out(&path.display().to_string(), &reason);
                }
                FoundRun::Run(path) => match RunRows::open(&path, basis) {
                    Ok(run) => board.take(root, &run, filter, least_graded),
                    Err(error) => {
                        board.leave_out(&path.display().to_string(), &with_causes(&error));
                    }
                },
            }
        }
        for section in &mut board.sections {
            section.rank(sort);
        }
        // Within a dataset, measured energy comes first.
        board.sections.sort_by(|left, right| {
            let key = |section: &Section| {
                (
                    section.dataset.clone(),
                    section.energy,
                    section.basis.clone(),
                )
            };
            key(left).cmp(&key(right))
        });
        board
    }

    fn leave_out(&mut self, directory: &str, reason: &str) {
        self.not_ranked.push(NotRanked {
            directory: printable(directory),
            reason: printable(reason),
        });
    }

    fn take(&mut self, root: &Path, run: &RunRows, filter: &Filter, least_graded: u64) {
        let facts = &run.facts;
        if !filter.takes(facts) {
            self.filtered_out += 1;
            return;
        }
        let none = (facts.rows == 0).then(|| "it has no rows".to_owned());
        if let Some(reason) = facts.unfinished().or(none) {
            self.leave_out(&facts.directory, &reason);
            return;
        }
        let energy = match facts.energy {
            How::PartlyEstimated => How::Estimated,
            how => how,
        };
        let (dataset, basis) = (dataset(facts), facts.basis_label());
        let entry = Entry::of(run, root);
        let is_its = |section: &Section| {
            section.dataset == dataset && section.energy == energy && section.basis == basis
        };
        let place = self.sections.iter().position(is_its).unwrap_or_else(|| {
            self.sections.push(Section {
                dataset,
                energy,
                basis,
                runs: Vec::new(),
                too_few: Vec::new(),
            });
            self.sections.len() - 1
        });
        let section = &mut self.sections[place];
        if entry.graded < least_graded {
            section.too_few.push(entry);
        } else {
            section.runs.push(entry);
        }
    }

    /// The number of ranked runs, for people.
    pub fn count(&self) -> String {
        match self.sections.iter().map(|section| section.runs.len()).sum() {
            1_usize => "1 run".to_owned(),
            runs => format!("{runs} runs"),
        }
    }

    /// All runs on the board.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let sections = self.sections.iter();
        sections.flat_map(|section| section.runs.iter().chain(&section.too_few))
    }

    /// Whether any run has a name.
    pub fn has_names(&self) -> bool {
        self.entries().any(|entry| entry.facts.name.is_some())
    }

    /// Whether two runs of a section differ only in their path.
    pub fn has_twins(&self) -> bool {
        self.sections.iter().any(|section| {
            let mut seen = HashSet::new();
            let about = |entry: &Entry| {
                let facts = &entry.facts;
                let setup = (facts.client.clone(), facts.load.clone());
                (
                    facts.model.clone(),
                    facts.hardware.clone(),
                    facts.name.clone(),
                    setup,
                )
            };
            !section.runs.iter().all(|entry| seen.insert(about(entry)))
        })
    }
}

/// Name of the dataset, with its id if that differs: `questions (jsonl)`.
fn dataset(facts: &Facts) -> String {
    match (&facts.dataset, &facts.dataset_name) {
        (Some(id), Some(name)) if id != name => format!("{name} ({id})"),
        _ => facts.dataset_label().to_owned(),
    }
}

impl Section {
    /// Title of the section.
    pub fn title(&self) -> String {
        let how = match self.energy {
            How::Measured => "energy measured",
            How::Estimated | How::PartlyEstimated => "energy estimated, not measured",
            How::Unknown => "without energy",
        };
        match &self.basis {
            Some(basis) => format!("{}: {how} ({basis})", self.dataset),
            None => format!("{}: {how}", self.dataset),
        }
    }

    /// Sorts the runs and assigns ranks.
    pub fn rank(&mut self, sort: Metric) {
        let value = |entry: &Entry| entry.figure(sort).value;
        let accuracy = |entry: &Entry| entry.figure(Metric::Accuracy).value;
        self.runs.sort_by(|left, right| {
            order(value(left), value(right), sort.better())
                .then_with(|| order(accuracy(left), accuracy(right), Better::Higher))
                .then_with(|| left.facts.model.cmp(&right.facts.model))
                .then_with(|| left.facts.directory.cmp(&right.facts.directory))
        });
        let mut last: Option<(f64, u64)> = None;
        for (place, entry) in self.runs.iter_mut().enumerate() {
            let Some(value) = value(entry) else { continue };
            let rank = match last {
                Some((same, rank)) if same.total_cmp(&value) == Ordering::Equal => rank,
                _ => place as u64 + 1,
            };
            entry.rank = Some(rank);
            last = Some((value, rank));
        }
        self.mark_other_queries();
    }

    /// Marks runs whose queries differ from those of most runs in the section.
    fn mark_other_queries(&mut self) {
        let Some(usual) = self.runs.iter().map(|entry| entry.queries).max() else {
            return;
        };
        for entry in &mut self.runs {
            if entry.queries != usual {
                entry.marks.push(format!(
                    "asked {} queries that are not the same as the others' {}",
                    entry.queries.0, usual.0
                ));
            }
        }
    }
}

/// Better values first, unknown values last.
fn order(left: Option<f64>, right: Option<f64>, better: Better) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => match better {
            Better::Lower => left.total_cmp(&right),
            Better::Higher => right.total_cmp(&left),
        },
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

#[cfg(test)]
#[path = "../tests/board.rs"]
mod board_fixture;

#[cfg(test)]
mod tests {
    use super::board_fixture::{board, entry};
    use super::*;

    #[test]
    fn the_best_is_first_equals_share_a_rank_and_the_unknown_has_none() {
        let board = board(vec![
            entry("unknown", None),
            entry("low", Some(0.1)),
            entry("high", Some(0.3)),
            entry("also high", Some(0.3)),
        ]);
        let ranks: Vec<_> = board.sections[0]
            .runs
            .iter()
            .map(|entry| (entry.facts.model.as_str(), entry.rank))
            .collect();
        assert_eq!(
            ranks,
            [
                ("also high", Some(1)),
                ("high", Some(1)),
                ("low", Some(3)),
                ("unknown", None)
            ]
        );
    }

    #[test]
    fn a_run_of_other_queries_is_marked() {
        let mut fewer = entry("fewer", Some(1.0));
        fewer.queries = (4, 2);
        let board = board(vec![fewer, entry("usual", Some(0.5))]);
        let marks: Vec<_> = board.sections[0]
            .runs
            .iter()
            .map(|run| run.marks.len())
            .collect();
        assert_eq!(marks, [1, 0]);
    }

    #[test]
    fn figures_have_intervals_where_there_can_be_one() {
        let names: Vec<String> = (0..40_u32).map(|n| n.to_string()).collect();
        let rows: Vec<Row> = names
            .iter()
            .zip(0_u32..)
            .map(|(query, n)| Row {
                query,
                joules: Some(f64::from(n % 5 + 1)),
                seconds: Some(1.0),
                latency: Some(f64::from(n)),
                is_answered: true,
                is_correct: Some(n % 2 == 0),
                ..Row::default()
            })
            .collect();
        let figures = figures(&rows);
        let of = |metric: Metric| {
            figures
                .iter()
                .find(|(known, _)| *known == metric)
                .unwrap()
                .1
        };
        let joules = of(Metric::JoulesPerQuery);
        assert_eq!(joules.value, Some(3.0));
        assert!(joules.low < joules.value && joules.value < joules.high);
        assert_eq!(of(Metric::Accuracy).value, Some(0.5));
        assert!(of(Metric::LatencyP50).ends().is_some());
        assert_eq!(of(Metric::LatencyP99), Figure::default());
        assert_eq!(of(Metric::Goodput), Figure::default());
    }
}
