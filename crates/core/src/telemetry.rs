//! Source reports of a run, as in `telemetry` of `summary.json`. They are written at the end of a
//! run and read by all later analyses. Unknown values are `None`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::account::Values;
use crate::alignment::ClockOffset;
use crate::attribution::{Balance, Idle};
use crate::hardware::Device;
use crate::source::{Role, Source};

/// The sources of a run, their reports, and the cost of sampling.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Telemetry {
    /// Boards, and GPUs of chips.
    pub devices: Vec<Device>,
    /// One report per source.
    pub sources: Vec<SourceReport>,
    /// Collectors that are unavailable.
    pub absent: Vec<Absent>,
    /// Basis of the energy estimate; `None` without an estimate.
    pub estimate: Option<String>,
    /// Readings that failed.
    pub faults: Vec<String>,
    /// CPU time over the run.
    pub cpu: Option<CpuTime>,
    /// Other runs on the machine at the same time; `None` where they cannot be detected.
    pub other_runs: Option<OtherRuns>,
    /// CPU time of the samplers.
    pub sampler_cpu_seconds: Option<f64>,
    /// The same as a share of the run's time; `None` for a run of no length.
    pub sampler_cpu_share: Option<f64>,
    /// Times in which this process was suspended.
    pub pauses: Vec<Pause>,
}

/// The report of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceReport {
    /// The source.
    pub about: Source,
    /// The unit of its values.
    #[serde(default)]
    pub unit: Option<Cow<'static, str>>,
    /// Role of its machine.
    #[serde(default)]
    pub role: Option<Role>,
    /// Offset of its clock; `None` for a source on this machine.
    #[serde(default)]
    pub clock: Option<ClockOffset>,
    /// Number of readings kept.
    #[serde(default)]
    pub readings: Option<u64>,
    /// Energy counted, without gaps; `None` for gauges and for a counter that never moved.
    #[serde(default)]
    pub joules: Option<f64>,
    /// Time that the energy covers; `None` for gauges.
    #[serde(default)]
    pub covered_seconds: Option<f64>,
    /// How often the counter reset.
    #[serde(default)]
    pub resets: Option<u64>,
    /// How often it advanced by more than its device can have used.
    #[serde(default)]
    pub implausible: Option<u64>,
    /// Time since a counter last moved, at the end; `None` for other sources.
    #[serde(default)]
    pub still_seconds: Option<f64>,
    /// Typical time between two changes; `None` with fewer than two.
    #[serde(default)]
    pub change_interval_seconds: Option<f64>,
    /// Number of gaps in its readings.
    #[serde(default)]
    pub gaps: Option<u64>,
    /// Idle power.
    #[serde(default)]
    pub idle: IdlePower,
    /// Energy balance; `None` for gauges.
    #[serde(default)]
    pub balance: Option<Balance>,
    /// The range of its values; `None` for energy and power.
    #[serde(default)]
    pub values: Option<Values>,
    /// Self-tests of its values.
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
    /// At the end of the run.
    pub end: Option<SelfTest>,
}

/// Result of one self-test of a source.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SelfTest {
    /// Number of readings during the test.
    pub readings: u64,
    /// Whether its value changed at all; a counter that never moves counts as unavailable.
    pub moves: bool,
    /// Whether a counter never decreased, except for wraps; `None` for other sources.
    pub monotone: Option<bool>,
    /// Typical time between two changes, as seen by polling; `None` with fewer than two.
    pub change_interval_seconds: Option<f64>,
    /// Its smallest change.
    pub resolution: Option<f64>,
    /// Mean power, for energy sources that moved.
    pub watts: Option<f64>,
    /// Its mean power ÷ that of the power source of the same device, each over its covered time. 1
    /// means agreement.
    pub against_power: Option<f64>,
    /// The last value.
    pub last: Option<f64>,
}

/// A collector that is unavailable, and how to enable it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// Its id.
    pub collector: Cow<'static, str>,
    /// Whether the hardware seems to be present, so that it can be enabled.
    pub is_here: bool,
    /// Why.
    pub reason: String,
    /// The exact command that would enable it, if there is one.
    pub fix: Option<String>,
    /// Risks of that command.
    pub risk: Option<String>,
}

/// CPU time over a run (docs/method.md §6.12).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuTime {
    /// CPU time of the service's processes; `None` when they are unknown.
    pub service_seconds: Option<f64>,
    /// Number of processes that the service had in succession.
    pub service_processes: Option<u64>,
    /// Why the service's time is unknown.
    pub service_unknown: Option<String>,
    /// CPU time of this process, if the service is another one.
    pub own_seconds: Option<f64>,
    /// CPU time of the whole machine.
    pub machine_seconds: Option<f64>,
    /// Available CPU time of all CPUs.
    pub capacity_seconds: Option<f64>,
}

/// Other runs on the machine at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OtherRuns {
    /// Largest number of other runs at once.
    pub most: u64,
    /// Time with at least one other run.
    pub seconds: f64,
}

/// A time in which this process was suspended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    /// Start of the pause, in seconds of its part.
    pub start_seconds: f64,
    /// Length of the pause.
    pub seconds: f64,
    /// Number of queries in flight.
    pub queries: u64,
}

impl Telemetry {
    /// The report of the source with this name.
    pub fn source(&self, name: &str) -> Option<&SourceReport> {
        self.sources.iter().find(|source| source.about.name == name)
    }
}

impl SourceReport {
    /// The empty report of a source.
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
