//! `ipw attribute RUN`: the energy of its rows once more, from its raw readings.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use ipw_core::quantity::Unit;
use ipw_core::text::printable;
use ipw_core::time::Clock;
use ipw_core::units::Watts;
use ipw_runner::SystemClock;
use ipw_store::attribute::{Asking, Attributed, IdleUsed, attribute, basis};
use ipw_store::overview::EnergyTotals;
use ipw_store::{Run, StoreError};
use serde_json::{Value, json};

use crate::args::{AttributeArgs, IdlePower};
use crate::derived::Refreshed;
use crate::error::{CliError, Exit};
use crate::summary::renew;
use crate::{attribution, derived, marginal, screen};

pub(crate) fn run(args: &AttributeArgs) -> Result<Exit, CliError> {
    let clock = SystemClock::start();
    let asking = Asking {
        weights: args.weights.into(),
        idle: idle(args)?,
    };
    let done = attribute(&args.run, &asking, |summary, done, run| {
        renew(summary, &done.overview, run);
        let at = clock.anchor().unix_seconds(clock.now());
        summary["attribution"] = attribution::of(asking.weights, &done.idle, &done.overview, at);
        summary["marginal"] = json!(marginal::of(&done.worked));
    })
    .map_err(refusal)?;
    let told = attribution::of(
        asking.weights,
        &done.idle,
        &done.overview,
        clock.anchor().unix_seconds(clock.now()),
    );
    let marginal = marginal::of(&done.worked).unwrap_or_default();
    let refreshed = derived::refresh(&args.run, &done.overview, derived::Page::IfThere);
    refreshed.tell(false);
    if args.json {
        let shown = json!({
            "directory": args.run,
            "rows": done.overview.rows,
            "rows_changed": done.changed,
            "before": totals(&done.before),
            "after": totals(&done.overview.energy),
            "attribution": told,
            "marginal": marginal,
            "files": refreshed,
        });
        screen::print(&screen::json(&shown));
    } else {
        screen::print(&text(&args.run, &asking, &done, &marginal, &refreshed));
    }
    Ok(Exit::Done)
}

/// What sources draw with nobody in flight, as far as the command line says.
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
                return Err(CliError::usage("`--idle` without a measured source")
                    .help("nothing measures in this run: leave `--idle` out"));
            }
            (None, _) => {
                return Err(CliError::usage(format!(
                    "`--idle {watts}` is not clear: `{list}` are measured"
                ))
                .help(format!("say which: `--idle {}={watts}`", names[0])));
            }
            (Some(name), _) if names.contains(name) => name,
            (Some(name), _) => {
                return Err(CliError::usage(format!(
                    "`{name}` is no measured source of this run's basis"
                ))
                .help(format!("there is: `{list}`")));
            }
        };
        if idle
            .insert(name.clone(), Watts::from_watts(*watts))
            .is_some()
        {
            return Err(CliError::usage(format!("`--idle` says `{name}` twice")));
        }
    }
    Ok(idle)
}

fn refusal(error: StoreError) -> CliError {
    match &error {
        StoreError::Busy { .. } => {
            CliError::new(Exit::Exists, error).help("wait until it has finished")
        }
        StoreError::NotARun { .. } => {
            CliError::new(Exit::Usage, error).help("name a directory that `ipw profile` made")
        }
        StoreError::NoReadings { .. } => CliError::new(Exit::Usage, error)
            .help("energy is computed from raw readings; without them it stays what it is"),
        StoreError::Json { .. } | StoreError::UnknownSource { .. } | StoreError::Column { .. } => {
            CliError::new(Exit::Usage, error).help("nothing was changed")
        }
        _ => CliError::from(
            anyhow::Error::from(error).context("computing the energy again; the run is as it was"),
        ),
    }
}

fn totals(energy: &EnergyTotals) -> Value {
    json!({
        "rows": energy.rows,
        "joules": energy.joules,
        "sigma_joules": energy.sigma_joules,
        "above_idle_joules": energy.above_idle_joules,
    })
}

fn text(
    run: &Path,
    asking: &Asking,
    done: &Attributed,
    marginal: &Value,
    refreshed: &Refreshed,
) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<9} {value}");
    };
    let rows = done.overview.rows;
    line(
        "rows",
        &format!("{rows}, {} with other joules than before", done.changed),
    );
    line("before", &energy(&done.before));
    line("now", &energy(&done.overview.energy));
    line("weights", asking.weights.label());
    for used in &done.idle {
        line("idle", &drawn(used));
    }
    if let Some(told) = marginal::line(marginal) {
        let _ = writeln!(text, "{told}");
    } else if let Some(reason) = marginal.get("reason").and_then(Value::as_str) {
        let _ = writeln!(text, "{:<9} not told ({reason})", "marginal");
    }
    if let Some(files) = refreshed.line() {
        let _ = writeln!(text, "{:<9} {files}", "rewritten");
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
    let (Some(idle), Some(from)) = (used.idle, used.from) else {
        return format!("{name}: unknown{part}");
    };
    let (watts, sigma) = (idle.power.watts(), idle.sigma.watts());
    let who = match from {
        ipw_store::attribute::IdleFrom::Given => "as given",
        ipw_store::attribute::IdleFrom::Recorded => "as the run found it",
        ipw_store::attribute::IdleFrom::BetweenQueries => "between queries",
    };
    let drawn = Unit::Watts.give_or_take(watts, sigma);
    format!("{name}: {drawn}, {who}{part}")
}
