//! Which rows the figures of a run stand for: only energy that is made from the same sources is
//! added (docs/method.md §6.4).
//!
//! A run that is resumed on another machine, or without a counter, has rows of several bases. Its
//! figures stand for one of them: a measured one before an estimate, then the one with most rows.

use std::collections::{BTreeMap, BTreeSet};

use ipw_core::rollup::is_estimated;
use ipw_core::row::{Fields, Row};
use ipw_core::source::{Role, Source};

use crate::basis::counted;
use crate::{Run, StoreError, readings};

/// The bases of a run, in the order in which its rows bring them.
pub(crate) struct Bases {
    /// Sources that the headline of each part counts, as far as the run recorded them.
    counted: BTreeMap<u32, BTreeSet<String>>,
    /// What each is called, and its sources.
    known: Vec<(String, Vec<String>)>,
    /// Part, label and place.
    places: Vec<(u32, String, usize)>,
}

/// The rows that the figures of a run stand for.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    /// By part and label of the basis.
    rows: Vec<(u32, String)>,
    /// Their sources, where the run has other bases too.
    sources: Option<Vec<String>>,
}

impl Standing {
    /// Whether the energy of such a row counts.
    pub(crate) fn holds(&self, part: u32, basis: &str) -> bool {
        let is_it = |(own, label): &(u32, String)| *own == part && label == basis;
        self.rows.iter().any(is_it)
    }
}

impl Bases {
    pub(crate) fn of(run: &Run) -> Self {
        let recorded = readings::sources(run.directory()).unwrap_or_default();
        let mut parts: BTreeMap<u32, Vec<(Source, bool)>> = BTreeMap::new();
        for source in recorded {
            if source.role == Role::Service {
                parts
                    .entry(source.part)
                    .or_default()
                    .push((source.about, false));
            }
        }
        let names = |sources: &[(Source, bool)]| {
            let used = counted(sources, run.choice()).into_iter();
            used.map(|source| source.name.clone()).collect()
        };
        Self {
            counted: parts
                .iter()
                .map(|(part, sources)| (*part, names(sources)))
                .collect(),
            known: Vec::new(),
            places: Vec::new(),
        }
    }

    /// The place of the basis that a row with energy has.
    pub(crate) fn place(&mut self, row: &Row<'_>) -> usize {
        let basis = row.energy.basis.unwrap_or_default();
        let is_it = |(own, label, _): &&(u32, String, usize)| *own == row.part && label == basis;
        if let Some((_, _, place)) = self.places.iter().find(is_it) {
            return *place;
        }
        let counted = self.counted.get(&row.part);
        let is_counted = |name: &str| counted.is_none_or(|counted| counted.contains(name));
        let mut sources: Vec<String> = row
            .shares
            .iter()
            .filter(|share| is_counted(share.name))
            .map(|share| share.name.to_owned())
            .collect();
        sources.sort_unstable();
        let own = (basis.to_owned(), sources);
        let place = self.known.iter().position(|known| *known == own);
        let place = place.unwrap_or_else(|| {
            self.known.push(own);
            self.known.len() - 1
        });
        self.places.push((row.part, basis.to_owned(), place));
        place
    }

    /// Label and sources of a basis.
    pub(crate) fn named(&self, place: usize) -> (&str, &[String]) {
        let (label, sources) = &self.known[place];
        (label, sources)
    }

    /// The places, the one that stands for the run first; `rows` are how many each has.
    pub(crate) fn order(&self, rows: &[u64]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.known.len()).collect();
        order.sort_by_key(|place| {
            let is_model = is_estimated(&self.known[*place].0);
            (is_model, std::cmp::Reverse(rows[*place]))
        });
        order
    }

    pub(crate) fn standing(&self, place: Option<usize>) -> Standing {
        let own = self.places.iter().filter(|(_, _, own)| Some(*own) == place);
        let others = place.filter(|_| self.known.len() > 1);
        Standing {
            rows: own.map(|(part, label, _)| (*part, label.clone())).collect(),
            sources: others.map(|place| self.known[place].1.clone()),
        }
    }
}

impl Run {
    /// The sources of the basis that stands for the run, where it has rows of others too.
    pub fn standing_sources(&self) -> Result<Option<BTreeSet<String>>, StoreError> {
        let sources = self.standing()?.sources.as_ref();
        Ok(sources.map(|sources| sources.iter().cloned().collect()))
    }

    /// Which rows its figures stand for, from a look at all of them.
    pub(crate) fn find_standing(&self) -> Result<Standing, StoreError> {
        let mut bases = Bases::of(self);
        let mut rows: Vec<u64> = Vec::new();
        self.stored_rows(Fields::ENERGY | Fields::COVERAGE, |row| {
            if row.energy.joules.is_some() {
                let place = bases.place(row);
                rows.resize(rows.len().max(place + 1), 0);
                rows[place] += 1;
            }
            Ok(true)
        })?;
        let first = bases.order(&rows).first().copied();
        Ok(bases.standing(first))
    }
}
