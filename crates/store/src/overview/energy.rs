//! Energy over the rows of a run. Only rows whose energy is made from the same sources are added.

use std::collections::BTreeMap;

use ipw_analysis::sample::Sample;
use ipw_core::rollup::is_estimated;
use ipw_core::row::{OTHER_BASIS, Row, Share};
use serde::{Deserialize, Serialize};

use super::Distribution;
use crate::Run;
use crate::standing::Bases;

/// Energy over the rows of a run, on the basis that stands for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnergyTotals {
    /// What it is made from; empty when no row has energy.
    pub basis: Vec<String>,
    /// Rows that have energy on this basis.
    pub rows: u64,
    /// Their energy; `None` without any.
    pub joules: Option<f64>,
    /// One standard deviation of it. The scale of a source is wrong by the same factor in every
    /// row, so deviations are added, not their squares.
    pub sigma_joules: Option<f64>,
    /// What of it is above idle; `None` unless every row with energy says so.
    pub above_idle_joules: Option<f64>,
    /// Energy per output token over the rows that know both.
    pub joules_per_output_token: Option<f64>,
    /// Energy of each query.
    pub joules_per_query: Option<Distribution>,
    /// Rows without energy on this basis, by reason.
    pub reasons: BTreeMap<String, u64>,
    /// Rows with energy of which some source covers less than 95 % of the window.
    pub rows_thinly_covered: u64,
    /// The same for each basis, the one above first: a resumed run may have several, and they are
    /// never added.
    pub by_basis: Vec<BasisTotals>,
}

/// Energy over the rows that are made from the same sources.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BasisTotals {
    /// What it is made from.
    pub basis: String,
    /// The sources.
    pub sources: Vec<String>,
    /// Rows with energy from them.
    pub rows: u64,
    /// Their energy.
    pub joules: f64,
    /// One standard deviation of it; `None` where a row does not know its own.
    pub sigma_joules: Option<f64>,
    /// What of it is above idle; `None` unless every row says so.
    pub above_idle_joules: Option<f64>,
}

impl EnergyTotals {
    /// Whether it is a model's.
    pub fn is_estimated(&self) -> bool {
        self.basis.iter().any(|basis| is_estimated(basis))
    }
}

/// Below this share of the window a row is worth a note.
const WELL_COVERED: f64 = 0.95;

/// Sums on the way to [`EnergyTotals`].
pub(crate) struct EnergySums {
    bases: Bases,
    groups: Vec<Group>,
    reasons: BTreeMap<String, u64>,
    /// Whether rows come for the second time.
    is_again: bool,
}

/// Sums over the rows of one basis.
#[derive(Default)]
struct Group {
    rows: u64,
    joules: f64,
    each: Sample,
    sigma: f64,
    above_idle: f64,
    is_above_idle_unknown: bool,
    is_sigma_unknown: bool,
    with_tokens: f64,
    tokens: u64,
    thinly_covered: u64,
}

impl EnergySums {
    pub(crate) fn of(run: &Run) -> Self {
        Self {
            bases: Bases::of(run),
            groups: Vec::new(),
            reasons: BTreeMap::new(),
            is_again: false,
        }
    }

    /// Called when all rows came: whether they are to come once more.
    pub(super) fn wants_more(&mut self) -> bool {
        let samples = self.groups.iter_mut().map(|group| &mut group.each);
        self.is_again = Sample::any_wants_more(samples);
        self.is_again
    }

    pub(super) fn add(&mut self, row: &Row<'_>) {
        let Some(joules) = row.energy.joules else {
            if self.is_again {
                return;
            }
            let reason = row.energy.reason.unwrap_or("unknown");
            match self.reasons.get_mut(reason) {
                Some(rows) => *rows += 1,
                None => drop(self.reasons.insert(reason.to_owned(), 1)),
            }
            return;
        };
        let place = self.bases.place(row);
        if place == self.groups.len() {
            self.groups.push(Group::default());
        }
        let group = &mut self.groups[place];
        group.each.push(joules);
        if self.is_again {
            return;
        }
        group.rows += 1;
        group.joules += joules;
        if covered(row.shares).is_some_and(|covered| covered < WELL_COVERED) {
            group.thinly_covered += 1;
        }
        match row.energy.sigma {
            Some(sigma) => group.sigma += sigma,
            None => group.is_sigma_unknown = true,
        }
        match row.energy.above_idle {
            Some(above) => group.above_idle += above,
            None => group.is_above_idle_unknown = true,
        }
        if let Some(tokens @ 1..) = row.output_tokens {
            group.with_tokens += joules;
            group.tokens += tokens;
        }
    }

    /// What came of it; `run` learns which rows its figures stand for.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a run has fewer than 2^52 tokens"
    )]
    pub(crate) fn finish(self, run: &Run) -> EnergyTotals {
        let Self {
            bases,
            groups,
            mut reasons,
            ..
        } = self;
        let rows: Vec<u64> = groups.iter().map(|group| group.rows).collect();
        let order = bases.order(&rows);
        run.stand(bases.standing(order.first().copied()));
        let totals = |place: usize| {
            let (basis, sources) = bases.named(place);
            let group = &groups[place];
            BasisTotals {
                basis: basis.to_owned(),
                sources: sources.to_vec(),
                rows: rows[place],
                joules: group.joules,
                sigma_joules: (!group.is_sigma_unknown).then_some(group.sigma),
                above_idle_joules: (!group.is_above_idle_unknown).then_some(group.above_idle),
            }
        };
        let by_basis: Vec<BasisTotals> = order.iter().map(|place| totals(*place)).collect();
        let others: u64 = by_basis.iter().skip(1).map(|basis| basis.rows).sum();
        if others > 0 {
            reasons.insert(OTHER_BASIS.to_owned(), others);
        }
        let (Some(first), Some(place)) = (by_basis.first(), order.first()) else {
            return EnergyTotals {
                reasons,
                ..EnergyTotals::default()
            };
        };
        let group = &groups[*place];
        EnergyTotals {
            basis: vec![first.basis.clone()],
            rows: first.rows,
            joules: Some(first.joules),
            sigma_joules: first.sigma_joules,
            above_idle_joules: first.above_idle_joules,
            joules_per_output_token: (group.tokens > 0)
                .then(|| group.with_tokens / group.tokens as f64),
            joules_per_query: Distribution::of(group.each.clone()),
            reasons,
            rows_thinly_covered: group.thinly_covered,
            by_basis,
        }
    }
}

/// The least share of the window that a source with energy covers in this row.
fn covered(shares: &[Share<'_>]) -> Option<f64> {
    let known = shares.iter().filter(|share| share.joules.is_some());
    known
        .filter_map(|share| share.coverage)
        .min_by(f64::total_cmp)
}
