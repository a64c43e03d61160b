//! Trend test: does a value grow during a run? A robust slope over block means.
//!
//! The number in flight is autocorrelated, so a random walk of single samples would look like a
//! trend. The window is cut into blocks, and the line goes through their means (Theil–Sen, with
//! Sen's interval). Blocks are joined in pairs while neighbours are still correlated. A queue near
//! saturation stays correlated at any block length. Then the mean of its increments must also show
//! growth, whose interval holds for a random walk.

use ipw_core::stats::{mean, quantile, standard_deviation};
use serde::{Deserialize, Serialize};

use crate::interval::{Interval, Z, real, student_t};
use crate::steady::block_means;

#[cfg(test)]
mod tests;

/// Initial number of blocks.
const MOST_BLOCKS: u32 = 32;
/// Fewest blocks: an interval of fewer is meaningless.
const FEWEST_BLOCKS: usize = 8;

/// Growth over the window that does not matter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allowance {
    /// Relative to the median over the window.
    pub share: f64,
    /// Absolute, in the unit of the value; the larger one applies.
    pub absolute: f64,
}

/// Result of a trend test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrendVerdict {
    /// The data exclude growth beyond the allowance.
    Stable,
    /// It grows beyond the allowance.
    Growing,
    /// None of the above.
    CannotTell,
}

impl TrendVerdict {
    /// The name in files.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Growing => "growing",
            Self::CannotTell => "cannot_tell",
        }
    }
}

/// A slope with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Slope {
    /// Median of all pairwise slopes.
    pub slope: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Trend of a value over a window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// The result of the test.
    pub verdict: TrendVerdict,
    /// Slope per second; `None` when the data are too few for a line.
    pub per_second: Option<Slope>,
    /// Median over the blocks.
    pub level: Option<f64>,
    /// Number of blocks in the fit.
    pub blocks: u64,
    /// Whether neighbouring blocks were correlated at every block length.
    pub is_wandering: bool,
}

impl Default for Allowance {
    /// Half the median: an unbounded queue that starts empty grows by twice its median.
    fn default() -> Self {
        Self {
            share: 0.5,
            absolute: 0.0,
        }
    }
}

/// One block, or several joined ones.
#[derive(Debug, Clone, Copy)]
struct Block {
    centre: f64,
    mean: f64,
    weight: f64,
}

/// Tests whether the number of queries in flight grows between `from` and `until`. Spans are
/// (start, end) on one part's clock. Growth by one query is allowed.
pub fn queue_trend(spans: &[(f64, f64)], from: f64, until: f64) -> Trend {
    let is_time = from.is_finite() && until.is_finite() && until > from;
    // Each block needs several starts, or it shows single queries.
    let started = spans
        .iter()
        .filter(|(start, _)| (from..until).contains(start));
    if !is_time || started.count() < 2 * MOST_BLOCKS as usize {
        return Trend::nothing();
    }
    let width = (until - from) / f64::from(MOST_BLOCKS);
    let blocks = (0..MOST_BLOCKS)
        .zip(block_means(spans, from, until, MOST_BLOCKS))
        .map(|(place, mean)| Block {
            centre: from + width * (f64::from(place) + 0.5),
            mean,
            weight: 1.0,
        });
    let allowance = Allowance {
        absolute: 1.0,
        ..Allowance::default()
    };
    judge(blocks.collect(), until - from, allowance)
}

/// Tests whether a value (schedule lag, latency) grows between `from` and `until`. Samples are
/// (instant, value) on one part's clock.
pub fn drift(samples: &[(f64, f64)], from: f64, until: f64, allowance: Allowance) -> Trend {
    let is_time = from.is_finite() && until.is_finite() && until > from;
    let mut inside: Vec<(f64, f64)> = samples
        .iter()
        .filter(|(instant, value)| (from..=until).contains(instant) && value.is_finite())
        .copied()
        .collect();
    if !is_time || inside.len() < 2 * MOST_BLOCKS as usize {
        return Trend::nothing();
    }
    inside.sort_by(|left, right| left.0.total_cmp(&right.0));
    // The same number of samples in each block, as a thin block would be noisy.
    let (size, rest) = (
        inside.len() / MOST_BLOCKS as usize,
        inside.len() % MOST_BLOCKS as usize,
    );
    let blocks = inside[rest..].chunks_exact(size).map(|block| {
        let count = real(block.len() as u64);
        let sums = block
            .iter()
            .fold((0.0, 0.0), |sums, one| (sums.0 + one.0, sums.1 + one.1));
        Block {
            centre: sums.0 / count,
            mean: sums.1 / count,
            weight: count,
        }
    });
    judge(blocks.collect(), until - from, allowance)
}

fn judge(finest: Vec<Block>, seconds: f64, allowance: Allowance) -> Trend {
    let mut blocks = finest;
    let mut is_wandering = is_correlated(&blocks);
    let is_rough = is_wandering;
    while is_wandering && blocks.len() / 2 >= FEWEST_BLOCKS {
        blocks = joined(&blocks);
        is_wandering = is_correlated(&blocks);
    }
    let mut means: Vec<f64> = blocks.iter().map(|block| block.mean).collect();
    means.sort_by(f64::total_cmp);
    let level = quantile(&means, 0.5);
    let slope = theil_sen(&points(&blocks));
    let (Some(level), Some(slope)) = (level, slope) else {
        return Trend::nothing();
    };
    let allowed = (allowance.share * level.abs()).max(allowance.absolute);
    let grows = slope.low > 0.0
        && slope.slope * seconds > allowed
        && (!is_rough || increments(&blocks).is_some_and(|range| range.low > 0.0));
    let verdict = if grows {
        TrendVerdict::Growing
    } else if !is_wandering && slope.high * seconds <= allowed {
        TrendVerdict::Stable
    } else {
        TrendVerdict::CannotTell
    };
    Trend {
        verdict,
        per_second: Some(slope),
        level: Some(level),
        blocks: blocks.len() as u64,
        is_wandering,
    }
}

fn points(blocks: &[Block]) -> Vec<(f64, f64)> {
    blocks
        .iter()
        .map(|block| (block.centre, block.mean))
        .collect()
}

/// Joins neighbouring blocks in pairs.
fn joined(blocks: &[Block]) -> Vec<Block> {
    blocks
        .chunks(2)
        .map(|pair| {
            let weight: f64 = pair.iter().map(|block| block.weight).sum();
            let weighted = |value: fn(&Block) -> f64| {
                pair.iter()
                    .map(|block| value(block) * block.weight)
                    .sum::<f64>()
                    / weight
            };
            Block {
                centre: weighted(|block| block.centre),
                mean: weighted(|block| block.mean),
                weight,
            }
        })
        .collect()
}

/// Whether neighbouring blocks are correlated after removal of the line.
fn is_correlated(blocks: &[Block]) -> bool {
    let Some(slope) = theil_sen(&points(blocks)) else {
        return false;
    };
    let residuals: Vec<f64> = blocks
        .iter()
        .map(|block| block.mean - slope.slope * block.centre)
        .collect();
    let Some(middle) = mean(&residuals) else {
        return false;
    };
    let all: f64 = residuals.iter().map(|value| (value - middle).powi(2)).sum();
    let neighbours: f64 = residuals
        .windows(2)
        .map(|pair| (pair[0] - middle) * (pair[1] - middle))
        .sum();
    // One-sided 95 % bound of the first autocorrelation of independent values.
    let bound = 1.645 / real(blocks.len() as u64).sqrt();
    all > 0.0 && neighbours / all > bound
}

/// Student's interval of the mean increment between blocks.
fn increments(blocks: &[Block]) -> Option<Interval> {
    let steps: Vec<f64> = blocks
        .windows(2)
        .map(|pair| pair[1].mean - pair[0].mean)
        .collect();
    let count = steps.len() as u64;
    let error = standard_deviation(&steps)? / real(count).sqrt();
    let t = student_t(count.checked_sub(1)?)?;
    Some(Interval::around(mean(&steps)?, t * error))
}

/// The median of all pairwise slopes (Theil, Sen), with Sen's 95 % interval. `None` unless two
/// points differ in x.
pub fn theil_sen(points: &[(f64, f64)]) -> Option<Slope> {
    let mut slopes = Vec::with_capacity(points.len() * points.len().saturating_sub(1) / 2);
    for (place, left) in points.iter().enumerate() {
        for right in &points[place + 1..] {
            let slope = (right.1 - left.1) / (right.0 - left.0);
            if slope.is_finite() {
                slopes.push(slope);
            }
        }
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let last = slopes.len().checked_sub(1)?;
    let slope = quantile(&slopes, 0.5)?;
    // Variance of Kendall's score without a trend; ties reduce it.
    let ties = ties(points.iter().map(|point| point.0)) + ties(points.iter().map(|point| point.1));
    let variance = (spread(real(points.len() as u64)) - ties) / 18.0;
    let half = Z * variance.max(0.0).sqrt();
    let count = real(slopes.len() as u64);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a negative place becomes the first, and one too large the last"
    )]
    let place = |place: f64| (place.round_ties_even() as usize).min(last);
    Some(Slope {
        slope,
        low: slopes[place(f64::midpoint(count, -half)).saturating_sub(1)],
        high: slopes[place(f64::midpoint(count, half))],
    })
}

fn spread(count: f64) -> f64 {
    count * (count - 1.0) * (2.0 * count + 5.0)
}

fn ties(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
        .chunk_by(|left, right| left.total_cmp(right).is_eq())
        .map(|same| spread(real(same.len() as u64)))
        .sum()
}

impl Trend {
    fn nothing() -> Self {
        Self {
            verdict: TrendVerdict::CannotTell,
            per_second: None,
            level: None,
            blocks: 0,
            is_wandering: false,
        }
    }
}
