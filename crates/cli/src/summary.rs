//! `summary.json` of a new run: the plan in the original's words.

use std::path::Path;

use ipw_analysis::metric::Values;
use ipw_core::slug::model_label;
use ipw_runner::{Plan, Stop};
use ipw_store::resume::Left;
use ipw_store::summary::Part;
use ipw_store::{FORMAT_VERSION, Overview, Run, Summary};
use serde_json::{Map, Value, json};

use crate::commands::profile::Profile;
use crate::hardware::Hardware;
use crate::settings::stored_plan;
use crate::{calibration, grading, load, measured, quality};

pub(crate) fn new(
    profile: &Profile,
    hardware: &Hardware,
    directory: &Path,
    client_info: Value,
    left: &Left,
) -> Summary {
    let Profile {
        plan,
        dataset,
        clock,
        ..
    } = profile;
    let anchor = clock.anchor();
    let this = Part {
        part: left.next_part,
        anchor,
    };
    Summary {
        model: model_label(&plan.model),
        profiler_config: profiler_config(plan),
        dataset: dataset.id().to_owned(),
        dataset_name: dataset.name().to_owned(),
        hardware_label: hardware.label.clone(),
        basis: plan.telemetry.basis,
        generated_at: anchor.unix_seconds(clock.now()),
        system_info: Some(hardware.system.clone()),
        gpu_info: hardware.gpu_info(),
        client_info: Some(client_info),
        parts: left.parts.iter().copied().chain([this]).collect(),
        calibration: calibration::of(&hardware.label),
        name: plan.name.clone(),
        tags: plan.tags.clone(),
        ..Summary::begun(directory, anchor)
    }
}

/// Puts into `summary.json` what follows from rows that have changed; what else is there stays.
/// Returns the metrics of the run as it is now.
pub(crate) fn renew(summary: &mut Value, overview: &Overview, run: &Run) -> Values {
    if !summary.is_object() {
        *summary = Value::Object(Map::new());
    }
    // Without a plan nobody knows when the load was full.
    let plan = stored_plan(run.directory()).ok();
    let load = plan.and_then(|plan| load::findings(run, &plan.load).ok());
    let frame = load.as_ref().map(|load| load.frame.clone());
    let frame = frame.map_or_else(|| measured::frame(run), Ok);
    let values = frame.and_then(|frame| measured::within(run, &frame)).ok();
    // Without them, readers compute the metrics from the rows.
    summary["metrics"] = json!(values);
    let values = values.unwrap_or_default();
    summary["format_version"] = json!(FORMAT_VERSION);
    summary["efficiency"] = json!(grading::efficiency(overview, &values));
    summary["efficiency"]["derived"] = json!(load.map(|load| load.derived));
    summary["overview"] = json!(overview);
    let notes = quality::notes(overview, &summary["telemetry"], &summary["load"]);
    summary["quality"] = json!(notes);
    values
}

/// The original's configuration, key by key; null where it has no meaning here.
fn profiler_config(plan: &Plan) -> Value {
    let max_queries = match plan.load.stop {
        Stop::Exhausted => None,
        Stop::After(most) => Some(most),
    };
    json!({
        "dataset_id": plan.dataset.id,
        "client_id": plan.client.id,
        "client_base_url": plan.client.base_url,
        "dataset_params": plan.dataset.params,
        "client_params": plan.client.params,
        "model": plan.model,
        "output_dir": plan.output.directory.display().to_string(),
        "max_concurrency": plan.load.arrivals.concurrency(),
        "max_queries": max_queries,
        "phased_profiling": null,
        "run_hardware_benchmarks": null,
        "additional_parameters": plan.generation.parameters,
        "warmup_queries": plan.load.warmup,
        "telemetry_buffer_seconds": null,
        "telemetry_max_samples": null,
    })
}
