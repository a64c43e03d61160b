//! Percentiles: combined intervals of order statistics of the two runs.

use super::{Method, MethodResult, together};
use crate::interval::{Estimate, real};
use crate::percentile::{Percentile, needed};

/// Values of the same queries in A and B.
pub(super) fn paired(pairs: &[(f64, f64)], fraction: f64) -> MethodResult {
    let values = [
        pairs.iter().map(|pair| pair.0).collect(),
        pairs.iter().map(|pair| pair.1).collect(),
    ];
    found(values, fraction, |ends| correlation(pairs, ends))
}

/// Values of independent rows of A and B.
pub(super) fn unpaired(values: [Vec<f64>; 2], fraction: f64) -> MethodResult {
    found(values, fraction, |_| 0.0)
}

fn found(
    mut values: [Vec<f64>; 2],
    fraction: f64,
    correlation: impl Fn([f64; 2]) -> f64,
) -> MethodResult {
    for side in &mut values {
        side.sort_unstable_by(f64::total_cmp);
    }
    let [a, b] = [0, 1].map(|side| known(&values[side], fraction));
    let both = a.zip(b);
    let with = |grows: fn(f64) -> f64| {
        let (a, b) = both?;
        together(
            a.map(grows)?,
            b.map(grows)?,
            correlation([a.value, b.value]),
        )
    };
    MethodResult {
        queries: [0, 1].map(|side: usize| values[side].len() as u64),
        values: [a, b].map(|side| side.map(|side| side.value)),
        relative: with(f64::ln).and_then(|ratio| ratio.map(f64::exp_m1)),
        absolute: with(|value| value),
        p_value: None,
        method: Some(Method::OrderStatistics),
        needs: needed(fraction).unwrap_or(1),
    }
}

fn known(sorted: &[f64], fraction: f64) -> Option<Estimate> {
    match Percentile::of(sorted, fraction)? {
        Percentile::Known { value, low, high } => Some(Estimate { value, low, high }),
        Percentile::Unsupported { .. } => None,
    }
}

/// Correlation of being below the percentile in A and in B. It is the correlation of the two
/// percentiles to first order (Bahadur).
fn correlation(pairs: &[(f64, f64)], ends: [f64; 2]) -> f64 {
    let share = |is_in: &dyn Fn(&(f64, f64)) -> bool| {
        real(pairs.iter().filter(|pair| is_in(pair)).count() as u64) / real(pairs.len() as u64)
    };
    let a = share(&|pair| pair.0 <= ends[0]);
    let b = share(&|pair| pair.1 <= ends[1]);
    let both = share(&|pair| pair.0 <= ends[0] && pair.1 <= ends[1]);
    let deviations = (a * (1.0 - a) * b * (1.0 - b)).sqrt();
    if deviations > 0.0 {
        ((both - a * b) / deviations).clamp(-1.0, 1.0)
    } else {
        0.0
    }
}
