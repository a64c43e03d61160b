//! Where collectors look.

use std::path::PathBuf;

pub use ipw_core::collector::{Collector, PollError};
use ipw_core::units::Watts;

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
