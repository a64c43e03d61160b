//! The seam between the sampler and the hardware.

use std::path::PathBuf;
use std::time::Duration;

use ipw_core::alignment::Aligned;
use ipw_core::hardware::{Device, SystemInfo};
use ipw_core::source::{Role, Source};
use ipw_core::time::{Clock, Timestamp};
use ipw_core::units::Watts;

/// Reads one kind of hardware.
pub trait Collector: Send {
    /// Its id.
    fn id(&self) -> &'static str;

    /// What it reports; the same for as long as it lives.
    fn sources(&self) -> &[Source];

    /// The devices that its sources belong to, as they were found.
    fn devices(&self) -> &[Device] {
        &[]
    }

    /// Whose machine it looks at, where it knows; else whoever starts the session says.
    fn role(&self) -> Option<Role> {
        None
    }

    /// The machine that it looks at, if that is another than this.
    fn system(&self) -> Option<&SystemInfo> {
        None
    }

    /// How the instants of its readings were brought to this clock, as of the last poll; `None` for
    /// what is read here.
    fn aligned(&self) -> Option<Aligned> {
        None
    }

    /// How long a reading is on its way, beyond the time between two of them.
    fn delay(&self) -> Duration {
        Duration::ZERO
    }

    /// How far the stamp of a value can be from the moment at which it was taken; `None` where that
    /// is not known.
    fn dated_within(&self) -> Option<Duration> {
        None
    }

    /// More than the device of the source at `place` draws, where the device says so.
    fn largest(&self, _place: usize) -> Option<Watts> {
        None
    }

    /// How often it wants to be polled when the user asked for `wanted`: never faster than makes
    /// sense for the device.
    fn interval(&self, wanted: Duration) -> Duration;

    /// Those of the same circle are polled by one thread for as long as none of them keeps the
    /// others waiting; without one, it has a thread of its own.
    fn circle(&self) -> Option<&'static str> {
        None
    }

    /// Reads what there is now. `take` gets the place of the source in [`Collector::sources`], the
    /// instant at which its value was taken, and the value. A source that has nothing to say this
    /// time is left out.
    fn poll(
        &mut self,
        clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError>;
}

/// What the sampler should do about a poll that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PollError {
    /// Try again next time: this was a passing fault.
    #[error("{0}")]
    Retry(String),
    /// The device is gone for now; try less often.
    #[error("{0}")]
    Gone(String),
}

/// Where to look and what is allowed.
#[derive(Debug, Clone)]
pub struct Options {
    /// `/sys`, or what stands for it (`IPW_SYSFS_ROOT`).
    pub sysfs: PathBuf,
    /// `/proc`.
    pub proc: PathBuf,
    /// `/dev`.
    pub dev: PathBuf,
    /// Whether power may be estimated where nothing measures it.
    pub estimate: bool,
    /// The CPU's design power, if the user says it.
    pub cpu_tdp: Option<Watts>,
    /// What stands for NVIDIA's management library (`IPW_NVML_LIB`).
    pub nvml: Option<PathBuf>,
    /// What stands for AMD's management library (`IPW_AMDSMI_LIB`).
    pub amdsmi: Option<PathBuf>,
    /// Which GPUs are meant.
    pub gpus: Gpus,
    /// What this machine is called where runs look for each other (`IPW_MACHINE_ID`).
    pub machine: Option<String>,
}

/// The system's own places, and an estimate where nothing measures.
impl Default for Options {
    fn default() -> Self {
        Self {
            sysfs: "/sys".into(),
            proc: "/proc".into(),
            dev: "/dev".into(),
            estimate: true,
            cpu_tdp: None,
            nvml: None,
            amdsmi: None,
            gpus: Gpus::default(),
            machine: None,
        }
    }
}

/// Which GPUs are meant: what the user says, else what the environment shows to programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gpus {
    /// The GPUs that the user means: indices, UUIDs or places on the bus; empty for all.
    pub named: Vec<String>,
    /// `CUDA_VISIBLE_DEVICES`, where it is set.
    pub cuda_visible: Option<String>,
    /// `ROCR_VISIBLE_DEVICES` or `HIP_VISIBLE_DEVICES`, where one is set.
    pub rocm_visible: Option<String>,
}

/// A collector that is not there, and what would change that.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Absent {
    /// Its id.
    pub collector: &'static str,
    /// Whether the hardware seems to be here, so that something could be done about it.
    pub is_here: bool,
    /// Why.
    pub reason: String,
    /// The exact command that would enable it, if there is one.
    pub fix: Option<String>,
    /// What that command risks.
    pub risk: Option<String>,
}
