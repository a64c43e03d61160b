//! `summary.json` of a new run: the plan in the original's words.

use std::path::Path;

use ipw_core::dataset::Dataset;
use ipw_core::plan::{Plan, Stop};
use ipw_core::slug::model_label;
use ipw_core::time::Clock;
use ipw_findings::calibration;
use ipw_store::Summary;
use ipw_store::resume::Left;
use ipw_store::summary::Part;
use serde_json::{Value, json};

use crate::hardware::Hardware;

pub(crate) fn new(
    plan: &Plan,
    clock: &dyn Clock,
    dataset: &dyn Dataset,
    hardware: &Hardware,
    directory: &Path,
    left: &Left,
) -> Summary {
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
        parts: left.parts.iter().copied().chain([this]).collect(),
        calibration: calibration::of(&hardware.label),
        name: plan.name.clone(),
        tags: plan.tags.clone(),
        ..Summary::begun(directory, anchor)
    }
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
