//! `ipw show RUN`.

use anyhow::Context;
use ipw_store::Overview;
use serde_json::{Value, json};

use crate::args::ShowArgs;
use crate::error::{CliError, Exit};
use crate::{calibration, quality, screen};

pub(crate) fn run(args: &ShowArgs) -> Result<Exit, CliError> {
    let run = super::open(&args.run)?;
    let overview = Overview::of(&run).context("counting the rows")?;
    if args.json {
        let shown = json!({ "summary": run.summary(), "overview": overview });
        screen::print(&format!("{shown:#}\n"));
        return Ok(Exit::Done);
    }
    let summary = run.summary();
    let text = |key: &str| {
        summary
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or("unknown")
            .to_owned()
    };
    let head = [
        ("model", run.model().to_owned()),
        ("dataset", text("dataset_name")),
        ("hardware", text("hardware_label")),
        ("status", status(summary)),
    ];
    let part = |key: &str| summary.get(key).unwrap_or(&Value::Null);
    let load = part("load");
    let notes = quality::notes(&overview, part("telemetry"), load);
    let calibrated = calibration::quoted(summary.get("calibration"));
    screen::print(&screen::overview(
        &head,
        &overview,
        (load, summary.get("marginal").unwrap_or(&Value::Null)),
        &calibrated,
        &quality::lines(&notes),
        run.directory(),
    ));
    Ok(Exit::Done)
}

fn status(summary: &Value) -> String {
    let status = summary
        .get("status")
        .and_then(Value::as_str)
        .unwrap_or("unknown");
    let reason = summary.get("reason").and_then(Value::as_str);
    match (status, reason) {
        ("running", _) => {
            "running, or its process was killed: these are the rows so far (`ipw profile --resume` goes on)"
                .to_owned()
        }
        (status, Some(reason)) => format!("{status}: {reason}"),
        (status, None) => status.to_owned(),
    }
}
