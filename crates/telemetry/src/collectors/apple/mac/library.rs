//! Samples through `macmon`.

use std::cell::RefCell;

use ipw_core::hardware::Device;
use ipw_core::time::{Clock, Timestamp};
use macmon::{Metrics, Sampler, SocInfo};

use super::super::chip::{Feed, INTERVAL, Sample, Survey};
use super::unnamed;
use crate::PollError;

thread_local! {
    /// A sampler may not change threads, so each polling thread creates its own.
    static SAMPLER: RefCell<Option<Sampler>> = const { RefCell::new(None) };
}

/// Whether this Mac is a virtual machine.
pub(super) fn is_virtual() -> bool {
    SocInfo::new().is_ok_and(|soc| soc.vm)
}

/// Inspects the chip over at most `samples` samples.
pub(super) fn look(samples: u32) -> Result<(Survey, Device), String> {
    let mut sampler = Sampler::new().map_err(|error| error.to_string())?;
    let soc = sampler.get_soc_info();
    let device = Device {
        name: Some(soc.chip_name.clone()).filter(|name| !name.is_empty()),
        backend: Some("macmon".to_owned()),
        memory_total_mib: (soc.memory_gb > 0).then(|| f64::from(soc.memory_gb) * 1024.0),
        ..unnamed()
    };
    let mut look = Survey::new();
    for _ in 0..samples {
        let metrics = sampler
            .get_metrics(millis())
            .map_err(|error| error.to_string())?;
        look.see(&sample(&metrics));
        if look.is_settled() {
            break;
        }
    }
    Ok((look, device))
}

/// Yields samples. Each call waits until [`INTERVAL`] has passed since the previous one.
pub(super) fn feed() -> Feed {
    let mut last: Option<Timestamp> = None;
    let next = move |clock: &dyn Clock| {
        let asked = clock.now();
        let metrics = SAMPLER.with_borrow_mut(next).map_err(|error| {
            last = None;
            PollError::Gone(format!("macmon: {error}"))
        })?;
        let end = clock.now();
        // The library measures from its previous sample on.
        let elapsed = end.since(last.replace(end).unwrap_or(asked));
        let sample = Sample {
            elapsed,
            ..sample(&metrics)
        };
        Ok((end, sample))
    };
    Feed {
        next: Box::new(next),
        is_paced: false,
    }
}

fn next(place: &mut Option<Sampler>) -> Result<Metrics, String> {
    let mut sampler = match place.take() {
        Some(sampler) => sampler,
        None => Sampler::new().map_err(|error| error.to_string())?,
    };
    // After a failure, the next call creates a new sampler.
    let metrics = sampler
        .get_metrics(millis())
        .map_err(|error| error.to_string())?;
    *place = Some(sampler);
    Ok(metrics)
}

fn millis() -> u32 {
    u32::try_from(INTERVAL.as_millis()).unwrap_or(u32::MAX)
}

fn sample(metrics: &Metrics) -> Sample {
    #[expect(
        clippy::cast_precision_loss,
        reason = "bytes of memory are far below 2⁵³"
    )]
    let memory_used = metrics.memory.ram_usage as f64 / 1_048_576.0;
    let is_clocked = metrics.gpu_freq_mhz > 0;
    Sample {
        elapsed: INTERVAL,
        cpu: Some(metrics.cpu_power.into()),
        gpu: Some(metrics.gpu_power.into()),
        ane: Some(metrics.ane_power.into()),
        dram: Some(metrics.ram_power.into()),
        system: Some(metrics.sys_power.into()),
        gpu_use: is_clocked.then(|| f64::from(metrics.gpu_active_ratio) * 100.0),
        gpu_clock: is_clocked.then(|| metrics.gpu_freq_mhz.into()),
        gpu_temperature: metrics.temp.gpu_temp_avg.map(Into::into),
        cpu_temperature: metrics.temp.cpu_temp_avg.map(Into::into),
        memory_used: (memory_used > 0.0).then_some(memory_used),
    }
}
