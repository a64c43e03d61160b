//! `ipw calibrate`: the error of measurements on this machine.

mod table;

use std::path::Path;

use anyhow::Context as _;
use ipw::calibrate::{Calibration, Effort, calibrate, calibration, place, scenarios};
use ipw_core::text::printable;
use ipw_runner::Interrupter;

use super::profile::runtime;
use crate::args::CalibrateArgs;
use crate::error::{CliError, Exit};
use crate::{screen, signals};

pub(crate) fn run(args: &CalibrateArgs) -> Result<Exit, CliError> {
    let place = place().map_err(|error| CliError::new(Exit::Usage, error))?;
    let effort = if args.quick {
        Effort::Quick
    } else {
        Effort::Full
    };
    let talks = !args.json;
    let scenarios = scenarios(effort)?;
    let calibration = runtime()?.block_on(async {
        let (interrupter, interrupt) = Interrupter::new();
        signals::listen(interrupter, !talks).context("cannot listen for signals")?;
        let all = scenarios.len();
        let calibration = calibrate(effort, interrupt, |place, scenario| {
            if talks {
                screen::talk(&format!("{}/{all} {}", place + 1, scenario.what));
            }
        });
        Ok::<_, CliError>(calibration.await?)
    })?;
    let Some(calibration) = calibration else {
        return Ok(Exit::Interrupted);
    };
    screen::print(&if args.json {
        calibration::text(&calibration)
    } else {
        table::text(&scenarios, &calibration)
    });
    for path in std::iter::once(place.as_path()).chain(args.output.as_deref()) {
        save(&calibration, path, talks)?;
    }
    Ok(if calibration.passed {
        Exit::Done
    } else {
        Exit::Gate
    })
}

fn save(calibration: &Calibration, path: &Path, talks: bool) -> Result<(), CliError> {
    let shown = printable(&path.display().to_string());
    calibration::write(calibration, path).map_err(|error| {
        let error = anyhow::Error::from(error).context(format!("cannot write `{shown}`"));
        CliError::new(Exit::Unexpected, error)
            .help("the result is printed above; set `IPW_CACHE` to another directory to keep it")
    })?;
    if talks {
        screen::talk(&format!("saved to {shown}"));
    }
    Ok(())
}
