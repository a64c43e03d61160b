//! Measures this tool's own error: runs the whole pipeline against a service and a sensor whose
//! true values are known.

mod bound;
mod checks;
mod compare;
mod joules;
mod pipeline;
mod questions;
mod rows;
mod scenario;
mod sensor;

use std::sync::Arc;

use anyhow::Context as _;
use ipw_core::hardware::label;
use ipw_core::time::Clock;
pub use ipw_findings::calibration::{self, Calibration, Check, Occasion, Unit, place};
use ipw_runner::{Interrupt, SystemClock};
use ipw_telemetry::collectors::host::system_info;
use ipw_telemetry::detect;

use crate::error::Error;
use crate::hardware;
use compare::{Comparison, Faults};
use pipeline::Bench;
pub use scenario::{Effort, Scenario, all as scenarios};

/// Runs all scenarios; `None` if interrupted. `begins` is called before each, with its place.
pub async fn calibrate(
    effort: Effort,
    interrupt: Interrupt,
    mut begins: impl FnMut(usize, &Scenario),
) -> Result<Option<Calibration>, Error> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let scenarios = scenarios(effort)?;
    let hardware_label = machine_label();
    let directory = tempfile::tempdir().context("making a temporary directory")?;
    let bench = Bench {
        clock: Arc::clone(&clock),
        directory: directory.path().to_owned(),
        interrupt,
    };
    let mut found = Vec::new();
    let mut faults = Faults::default();
    for (place, scenario) in scenarios.iter().enumerate() {
        begins(place, scenario);
        let Some(measured) = bench.measure(scenario).await? else {
            return Ok(None);
        };
        let compared = Comparison::of(&measured.rows, &measured.asked, scenario.expected());
        faults = faults.plus(compared.faults);
        found.extend(checks::of(scenario, &measured, &compared));
    }
    found.extend(checks::faults(faults));
    let occasion = Occasion {
        calibrated_at: clock.anchor().unix_seconds(clock.now()),
        hardware_label,
        quick: effort == Effort::Quick,
    };
    Ok(Some(calibration::new(occasion, found)))
}

/// The hardware label of runs on this machine.
fn machine_label() -> String {
    let options = hardware::options(false, None, &[]);
    let system = system_info(&options);
    let collectors = detect(&options).collectors;
    let devices = collectors.iter().flat_map(|collector| collector.devices());
    let devices: Vec<_> = devices.cloned().collect();
    let names = hardware::device_names(&devices);
    label(&names, system.cpu_brand.as_deref())
}
