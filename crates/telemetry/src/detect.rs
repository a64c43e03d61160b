//! Detects the collectors of this machine, and says why the others are absent.

use ipw_core::energy::Reason;
use ipw_core::hardware::Device;
use ipw_core::source::Source;

use crate::collectors::{
    amd, apple, battery, estimate, grace, host, intel_gpu, jetson, nvml, rapl,
};
use crate::{Absent, Collector, Options};

/// A collector as listed before detection.
#[derive(Debug, Clone, Copy)]
pub struct CollectorInfo {
    /// The id in `source` names and settings.
    pub id: &'static str,
    /// What it measures, for `ipw list`.
    pub summary: &'static str,
    /// What its values were checked against.
    pub checked: &'static str,
}

/// All collectors of this build.
pub const fn known() -> &'static [CollectorInfo] {
    &KNOWN
}

const SCRIPTED: &str =
    "unverified on hardware; on a scripted library with known power, loaded like the real one";

const KNOWN: [CollectorInfo; 10] = [
    CollectorInfo {
        id: "nvml",
        summary: "NVIDIA GPUs: energy, power, state (NVML)",
        checked: SCRIPTED,
    },
    CollectorInfo {
        id: "amd",
        summary: "AMD GPUs: energy (amd-smi), power and state (amdgpu driver files)",
        checked: SCRIPTED,
    },
    CollectorInfo {
        id: "intel_gpu",
        summary: "Intel GPUs: energy counters of the i915 and xe drivers",
        checked: "unverified on hardware; on sysfs trees modelled on a public Arc Pro B70 listing",
    },
    CollectorInfo {
        id: "jetson",
        summary: "Jetson boards: power of each rail (INA3221)",
        checked: "unverified on hardware; on sysfs trees from public captures",
    },
    CollectorInfo {
        id: "grace",
        summary: "NVIDIA Grace: power of module, CPU and I/O",
        checked: "unverified on hardware; on sysfs trees with the kernel's and NVIDIA's names",
    },
    CollectorInfo {
        id: "apple",
        summary: "Apple silicon: power of CPU, GPU, neural engine and memory (macOS)",
        checked: "unverified on hardware; the parser on captures of an M1 and an M2 Ultra",
    },
    CollectorInfo {
        id: "battery",
        summary: "power of a whole laptop while it runs on battery",
        checked: "unverified on hardware; on a sysfs tree from a public capture",
    },
    CollectorInfo {
        id: "rapl",
        summary: "energy counters of Intel and AMD processors (perf, powercap)",
        checked: "unverified on hardware; on sysfs trees and a simulated sensor",
    },
    CollectorInfo {
        id: "estimate",
        summary: "a model of the CPU's power, where nothing measures it",
        checked: "a model, never shown as measured",
    },
    CollectorInfo {
        id: "host",
        summary: "CPU utilization and frequency, memory, temperature",
        checked: "on this kind of machine",
    },
];

/// The result of [`detect`].
pub struct Detection {
    /// The collectors to poll.
    pub collectors: Vec<Box<dyn Collector>>,
    /// Collectors that cannot be used here, with the reason and the fix.
    pub absent: Vec<Absent>,
    /// What the estimate is based on; `None` without an estimate.
    pub estimate: Option<String>,
    /// Why there is no energy source; `None` if there is one.
    pub reason: Option<Reason>,
}

/// Looks for every collector. The estimate is used only where nothing measures energy.
pub fn detect(options: &Options) -> Detection {
    let mut detected = Detection {
        collectors: Vec::new(),
        absent: Vec::new(),
        estimate: None,
        reason: None,
    };
    detected.add(rapl::detect(options));
    let jetson = jetson::detect(options);
    // On a Jetson, NVML knows the GPU by another name and reports nothing about it.
    if jetson.is_err() {
        detected.add_all(nvml::detect(options));
    }
    detected.add_all(amd::detect(options));
    detected.add_all(intel_gpu::detect(options));
    detected.add_all(jetson);
    detected.add_all(grace::detect(options));
    detected.add_all(apple::detect(options));
    detected.add_all(battery::detect(options));
    if !detected.has_measured_energy() {
        match estimate::detect(options) {
            Ok(estimate) => {
                detected.estimate = Some(estimate.explanation().to_owned());
                detected.collectors.push(Box::new(estimate));
            }
            Err(absent) => {
                detected.reason = Some(if estimate::gpu_at_work(options) {
                    Reason::GpuUnmeasured
                } else {
                    Reason::NoSource
                });
                detected.absent.push(absent);
            }
        }
    }
    detected.add(host::detect(options));
    detected
}

impl Detection {
    fn add(&mut self, found: Result<Box<dyn Collector>, Absent>) {
        self.add_all(found.map(|collector| vec![collector]));
    }

    fn add_all(&mut self, found: Result<Vec<Box<dyn Collector>>, Absent>) {
        match found {
            Ok(collectors) => self.collectors.extend(collectors),
            Err(absent) => self.absent.push(absent),
        }
    }

    /// All devices of the detected collectors.
    pub fn devices(&self) -> impl Iterator<Item = &Device> {
        self.collectors
            .iter()
            .flat_map(|collector| collector.devices())
    }

    /// All sources of the detected collectors.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.collectors
            .iter()
            .flat_map(|collector| collector.sources())
    }

    /// Whether any source measures energy. The estimate does not count.
    pub fn has_measured_energy(&self) -> bool {
        self.sources().any(Source::is_measured_energy)
    }
}
