//! A run on another basis: its rows as if the headline counted other sources.
//!
//! Rows keep the energy of every source (`energy.shares`), so the headline of any choice follows
//! from them. Phases are stored for the run's own basis alone and are unknown on another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray, new_null_array};
use ipw_core::rollup::{Basis, Choice, Use, uses};
use ipw_core::row::Share;
use ipw_core::source::{Role, Source};
use ipw_core::telemetry::Telemetry;

use crate::reader::column;
use crate::rows::Shares;
use crate::splice::with_children;
use crate::{Run, StoreError, readings};

/// The headline on a chosen basis.
#[derive(Debug, Clone)]
pub(crate) struct View {
    /// The sources that count, by name.
    counted: BTreeMap<String, Source>,
}

/// The energy of one row on the chosen basis.
#[derive(Default)]
struct Headline {
    joules: Option<f64>,
    sigma: Option<f64>,
    above_idle: Option<f64>,
    basis: Option<String>,
    reason: Option<String>,
}

impl Run {
    /// Which sources its headline counts.
    pub fn choice(&self) -> Choice {
        self.chosen().or(self.summary().basis).unwrap_or_default()
    }

    /// Names of the sources that its headline counts.
    pub fn headline_sources(&self) -> BTreeSet<String> {
        let sources = sources(self);
        let used = counted(&sources, self.choice()).into_iter();
        used.map(|source| source.name.clone()).collect()
    }

    /// The choices of a basis that its sources fill.
    pub fn bases(&self) -> Vec<Choice> {
        let sources = sources(self);
        let about: Vec<&Source> = sources.iter().map(|(source, _)| source).collect();
        Choice::offered(&about, &uses(&about, |place| sources[place].1))
    }

    /// The same run with its headline on this basis.
    pub fn on(self, choice: Choice) -> Result<Self, StoreError> {
        if choice == self.choice() {
            return Ok(self);
        }
        let sources = sources(&self);
        let counted = counted(&sources, choice);
        if counted.is_empty() {
            return Err(StoreError::NoBasis {
                path: self.directory().to_owned(),
                wanted: choice,
                offered: self.bases(),
            });
        }
        let counted = counted.into_iter();
        let view = View {
            counted: counted
                .map(|source| (source.name.clone(), source.clone()))
                .collect(),
        };
        Ok(self.seen_through(choice, view))
    }
}

/// How the sources of the headline measure, in words; `None` where the run does not say.
pub fn methods(telemetry: Option<&Telemetry>, choice: Choice) -> Option<String> {
    let sources = described(telemetry?)?;
    let counted = counted(&sources, choice);
    let methods: BTreeSet<&str> = counted.iter().map(|source| source.method.label()).collect();
    let methods: Vec<&str> = methods.into_iter().collect();
    (!methods.is_empty()).then(|| methods.join(" and "))
}

/// The sources of the service, each with whether its counter never moved.
fn sources(run: &Run) -> Vec<(Source, bool)> {
    let told = run.summary().telemetry.as_ref().and_then(described);
    told.unwrap_or_else(|| recorded(run))
}

pub(crate) fn counted(sources: &[(Source, bool)], choice: Choice) -> Vec<&Source> {
    let about: Vec<&Source> = sources.iter().map(|(source, _)| source).collect();
    let uses = choice.apply(&about, uses(&about, |place| sources[place].1));
    let used = about.into_iter().zip(uses);
    used.filter(|(_, used)| *used == Use::Headline)
        .map(|(source, _)| source)
        .collect()
}

/// The sources as the run described them when it began: a killed run has no summary of them.
fn recorded(run: &Run) -> Vec<(Source, bool)> {
    let recorded = readings::sources(run.directory()).unwrap_or_default();
    let first = recorded.first().map(|source| source.part);
    let own = recorded
        .into_iter()
        .filter(|source| Some(source.part) == first && source.role == Role::Service);
    own.map(|source| (source.about, false)).collect()
}

/// The service's sources in `summary.json`; `None` without any.
fn described(telemetry: &Telemetry) -> Option<Vec<(Source, bool)>> {
    let own = telemetry.sources.iter();
    let own = own.filter(|source| source.role != Some(Role::Client));
    let described: Vec<_> = own
        .map(|source| (source.about.clone(), source.joules.is_none()))
        .collect();
    (!described.is_empty()).then_some(described)
}

impl View {
    /// The batch with the headline of this basis.
    pub(crate) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch, StoreError> {
        let Some(shares) = Shares::of(batch) else {
            return Ok(batch.clone());
        };
        let rows: Vec<Headline> = (0..batch.num_rows())
            .map(|row| self.headline(shares.at(row)))
            .collect();
        let floats = |get: fn(&Headline) -> Option<f64>| -> ArrayRef {
            Arc::new(rows.iter().map(get).collect::<Float64Array>())
        };
        let texts = |get: fn(&Headline) -> Option<&str>| -> ArrayRef {
            Arc::new(rows.iter().map(get).collect::<StringArray>())
        };
        let joules = floats(|row| row.joules);
        let (watts, delay) = timed(batch, &rows)?;
        let mut columns = batch.columns().to_vec();
        let schema = batch.schema();
        for (place, field) in schema.fields().iter().enumerate() {
            let Some(group) = columns[place].as_any().downcast_ref().cloned() else {
                continue;
            };
            let replaced = match field.name().as_str() {
                "headline" => with_children(&group, |name, old| {
                    Some(match name {
                        "joules" => Arc::clone(&joules),
                        "sigma_joules" => floats(|row| row.sigma),
                        "above_idle_joules" => floats(|row| row.above_idle),
                        "watts" | "share_watts" => Arc::clone(&watts),
                        "energy_delay_joule_seconds" => Arc::clone(&delay),
                        _ => Arc::clone(old),
                    })
                }),
                "energy" => with_children(&group, |name, old| {
                    Some(match name {
                        "basis" => texts(|row| row.basis.as_deref()),
                        "reason" => texts(|row| row.reason.as_deref()),
                        _ => Arc::clone(old),
                    })
                }),
                "phases" => with_children(&group, |_, old| {
                    Some(new_null_array(old.data_type(), old.len()))
                }),
                _ => continue,
            };
            columns[place] = replaced.ok_or_else(|| StoreError::Column {
                column: field.name().clone(),
            })?;
        }
        RecordBatch::try_new(schema, columns).map_err(|_| StoreError::Changed)
    }

    /// The sum over the sources that count: all of them or nothing.
    fn headline<'a>(&self, shares: impl Iterator<Item = Share<'a>>) -> Headline {
        let own: Vec<(Share<'a>, &Source)> = shares
            .filter_map(|share| Some((share, self.counted.get(share.name)?)))
            .collect();
        let sum = |get: fn(&Share<'_>) -> Option<f64>| -> Option<f64> {
            let all: Option<Vec<f64>> = own.iter().map(|(share, _)| get(share)).collect();
            all.filter(|all| !all.is_empty())
                .map(|all| all.iter().sum())
        };
        let Some(joules) = sum(|share| share.joules) else {
            let reason = own.iter().find_map(|(share, _)| share.reason);
            return Headline {
                reason: Some(reason.unwrap_or("no_source").to_owned()),
                ..Headline::default()
            };
        };
        let squares = own.iter().filter_map(|(share, _)| share.sigma);
        let parts = own
            .iter()
            .filter_map(|(_, source)| Some((source.domain()?, source.method, &*source.collector)));
        Headline {
            joules: Some(joules),
            sigma: Some(squares.map(|sigma| sigma * sigma).sum::<f64>().sqrt()),
            above_idle: sum(|share| share.above_idle),
            basis: Basis::of(parts).map(|basis| basis.label().into_owned()),
            reason: None,
        }
    }
}

/// What follows from energy and time: a query's share of the power, and energy × delay.
fn timed(batch: &RecordBatch, rows: &[Headline]) -> Result<(ArrayRef, ArrayRef), StoreError> {
    let start = column::<Float64Array>(batch, "timing.start_seconds")?;
    let end = column::<Float64Array>(batch, "timing.end_seconds")?;
    let outcome = column::<StringArray>(batch, "outcome")?;
    let seconds = |row: usize| {
        let is_known = start.is_valid(row) && end.is_valid(row);
        is_known.then(|| end.value(row) - start.value(row))
    };
    let watts = rows.iter().enumerate().map(|(row, headline)| {
        let seconds = seconds(row).filter(|seconds| *seconds > 0.0)?;
        Some(headline.joules? / seconds)
    });
    let delay = rows.iter().enumerate().map(|(row, headline)| {
        let is_answered = crate::overview::ANSWERED.contains(&outcome.value(row));
        let seconds = seconds(row).filter(|_| is_answered)?;
        Some(headline.joules? * seconds)
    });
    Ok((
        Arc::new(watts.collect::<Float64Array>()),
        Arc::new(delay.collect::<Float64Array>()),
    ))
}
