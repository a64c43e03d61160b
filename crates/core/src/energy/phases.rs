//! The two sides of a query: before and after its first token (docs/method.md §6.8).

use std::time::Duration;

use super::QueryEnergy;
use crate::reading::Window;
use crate::source::Domain;
use crate::time::Timestamp;
use crate::units::{Joules, Watts};

/// Where a query divides in two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// When it was sent.
    pub sent: Timestamp,
    /// When the first token came.
    pub first_token: Timestamp,
    /// How long the service says that it read the prompt.
    pub prompt: Option<Duration>,
}

impl Split {
    /// The two sides of a query that was in flight during `window`; `None` if it does not divide.
    pub fn windows(self, window: Window) -> Option<[Window; 2]> {
        let start = match self.prompt {
            Some(prompt) => self.first_token.before(prompt),
            None => self.sent,
        };
        Some([
            Window::new(start.max(window.start()), self.first_token)?,
            Window::new(self.first_token, window.end())?,
        ])
    }

    /// What the first side is.
    pub const fn kind(self, was_alone: bool) -> PhaseKind {
        match self.prompt {
            Some(_) => PhaseKind::ServiceTiming,
            None if was_alone => PhaseKind::Alone,
            None => PhaseKind::WaitAndPrefill,
        }
    }
}

/// What prefill and decode took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Phases {
    /// What the first of them is.
    pub kind: PhaseKind,
    /// How long the first took, and what.
    pub prefill: Phase,
    /// From the first token on.
    pub decode: Phase,
}

/// What the time before the first token was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PhaseKind {
    /// From the send to the first token, with nobody else in flight.
    #[default]
    Alone,
    /// As long as the service says that it read the prompt, up to the first token.
    ServiceTiming,
    /// From the send to the first token, with others in flight: waiting is in it.
    WaitAndPrefill,
}

impl PhaseKind {
    /// The kind as columns spell it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::ServiceTiming => "service_timing",
            Self::WaitAndPrefill => "wait_and_prefill",
        }
    }
}

/// What one phase of a query took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Phase {
    /// Its time.
    pub time: Duration,
    /// Energy on the basis.
    pub headline: Option<Joules>,
    /// Energy by domain: GPUs, CPU packages, memory, neural engines.
    pub gpu: Option<Joules>,
    /// CPU packages.
    pub cpu: Option<Joules>,
    /// Memory.
    pub dram: Option<Joules>,
    /// Neural engines.
    pub ane: Option<Joules>,
}

impl Phase {
    /// What `energy` says of a window this long.
    pub fn of(energy: &QueryEnergy, time: Duration) -> Self {
        Self {
            time,
            headline: energy.headline(),
            gpu: energy.of(Domain::Gpu),
            cpu: energy.of(Domain::CpuPackage),
            dram: energy.of(Domain::Dram),
            ane: energy.of(Domain::Ane),
        }
    }

    /// Mean power on the basis.
    pub fn power(&self) -> Option<Watts> {
        let power = self.headline? / self.time;
        power.is_finite().then_some(power)
    }
}
