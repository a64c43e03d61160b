//! Utilization of the matrix units through GPM, which compares two samples (Hopper and newer).

use std::sync::Arc;

use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::gpm_metrics_get;
use nvml_wrapper::{Device, GpmSample, Nvml};
use nvml_wrapper_sys::bindings::nvmlGpmSample_t;

/// The last sample; the next one is compared with it.
pub(super) struct Gpm {
    nvml: Arc<Nvml>,
    last: nvmlGpmSample_t,
}

#[expect(unsafe_code, reason = "the sample is a pointer")]
// SAFETY: any thread may use a sample, one at a time; this value is its only owner.
unsafe impl Send for Gpm {}

impl Gpm {
    /// Takes a first sample; `None` where the board or the driver does not support GPM.
    pub(super) fn begin(nvml: &Arc<Nvml>, device: &Device<'_>) -> Option<Self> {
        // Without this function the wrapper would panic on dropping a sample.
        nvml.lib().nvmlGpmSampleFree.as_ref().ok()?;
        let is_offered = device.gpm_support().ok()?;
        let last = is_offered.then(|| device.gpm_sample().ok())??;
        Some(Self {
            last: last.into_handle(),
            nvml: Arc::clone(nvml),
        })
    }

    /// Percentage of the time since the last call in which any matrix unit had work.
    pub(super) fn read(&mut self, device: &Device<'_>) -> Result<f64, NvmlError> {
        let now = device.gpm_sample()?;
        let before = owned(&self.nvml, self.last);
        let metrics = gpm_metrics_get(&self.nvml, &before, &now, &[GpmMetricId::AnyTensorUtil]);
        self.last = now.into_handle();
        let metric = metrics?.into_iter().next().ok_or(NvmlError::NoData)??;
        Ok(metric.value)
    }
}

impl Drop for Gpm {
    fn drop(&mut self) {
        drop(owned(&self.nvml, self.last));
    }
}

#[expect(
    unsafe_code,
    reason = "a sample that is kept cannot borrow the library"
)]
fn owned(nvml: &Nvml, sample: nvmlGpmSample_t) -> GpmSample<'_> {
    // SAFETY: the sample belongs to this library and has not been freed. `Gpm` frees each of its
    // samples once: in `read`, when the next one replaces it, or when it is dropped.
    unsafe { GpmSample::from_handle(nvml, sample) }
}
