//! What is known of this machine's hardware, wherever its sources are read.

use clap::Args;
use ipw::hardware;
use ipw_telemetry::Options;

/// The CPUs' design power, and which GPUs are meant. `ProfileArgs` has them as fields of its own, as
/// they are keys of `ipw.toml`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct HardwareArgs {
    /// Design power of this machine's CPUs in watts, for the estimate
    #[arg(long, value_name = "W", env = "IPW_CPU_TDP")]
    pub(crate) cpu_tdp: Option<f64>,
    /// Only these GPUs, by index, UUID or PCI place
    #[arg(long, value_name = "GPU", env = "IPW_GPU", value_delimiter = ',')]
    pub(crate) gpu: Vec<String>,
}

impl HardwareArgs {
    /// Where to look for sources; with `estimate`, power is estimated where nothing measures it.
    pub(crate) fn options(&self, estimate: bool) -> Options {
        hardware::options(estimate, self.cpu_tdp, &self.gpu)
    }
}
