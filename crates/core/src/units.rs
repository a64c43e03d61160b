//! Quantities with units. Constructors name the unit of the argument, accessors that of the result.
//! Only physically meaningful operations exist.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Div, Mul, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

macro_rules! quantity {
    ($name:ident, $from:ident, $to:ident, $unit:literal, $meaning:literal) => {
        #[doc = $meaning]
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(f64);

        impl $name {
            /// Zero.
            pub const ZERO: Self = Self(0.0);

            #[doc = concat!("A value in ", $unit, ".")]
            pub const fn $from(value: f64) -> Self {
                Self(value)
            }

            #[doc = concat!("The value in ", $unit, ".")]
            pub const fn $to(self) -> f64 {
                self.0
            }

            /// Whether the value is finite, as a device's value must be.
            pub const fn is_finite(self) -> bool {
                self.0.is_finite()
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self(self.0 * factor)
            }
        }

        /// A ratio.
        impl Div for $name {
            type Output = f64;
            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
                values.fold(Self::ZERO, Add::add)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, formatter)?;
                formatter.write_str(concat!(" ", $unit))
            }
        }
    };
}

quantity!(Joules, from_joules, joules, "J", "Energy.");
quantity!(Watts, from_watts, watts, "W", "Power.");

impl Joules {
    /// A value in microjoules, the unit of RAPL.
    #[expect(
        clippy::cast_precision_loss,
        reason = "2^53 µJ are nine billion joules"
    )]
    pub const fn from_microjoules(value: u64) -> Self {
        Self(value as f64 * 1e-6)
    }
}

impl Mul<Duration> for Watts {
    type Output = Joules;
    fn mul(self, time: Duration) -> Joules {
        Joules(self.0 * time.as_secs_f64())
    }
}

/// Mean power over a time; infinite for a time of zero.
impl Div<Duration> for Joules {
    type Output = Watts;
    fn div(self, time: Duration) -> Watts {
        Watts(self.0 / time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_times_time_is_energy_and_back() {
        let energy = Watts::from_watts(20.0) * Duration::from_millis(500);
        assert_eq!(energy, Joules::from_joules(10.0));
        assert_eq!(energy / Duration::from_secs(2), Watts::from_watts(5.0));
        assert!(
            (Joules::from_microjoules(1_500_000) / Joules::from_joules(1.0) - 1.5).abs() < 1e-12
        );
    }

    #[test]
    fn quantities_print_their_unit() {
        assert_eq!(format!("{:.1}", Joules::from_joules(1.25)), "1.2 J");
        assert_eq!(format!("{:.0}", Watts::from_watts(65.0)), "65 W");
    }
}
