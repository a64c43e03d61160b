//! Exact summary statistics of many numbers in bounded memory.
//!
//! Up to [`MOST_KEPT`] numbers are stored and sorted. More numbers take two passes. The first pass
//! counts them by their leading bits, which finds the few narrow ranges with the wanted order
//! statistics. The second pass stores only numbers in these ranges. Order statistics, percentiles
//! and their intervals are exact.
//!
//! Mean and deviation of stored numbers are summed in sorted order. Those of many numbers use
//! compensated summation (Neumaier, 1974) in order of arrival, which differs in the last digit at
//! most.

use std::collections::BTreeMap;

use ipw_core::stats::{mean, quantile_by, standard_deviation};

use crate::interval::real;
use crate::percentile::{Percentile, Summary, ranks};

/// Largest number of values stored.
pub const MOST_KEPT: usize = 1 << 16;

/// Mantissa bits that separate ranges: ranges have a relative width of 1 / 4096.
const FINE: u32 = 12;
const PAGE: usize = 1 << FINE;
/// Sign and exponent of a number.
const PAGES: usize = 1 << 12;

/// Fractions of the supported percentiles.
const FRACTIONS: [f64; 4] = [0.5, 0.9, 0.95, 0.99];

/// Collects numbers for their distribution. Non-finite numbers are left out.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    state: State,
    /// Whether the sample takes no further numbers.
    is_closed: bool,
}

#[derive(Debug, Clone)]
enum State {
    /// All numbers.
    Kept(Vec<f64>),
    /// Counts per range.
    Counted(Box<Counted>),
    /// Numbers in the wanted ranges.
    Picked(Box<Picked>),
}

impl Default for State {
    fn default() -> Self {
        Self::Kept(Vec::new())
    }
}

#[derive(Debug, Clone)]
struct Counted {
    pages: Vec<Option<Box<[u64]>>>,
    count: u64,
    sum: Compensated,
    least: f64,
    most: f64,
}

#[derive(Debug, Clone)]
struct Picked {
    count: u64,
    mean: f64,
    least: f64,
    most: f64,
    /// By range: the count of numbers below it, and the count of each number in it.
    ranges: BTreeMap<u32, (u64, BTreeMap<u64, u64>)>,
    squares: Compensated,
}

/// A compensated sum.
#[derive(Debug, Clone, Copy, Default)]
struct Compensated {
    sum: f64,
    lost: f64,
}

impl Compensated {
    fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.lost += if self.sum.abs() >= value.abs() {
            (self.sum - sum) + value
        } else {
            (value - sum) + self.sum
        };
        self.sum = sum;
    }

    fn value(self) -> f64 {
        self.sum + self.lost
    }
}

/// An integer with the order of the float.
const fn ordered(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 0 {
        bits | 1 << 63
    } else {
        !bits
    }
}

const fn unordered(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 {
        bits & !(1 << 63)
    } else {
        !bits
    })
}

/// The range of a number.
const fn range(value: f64) -> u32 {
    (ordered(value) >> (64 - 12 - FINE)) as u32
}

impl Counted {
    fn of(values: &[f64]) -> Self {
        let mut counted = Self {
            pages: vec![None; PAGES],
            count: 0,
            sum: Compensated::default(),
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
        };
        for value in values {
            counted.push(*value);
        }
        counted
    }

    fn push(&mut self, value: f64) {
        let range = range(value) as usize;
        let page = self.pages[range >> FINE].get_or_insert_with(|| vec![0; PAGE].into());
        page[range & (PAGE - 1)] += 1;
        self.count += 1;
        self.sum.add(value);
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// Ranges to store in the second pass.
    fn pick(&self) -> Picked {
        let mut wanted: Vec<u64> = wanted(self.count).collect();
        wanted.sort_unstable();
        let mut wanted = wanted.into_iter().peekable();
        let mut ranges = BTreeMap::new();
        let mut below = 0;
        let pages = self.pages.iter().zip(0_u32..);
        for (page, number) in pages.filter_map(|(page, number)| Some((page.as_ref()?, number))) {
            for (count, place) in page.iter().zip(0_u32..).filter(|(count, _)| **count > 0) {
                let mut is_wanted = false;
                while wanted.next_if(|rank| *rank < below + count).is_some() {
                    is_wanted = true;
                }
                if is_wanted {
                    ranges.insert(number << FINE | place, (below, BTreeMap::new()));
                }
                below += count;
            }
        }
        Picked {
            count: self.count,
            mean: self.sum.value() / real(self.count),
            least: self.least,
            most: self.most,
            ranges,
            squares: Compensated::default(),
        }
    }
}

/// Ranks that a distribution needs, from 0.
fn wanted(count: u64) -> impl Iterator<Item = u64> {
    FRACTIONS.into_iter().flat_map(move |fraction| {
        let length = usize::try_from(count).unwrap_or(usize::MAX);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the last rank"
        )]
        let below = (fraction * real(count.saturating_sub(1))).floor() as u64;
        let ends = ranks(length, fraction).into_iter();
        let ends = ends.flat_map(|(low, high)| [low as u64, high as u64]);
        [below, (below + 1).min(count.saturating_sub(1))]
            .into_iter()
            .chain(ends)
    })
}

impl Picked {
    fn push(&mut self, value: f64) {
        let distance = value - self.mean;
        self.squares.add(distance * distance);
        if let Some((_, picked)) = self.ranges.get_mut(&range(value)) {
            *picked.entry(ordered(value)).or_default() += 1;
        }
    }

    /// The number of this rank; `None` if its range was not stored.
    fn at(&self, rank: u64) -> Option<f64> {
        let mut before = self.ranges.values().rev();
        let (below, picked) = before.find(|(below, _)| *below <= rank)?;
        let mut seen = *below;
        for (value, count) in picked {
            seen += count;
            if rank < seen {
                return Some(unordered(*value));
            }
        }
        None
    }
}

impl Sample {
    /// Adds one number.
    pub fn push(&mut self, value: f64) {
        if self.is_closed || !value.is_finite() {
            return;
        }
        match &mut self.state {
            State::Kept(values) if values.len() < MOST_KEPT => values.push(value),
            State::Kept(values) => {
                let mut counted = Counted::of(values);
                counted.push(value);
                self.state = State::Counted(Box::new(counted));
            }
            State::Counted(counted) => counted.push(value),
            State::Picked(picked) => picked.push(value),
        }
    }

    /// Ends a pass over the numbers; returns whether a second pass is needed. A sample that needs
    /// none takes no further numbers.
    pub fn wants_more(&mut self) -> bool {
        if let State::Counted(counted) = &self.state {
            self.state = State::Picked(Box::new(counted.pick()));
            return true;
        }
        self.is_closed = true;
        false
    }

    /// The same for several samples, all of which end their pass.
    pub fn any_wants_more<'a>(samples: impl IntoIterator<Item = &'a mut Self>) -> bool {
        let asked = samples.into_iter().map(Self::wants_more);
        asked.fold(false, |any, wants| any | wants)
    }

    /// The distribution. `None` without numbers, and for a large sample without its second pass.
    pub fn finish(self) -> Option<Distribution> {
        match self.state {
            State::Kept(mut values) => {
                values.sort_unstable_by(f64::total_cmp);
                Distribution::sorted(values)
            }
            State::Counted(_) => None,
            State::Picked(picked) => {
                let freedom = real(picked.count - 1);
                Some(Distribution {
                    count: picked.count,
                    mean: picked.mean,
                    standard_deviation: Some((picked.squares.value() / freedom).sqrt()),
                    least: picked.least,
                    most: picked.most,
                    order: Order::Picked(picked),
                })
            }
        }
    }

    /// The summary of the distribution.
    pub fn summary(self) -> Option<Summary> {
        Summary::of_distribution(&self.finish()?)
    }
}

impl FromIterator<f64> for Sample {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut sample = Self::default();
        sample.extend(values);
        sample
    }
}

impl Extend<f64> for Sample {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

/// Distribution of a set of numbers.
#[derive(Debug, Clone)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Sample standard deviation; `None` for a single number.
    pub standard_deviation: Option<f64>,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
    order: Order,
}

#[derive(Debug, Clone)]
enum Order {
    Sorted(Vec<f64>),
    Picked(Box<Picked>),
}

impl Distribution {
    /// The distribution of these values; `None` without any.
    pub(crate) fn sorted(values: Vec<f64>) -> Option<Self> {
        let (least, most) = (*values.first()?, *values.last()?);
        Some(Self {
            count: values.len() as u64,
            mean: mean(&values)?,
            standard_deviation: standard_deviation(&values),
            least,
            most,
            order: Order::Sorted(values),
        })
    }

    /// The number of this rank, from 0.
    fn at(&self, rank: usize) -> f64 {
        match &self.order {
            Order::Sorted(values) => values.get(rank).copied(),
            Order::Picked(picked) => picked.at(rank as u64),
        }
        .unwrap_or(f64::NAN)
    }

    fn length(&self) -> usize {
        usize::try_from(self.count).unwrap_or(usize::MAX)
    }

    /// A quantile for 0.5, 0.9, 0.95 or 0.99; others are unavailable for large samples.
    pub fn quantile(&self, fraction: f64) -> Option<f64> {
        let value = quantile_by(self.length(), fraction, |rank| self.at(rank))?;
        value.is_finite().then_some(value)
    }

    /// A percentile with its interval, for the same fractions.
    pub fn percentile(&self, fraction: f64) -> Option<Percentile> {
        Percentile::of_order(self.length(), fraction, |rank| self.at(rank))
    }
}

#[cfg(test)]
mod tests {
    use ipw_core::random::Random;

    use super::*;

    fn passed(values: &[f64]) -> Option<Summary> {
        let mut sample = Sample::default();
        sample.extend(values.iter().copied());
        while sample.wants_more() {
            sample.extend(values.iter().copied());
        }
        sample.summary()
    }

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-9 * right.abs().max(1e-300)
    }

    fn same(values: &[f64]) {
        let found = passed(values).unwrap();
        let whole = Summary::of(values.to_vec()).unwrap();
        assert_eq!(
            (found.count, found.min, found.max),
            (whole.count, whole.min, whole.max)
        );
        for (one, other) in [
            (found.p50, whole.p50),
            (found.p90, whole.p90),
            (found.p95, whole.p95),
            (found.p99, whole.p99),
        ] {
            assert_eq!(one, other);
        }
        assert!(
            close(found.mean, whole.mean),
            "{} {}",
            found.mean,
            whole.mean
        );
        let deviations = found.standard_deviation.zip(whole.standard_deviation);
        assert!(deviations.is_none_or(|(one, other)| (one - other).abs() <= 1e-9 * other));
    }

    #[test]
    fn many_numbers_have_the_distribution_that_sorting_gives() {
        let mut random = Random::new(7);
        let count = MOST_KEPT * 4 + 321;
        same(&(0..count).map(|_| random.exponential()).collect::<Vec<_>>());
        same(
            &(0..count)
                .map(|_| random.normal() * 1e-3)
                .collect::<Vec<_>>(),
        );
        same(
            &(0..count)
                .map(|n| if n % 3 == 0 { 0.0 } else { 0.15 })
                .collect::<Vec<_>>(),
        );
        same(&(0..count).map(|n| real(n as u64) - 9e4).collect::<Vec<_>>());
        same(&vec![2.5; count]);
    }

    #[test]
    fn few_numbers_are_seen_once_and_what_is_no_number_is_left_out() {
        let mut sample = Sample::default();
        sample.extend([3.0, f64::NAN, 1.0, f64::INFINITY, 2.0]);
        assert!(!sample.wants_more());
        sample.push(9.0);
        let found = sample.finish().unwrap();
        assert_eq!((found.count, found.least, found.most), (3, 1.0, 3.0));
        assert_eq!(found.quantile(0.5), Some(2.0));
        assert!(Sample::default().finish().is_none());
    }

    #[test]
    fn many_numbers_that_come_once_have_no_distribution() {
        let mut sample = Sample::default();
        sample.extend((0..=MOST_KEPT).map(|n| real(n as u64)));
        assert!(sample.clone().finish().is_none());
        assert!(sample.wants_more());
    }

    #[test]
    fn the_order_of_floats_survives_as_whole_numbers() {
        let values = [
            f64::MIN,
            -1.0,
            -1e-300,
            -0.0,
            0.0,
            1e-300,
            0.5,
            1.0,
            f64::MAX,
        ];
        for pair in values.windows(2) {
            assert!(ordered(pair[0]) < ordered(pair[1]), "{pair:?}");
            assert!(range(pair[0]) <= range(pair[1]), "{pair:?}");
        }
        assert!(
            values
                .iter()
                .all(|value| unordered(ordered(*value)).to_bits() == value.to_bits())
        );
    }
}
