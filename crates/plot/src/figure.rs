//! Common parts of figures: heading, caption, and values with intervals.

use crate::number::count;
use crate::text::clean;

/// Text above and below a figure.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Heading {
    /// The title: the quantity, the model and the hardware.
    pub title: String,
    /// The caption.
    pub caption: Caption,
}

impl Heading {
    /// A heading from its two parts.
    pub fn new(title: &str, caption: Caption) -> Self {
        Self {
            title: title.to_owned(),
            caption,
        }
    }
}

/// Sample size, interval and method of a figure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Caption {
    /// Number of observations.
    pub n: Option<usize>,
    /// Kind of the intervals (`95 % bootstrap interval`); `None` without intervals.
    pub interval: Option<String>,
    /// The measurement method (`RAPL counters, package and memory`).
    pub method: Option<String>,
    /// Further notes.
    pub notes: Vec<String>,
}

impl Caption {
    pub(crate) fn text(&self, left_out: usize) -> String {
        let mut parts = Vec::new();
        parts.extend(self.n.map(|n| format!("n = {}", count(n))));
        parts.extend(self.interval.as_deref().map(clean));
        parts.extend(self.method.as_deref().map(clean));
        parts.extend(self.notes.iter().map(|note| clean(note)));
        match left_out {
            0 => {}
            1 => parts.push("one value that cannot be drawn is left out".to_owned()),
            some => {
                parts.push(format!(
                    "{} values that cannot be drawn are left out",
                    count(some)
                ));
            }
        }
        parts.retain(|part| !part.trim().is_empty());
        parts.join(" · ")
    }
}

/// A closed interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The low end.
    pub low: f64,
    /// The high end.
    pub high: f64,
}

/// A value with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// The value, in the base unit of its axis.
    pub value: f64,
    /// Its interval, if it is known.
    pub interval: Option<Interval>,
}

impl Quantity {
    /// A value without an interval.
    pub fn exact(value: f64) -> Self {
        Self {
            value,
            interval: None,
        }
    }

    /// A value with the ends of its interval.
    pub fn within(value: f64, low: f64, high: f64) -> Self {
        Self {
            value,
            interval: Some(Interval { low, high }),
        }
    }

    /// The quantity clipped to the domain of an axis.
    pub(crate) fn clamped(self, (low, high): (f64, f64)) -> Self {
        let cut = |value: f64| value.clamp(low, high);
        Self {
            value: cut(self.value),
            interval: self.interval.map(|interval| Interval {
                low: cut(interval.low),
                high: cut(interval.high),
            }),
        }
    }

    /// The value and the ends of its interval, which an axis must contain.
    pub(crate) fn values(self) -> impl Iterator<Item = f64> {
        let ends = self.interval.map(|interval| [interval.low, interval.high]);
        std::iter::once(self.value).chain(ends.into_iter().flatten())
    }
}

/// A point of a band: from `low` to `high` at `at`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// Position along the other axis.
    pub at: f64,
    /// The low edge.
    pub low: f64,
    /// The high edge.
    pub high: f64,
}

/// Whether a value was measured. Estimates are hatched or hollow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// By a counter or sensor.
    #[default]
    Measured,
    /// From a model of the hardware.
    Estimated,
}

impl Origin {
    pub(crate) fn is_estimated(self) -> bool {
        self == Self::Estimated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caption_says_how_many_how_sure_and_how_measured() {
        let caption = Caption {
            n: Some(1_204),
            interval: Some("95 % interval".into()),
            method: Some("RAPL".into()),
            notes: vec![String::new(), "idle subtracted".into()],
        };
        assert_eq!(
            caption.text(0),
            "n = 1,204 · 95 % interval · RAPL · idle subtracted"
        );
        assert!(
            caption
                .text(2)
                .ends_with("2 values that cannot be drawn are left out")
        );
    }
}
