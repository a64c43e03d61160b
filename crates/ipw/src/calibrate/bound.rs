//! Bounds of a calibration's figures, and what a figure out of bounds means.

use ipw_findings::calibration::{Check, Unit};

/// The range in which a figure passes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    least: Option<f64>,
    most: Option<f64>,
}

pub(super) const fn at_most(most: f64) -> Bound {
    Bound {
        least: None,
        most: Some(most),
    }
}

pub(super) const fn at_least(least: f64) -> Bound {
    Bound {
        least: Some(least),
        most: None,
    }
}

/// From `least` to `most`, both included.
pub(super) const fn from_to(least: f64, most: f64) -> Bound {
    Bound {
        least: Some(least),
        most: Some(most),
    }
}

/// An error of at most this magnitude, in either direction.
pub(super) const fn within(magnitude: f64) -> Bound {
    from_to(-magnitude, magnitude)
}

/// A figure's name, its unit, and the effect on a run if it is out of bounds.
pub(super) type About = (&'static str, Unit, &'static str);

/// A figure of one scenario with its bound.
pub(super) fn check(
    scenario: &str,
    id: &str,
    (what, unit, otherwise): About,
    value: Option<f64>,
    bound: Bound,
) -> Check {
    Check {
        id: format!("{scenario}.{id}").into(),
        what: what.into(),
        unit,
        value,
        at_least: bound.least,
        at_most: bound.most,
        passed: Check::is_within(value, bound.least, bound.most),
        otherwise: otherwise.into(),
    }
}
