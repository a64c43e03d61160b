//! Seeded random numbers for reproducible orders, schedules and texts. Integers are the same on
//! every machine and in every version. Distributions may differ in the last bit between
//! mathematical libraries.

use std::f64::consts::TAU;

/// `SplitMix64`: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA
/// 2014.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator with this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A uniform integer from 0 to `most`: Lemire, "Fast Random Integer Generation in an Interval",
    /// 2019. It multiplies, and rejects the few values that would favour small results.
    pub fn up_to(&mut self, most: usize) -> usize {
        let Some(bound) = (most as u64).checked_add(1) else {
            return usize::try_from(self.number()).unwrap_or(usize::MAX);
        };
        let unfair = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.number()) * u128::from(bound);
            let low = product & u128::from(u64::MAX);
            if low >= u128::from(unfair) {
                return usize::try_from(product >> 64).unwrap_or(most);
            }
        }
    }

    /// A uniform number in (0, 1).
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub fn unit(&mut self) -> f64 {
        ((self.number() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// An exponential waiting time with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// A standard normal number (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (TAU * self.unit()).cos()
    }

    /// A gamma-distributed number with this shape and scale 1: Marsaglia and Tsang, "A Simple
    /// Method for Generating Gamma Variables", 2000. `shape` is above zero.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = self.unit().powf(1.0 / shape);
            return self.gamma(shape + 1.0) * boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.unit().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_published_numbers() {
        let mut random = Random::new(1_234_567);
        let numbers: Vec<_> = (0..5).map(|_| random.number()).collect();
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut random = Random::new(7);
        let mut moments = |draw: &mut dyn FnMut(&mut Random) -> f64| {
            let n = 200_000;
            let values: Vec<f64> = (0..n).map(|_| draw(&mut random)).collect();
            let mean = crate::stats::mean(&values).unwrap();
            let deviation = crate::stats::standard_deviation(&values).unwrap();
            (mean, deviation * deviation)
        };
        let near = |(mean, variance): (f64, f64), expected: (f64, f64)| {
            assert!((mean - expected.0).abs() < 0.02, "{mean} for {expected:?}");
            assert!(
                (variance / expected.1 - 1.0).abs() < 0.05,
                "{variance} for {expected:?}"
            );
        };
        near(moments(&mut Random::unit), (0.5, 1.0 / 12.0));
        near(moments(&mut Random::exponential), (1.0, 1.0));
        near(moments(&mut Random::normal), (0.0, 1.0));
        for shape in [0.3, 1.0, 4.0] {
            near(moments(&mut |random| random.gamma(shape)), (shape, shape));
        }
    }

    #[test]
    fn every_number_of_a_range_comes() {
        let mut random = Random::new(0);
        let seen: std::collections::BTreeSet<_> = (0..200).map(|_| random.up_to(6)).collect();
        assert_eq!(seen.len(), 7);
        assert_eq!(random.up_to(0), 0);
    }
}
