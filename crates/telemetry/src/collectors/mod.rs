//! One file for each kind of hardware.

pub mod amd;
pub mod apple;
pub mod battery;
pub mod estimate;
pub mod grace;
pub mod host;
pub mod intel_gpu;
pub mod jetson;
pub mod nvml;
pub mod rapl;
pub mod replay;
mod sysfs;
