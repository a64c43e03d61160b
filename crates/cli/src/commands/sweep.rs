//! `ipw profile --sweep concurrency=1,2,4` and `--find-saturation`: one run for each load, and a
//! table over all of them.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Context;
use ipw_analysis::metric::Metric;
use ipw_analysis::saturation::{Knee, LEAST_GAIN, Step, knee};
use ipw_core::quantity::{UNKNOWN, Unit};
use ipw_core::rollup::is_estimated;
use ipw_core::slug::slug;
use ipw_runner::Rate;
use ipw_store::file::replace;
use serde_json::{Value, json};

use super::profile;
use crate::args::{ProfileArgs, Sweep};
use crate::error::{CliError, Exit};
use crate::swept::{FILE, Point, Swept};
use crate::{naming, screen};

/// Loads that `--find-saturation` tries, each twice the one before.
const DOUBLINGS: u32 = 12;

/// Runs every step, whatever became of the one before, unless it was interrupted.
pub(crate) fn run(args: &ProfileArgs, sweep: &Sweep) -> Result<Exit, CliError> {
    let (parent, model) = directory(args, sweep)?;
    std::fs::create_dir_all(&parent)
        .with_context(|| format!("cannot create `{}`", parent.display()))?;
    let mut points: Vec<Point> = Vec::new();
    let mut worst = Exit::Done;
    for load in loads(sweep) {
        if !args.quiet && !args.json {
            screen::talk(&format!("\n{} {load}", sweep.axis()));
        }
        let step = parent.join(format!(
            "{}_{}",
            sweep.axis(),
            slug(&load.to_string(), "load")
        ));
        let mut own = args.clone();
        own.output_dir = Some(step);
        own.model = Some(model.clone());
        match sweep {
            Sweep::Rate(_) | Sweep::FindRate => own.rate = Some(rate(load)?),
            Sweep::Concurrency(_) | Sweep::Find => own.concurrency = Some(places(load)),
        }
        let place = Arc::new(OnceLock::new());
        let exit = match profile::run_in(own, &place) {
            Ok(exit) => exit,
            // Failed queries are a finding; what makes a run impossible ends the sweep.
            Err(error) if error.exit == Exit::Failed => {
                screen::error(&error);
                Exit::Failed
            }
            Err(error) => return Err(error),
        };
        let run = place.get().context("the step has no directory")?;
        points.push(point(load, run)?);
        if exit == Exit::Interrupted {
            worst = exit;
            break;
        }
        if exit != Exit::Done {
            worst = exit;
        }
        if sweep.is_search() && (is_past(&points) || grew(&points)) {
            break;
        }
    }
    conclude(args, sweep, &parent, &points)?;
    Ok(worst)
}

fn loads(sweep: &Sweep) -> Vec<f64> {
    match sweep {
        Sweep::Concurrency(places) => places.iter().map(|places| real(places.get())).collect(),
        Sweep::Rate(rates) => rates.iter().map(|rate| rate.per_second()).collect(),
        Sweep::Find | Sweep::FindRate => (0..DOUBLINGS).map(|n| f64::from(1_u32 << n)).collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 places")]
fn real(places: usize) -> f64 {
    places as f64
}

fn rate(load: f64) -> Result<Rate, CliError> {
    Rate::try_from(load).map_err(CliError::usage)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it was a number of places"
)]
fn places(load: f64) -> NonZeroUsize {
    NonZeroUsize::new(load as usize).unwrap_or(NonZeroUsize::MIN)
}

/// Where the sweep goes, and the model that all its steps ask.
fn directory(args: &ProfileArgs, sweep: &Sweep) -> Result<(PathBuf, String), CliError> {
    let mut args = args.clone();
    let plan = profile::resolve(&mut args)?;
    let dataset = args.dataset.as_deref().unwrap_or("starter");
    let name = naming::sweep_directory(&plan, dataset, sweep.axis());
    Ok((plan.output.directory.join(name), plan.model))
}

/// What the step's summary says.
fn point(load: f64, run: &Path) -> Result<Point, CliError> {
    let text = std::fs::read(run.join("summary.json")).context("reading the step's summary")?;
    let summary: Value = serde_json::from_slice(&text).context("reading the step's summary")?;
    let number = |pointer: &str| summary.pointer(pointer).and_then(Value::as_f64);
    let basis = summary.pointer("/overview/energy/basis");
    let mut basis = basis.and_then(Value::as_array).into_iter().flatten();
    let is_estimated = basis.any(|one| one.as_str().is_some_and(is_estimated));
    let metric = |metric: Metric| number(&format!("/metrics/{}", metric.name()));
    Ok(Point {
        load,
        is_steady: number("/load/steady/seconds").is_some(),
        requests_per_second: metric(Metric::RequestsPerSecond),
        tokens_per_second: metric(Metric::TokensPerSecond),
        goodput_requests_per_second: number("/load/slo/steady/requests_per_second"),
        latency_p50: metric(Metric::LatencyP50),
        latency_p99: metric(Metric::LatencyP99),
        watts: metric(Metric::Watts),
        joules_per_output_token: metric(Metric::JoulesPerOutputToken),
        ipw: metric(Metric::Ipw),
        is_estimated,
        accuracy: metric(Metric::Accuracy),
        failed: failed(&summary),
        queue: summary
            .pointer("/load/queue/verdict")
            .and_then(Value::as_str)
            .map(str::to_owned),
        directory: run.to_owned(),
    })
}

fn failed(summary: &Value) -> u64 {
    let outcomes = summary
        .pointer("/overview/outcomes")
        .and_then(Value::as_object);
    let is_failed = |name: &str| name.starts_with("failed") || name == "timed_out";
    outcomes
        .into_iter()
        .flatten()
        .filter(|(name, _)| is_failed(name))
        .filter_map(|(_, count)| count.as_u64())
        .sum()
}

fn found(points: &[Point]) -> Knee {
    let steps: Vec<Step> = points
        .iter()
        .filter(|point| point.is_steady)
        .filter_map(|point| {
            Some(Step {
                load: point.load,
                throughput: point.requests_per_second?,
                goodput: point.goodput_requests_per_second,
                latency: point.latency_p50,
            })
        })
        .collect();
    knee(&steps, LEAST_GAIN)
}

/// Whether two loads beyond the knee brought nothing more: one may be chance.
fn is_past(points: &[Point]) -> bool {
    match found(points) {
        Knee::Found { recommended, .. } => {
            let beyond = points.iter().filter(|point| point.load > recommended.load);
            beyond.count() >= 2
        }
        _ => false,
    }
}

fn grew(points: &[Point]) -> bool {
    points
        .last()
        .is_some_and(|point| point.queue.as_deref() == Some("growing"))
}

fn conclude(
    args: &ProfileArgs,
    sweep: &Sweep,
    parent: &Path,
    points: &[Point],
) -> Result<(), CliError> {
    let knee = found(points);
    let swept = Swept {
        axis: sweep.axis().to_owned(),
        points: points.to_vec(),
        knee,
    };
    let summary = json!(swept);
    let path = parent.join(FILE);
    replace(&path, format!("{summary:#}\n").as_bytes(), false)
        .with_context(|| format!("cannot write `{}`", path.display()))?;
    if args.json {
        screen::print(&format!(
            "{}\n",
            json!({ "event": "sweep", "sweep": summary })
        ));
    } else if !args.quiet {
        screen::print(&table(&swept, &path));
    }
    Ok(())
}

/// The steps side by side, and where they saturate.
pub(super) fn table(swept: &Swept, path: &Path) -> String {
    let Swept { axis, points, knee } = swept;
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
        // An estimate is called one wherever it stands.
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
            "Throughput stopped growing after {axis} {}: {} brought no more.",
            recommended.load, beyond.load
        ),
        Knee::NotReached { .. } => {
            "Throughput still grew at the largest load: saturation was not reached.".to_owned()
        }
        Knee::CannotTell { .. } => "Too few steady steps to tell where it saturates.".to_owned(),
    }
}
