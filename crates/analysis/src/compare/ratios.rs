//! Ratios of sums, compared by the logarithm of B ÷ A.
//!
//! Deviations are the jackknife's, from leaving out one query at a time. For a mean that equals
//! Student's; for a ratio it is slightly wider than linearisation, as small and skewed samples
//! need.

use super::pairs::Pair;
use super::{Method, MethodResult};
use crate::distribution::student_quantile;
use crate::interval::{Estimate, real};
use crate::metric::{OneQuery, Recipe, Sums, total};

/// The two scales on which runs are compared.
#[derive(Debug, Clone, Copy)]
enum Scale {
    Logarithm,
    Value,
}

/// A metric over all queries of a run, for leave-one-out values.
struct Whole<'a> {
    recipe: &'a Recipe,
    count: f64,
    sums: Sums,
    value: f64,
}

impl<'a> Whole<'a> {
    fn new(recipe: &'a Recipe, count: u64, sums: Sums) -> Option<Self> {
        let value = recipe.value(&sums)?;
        Some(Self {
            recipe,
            count: real(count),
            sums,
            value,
        })
    }

    /// Jackknife influence of one query times their number. Its mean is close to zero; its
    /// deviation ÷ √number is the standard error.
    fn pull(&self, one: &Sums, scale: Scale) -> Option<f64> {
        let without = self.recipe.value_without(&self.sums, one)?;
        let change = match scale {
            Scale::Value => self.value - without,
            // Both must have the same sign and not be zero to have a logarithm.
            Scale::Logarithm => (self.value / without).ln(),
        };
        Some((self.count - 1.0) * change).filter(|pull| pull.is_finite())
    }
}

/// Variance of lazily computed values; `None` if one of them is missing, or for fewer than two.
fn variance(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        let value = value?;
        count += 1.0;
        let distance = value - mean;
        mean += distance / count;
        squares += distance * (value - mean);
    }
    (count > 1.0).then(|| squares / (count - 1.0))
}

/// B ÷ A − 1 from an interval of ln(B ÷ A).
fn relative(values: [f64; 2], half: f64) -> Option<Estimate> {
    let [a, b] = values;
    let ratio = (a > 0.0 && b > 0.0).then(|| (b / a).ln())?;
    Estimate::around(ratio, half)?.map(f64::exp_m1)
}

/// Paired queries: deviation of the difference between the influence on B and on A.
pub(super) fn paired(recipe: &Recipe, pairs: &[Pair]) -> MethodResult {
    let known = || {
        pairs
            .iter()
            .filter(|pair| pair.sums.iter().all(|sums| recipe.is_known(sums)))
    };
    let count = known().count() as u64;
    let sides = [0, 1].map(|side| {
        let sums = total(known().map(|pair| &pair.sums[side]));
        Whole::new(recipe, count, sums)
    });
    let found = MethodResult {
        queries: [count; 2],
        values: sides
            .each_ref()
            .map(|side| side.as_ref().map(|side| side.value)),
        method: Some(Method::Paired),
        needs: 2,
        ..MethodResult::default()
    };
    let [Some(a), Some(b)] = &sides else {
        return found;
    };
    let half = |scale: Scale| {
        let pull =
            |pair: &Pair| Some(b.pull(&pair.sums[1], scale)? - a.pull(&pair.sums[0], scale)?);
        let error = (variance(known().map(pull))? / real(count)).sqrt();
        Some(student_quantile(real(count.saturating_sub(1)))? * error)
    };
    let values = [a.value, b.value];
    MethodResult {
        relative: half(Scale::Logarithm).and_then(|half| relative(values, half)),
        absolute: half(Scale::Value).and_then(|half| Estimate::around(b.value - a.value, half)),
        ..found
    }
}

/// Independent queries of the two runs.
pub(super) fn unpaired(recipe: &Recipe, queries: &[Vec<(&str, OneQuery)>; 2]) -> MethodResult {
    let all = |side: usize| queries[side].iter().map(|(_, one)| &one.sums);
    let known = [0, 1].map(|side| all(side).filter(|sums| recipe.is_known(sums)).count() as u64);
    let sides = [0, 1].map(|side| {
        let count = queries[side].len() as u64;
        Whole::new(recipe, count, total(all(side)))
    });
    let found = MethodResult {
        queries: known,
        values: sides
            .each_ref()
            .map(|side| side.as_ref().map(|side| side.value)),
        method: Some(Method::Welch),
        needs: 2,
        ..MethodResult::default()
    };
    let [Some(a), Some(b)] = &sides else {
        return found;
    };
    let half = |scale: Scale| {
        let of = |whole: &Whole, side: usize| {
            Some((
                variance(all(side).map(|one| whole.pull(one, scale)))?,
                whole.count,
            ))
        };
        welch([of(a, 0)?, of(b, 1)?])
    };
    let values = [a.value, b.value];
    MethodResult {
        relative: half(Scale::Logarithm).and_then(|half| relative(values, half)),
        absolute: half(Scale::Value).and_then(|half| Estimate::around(b.value - a.value, half)),
        ..found
    }
}

/// Half width of the interval of a difference of two means, by Welch and Satterthwaite.
fn welch(sides: [(f64, f64); 2]) -> Option<f64> {
    let squares = sides.map(|(variance, count)| variance / count);
    let sum: f64 = squares.iter().sum();
    if sum <= 0.0 {
        return Some(0.0);
    }
    let below: f64 = squares
        .iter()
        .zip(sides)
        .map(|(square, (_, count))| square * square / (count - 1.0))
        .sum();
    Some(student_quantile(sum * sum / below)? * sum.sqrt())
}
