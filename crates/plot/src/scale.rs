//! Scales from values to coordinates: linear, logarithmic, and one that spreads a tail.

use crate::number::{exponent, power};

/// Kind of a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Linear,
    Log,
    /// For fractions below one: 0, 50, 90, 99, 99.9 % … at equal distances.
    Tail,
}

/// A domain of values mapped to a range of coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    pub(crate) kind: Kind,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl Scale {
    /// The coordinate of a value, clipped to the domain. `None` if the value is not finite, or not
    /// positive on a logarithmic scale.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        self.place_beyond(value)
            .map(|place| place.clamp(self.from.min(self.to), self.from.max(self.to)))
    }

    /// The coordinate without clipping, for lines that are clipped later.
    pub(crate) fn place_beyond(&self, value: f64) -> Option<f64> {
        if !self.holds(value) {
            return None;
        }
        let (low, high, at) = (self.warp(self.low), self.warp(self.high), self.warp(value));
        let share = (at - low) / (high - low);
        let place = self.from + share * (self.to - self.from);
        place.is_finite().then(|| place.clamp(-5000.0, 9000.0))
    }

    /// Whether a value has a coordinate.
    pub(crate) fn holds(&self, value: f64) -> bool {
        value.is_finite() && (self.kind != Kind::Log || value > 0.0)
    }

    fn warp(&self, value: f64) -> f64 {
        match self.kind {
            // Halved, as the width of a domain must not overflow.
            Kind::Linear => value / 2.0,
            Kind::Log => value.log10(),
            Kind::Tail => tail(value),
        }
    }
}

/// 0 → 0, 50 % → 1, 90 % → 2, 99 % → 3, 99.9 % → 4, and so on.
fn tail(fraction: f64) -> f64 {
    let fraction = fraction.clamp(0.0, 1.0 - 1e-12);
    if fraction < 0.5 {
        fraction * 2.0
    } else if fraction < 0.9 {
        1.0 + (0.5 / (1.0 - fraction)).ln() / 5_f64.ln()
    } else {
        1.0 - (1.0 - fraction).log10()
    }
}

/// The smallest and largest of the values that such a scale can show.
pub(crate) fn extent(values: impl Iterator<Item = f64>, kind: Kind) -> Option<(f64, f64)> {
    values
        .filter(|value| value.is_finite() && (kind != Kind::Log || *value > 0.0))
        .fold(None, |seen: Option<(f64, f64)>, value| match seen {
            None => Some((value, value)),
            Some((low, high)) => Some((low.min(value), high.max(value))),
        })
}

/// A linear domain around an extent, from tick to tick.
pub(crate) fn linear_domain(extent: Option<(f64, f64)>, ticks: usize) -> (f64, f64) {
    let Some((mut low, mut high)) = extent else {
        return (0.0, 1.0);
    };
    (low, high) = (low.clamp(-1e305, 1e305), high.clamp(-1e305, 1e305));
    if low >= 0.0 && low < high * 0.33 || low == 0.0 {
        low = 0.0;
    }
    if high <= 0.0 && high > low * 0.33 {
        high = 0.0;
    }
    let size = low.abs().max(high.abs());
    if size < 1e-300 {
        return (0.0, 1.0);
    }
    if high / 2.0 - low / 2.0 < size * 1e-9 {
        let pad = size * 0.1;
        (low, high) = if low == 0.0 {
            (0.0, high + pad)
        } else {
            (low - pad, high + pad)
        };
    }
    let step = linear_step(low, high, ticks);
    let (below, above) = ((low / step).floor() * step, (high / step).ceil() * step);
    if below.is_finite() && above.is_finite() && below < above {
        (below, above)
    } else {
        (low, high)
    }
}

/// A logarithmic domain around an extent, with a margin.
pub(crate) fn log_domain(extent: Option<(f64, f64)>) -> (f64, f64) {
    let Some((low, high)) = extent else {
        return (0.1, 10.0);
    };
    let (low, high) = (low.clamp(1e-300, 1e300), high.clamp(1e-300, 1e300));
    let air = ((high.log10() - low.log10()) * 0.04).max(0.05);
    // Far from where powers of ten become zero or infinite.
    let edge = |exponent: f64| 10_f64.powf(exponent.clamp(-305.0, 305.0));
    (edge(low.log10() - air), edge(high.log10() + air))
}

/// The distance of ticks: 1, 2 or 5 times a power of ten.
pub(crate) fn linear_step(low: f64, high: f64, ticks: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a handful of ticks")]
    let rough = (high / 2.0 - low / 2.0) / (ticks.max(1) as f64) * 2.0;
    if !rough.is_finite() || rough <= 0.0 {
        return 1.0;
    }
    let base = power(exponent(rough));
    let times = rough / base;
    let nice = if times <= 1.0 + 1e-9 {
        1.0
    } else if times <= 2.0 + 1e-9 {
        2.0
    } else if times <= 5.0 + 1e-9 {
        5.0
    } else {
        10.0
    };
    nice * base
}

/// Ticks at multiples of a step.
pub(crate) fn linear_ticks(low: f64, high: f64, step: f64) -> Vec<f64> {
    let first = (low / step - 1e-6).ceil();
    let last = (high / step + 1e-6).floor();
    let mut ticks = Vec::new();
    let mut index = first;
    while index <= last && ticks.len() < 64 {
        ticks.push(if index == 0.0 { 0.0 } else { index * step });
        index += 1.0;
    }
    ticks
}

/// Major and minor ticks on a logarithmic scale.
pub(crate) fn log_ticks(low: f64, high: f64, most: usize) -> (Vec<f64>, Vec<f64>) {
    let within = |value: &f64| *value >= low * (1.0 - 1e-9) && *value <= high * (1.0 + 1e-9);
    let (first, last) = (exponent(low), exponent(high));
    let multiples = |factors: &'static [f64]| {
        (first..=last)
            .flat_map(move |decade| factors.iter().map(move |factor| factor * power(decade)))
            .filter(within)
            .collect::<Vec<f64>>()
    };
    let every = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0].as_slice();
    let decades = multiples(&[1.0]);
    if decades.len() > most {
        let skip = i32::try_from(decades.len().div_ceil(most.max(1))).unwrap_or(1);
        let kept = |value: &f64| exponent(*value * 1.000_001).rem_euclid(skip) == 0;
        return (decades.into_iter().filter(kept).collect(), Vec::new());
    }
    for factors in [[1.0].as_slice(), &[1.0, 3.0], &[1.0, 2.0, 5.0]] {
        let ticks = multiples(factors);
        if ticks.len() >= 3 && (ticks.len() * 2 > most || ticks.len() >= 4) {
            return (
                ticks,
                if last - first <= 8 {
                    multiples(every)
                } else {
                    Vec::new()
                },
            );
        }
    }
    let ticks = multiples(&[1.0, 2.0, 5.0]);
    if ticks.len() >= 3 {
        return (ticks, multiples(every));
    }
    // About a decade or less: linear steps at logarithmic positions.
    let step = linear_step(low, high, most.clamp(3, 5));
    (
        linear_ticks(low, high, step)
            .into_iter()
            .filter(within)
            .collect(),
        Vec::new(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(kind: Kind, low: f64, high: f64) -> Scale {
        Scale {
            kind,
            low,
            high,
            from: 0.0,
            to: 100.0,
        }
    }

    #[test]
    fn the_tail_is_spread_evenly() {
        let scale = scale(Kind::Tail, 0.0, 0.999);
        for (fraction, place) in [
            (0.0, 0.0),
            (0.5, 25.0),
            (0.9, 50.0),
            (0.99, 75.0),
            (0.999, 100.0),
        ] {
            assert!(
                (scale.place(fraction).unwrap() - place).abs() < 1e-6,
                "{fraction}"
            );
        }
    }

    #[test]
    fn a_value_without_a_place_has_none() {
        assert_eq!(scale(Kind::Log, 1.0, 10.0).place(0.0), None);
        assert_eq!(scale(Kind::Linear, 0.0, 1.0).place(f64::NAN), None);
        assert_eq!(scale(Kind::Linear, 0.0, 1.0).place(7.0), Some(100.0));
    }

    #[test]
    fn the_widest_domain_does_not_overflow() {
        let (low, high) = linear_domain(Some((-1e308, 1e308)), 5);
        let place = scale(Kind::Linear, low, high).place(0.0).unwrap();
        assert!((place - 50.0).abs() < 1e-6);
        assert!(!linear_ticks(low, high, linear_step(low, high, 5)).is_empty());
    }

    #[test]
    fn steps_are_one_two_or_five() {
        for (high, step) in [(10.0, 2.0), (1.0, 0.2), (23.0, 5.0), (49_000.0, 10_000.0)] {
            assert!(
                (linear_step(0.0, high, 5) - step).abs() < step * 1e-9,
                "{high}"
            );
        }
    }

    #[test]
    fn equal_values_still_make_a_domain() {
        for value in [0.0, 1.0, -3.0, 1e-300, 1e300] {
            let (low, high) = linear_domain(Some((value, value)), 5);
            assert!(
                low < high && low <= value && value <= high,
                "{value}: {low} {high}"
            );
            let (low, high) = log_domain(Some((value.abs().max(1e-320), value.abs().max(1e-320))));
            assert!(0.0 < low && low < high, "{value}: {low} {high}");
        }
    }

    #[test]
    fn a_log_axis_has_ticks_whatever_its_span() {
        for (low, high) in [
            (1.0, 1.2),
            (1.0, 3.0),
            (0.02, 4.0),
            (1e-3, 1e4),
            (1e-300, 1e300),
        ] {
            let (major, _) = log_ticks(low, high, 8);
            assert!((2..=10).contains(&major.len()), "{low} {high}: {major:?}");
        }
    }
}
