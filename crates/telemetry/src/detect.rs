//! Which collectors there are on this machine, and why the others are not.

use ipw_core::energy::Reason;
use ipw_core::hardware::Device;
use ipw_core::source::Source;

use crate::collectors::{
    amd, apple, battery, estimate, grace, host, intel_gpu, jetson, nvml, rapl,
};
use crate::{Absent, Collector, Options};

/// A collector, as people see it before it has looked.
#[derive(Debug, Clone, Copy)]
pub struct CollectorInfo {
    /// Its id.
    pub id: &'static str,
    /// What it reads.
    pub summary: &'static str,
    /// What it was checked against.
    pub checked: &'static str,
}

/// Every collector there is.
pub const fn known() -> &'static [CollectorInfo] {
    &KNOWN
}

const SCRIPTED: &str =
    "unverified on hardware; on a scripted library with a known power, loaded as the real one";

const KNOWN: [CollectorInfo; 10] = [
    CollectorInfo {
        id: "nvml",
        summary: "NVIDIA's boards: energy, power, state (the driver's own library)",
        checked: SCRIPTED,
    },
    CollectorInfo {
        id: "amd",
        summary: "AMD's boards: energy (amd-smi), power and state (the kernel's files)",
        checked: SCRIPTED,
    },
    CollectorInfo {
        id: "intel_gpu",
        summary: "Intel's boards: energy counters of i915 and xe",
        checked: "unverified on hardware; on trees after a public listing of an Arc Pro B70",
    },
    CollectorInfo {
        id: "jetson",
        summary: "Jetson boards: the power of each rail (INA3221)",
        checked: "unverified on hardware; on trees after public captures",
    },
    CollectorInfo {
        id: "grace",
        summary: "NVIDIA's Grace: power of module, CPU and I/O",
        checked: "unverified on hardware; on trees after the kernel's and NVIDIA's names",
    },
    CollectorInfo {
        id: "apple",
        summary: "Apple's chips: power of CPU, GPU, neural engine and memory (macOS)",
        checked: "unverified on hardware; the parser on captures of an M1 and an M2 Ultra",
    },
    CollectorInfo {
        id: "battery",
        summary: "what a laptop draws while its battery feeds it",
        checked: "unverified on hardware; on trees after a public capture",
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
        summary: "CPU use and frequency, memory, temperature",
        checked: "on this kind of machine",
    },
];

/// What was found.
pub struct Detected {
    /// The collectors to poll.
    pub collectors: Vec<Box<dyn Collector>>,
    /// Those that are not there.
    pub absent: Vec<Absent>,
    /// What the estimate is based on, if there is one.
    pub estimate: Option<String>,
    /// Why there is no energy source, when there is none.
    pub reason: Option<Reason>,
}

/// Looks for every collector. The estimate stands in only where nothing measures the CPU.
pub fn detect(options: &Options) -> Detected {
    let mut detected = Detected {
        collectors: Vec::new(),
        absent: Vec::new(),
        estimate: None,
        reason: None,
    };
    detected.add(rapl::detect(options));
    let jetson = jetson::detect(options);
    // A Jetson's NVML knows its GPU by another name and answers nothing about it.
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

impl Detected {
    fn add(&mut self, found: Result<Box<dyn Collector>, Absent>) {
        self.add_all(found.map(|collector| vec![collector]));
    }

    fn add_all(&mut self, found: Result<Vec<Box<dyn Collector>>, Absent>) {
        match found {
            Ok(collectors) => self.collectors.extend(collectors),
            Err(absent) => self.absent.push(absent),
        }
    }

    /// All devices that were found.
    pub fn devices(&self) -> impl Iterator<Item = &Device> {
        self.collectors
            .iter()
            .flat_map(|collector| collector.devices())
    }

    /// All sources that were found.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.collectors
            .iter()
            .flat_map(|collector| collector.sources())
    }

    /// Whether anything measures energy; an estimate does not.
    pub fn has_measured_energy(&self) -> bool {
        self.sources().any(Source::is_measured_energy)
    }
}
