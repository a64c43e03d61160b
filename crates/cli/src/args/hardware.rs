//! Flags about this machine's hardware.

use clap::Args;
use ipw::hardware;
use ipw_telemetry::Options;

/// Facts about this machine's hardware. `ProfileArgs` repeats these fields, as they are also keys
/// of `ipw.toml`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct HardwareArgs {
    /// Thermal design power of this machine's CPUs in watts, for the estimate
    #[arg(long, value_name = "W", env = "IPW_CPU_TDP")]
    pub(crate) cpu_tdp: Option<f64>,
    /// Read only these GPUs, by index, UUID or PCI address; repeatable
    #[arg(long, value_name = "GPU", env = "IPW_GPU", value_delimiter = ',')]
    pub(crate) gpu: Vec<String>,
}

impl HardwareArgs {
    /// Detection options; with `estimate`, power is estimated where no source measures it.
    pub(crate) fn options(&self, estimate: bool) -> Options {
        hardware::options(estimate, self.cpu_tdp, &self.gpu)
    }
}
