//! What the energy of a run on this machine would mean: its sources, tried for a second.

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

/// How long the sources are looked at.
const LOOK: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(10);

/// What was found out about this machine.
pub struct Examination {
    /// What the machine is.
    pub system: SystemInfo,
    /// Its accelerators.
    pub devices: Vec<Device>,
    /// What reports, and what a short look at it showed.
    pub sources: Vec<(Source, SelfTest)>,
    /// Collectors that read nothing here, and why.
    pub absent: Vec<Absent>,
    /// What an estimate would be based on.
    pub estimate: Option<String>,
    /// Share of one core that sampling took.
    pub sampler_share: f64,
}

/// Looks at the sources for a second.
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
    /// All of it, for programs.
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

    /// What runs here are labelled with.
    pub fn label(&self) -> String {
        let devices = hardware::device_names(&self.devices);
        label(&devices, self.system.cpu_brand.as_deref())
    }

    /// Whether a counter or sensor measures energy here.
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

    /// What the energy of a run here would mean, in words.
    pub fn meaning(&self) -> String {
        if self.has_measured() {
            return "Measured: joules come from hardware counters of the sources above. \
                    CPU packages and memory are added; domains inside a package are shown and \
                    never added. What is outside the chip (power supply, fans, disks, network) is \
                    in no counter."
                .to_owned();
        }
        match &self.estimate {
            Some(estimate) => {
                format!(
                    "Estimated, not measured: there is no energy counter here. The CPU's power is \
                     modelled from how busy it is. {estimate} (one standard deviation). It does for orders of \
                     magnitude and for comparing runs on this machine; it is not a measurement, \
                     is marked as estimated everywhere, and does not satisfy `{}`.",
                    Setting::RequireEnergy
                )
            }
            None => "None: there is neither a counter nor a basis for an estimate. Energy columns \
                     would be null, with the reason."
                .to_owned(),
        }
    }
}
