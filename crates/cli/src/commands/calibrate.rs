//! `ipw calibrate`: the whole pipeline against a service and a sensor that know the truth, and how
//! far off its numbers are.

mod bound;
mod checks;
mod compare;
mod joules;
mod pipeline;
mod questions;
mod rows;
mod scenario;
mod sensor;
mod table;

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use ipw_core::hardware::{SystemInfo, label};
use ipw_core::text::printable;
use ipw_core::time::Clock;
use ipw_runner::{Interrupter, SystemClock};
use ipw_telemetry::collectors::host::system_info;
use ipw_telemetry::detect;

use crate::args::CalibrateArgs;
use crate::calibration::{self, Calibration, Check, Occasion};
use crate::error::{CliError, Exit};
use crate::{hardware, screen, signals};

use compare::{Compared, Faults};
use pipeline::Bench;
use scenario::{Effort, Scenario};

pub(crate) fn run(args: &CalibrateArgs) -> Result<Exit, CliError> {
    let place = calibration::place().map_err(|error| CliError::new(Exit::Usage, error))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let effort = if args.quick {
        Effort::Quick
    } else {
        Effort::Full
    };
    let scenarios = scenario::all(effort)?;
    let (system, hardware_label) = machine();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting the runtime")?;
    let talks = !args.json;
    let taken = runtime.block_on(all(&scenarios, &clock, system, talks))?;
    let Some(checks) = taken else {
        return Ok(Exit::Interrupted);
    };
    let occasion = Occasion {
        calibrated_at: clock.anchor().unix_seconds(clock.now()),
        hardware_label,
        quick: args.quick,
    };
    let calibration = Calibration::new(occasion, checks);
    screen::print(&if args.json {
        calibration.text()
    } else {
        table::text(&scenarios, &calibration)
    });
    for path in std::iter::once(place.as_path()).chain(args.output.as_deref()) {
        keep(&calibration, path, talks)?;
    }
    Ok(if calibration.passed {
        Exit::Done
    } else {
        Exit::Gate
    })
}

/// Runs all scenarios; `None` when it was told to stop.
async fn all(
    scenarios: &[Scenario],
    clock: &Arc<dyn Clock>,
    system: SystemInfo,
    talks: bool,
) -> Result<Option<Vec<Check>>, CliError> {
    let (interrupter, interrupt) = Interrupter::new();
    signals::listen(interrupter, !talks).context("listening for signals")?;
    let directory = tempfile::tempdir().context("making a temporary directory")?;
    let bench = Bench {
        clock: Arc::clone(clock),
        system,
        directory: directory.path().to_owned(),
        interrupt,
    };
    let mut found = Vec::new();
    let mut faults = Faults::default();
    for (place, scenario) in scenarios.iter().enumerate() {
        if talks {
            screen::talk(&format!(
                "{}/{} {}",
                place + 1,
                scenarios.len(),
                scenario.what
            ));
        }
        let Some(taken) = bench.take(scenario).await? else {
            return Ok(None);
        };
        let compared = Compared::of(&taken.rows, &taken.asked, scenario.expected());
        faults = faults.plus(compared.faults);
        found.extend(checks::of(scenario, &taken, &compared));
    }
    found.extend(checks::faults(faults));
    Ok(Some(found))
}

/// The machine, and what runs on it are labelled with.
fn machine() -> (SystemInfo, String) {
    let options = hardware::options(false, None, &[]);
    let system = system_info(&options);
    let collectors = detect(&options).collectors;
    let devices = collectors.iter().flat_map(|collector| collector.devices());
    let devices: Vec<_> = devices.cloned().collect();
    let names = hardware::device_names(&devices);
    let label = label(&names, system.cpu_brand.as_deref());
    (system, label)
}

fn keep(calibration: &Calibration, path: &Path, talks: bool) -> Result<(), CliError> {
    let shown = printable(&path.display().to_string());
    calibration.write(path).map_err(|error| {
        let error = anyhow::Error::from(error).context(format!("cannot write `{shown}`"));
        CliError::new(Exit::Unexpected, error)
            .help("the result is above; `IPW_CACHE` names another place for what is kept")
    })?;
    if talks {
        screen::talk(&format!("kept in {shown}"));
    }
    Ok(())
}
