//! Axes: titles, units and ticks.

use crate::number::{exponent, fixed, power_of_ten, significant};
use crate::scale::{
    Kind, Scale, extent, linear_domain, linear_step, linear_ticks, log_domain, log_ticks,
};
use crate::text::clean;
use crate::unit::{ScaledUnit, Unit};

/// An axis as the caller requests it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// Its quantity, without the unit.
    pub name: String,
    /// The unit.
    pub unit: Unit,
    /// Whether it is logarithmic. Values that are not positive are then left out.
    pub log: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(name: &str, unit: Unit) -> Self {
        Self {
            name: name.to_owned(),
            unit,
            log: false,
        }
    }

    /// A logarithmic axis.
    pub fn log(name: &str, unit: Unit) -> Self {
        Self {
            name: name.to_owned(),
            unit,
            log: true,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        if self.log { Kind::Log } else { Kind::Linear }
    }
}

/// A tick: its value and label. A tick without a label is minor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) at: f64,
    pub(crate) label: Option<String>,
}

/// An axis fitted to its data.
#[derive(Debug, Clone)]
pub(crate) struct Ruler {
    pub(crate) scale: Scale,
    pub(crate) ticks: Vec<Tick>,
    pub(crate) title: String,
    /// The unit of the ticks; empty without one.
    pub(crate) symbol: String,
    /// Whether it has named rows instead of ticks on a line, and so no grid of its own.
    pub(crate) named: bool,
}

impl Ruler {
    /// An axis around these values, with about `ticks` ticks. The frame sets its range.
    pub(crate) fn around(axis: &Axis, values: impl Iterator<Item = f64>, ticks: usize) -> Self {
        let kind = axis.kind();
        let seen = extent(values, kind);
        let (low, high) = match kind {
            Kind::Log => log_domain(seen),
            _ => linear_domain(seen, ticks),
        };
        Self::spanning(axis, low, high, ticks)
    }

    /// An axis with exactly this domain.
    pub(crate) fn spanning(axis: &Axis, low: f64, high: f64, ticks: usize) -> Self {
        let kind = axis.kind();
        let unit = axis.unit.scaled(typical(kind, low, high));
        let scale = Scale {
            kind,
            low,
            high,
            from: 0.0,
            to: 1.0,
        };
        let ticks = match kind {
            Kind::Log => logarithmic(low, high, ticks, &unit),
            _ => linear(low, high, ticks, &unit),
        };
        let log = if axis.log { ", log scale" } else { "" };
        let title = format!("{} ({}{log})", clean(&axis.name), clean(&unit.symbol));
        let symbol = unit.symbol;
        Self {
            scale,
            ticks,
            title,
            symbol,
            named: false,
        }
    }

    /// Named rows or columns.
    pub(crate) fn named(title: &str, names: impl Iterator<Item = String>) -> Self {
        let ticks: Vec<Tick> = names
            .enumerate()
            .map(|(index, name)| Tick {
                at: position(index),
                label: Some(name),
            })
            .collect();
        let high = position(ticks.len().max(1)) - 0.5;
        let scale = Scale {
            kind: Kind::Linear,
            low: -0.5,
            high,
            from: 0.0,
            to: 1.0,
        };
        Self {
            scale,
            ticks,
            title: clean(title),
            symbol: String::new(),
            named: true,
        }
    }

    /// The axis on another range of coordinates.
    pub(crate) fn onto(mut self, from: f64, to: f64) -> Self {
        self.scale.from = from;
        self.scale.to = to;
        self
    }
}

/// Coordinate of the row with this index.
#[expect(clippy::cast_precision_loss, reason = "rows of a figure are few")]
pub(crate) fn position(index: usize) -> f64 {
    index as f64
}

/// The value that determines the unit prefix of the whole axis.
fn typical(kind: Kind, low: f64, high: f64) -> f64 {
    match kind {
        // Slightly above the middle: 0.01 to 100 s rather than 10 to 100,000 ms.
        Kind::Log => 10_f64.powf(f64::midpoint(low.log10(), high.log10()) + 0.5),
        _ => low.abs().max(high.abs()) * 0.999,
    }
}

fn linear(low: f64, high: f64, ticks: usize, unit: &ScaledUnit) -> Vec<Tick> {
    let (low, high) = (low / unit.factor, high / unit.factor);
    if !low.is_finite() || !high.is_finite() {
        return Vec::new();
    }
    let step = linear_step(low, high, ticks);
    let places = linear_ticks(low, high, step);
    let largest = low.abs().max(high.abs());
    let decimals = usize::try_from(-exponent(step)).unwrap_or(0);
    places
        .into_iter()
        .map(|place| {
            let plain = largest < 1e6 && decimals <= 6;
            let label = if plain {
                fixed(place, decimals)
            } else {
                significant(place, 4)
            };
            Tick {
                at: place * unit.factor,
                label: Some(label),
            }
        })
        .collect()
}

fn logarithmic(low: f64, high: f64, most: usize, unit: &ScaledUnit) -> Vec<Tick> {
    let (low, high) = (low / unit.factor, high / unit.factor);
    if !(low > 0.0 && high.is_finite()) {
        return Vec::new();
    }
    let (labelled, small) = log_ticks(low, high, most);
    let plain = labelled
        .iter()
        .all(|place| (1e-3..1e6).contains(&(place * 1.000_001)));
    let label = |place: f64| {
        let exact = exponent(place * 1.000_001);
        let lone = (place / crate::number::power(exact) - 1.0).abs() < 1e-6;
        match (plain, lone) {
            (false, true) => power_of_ten(exact),
            _ => significant(place, 4),
        }
    };
    let mut ticks: Vec<Tick> = labelled
        .iter()
        .map(|&place| Tick {
            at: place * unit.factor,
            label: Some(label(place)),
        })
        .collect();
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
    for place in small {
        if !labelled.iter().any(|&other| near(place, other)) {
            ticks.push(Tick {
                at: place * unit.factor,
                label: None,
            });
        }
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ruler: &Ruler) -> Vec<&str> {
        ruler
            .ticks
            .iter()
            .filter_map(|tick| tick.label.as_deref())
            .collect()
    }

    #[test]
    fn ticks_are_in_the_unit_of_the_title() {
        let ruler = Ruler::around(
            &Axis::linear("Latency", Unit::Seconds),
            [0.0, 0.19].into_iter(),
            5,
        );
        assert_eq!(ruler.title, "Latency (ms)");
        assert_eq!(labels(&ruler), ["0", "50", "100", "150", "200"]);
    }

    #[test]
    fn a_log_axis_says_so_and_names_decades() {
        let ruler = Ruler::around(
            &Axis::log("Energy", Unit::Joules),
            [0.5, 800.0].into_iter(),
            8,
        );
        assert_eq!(ruler.title, "Energy (J, log scale)");
        assert!(labels(&ruler).contains(&"100"), "{:?}", labels(&ruler));
        assert!(ruler.ticks.iter().any(|tick| tick.label.is_none()));
    }

    #[test]
    fn shares_are_written_in_per_cent() {
        let ruler = Ruler::spanning(&Axis::linear("Accuracy", Unit::Percent), 0.0, 1.0, 5);
        assert_eq!(labels(&ruler), ["0", "20", "40", "60", "80", "100"]);
    }

    #[test]
    fn an_axis_without_data_still_has_ticks() {
        let ruler = Ruler::around(
            &Axis::linear("Power", Unit::Watts),
            [f64::NAN].into_iter(),
            5,
        );
        assert!(labels(&ruler).len() >= 3);
    }
}
