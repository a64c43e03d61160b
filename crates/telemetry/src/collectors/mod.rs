//! One file for each kind of hardware.

pub mod amd;
pub mod estimate;
pub mod host;
pub mod nvml;
pub mod rapl;
pub mod replay;
