//! `ipw show RUN`.

use anyhow::Context;
use ipw_analysis::cost::{Rates, RunningCost};
use ipw_findings::comparison::Facts;
use ipw_findings::leaderboard::Filter;
use ipw_findings::runs as found;
use ipw_findings::sweep::{FILE, SweepResult};
use ipw_findings::{calibration, measured, quality};
use ipw_store::summary::Unread;
use ipw_store::{Overview, Status, Summary};
use serde_json::json;

use super::{runs, sweep};
use crate::args::ShowArgs;
use crate::error::{CliError, Exit};
use crate::screen;

pub(crate) fn run(args: &ShowArgs) -> Result<Exit, CliError> {
    if show_several(args)? {
        return Ok(Exit::Done);
    }
    let run = super::open(&args.run, args.basis.choice())?;
    let (overview, values) = measured::counted(&run).context("cannot read the rows")?;
    let running = running(args, &overview);
    if args.json {
        let shown = json!({
            "summary": run.stored_summary(), "basis": run.choice(), "metrics": values,
            "overview": overview, "running_cost": running,
        });
        screen::print(&screen::json(&shown));
        return Ok(Exit::Done);
    }
    let summary = run.summary();
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    let tags = Facts::of_summary(&run).tags;
    let tags: Vec<String> = tags
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let name = summary.name.clone().map(|name| ("name", name));
    let tags = (!tags.is_empty()).then(|| ("tags", tags.join(", ")));
    let head: Vec<_> = name
        .into_iter()
        .chain(tags)
        .chain([
            ("model", run.model().to_owned()),
            ("dataset", text(&summary.dataset_name)),
            ("hardware", text(&summary.hardware_label)),
            ("status", status(summary)),
        ])
        .collect();
    let mut notes = quality::lines(&quality::of_run(&run, &overview));
    notes.extend(measured::redefined(&run, &values));
    notes.extend(run.unread().iter().map(Unread::to_string));
    let calibrated = calibration::quoted(summary.calibration.as_ref());
    screen::print(&screen::overview(
        &head,
        &overview,
        screen::Results {
            values: &values,
            basis: run.choice(),
            summary,
        },
        &calibrated,
        &notes,
        run.directory(),
    ));
    match running {
        Some(running) => screen::print(&running_text(&running, overview.energy.is_estimated())),
        None if args.price_per_kwh.is_some() || args.carbon_per_kwh.is_some() => {
            screen::talk("note: cost unknown, as no row has energy");
        }
        None => {}
    }
    Ok(Exit::Done)
}

/// Shows the sweep or the runs in a directory that is not a run itself; false if it has neither.
fn show_several(args: &ShowArgs) -> Result<bool, CliError> {
    if found::is_run(&args.run) || !args.run.is_dir() {
        return Ok(false);
    }
    let swept = SweepResult::open(&args.run).map_err(CliError::sweep)?;
    let found = match swept {
        Some(_) => Vec::new(),
        None => found::below(&args.run).map_err(CliError::usage)?,
    };
    if swept.is_none() && found.is_empty() {
        let error = CliError::usage(format!("no run and no sweep in `{}`", args.run.display()));
        return Err(error.help("name a run directory that `ipw profile` created, or one above it"));
    }
    if args.price_per_kwh.is_some() || args.carbon_per_kwh.is_some() {
        let error =
            CliError::usage("`--price-per-kwh` and `--carbon-per-kwh` take one run, not several");
        return Err(error.help("name one run directory; `ipw runs` lists them"));
    }
    match swept {
        Some(swept) if args.json => screen::print(&screen::json(&json!(swept))),
        Some(swept) => screen::print(&sweep::table(&swept, &args.run.join(FILE))),
        None => runs::show(&args.run, found, &Filter::default(), args.json),
    }
    Ok(true)
}

/// Cost and emissions of the energy; `None` without a rate or without energy.
fn running(args: &ShowArgs, overview: &Overview) -> Option<RunningCost> {
    let rates = Rates {
        per_kwh: args.price_per_kwh,
        grams_per_kwh: args.carbon_per_kwh,
        pue: args.pue,
    };
    let is_asked = rates.per_kwh.is_some() || rates.grams_per_kwh.is_some();
    let energy = &overview.energy;
    is_asked
        .then(|| Some(rates.of(energy.joules?, energy.rows, overview.tokens.output)))
        .flatten()
}

fn running_text(running: &RunningCost, is_estimated: bool) -> String {
    let mark = if is_estimated { " (estimated)" } else { "" };
    let mut parts = vec![format!("{:.3e} kWh", running.kilowatt_hours)];
    if let Some(money) = running.money {
        parts.push(format!("cost {money:.2e}"));
    }
    if let Some(money) = running.money_per_1000_queries {
        parts.push(format!("{money:.2e} per 1000 queries"));
    }
    if let Some(money) = running.money_per_million_output_tokens {
        parts.push(format!("{money:.3} per million output tokens"));
    }
    if let Some(grams) = running.grams_co2 {
        parts.push(format!("{grams:.2e} g of CO₂"));
    }
    format!("\nat these rates: {}{mark}\n", parts.join(", "))
}

fn status(summary: &Summary) -> String {
    match (summary.status, &summary.reason) {
        (Some(Status::Running), _) => {
            "running, or killed: these are the rows so far (`ipw profile --resume` continues it)"
                .to_owned()
        }
        (status, reason) => {
            let status = status.map_or("unknown", Status::label);
            let reason = reason.as_ref().map(|reason| format!(": {reason}"));
            format!("{status}{}", reason.unwrap_or_default())
        }
    }
}
