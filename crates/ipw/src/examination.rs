//! Examines the energy sources of this machine for a second, and says what its energy figures mean.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use ipw_core::hardware::{Device, SystemInfo, label};
use ipw_core::setting::Setting;
use ipw_core::source::Source;
use ipw_core::time::Clock;
use ipw_runner::SystemClock;
use ipw_telemetry::collectors::host::system_info;
use ipw_telemetry::{Absent, Options, Role, SelfTest, Session, Setup, detect};
use serde_json::{Value, json};

use crate::error::Error;
use crate::hardware;

/// How long the sources are sampled.
const LOOK: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(10);

/// Result of examining this machine.
pub struct Examination {
    /// CPU, memory, operating system.
    pub system: SystemInfo,
    /// Accelerators.
    pub devices: Vec<Device>,
    /// Each source with the result of its self-test.
    pub sources: Vec<(Source, SelfTest)>,
    /// Collectors that cannot read anything here, and the reason.
    pub absent: Vec<Absent>,
    /// The basis of an energy estimate; `None` without one.
    pub estimate: Option<String>,
    /// CPU time of sampling, as a share of one core.
    pub sampler_share: f64,
}

/// Samples the sources for a second.
pub fn examine(options: &Options) -> Result<Examination, Error> {
    let detected = detect(options);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let setup = Setup {
        collectors: detected.collectors,
        interval: INTERVAL,
        role: Role::Service,
        absent: detected.reason,
    };
    let session = Session::start(setup, clock).context("starting the samplers")?;
    std::thread::sleep(LOOK);
    session.stop();
    let sources = session.sources().cloned().zip(session.self_tests());
    let sources = sources.collect();
    Ok(Examination {
        system: system_info(options),
        devices: session.devices().to_vec(),
        sources,
        absent: detected.absent,
        estimate: detected.estimate,
        sampler_share: session.own_cpu_time().as_secs_f64() / LOOK.as_secs_f64(),
    })
}

impl Examination {
    /// All results as JSON, for programs.
    pub fn json(&self) -> Value {
        let sources: Vec<_> = self
            .sources
            .iter()
            .map(|(source, tested)| json!({ "about": source, "unit": source.unit(), "self_test": tested }))
            .collect();
        json!({
            "hardware_label": self.label(),
            "system_info": self.system,
            "devices": self.devices,
            "sources": sources,
            "absent": self.absent,
            "estimate": self.estimate,
            "energy": self.energy_kind(),
            "meaning": self.meaning(),
            "sampler_cpu_share": self.sampler_share,
        })
    }

    /// The hardware label of runs on this machine.
    pub fn label(&self) -> String {
        let devices = hardware::device_names(&self.devices);
        label(&devices, self.system.cpu_brand.as_deref())
    }

    /// Whether a hardware counter or sensor measures energy here.
    pub fn has_measured(&self) -> bool {
        self.sources
            .iter()
            .any(|(source, tested)| source.is_measured_energy() && tested.moves)
    }

    /// `measured`, `estimated` or `none`.
    pub fn energy_kind(&self) -> &'static str {
        if self.has_measured() {
            "measured"
        } else if self.estimate.is_some() {
            "estimated"
        } else {
            "none"
        }
    }

    /// Explains to people what the energy of a run on this machine means.
    pub fn meaning(&self) -> String {
        if self.has_measured() {
            return "Measured: joules come from hardware counters of the sources above. \
                    CPU packages and memory are summed; domains inside a package are shown but \
                    not summed. No counter covers the power supply, fans, disks and \
                    network."
                .to_owned();
        }
        match &self.estimate {
            Some(estimate) => {
                format!(
                    "Estimated, not measured: there is no energy counter here. The CPU's power is \
                     modelled from its utilization. {estimate} (one standard deviation). Use it for orders of \
                     magnitude and for comparing runs on this machine. It is not a measurement, \
                     is marked as estimated everywhere, and does not satisfy `{}`.",
                    Setting::RequireEnergy
                )
            }
            None => {
                "None: there is no energy counter and no basis for an estimate. Energy columns \
                     will be null, with the reason."
                    .to_owned()
            }
        }
    }
}
