//! Distributions of text lengths whose values never change for a seed.
//!
//! Only addition, multiplication and division are used: they are exact to the last bit on every
//! machine. Logarithms and exponentials of system libraries are not.

use std::str::FromStr;

use ipw_core::random::Random;

/// Longer than the context of any model.
const MOST: u32 = 10_000_000;

/// A distribution of whole numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Lengths {
    /// Always the same length.
    Constant(u32),
    /// Equally likely lengths from the first to the last, both included.
    Uniform(u32, u32),
    /// Mean and standard deviation.
    Normal(f64, f64),
    /// Median, and standard deviation of the logarithm: a few lengths are much longer.
    LogNormal(f64, f64),
}

/// The accepted forms, for error messages.
pub(crate) const EXPECTED: &str = "`constant:N`, `uniform:FROM:TO`, `normal:MEAN:DEVIATION` or \
                                   `lognormal:MEDIAN:SIGMA`, with numbers from 1 up";

impl FromStr for Lengths {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let parts: Vec<_> = text.split(':').collect();
        let whole = |text: &str| match text.parse() {
            Ok(number) if (1..=MOST).contains(&number) => Ok(number),
            _ => Err(()),
        };
        let real = |text: &str, least: f64| match text.parse::<f64>() {
            Ok(number) if (least..=f64::from(MOST)).contains(&number) => Ok(number),
            _ => Err(()),
        };
        match parts.as_slice() {
            [number] | ["constant", number] => whole(number).map(Self::Constant),
            ["uniform", from, to] => {
                let (from, to) = (whole(from)?, whole(to)?);
                (from <= to).then_some(Self::Uniform(from, to)).ok_or(())
            }
            ["normal", mean, deviation] => {
                Ok(Self::Normal(real(mean, 1.0)?, real(deviation, 0.0)?))
            }
            ["lognormal", median, sigma] => {
                let sigma = real(sigma, 0.0)?;
                // A larger sigma would draw mostly lengths at the limits.
                let is_sane = sigma <= 4.0;
                is_sane.then_some(()).ok_or(())?;
                Ok(Self::LogNormal(real(median, 1.0)?, sigma))
            }
            _ => Err(()),
        }
    }
}

impl Lengths {
    /// Draws a length, at least 1.
    pub(crate) fn draw(self, random: &mut Random) -> u32 {
        match self {
            Self::Constant(number) => number,
            Self::Uniform(from, to) => {
                let more = random.up_to((to - from) as usize);
                from + u32::try_from(more).expect("it is at most the difference")
            }
            Self::Normal(mean, deviation) => rounded(mean + deviation * bell(random)),
            Self::LogNormal(median, sigma) => rounded(median * exponential(sigma * bell(random))),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it was put between 1 and ten million"
)]
fn rounded(length: f64) -> u32 {
    length.round().clamp(1.0, f64::from(MOST)) as u32
}

/// Approximates a standard normal number by the sum of twelve uniform ones (Irwin–Hall): within 6
/// standard deviations, with slightly thin tails.
fn bell(random: &mut Random) -> f64 {
    // 32 bits each, so the sum is exact.
    let sum: u64 = (0..12).map(|_| random.number() >> 32).sum();
    #[expect(clippy::cast_precision_loss, reason = "it has at most 36 bits")]
    let sum = sum as f64;
    sum / 4_294_967_296.0 - 6.0
}

/// e to the power of `x`: its series for a small number, then repeated squaring.
fn exponential(x: f64) -> f64 {
    let small = x / 1024.0;
    let mut term = 1.0;
    let mut sum = 1.0;
    for n in 1..12 {
        term = term * small / f64::from(n);
        sum += term;
    }
    (0..10).fold(sum, |power, _| power * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str) -> Vec<u32> {
        let lengths: Lengths = text.parse().unwrap();
        let mut random = Random::new(7);
        (0..20_000).map(|_| lengths.draw(&mut random)).collect()
    }

    fn mean(numbers: &[u32]) -> f64 {
        let sum: f64 = numbers.iter().map(|number| f64::from(*number)).sum();
        sum / f64::from(u32::try_from(numbers.len()).unwrap())
    }

    #[test]
    fn the_numbers_are_distributed_as_asked() {
        assert!(drawn("constant:128").iter().all(|length| *length == 128));
        assert_eq!(drawn("128"), drawn("constant:128"));
        let uniform = drawn("uniform:64:256");
        assert_eq!(uniform.iter().min(), Some(&64));
        assert_eq!(uniform.iter().max(), Some(&256));
        assert!((mean(&uniform) - 160.0).abs() < 2.0);
        let normal = drawn("normal:128:32");
        assert!((mean(&normal) - 128.0).abs() < 1.0);
        let within = normal.iter().filter(|n| (96..=160).contains(*n)).count();
        assert!((13_400..14_200).contains(&within), "{within} of 20000");
        let mut skewed = drawn("lognormal:100:1");
        skewed.sort_unstable();
        assert!((95..=105).contains(&skewed[10_000]), "{}", skewed[10_000]);
        // The mean of a log-normal is the median times exp(sigma squared / 2).
        assert!((mean(&skewed) - 164.9).abs() < 6.0, "{}", mean(&skewed));
    }

    #[test]
    fn the_exponential_is_right() {
        for x in [-24.0, -1.0, 0.0, 0.5, 1.0, 10.0, 24.0] {
            let error = exponential(x) / f64::exp(x) - 1.0;
            assert!(error.abs() < 1e-10, "{x}: {error}");
        }
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        for text in [
            "",
            "0",
            "-3",
            "constant:0",
            "uniform:9:3",
            "uniform:3",
            "normal:NaN:1",
            "normal:10:-1",
            "lognormal:10:9",
            "lognormal:inf:1",
            "poisson:3",
            "constant:99999999",
            "normal:1:1:1",
        ] {
            assert_eq!(text.parse::<Lengths>(), Err(()), "{text}");
        }
    }
}
