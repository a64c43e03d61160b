//! The two phases of a query: before and after its first token (docs/method.md §6.8).

use std::time::Duration;

use super::QueryEnergy;
use crate::reading::Window;
use crate::source::Domain;
use crate::time::Timestamp;
use crate::units::{Joules, Watts};

/// Instants that divide a query into phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// When the request was sent.
    pub sent: Timestamp,
    /// When the first token came.
    pub first_token: Timestamp,
    /// Prompt processing time according to the service.
    pub prompt: Option<Duration>,
}

impl Split {
    /// The two phases of a query in flight during `window`; `None` without a division.
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

    /// Meaning of the first phase.
    pub const fn kind(self, was_alone: bool) -> PhaseKind {
        match self.prompt {
            Some(_) => PhaseKind::ServiceTiming,
            None if was_alone => PhaseKind::Alone,
            None => PhaseKind::WaitAndPrefill,
        }
    }
}

/// Energy and time of prefill and decode.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Phases {
    /// Meaning of the first phase.
    pub kind: PhaseKind,
    /// Time and energy before the first token.
    pub prefill: Phase,
    /// From the first token on.
    pub decode: Phase,
}

/// Meaning of the time before the first token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PhaseKind {
    /// From the request to the first token, without other queries in flight.
    #[default]
    Alone,
    /// The prompt processing time that the service reports, up to the first token.
    ServiceTiming,
    /// From the request to the first token with other queries in flight: includes waiting.
    WaitAndPrefill,
}

impl PhaseKind {
    /// The name in columns.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::ServiceTiming => "service_timing",
            Self::WaitAndPrefill => "wait_and_prefill",
        }
    }
}

/// Time and energy of one phase of a query.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Phase {
    /// Length of the phase.
    pub time: Duration,
    /// Energy on the basis.
    pub headline: Option<Joules>,
    /// Energy of the GPUs.
    pub gpu: Option<Joules>,
    /// CPU packages.
    pub cpu: Option<Joules>,
    /// Memory.
    pub dram: Option<Joules>,
    /// Neural engines.
    pub ane: Option<Joules>,
}

impl Phase {
    /// The phase with this energy and length.
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
