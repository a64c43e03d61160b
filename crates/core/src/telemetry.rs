//! What the sources of a run reported, as `telemetry` in `summary.json` has it: filled when a run
//! ends, read by everything that looks at the run later. `None` is not known.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::account::Values;
use crate::alignment::Aligned;
use crate::attribution::{Balance, Idle};
use crate::hardware::Device;
use crate::source::{Role, Source};

/// The sources of a run, what each reported, and what reading them cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Telemetry {
    /// Boards, and GPUs of chips.
    pub devices: Vec<Device>,
    /// Source by source.
    pub sources: Vec<SourceReport>,
    /// Collectors that are not there.
    pub absent: Vec<Absent>,
    /// What the estimate rests on; `None` where nothing is estimated.
    pub estimate: Option<String>,
    /// Readings that failed.
    pub faults: Vec<String>,
    /// CPU time over the run.
    pub cpu: Option<CpuTime>,
    /// Other runs on the machine at the same time; `None` where they could not be seen.
    pub other_runs: Option<OtherRuns>,
    /// CPU time of the samplers.
    pub sampler_cpu_seconds: Option<f64>,
    /// The same as a share of the run's time; `None` for a run that took none.
    pub sampler_cpu_share: Option<f64>,
    /// When this process did not run.
    pub pauses: Vec<Pause>,
}

/// What one source reported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceReport {
    /// What it is.
    pub about: Source,
    /// The unit of its values.
    #[serde(default)]
    pub unit: Option<Cow<'static, str>>,
    /// Whose machine it is on.
    #[serde(default)]
    pub role: Option<Role>,
    /// How its clock was aligned with ours; `None` for a source on this machine.
    #[serde(default)]
    pub clock: Option<Aligned>,
    /// Readings kept.
    #[serde(default)]
    pub readings: Option<u64>,
    /// Energy that it counted, without gaps; `None` for what counts none, and for a counter that
    /// never moved.
    #[serde(default)]
    pub joules: Option<f64>,
    /// Time that the energy covers; `None` for what counts none.
    #[serde(default)]
    pub covered_seconds: Option<f64>,
    /// How often it started anew.
    #[serde(default)]
    pub resets: Option<u64>,
    /// How often it advanced by more than its device can have used.
    #[serde(default)]
    pub implausible: Option<u64>,
    /// How long a counter had not moved at the end; `None` for what is no counter.
    #[serde(default)]
    pub still_seconds: Option<f64>,
    /// The usual time between two changes; `None` with fewer than two.
    #[serde(default)]
    pub change_interval_seconds: Option<f64>,
    /// How often it was silent for longer than it may.
    #[serde(default)]
    pub gaps: Option<u64>,
    /// What it drew while no query was in flight.
    #[serde(default)]
    pub idle: IdlePower,
    /// Where its joules went; `None` for what counts none.
    #[serde(default)]
    pub balance: Option<Balance>,
    /// The range of its values; `None` for energy and power.
    #[serde(default)]
    pub values: Option<Values>,
    /// Whether its values can be believed.
    #[serde(default)]
    pub self_test: SelfTests,
}

/// Idle power of a source; `None` where idle was not measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IdlePower {
    /// Before the first query.
    pub before: Option<Idle>,
    /// After the last one.
    pub after: Option<Idle>,
}

/// The self-tests of a source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SelfTests {
    /// After the warm-up.
    pub start: Option<SelfTest>,
    /// When the run was over.
    pub end: Option<SelfTest>,
}

/// What a look at a source showed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SelfTest {
    /// Readings in that time.
    pub readings: u64,
    /// Whether its value changed at all: a counter that never moves is absent.
    pub moves: bool,
    /// Whether it never went back, but for wraps; `None` for what is no counter.
    pub monotone: Option<bool>,
    /// The usual time between two changes, as polled; `None` with fewer than two.
    pub change_interval_seconds: Option<f64>,
    /// Its smallest change.
    pub resolution: Option<f64>,
    /// Mean power, for energy sources that moved.
    pub watts: Option<f64>,
    /// Its mean power ÷ that of the power source of the same device, over what each covers; 1 is
    /// agreement.
    pub against_power: Option<f64>,
    /// The last value.
    pub last: Option<f64>,
}

/// A collector that is not there, and what would change that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// Its id.
    pub collector: Cow<'static, str>,
    /// Whether the hardware seems to be here, so that something could be done about it.
    pub is_here: bool,
    /// Why.
    pub reason: String,
    /// The exact command that would enable it, if there is one.
    pub fix: Option<String>,
    /// What that command risks.
    pub risk: Option<String>,
}

/// CPU time over a run (docs/method.md §6.12).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuTime {
    /// Of the service's processes; `None` when they are not known.
    pub service_seconds: Option<f64>,
    /// How many processes the service had, one after the other.
    pub service_processes: Option<u64>,
    /// Why the service's time is not known.
    pub service_unknown: Option<String>,
    /// Of this process, where the service is another one.
    pub own_seconds: Option<f64>,
    /// Of the whole machine.
    pub machine_seconds: Option<f64>,
    /// What all its CPUs had to give.
    pub capacity_seconds: Option<f64>,
}

/// Other runs on the machine at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OtherRuns {
    /// The most at once.
    pub most: u64,
    /// For how long there was at least one.
    pub seconds: f64,
}

/// A time in which this process did not run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    /// When it began, in seconds of its part.
    pub start_seconds: f64,
    /// How long it was.
    pub seconds: f64,
    /// Queries that were in flight.
    pub queries: u64,
}

impl Telemetry {
    /// What the source of that name reported.
    pub fn source(&self, name: &str) -> Option<&SourceReport> {
        self.sources.iter().find(|source| source.about.name == name)
    }
}

impl SourceReport {
    /// A source that has reported nothing.
    pub fn of(about: Source) -> Self {
        Self {
            unit: Some(Cow::Borrowed(about.unit())),
            about,
            role: None,
            clock: None,
            readings: None,
            joules: None,
            covered_seconds: None,
            resets: None,
            implausible: None,
            still_seconds: None,
            change_interval_seconds: None,
            gaps: None,
            idle: IdlePower::default(),
            balance: None,
            values: None,
            self_test: SelfTests::default(),
        }
    }
}
