//! `ipw attribute RUN`: recomputes the energy of rows from the raw readings.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use ipw::attribute::{Asking, IdleFrom, IdleUsed, Reattribution, attribute, basis, refusal};
use ipw_core::quantity::Unit;
use ipw_core::text::printable;
use ipw_core::units::Watts;
use ipw_findings::marginal;
use ipw_store::Run;
use ipw_store::overview::EnergyTotals;
use serde_json::{Value, json};

use crate::args::{AttributeArgs, IdlePower};
use crate::error::{CliError, Exit};
use crate::screen;

pub(crate) fn run(args: &AttributeArgs) -> Result<Exit, CliError> {
    let asking = Asking {
        weights: args.weights.into(),
        idle: idle(args)?,
    };
    let again = attribute(&args.run, &asking)?;
    screen::refreshed(&again.files, false);
    let done = &again.done;
    if args.json {
        let shown = json!({
            "directory": args.run,
            "rows": done.overview.rows,
            "rows_changed": done.changed,
            "before": totals(&done.before),
            "after": totals(&done.overview.energy),
            "attribution": again.attribution,
            "marginal": again.marginal,
            "files": again.files,
        });
        screen::print(&screen::json(&shown));
    } else {
        screen::print(&text(&args.run, &asking, &again));
    }
    Ok(Exit::Done)
}

/// Idle power by source, from the command line.
fn idle(args: &AttributeArgs) -> Result<BTreeMap<String, Watts>, CliError> {
    if args.idle.is_empty() {
        return Ok(BTreeMap::new());
    }
    let run = Run::open(&args.run).map_err(refusal)?;
    let names = basis(&run).map_err(refusal)?;
    let list = names.join("`, `");
    let mut idle = BTreeMap::new();
    for IdlePower { source, watts } in &args.idle {
        let name = match (source, &names[..]) {
            (None, [only]) => only,
            (None, []) => {
                return Err(CliError::usage(
                    "`--idle` needs a measured source, and this run has none",
                )
                .help("omit `--idle`"));
            }
            (None, _) => {
                return Err(CliError::usage(format!(
                    "`--idle {watts}` is ambiguous: `{list}` are measured"
                ))
                .help(format!(
                    "name the source, such as `--idle {}={watts}`",
                    names[0]
                )));
            }
            (Some(name), _) if names.contains(name) => name,
            (Some(name), _) => {
                return Err(CliError::usage(format!(
                    "`{name}` is not a measured source in the basis of this run"
                ))
                .help(format!("measured sources: `{list}`")));
            }
        };
        if idle
            .insert(name.clone(), Watts::from_watts(*watts))
            .is_some()
        {
            return Err(CliError::usage(format!("`--idle` names `{name}` twice")));
        }
    }
    Ok(idle)
}

fn totals(energy: &EnergyTotals) -> Value {
    json!({
        "rows": energy.rows,
        "joules": energy.joules,
        "sigma_joules": energy.sigma_joules,
        "above_idle_joules": energy.above_idle_joules,
    })
}

fn text(run: &Path, asking: &Asking, again: &Reattribution) -> String {
    let Reattribution {
        done,
        marginal,
        files,
        ..
    } = again;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<9} {value}");
    };
    let rows = done.overview.rows;
    line(
        "rows",
        &format!("{rows}, {} with changed energy", done.changed),
    );
    line("before", &energy(&done.before));
    line("now", &energy(&done.overview.energy));
    line("weights", asking.weights.label());
    for used in &done.idle {
        line("idle", &drawn(used));
    }
    let marginal = marginal.as_ref();
    if let Some(line) = marginal.and_then(marginal::line) {
        let _ = writeln!(text, "{line}");
    } else if let Some(reason) = marginal.and_then(|marginal| marginal.reason) {
        let _ = writeln!(text, "{:<9} unknown ({})", "marginal", reason.label());
    }
    if let Some(rewritten) = files.line() {
        let _ = writeln!(text, "{:<9} {rewritten}", "rewritten");
    }
    let _ = writeln!(text, "\n{}", printable(&run.display().to_string()));
    text
}

fn energy(energy: &EnergyTotals) -> String {
    let rows = energy.rows;
    match (energy.joules, energy.sigma_joules) {
        (Some(joules), Some(sigma)) => {
            format!(
                "{rows} rows with energy, {}",
                Unit::Joules.give_or_take(joules, sigma)
            )
        }
        _ => "no row with energy".to_owned(),
    }
}

fn drawn(used: &IdleUsed) -> String {
    let name = printable(&used.source);
    let part = match used.part {
        0 => String::new(),
        part => format!(", part {part}"),
    };
    let known = used.watts.zip(used.sigma_watts).zip(used.from);
    let Some(((watts, sigma), from)) = known else {
        return format!("{name}: unknown{part}");
    };
    let origin = match from {
        IdleFrom::Given => "as given",
        IdleFrom::Recorded => "as measured in the run",
        IdleFrom::BetweenQueries => "between queries",
    };
    let drawn = Unit::Watts.give_or_take(watts.watts(), sigma.watts());
    format!("{name}: {drawn}, {origin}{part}")
}
