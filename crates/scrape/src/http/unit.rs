//! Units as devices write them, and their conversion to ours.

use std::ops::RangeInclusive;
use std::str::FromStr;

use ipw_core::counter::{LARGEST_POWER, Rollover};
use ipw_core::source::{Domain, Gauge, Method, Quantity};

use super::Timing;

/// What a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Power,
    Energy,
    Temperature,
    Share,
    Memory,
    Clock,
}

/// A unit, and its factor to ours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    name: &'static str,
    measure: Measure,
    /// One of it in watts, joules, °C, percent, MiB or megahertz.
    one: f64,
}

macro_rules! units {
    ($($constant:ident $name:literal $measure:ident $one:expr;)*) => {
        impl Unit {
            $(pub(super) const $constant: Self =
                Self { name: $name, measure: Measure::$measure, one: $one };)*
        }
        /// All supported units.
        pub(super) const UNITS: &[Unit] = &[$(Unit::$constant),*];
    };
}

units! {
    WATT "W" Power 1.0;
    MILLIWATT "mW" Power 1e-3;
    MICROWATT "uW" Power 1e-6;
    KILOWATT "kW" Power 1e3;
    JOULE "J" Energy 1.0;
    MILLIJOULE "mJ" Energy 1e-3;
    MICROJOULE "uJ" Energy 1e-6;
    KILOJOULE "kJ" Energy 1e3;
    MEGAJOULE "MJ" Energy 1e6;
    WATT_MINUTE "Wmin" Energy 60.0;
    WATT_HOUR "Wh" Energy 3600.0;
    KILOWATT_HOUR "kWh" Energy 3.6e6;
    CELSIUS "C" Temperature 1.0;
    PERCENT "%" Share 1.0;
    RATIO "ratio" Share 100.0;
    BYTE "B" Memory 9.536_743_164_062_5e-7;
    KIBIBYTE "KiB" Memory 9.765_625e-4;
    MEBIBYTE "MiB" Memory 1.0;
    GIBIBYTE "GiB" Memory 1024.0;
    HERTZ "Hz" Clock 1e-6;
    MEGAHERTZ "MHz" Clock 1.0;
    GIGAHERTZ "GHz" Clock 1e3;
}

/// Case-sensitive: `mW` and `MW` differ.
impl FromStr for Unit {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let known = UNITS.iter().find(|unit| unit.name == text);
        known.copied().ok_or(())
    }
}

impl Unit {
    pub(super) const fn name(self) -> &'static str {
        self.name
    }

    pub(super) fn is_energy(self) -> bool {
        self.measure == Measure::Energy
    }

    /// The quantity, in one word.
    pub(super) const fn quantity_name(self) -> &'static str {
        match self.measure {
            Measure::Power => "power",
            Measure::Energy => "energy",
            Measure::Temperature => "temperature",
            Measure::Share => "use",
            Measure::Memory => "memory",
            Measure::Clock => "clock",
        }
    }

    /// The quantity of a source in this unit.
    pub(super) fn quantity(self, domain: Domain, timing: &Timing) -> Quantity {
        let is_gpu = matches!(domain, Domain::Gpu | Domain::GpuMemory);
        let gauge = |gpu, cpu| Quantity::Gauge {
            gauge: if is_gpu { gpu } else { cpu },
        };
        match self.measure {
            Measure::Power => Quantity::Power {
                domain,
                averaging: timing.averaging,
            },
            Measure::Energy => Quantity::Energy {
                domain,
                rollover: Rollover::Resets,
            },
            Measure::Temperature => gauge(Gauge::GpuTemperature, Gauge::CpuTemperature),
            Measure::Share => gauge(Gauge::GpuUse, Gauge::CpuUse),
            Measure::Memory => gauge(Gauge::GpuMemoryUsed, Gauge::MemoryUsed),
            Measure::Clock => gauge(Gauge::GpuClock, Gauge::CpuFrequency),
        }
    }

    pub(super) fn method(self) -> Method {
        match self.measure {
            Measure::Power => Method::Integrated,
            Measure::Energy => Method::Counter,
            _ => Method::Direct,
        }
    }

    /// The value in our unit, if plausible.
    pub(super) fn value(self, raw: f64) -> Result<f64, String> {
        let value = raw * self.one;
        if value.is_finite() && self.possible().contains(&value) {
            return Ok(value);
        }
        Err(format!("{raw} {}, which is impossible", self.name))
    }

    /// Plausible values. Devices encode "unknown" as special numbers, such as the largest of the
    /// type (DCGM).
    fn possible(self) -> RangeInclusive<f64> {
        match self.measure {
            Measure::Power => 0.0..=LARGEST_POWER.watts(),
            // Upper bound: the largest power over a hundred years.
            Measure::Energy => 0.0..=1e14,
            Measure::Memory | Measure::Clock => 0.0..=1e9,
            Measure::Temperature => -100.0..=300.0,
            Measure::Share => 0.0..=100.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_in_our_unit_or_not_at_all() {
        for (unit, raw, expected) in [
            ("mW", 1500.0, Some(1.5)),
            ("kWh", 0.5, Some(1.8e6)),
            ("Wmin", 2.0, Some(120.0)),
            ("uJ", 5e6, Some(5.0)),
            ("ratio", 0.25, Some(25.0)),
            ("B", 1_048_576.0, Some(1.0)),
            ("W", -0.1, None),
            ("kW", 21.0, None),
            ("W", f64::NAN, None),
            ("J", f64::INFINITY, None),
            ("J", -1.0, None),
            ("mJ", 9_223_372_036_854_775_794.0, None),
            ("MiB", 9_223_372_036_854_775_794.0, None),
            ("%", 101.0, None),
            ("C", -40.0, Some(-40.0)),
        ] {
            let unit: Unit = unit.parse().unwrap();
            let value = unit.value(raw).ok();
            let is_same = match (value, expected) {
                (Some(value), Some(expected)) => (value - expected).abs() < 1e-9 * expected.abs(),
                (value, expected) => value.is_none() && expected.is_none(),
            };
            assert!(is_same, "{raw} {}: {value:?}", unit.name());
        }
        assert!("MW".parse::<Unit>().is_err() && "w".parse::<Unit>().is_err());
    }
}
