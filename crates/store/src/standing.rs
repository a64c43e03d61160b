//! Which rows the figures of a run stand for: only energy that is made from the same sources is
//! added (docs/method.md §6.4).
//!
//! A run that is resumed on another machine, or without a counter, has rows of several bases. Its
//! figures stand for one of them: a measured one before an estimate, then the one with most rows.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::{Array, Float64Array, Int32Array, ListArray, StringArray};
use ipw_core::rollup::is_estimated;
use ipw_core::source::{Role, Source};

use crate::basis::counted;
use crate::queries::RowShares;
use crate::reader::column;
use crate::{Run, StoreError, readings};

/// Why a row of another basis has no energy in the figures.
pub const OTHER_BASIS: &str = "other_basis";

/// The bases of a run, in the order in which its rows bring them.
pub(crate) struct Bases {
    /// Sources that the headline of each part counts, as far as the run recorded them.
    counted: BTreeMap<i32, BTreeSet<String>>,
    /// What each is called, and its sources.
    known: Vec<(String, Vec<String>)>,
    /// Part, label and place.
    places: Vec<(i32, String, usize)>,
}

/// The rows that the figures of a run stand for, by part and label of the basis.
#[derive(Debug, Default)]
pub(crate) struct Standing(Vec<(i32, String)>);

impl Standing {
    /// Whether the energy of such a row counts.
    pub(crate) fn holds(&self, part: i32, basis: &str) -> bool {
        let is_it = |(own, label): &(i32, String)| *own == part && label == basis;
        self.0.iter().any(is_it)
    }
}

impl Bases {
    pub(crate) fn of(run: &Run) -> Self {
        let recorded = readings::sources(run.directory()).unwrap_or_default();
        let mut parts: BTreeMap<i32, Vec<(Source, bool)>> = BTreeMap::new();
        for source in recorded {
            if source.role == Role::Service {
                let part = i32::try_from(source.part).unwrap_or(i32::MAX);
                parts.entry(part).or_default().push((source.about, false));
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

    /// The place of the basis of a row with this part and label; `shares` are asked once for each.
    pub(crate) fn place(
        &mut self,
        part: i32,
        basis: &str,
        shares: impl FnOnce() -> Result<RowShares, StoreError>,
    ) -> Result<usize, StoreError> {
        let is_it = |(own, label, _): &&(i32, String, usize)| *own == part && label == basis;
        if let Some((_, _, place)) = self.places.iter().find(is_it) {
            return Ok(*place);
        }
        let counted = self.counted.get(&part);
        let is_counted = |name: &str| counted.is_none_or(|counted| counted.contains(name));
        let shares = shares()?;
        let mut sources: Vec<String> = shares
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
        self.places.push((part, basis.to_owned(), place));
        Ok(place)
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
        Standing(own.map(|(part, label, _)| (*part, label.clone())).collect())
    }
}

impl Run {
    /// Which rows its figures stand for, from a look at all of them.
    pub(crate) fn find_standing(&self) -> Result<Standing, StoreError> {
        let mut bases = Bases::of(self);
        let mut rows: Vec<u64> = Vec::new();
        for batch in self.batches() {
            let batch = batch?;
            let joules = column::<Float64Array>(&batch, "headline.joules")?;
            let part = column::<Int32Array>(&batch, "part")?;
            let basis = column::<StringArray>(&batch, "energy.basis")?;
            let shares = column::<ListArray>(&batch, "energy.shares")?;
            for row in (0..batch.num_rows()).filter(|row| joules.is_valid(*row)) {
                let place = bases.place(part.value(row), basis.value(row), || {
                    RowShares::at(shares, row)
                })?;
                rows.resize(rows.len().max(place + 1), 0);
                rows[place] += 1;
            }
        }
        let first = bases.order(&rows).first().copied();
        Ok(bases.standing(first))
    }
}
