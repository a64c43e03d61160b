//! The sources of a run, part by part, and what is known of their readings before they are gone
//! through.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ipw_core::attribution::Idle;
use ipw_core::counter::STUCK;
use ipw_core::energy::{Kind, Meter};
use ipw_core::rollup::{Choice, Use, uses};
use ipw_core::source::{Role, Source, SourceIndex};
use ipw_core::time::Timestamp;
use ipw_core::units::Watts;
use serde::{Deserialize, Serialize};

use super::IdleUsed;
use crate::readings::{self, RecordedSource};
use crate::{Run, StoreError, Summary};

/// An energy source of one part.
#[derive(Debug)]
pub(super) struct EnergySource {
    pub(super) about: Arc<Source>,
    pub(super) meter: Meter,
    pub(super) used: Use,
    /// Its number in `sources.json`.
    pub(super) index: SourceIndex,
    /// How many readings it has.
    pub(super) readings: u64,
    /// Idle power of the source.
    pub(super) idle: Option<Idle>,
    /// Where the idle power comes from.
    pub(super) idle_from: Option<IdleFrom>,
}

/// Where the idle power of a source comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleFrom {
    /// Set by the user.
    Given,
    /// Measured by the run before its queries.
    Recorded,
    /// Estimated from steps between queries, with no query in flight.
    BetweenQueries,
}

impl IdleFrom {
    /// The origin, as files spell it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Recorded => "recorded",
            Self::BetweenQueries => "between_queries",
        }
    }
}

/// The energy sources of one part.
#[derive(Debug, Default)]
pub(super) struct PartSources {
    pub(super) counted: Vec<EnergySource>,
    /// Files that hold readings of this part.
    pub(super) files: Vec<PathBuf>,
}

/// The sources of a run by part.
#[derive(Debug)]
pub(super) struct Sources {
    parts: BTreeMap<u32, PartSources>,
}

/// What is seen of a source's readings in one look.
#[derive(Clone, Copy, Default)]
struct ReadingSpan {
    readings: u64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl ReadingSpan {
    fn take(&mut self, at: Timestamp) {
        self.readings += 1;
        self.first.get_or_insert(at);
        self.last = self.last.max(Some(at));
    }
}

impl Sources {
    /// Looks at what is there, and goes through the readings once.
    pub(super) fn of(run: &Run, basis: Choice) -> Result<Self, StoreError> {
        let directory = run.directory();
        let none = |reason: &str| StoreError::NoReadings {
            path: directory.to_owned(),
            reason: reason.to_owned(),
        };
        if !directory.join("readings").is_dir() {
            return Err(none("it has no directory `readings`"));
        }
        let recorded = readings::sources(directory)?;
        let mut seen = vec![ReadingSpan::default(); recorded.len()];
        let mut parts: BTreeMap<u32, PartSources> = BTreeMap::new();
        for path in readings::files(directory)? {
            let mut here = Vec::new();
            for batch in readings::batches(&path)? {
                for reading in batch? {
                    let place = usize::from(reading.source.0);
                    let seen = seen.get_mut(place).ok_or(StoreError::UnknownSource {
                        path: directory.to_owned(),
                        source_index: reading.source.0,
                    })?;
                    seen.take(reading.at);
                    let part = recorded[place].part;
                    if here.last() != Some(&part) && !here.contains(&part) {
                        here.push(part);
                    }
                }
            }
            for part in here {
                parts.entry(part).or_default().files.push(path.clone());
            }
        }
        if parts.is_empty() {
            return Err(none("nothing was read while it went on"));
        }
        for (number, part) in &mut parts {
            part.counted = counted(&recorded, &seen, *number, basis);
        }
        Ok(Self { parts })
    }

    /// The sources of a part; `None` where it has no readings.
    pub(super) fn of_part(&self, part: u32) -> Option<&PartSources> {
        self.parts.get(&part)
    }

    pub(super) fn parts_mut(&mut self) -> impl Iterator<Item = (u32, &mut PartSources)> {
        self.parts.iter_mut().map(|(number, part)| (*number, part))
    }

    /// Names of the measured sources that the headline is made from.
    pub(super) fn basis(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for source in self.parts.values().flat_map(|part| &part.counted) {
            let is_basis = source.used == Use::Headline && source.about.is_measured_energy();
            if is_basis && !names.contains(&source.about.name) {
                names.push(source.about.name.clone());
            }
        }
        names
    }

    /// Takes what was given, else what the run recorded.
    pub(super) fn settle_idle(&mut self, run: &Run, given: &BTreeMap<String, Watts>) {
        let last = self.parts.keys().next_back().copied();
        for (number, part) in &mut self.parts {
            for source in &mut part.counted {
                let name = &source.about.name;
                let told = || (Some(*number) == last).then(|| told(run.summary(), name))?;
                if let Some(power) = given.get(name) {
                    source.idle = Some(Idle {
                        power: *power,
                        sigma: Watts::ZERO,
                    });
                    source.idle_from = Some(IdleFrom::Given);
                } else if let Some(idle) = source.idle.or_else(told) {
                    source.idle = Some(idle);
                    source.idle_from = Some(IdleFrom::Recorded);
                }
            }
        }
    }

    /// What idle was taken to be.
    pub(super) fn idle_used(&self) -> Vec<IdleUsed> {
        let sources = self
            .parts
            .iter()
            .flat_map(|(part, sources)| sources.counted.iter().map(|source| (*part, source)));
        sources
            .map(|(part, source)| {
                IdleUsed::new(&source.about.name, part, source.idle, source.idle_from)
            })
            .collect()
    }
}

/// The energy sources of a part, in their order.
fn counted(
    recorded: &[RecordedSource],
    seen: &[ReadingSpan],
    part: u32,
    basis: Choice,
) -> Vec<EnergySource> {
    let own: Vec<(usize, &RecordedSource)> = recorded
        .iter()
        .enumerate()
        .filter(|(_, source)| source.part == part && source.role == Role::Service)
        .collect();
    let about: Vec<&Source> = own.iter().map(|(_, source)| &source.about).collect();
    let end = own.iter().filter_map(|(index, _)| seen[*index].last).max();
    // Polls that brought nothing new are not on disk: how long they went on, the others tell.
    let is_stuck = |place: usize| {
        let (index, source) = own[place];
        let stood = seen[index].first.zip(end);
        matches!(source.meter.kind, Kind::Counter(_))
            && seen[index].readings == 1
            && stood.is_some_and(|(first, end)| end.since(first) >= STUCK)
    };
    let uses = basis.apply(&about, uses(&about, is_stuck));
    let energies = own.iter().zip(uses);
    energies
        .filter(|((_, source), _)| source.about.domain().is_some())
        .map(|((index, source), used)| EnergySource {
            about: Arc::new(source.about.clone()),
            meter: source.meter,
            used,
            index: SourceIndex(u16::try_from(*index).unwrap_or(u16::MAX)),
            readings: seen[*index].readings,
            idle: source.idle,
            idle_from: None,
        })
        .collect()
}

/// What the summary says that a source of the last part drew before the queries.
fn told(summary: &Summary, name: &str) -> Option<Idle> {
    summary.telemetry.as_ref()?.source(name)?.idle.before
}
