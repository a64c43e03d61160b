//! Energy over the rows of a run. Only rows whose energy is made from the same sources are added.

use std::collections::BTreeMap;

use arrow::array::{
    Array, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
};
use ipw_core::rollup::is_estimated;
use serde::Serialize;

use super::Distribution;
use crate::StoreError;
use crate::queries::RowShares;
use crate::reader::{Run, column};
use crate::standing::{Bases, OTHER_BASIS};

/// Energy over the rows of a run, on the basis that stands for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
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
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct BasisTotals {
    /// What it is made from.
    pub basis: String,
    /// The sources.
    pub sources: Vec<String>,
    /// Rows with energy from them.
    pub rows: u64,
    /// Their energy.
    pub joules: f64,
    /// One standard deviation of it.
    pub sigma_joules: f64,
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
}

/// Sums over the rows of one basis.
#[derive(Default)]
struct Group {
    values: Vec<f64>,
    sigma: f64,
    above_idle: f64,
    is_above_idle_unknown: bool,
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
        }
    }

    pub(crate) fn add(&mut self, run: &Run, batch: &RecordBatch) -> Result<(), StoreError> {
        let joules = column::<Float64Array>(batch, "headline.joules")?;
        let sigma = column::<Float64Array>(batch, "headline.sigma_joules")?;
        // A run of an earlier version has no such column.
        let above = column::<Float64Array>(batch, "headline.above_idle_joules").ok();
        let part = column::<Int32Array>(batch, "part")?;
        let basis = column::<StringArray>(batch, "energy.basis")?;
        let reason = column::<StringArray>(batch, "energy.reason")?;
        let shares = column::<ListArray>(batch, "energy.shares")?;
        let output = run.metric::<Int64Array>(batch, "token_metrics.output")?;
        for row in 0..batch.num_rows() {
            if joules.is_null(row) {
                let reason = if reason.is_null(row) {
                    "unknown"
                } else {
                    reason.value(row)
                };
                *self.reasons.entry(reason.to_owned()).or_insert(0) += 1;
                continue;
            }
            let place = self.bases.place(part.value(row), basis.value(row), || {
                RowShares::at(shares, row)
            })?;
            if place == self.groups.len() {
                self.groups.push(Group::default());
            }
            let group = &mut self.groups[place];
            let energy = joules.value(row);
            group.values.push(energy);
            if covered(shares, row)?.is_some_and(|covered| covered < WELL_COVERED) {
                group.thinly_covered += 1;
            }
            group.sigma += sigma.value(row);
            match above.filter(|above| above.is_valid(row)) {
                Some(above) => group.above_idle += above.value(row),
                None => group.is_above_idle_unknown = true,
            }
            if let Ok(tokens @ 1..) = u64::try_from(output.value(row)) {
                group.with_tokens += energy;
                group.tokens += tokens;
            }
        }
        Ok(())
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
        } = self;
        let rows: Vec<u64> = groups
            .iter()
            .map(|group| group.values.len() as u64)
            .collect();
        let order = bases.order(&rows);
        run.stand(bases.standing(order.first().copied()));
        let totals = |place: usize| {
            let (basis, sources) = bases.named(place);
            let group = &groups[place];
            BasisTotals {
                basis: basis.to_owned(),
                sources: sources.to_vec(),
                rows: rows[place],
                joules: group.values.iter().sum(),
                sigma_joules: group.sigma,
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
            sigma_joules: Some(first.sigma_joules),
            above_idle_joules: first.above_idle_joules,
            joules_per_output_token: (group.tokens > 0)
                .then(|| group.with_tokens / group.tokens as f64),
            joules_per_query: Distribution::of(group.values.clone()),
            reasons,
            rows_thinly_covered: group.thinly_covered,
            by_basis,
        }
    }
}

/// The least share of the window that a source with energy covers in this row.
fn covered(shares: &ListArray, row: usize) -> Result<Option<f64>, StoreError> {
    let missing = |name: &str| StoreError::Column {
        column: format!("energy.shares.{name}"),
    };
    let shares = shares.value(row);
    let shares = shares
        .as_any()
        .downcast_ref::<StructArray>()
        .ok_or_else(|| missing("*"))?;
    let floats = |name: &str| {
        let column = shares.column_by_name(name)?;
        column.as_any().downcast_ref::<Float64Array>()
    };
    let joules = floats("total_joules").ok_or_else(|| missing("total_joules"))?;
    let coverage = floats("coverage").ok_or_else(|| missing("coverage"))?;
    let known = joules
        .iter()
        .zip(coverage)
        .filter(|(joules, _)| joules.is_some());
    Ok(known
        .filter_map(|(_, coverage)| coverage)
        .min_by(f64::total_cmp))
}
