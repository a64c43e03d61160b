//! `ipw profile --sweep concurrency=1,2,4` and `--find-saturation`: one run per load, and a
//! table of all.

use std::fmt::Write as _;
use std::path::Path;

use ipw::naming;
use ipw::sweep::{self, Next, Point, Sweep, SweepResult, grew};
use ipw_analysis::metric::Metric;
use ipw_analysis::saturation::Knee;
use ipw_core::quantity::{UNKNOWN, Unit};
use serde_json::json;

use super::profile;
use crate::args::ProfileArgs;
use crate::error::{CliError, Exit};
use crate::screen;

/// Runs every step, even after a failed one, until interrupted.
pub(crate) fn run(mut args: ProfileArgs, sweep: &Sweep) -> Result<Exit, CliError> {
    let plan = profile::resolve(&mut args)?;
    let dataset = args.dataset.as_deref().unwrap_or("starter");
    let name = naming::sweep_directory(&plan, dataset, sweep.axis());
    let directory = plan.output.directory.join(name);
    let mut worst = Exit::Done;
    let swept = sweep.run(&directory, |load, place| {
        if !args.quiet && !args.json {
            screen::talk(&format!("\n{} {load}", sweep.axis()));
        }
        let mut plan = plan.clone();
        sweep.set(load, &mut plan.load)?;
        place.clone_into(&mut plan.output.directory);
        let Some(finished) = profile::carry_out(&args, plan)? else {
            return Err(CliError::interrupted());
        };
        let run = finished.directory.clone();
        let exit = match profile::conclude(&args, finished) {
            // Failed queries are a result; any other error ends the sweep.
            Err(error) if error.exit == Exit::Failed => {
                screen::error(&error);
                Exit::Failed
            }
            done => done?,
        };
        if exit != Exit::Done {
            worst = exit;
        }
        let next = match exit {
            Exit::Interrupted => Next::Stop,
            _ => Next::GoOn,
        };
        Ok((run, next))
    })?;
    let path = sweep::store(&swept, &directory)?;
    if args.json {
        let line = json!({ "event": "sweep", "sweep": swept });
        screen::print(&format!("{line}\n"));
    } else if !args.quiet {
        screen::print(&table(&swept, &path));
    }
    Ok(worst)
}

/// A line per step, and the saturation point.
pub(super) fn table(swept: &SweepResult, path: &Path) -> String {
    let SweepResult { axis, points, knee } = swept;
    let has_slo = points
        .iter()
        .any(|point| point.goodput_requests_per_second.is_some());
    let mut text = String::new();
    let mut line = |cells: [&str; 10]| {
        let [
            load,
            requests,
            good,
            p50,
            p99,
            tokens,
            watts,
            joules,
            accuracy,
            ipw,
        ] = cells;
        let good = if has_slo {
            format!(" {good:>6}")
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "{load:>11} {requests:>6}{good} {p50:>7} {p99:>7} {tokens:>8} {watts:>7} {joules:>8} {accuracy:>6} {ipw:>10}"
        );
    };
    let title = |metric: Metric| metric.definition().title;
    line([
        axis,
        title(Metric::RequestsPerSecond),
        "good/s",
        "p50",
        "p99",
        title(Metric::TokensPerSecond),
        title(Metric::Watts),
        "J/out",
        "right",
        title(Metric::Ipw),
    ]);
    for point in points {
        // Every estimate is marked.
        let mark = if point.is_estimated { "~" } else { "" };
        let energy = |unit: Unit, value: Option<f64>| {
            value.map_or(UNKNOWN.to_owned(), |value| {
                format!("{mark}{}", unit.show(value))
            })
        };
        let plain = |value: Option<f64>| Unit::Plain.known(value);
        line([
            &point.load.to_string(),
            &plain(point.requests_per_second),
            &plain(point.goodput_requests_per_second),
            &Unit::Seconds.known(point.latency_p50),
            &Unit::Seconds.known(point.latency_p99),
            &plain(point.tokens_per_second),
            &energy(Unit::Watts, point.watts),
            &energy(Unit::Joules, point.joules_per_output_token),
            &Unit::Share.known(point.accuracy),
            &energy(Unit::PerWatt, point.ipw),
        ]);
    }
    let mut text = format!("\n{text}");
    if points.iter().any(|point| point.is_estimated) {
        text.push_str("~ estimated, not measured\n");
    }
    let _ = writeln!(
        text,
        "\n{}\n{}",
        saturation(axis, points, knee),
        path.display()
    );
    text
}

fn saturation(axis: &str, points: &[Point], knee: &Knee) -> String {
    if grew(points) {
        let load = points.last().map_or(0.0, |point| point.load);
        return format!("At {axis} {load} the queue grew: the service does not keep up.");
    }
    match knee {
        Knee::Found {
            recommended,
            beyond,
            ..
        } => format!(
            "Throughput stopped growing after {axis} {}; {} gave no more.",
            recommended.load, beyond.load
        ),
        Knee::NotReached { .. } => {
            "Throughput still grew at the largest load: no saturation found.".to_owned()
        }
        Knee::CannotTell { .. } => "Too few steady steps to find the saturation point.".to_owned(),
    }
}
