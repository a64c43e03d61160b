//! What `ipw calibrate` found, as a run quotes it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// One calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Version of the calibration's file.
    pub format_version: u32,
    /// When: seconds since the Unix epoch.
    pub calibrated_at: f64,
    /// By which version.
    pub ipw: String,
    /// On what.
    pub hardware_label: String,
    /// Whether it was the short one.
    pub quick: bool,
    /// Whether every check passed.
    pub passed: bool,
    /// What was looked at.
    pub checks: Vec<Check>,
}

/// One figure with its bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The scenario and the figure, with a dot between.
    pub id: Cow<'static, str>,
    /// The figure in words.
    pub what: Cow<'static, str>,
    /// Of what unit its numbers are.
    pub unit: Unit,
    /// What was found; `None`: nothing that could be compared, which is no pass.
    pub value: Option<f64>,
    /// The least that passes; `None`: no bound on this side.
    pub at_least: Option<f64>,
    /// The most that passes.
    pub at_most: Option<f64>,
    /// Whether it passed.
    pub passed: bool,
    /// What a figure beyond its bound does to a run.
    pub otherwise: Cow<'static, str>,
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Of one: 0.02 is two percent.
    Share,
    /// A number of things.
    Count,
    /// Things per second.
    PerSecond,
}

impl Check {
    /// Whether the value lies within the bounds.
    pub fn is_within(value: Option<f64>, at_least: Option<f64>, at_most: Option<f64>) -> bool {
        value.is_some_and(|value| {
            value.is_finite()
                && at_least.is_none_or(|least| value >= least)
                && at_most.is_none_or(|most| value <= most)
        })
    }
}
