//! Where collectors look, and what they may use.

use std::path::PathBuf;

pub use ipw_core::collector::{Collector, PollError};
use ipw_core::units::Watts;

/// Where collectors look, and what they may use.
#[derive(Debug, Clone)]
pub struct Options {
    /// `/sys`, or its replacement (`IPW_SYSFS_ROOT`).
    pub sysfs: PathBuf,
    /// `/proc`, or its replacement.
    pub proc: PathBuf,
    /// `/dev`, or its replacement.
    pub dev: PathBuf,
    /// Whether to estimate the CPU's power where nothing measures it.
    pub estimate: bool,
    /// The CPU's design power, if the user sets it.
    pub cpu_tdp: Option<Watts>,
    /// Path to use instead of NVIDIA's management library (`IPW_NVML_LIB`).
    pub nvml: Option<PathBuf>,
    /// Path to use instead of AMD's management library (`IPW_AMDSMI_LIB`).
    pub amdsmi: Option<PathBuf>,
    /// Which GPUs to measure.
    pub gpus: Gpus,
    /// Replaces this machine's id where runs look for each other (`IPW_MACHINE_ID`).
    pub machine: Option<String>,
}

/// The system's own directories, with the estimate where nothing measures.
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

/// Which GPUs to measure: those that the user names, else those visible to CUDA or ROCm programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gpus {
    /// GPUs that the user names by index, UUID or PCI address; empty for all.
    pub named: Vec<String>,
    /// The value of `CUDA_VISIBLE_DEVICES`, if set.
    pub cuda_visible: Option<String>,
    /// The value of `ROCR_VISIBLE_DEVICES` or `HIP_VISIBLE_DEVICES`, if set.
    pub rocm_visible: Option<String>,
}
