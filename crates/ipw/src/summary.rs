//! The first `summary.json` of a run: the plan in the original's terms.

use std::num::NonZeroU64;
use std::path::Path;

use ipw_core::dataset::Dataset;
use ipw_core::params::Params;
use ipw_core::plan::{Plan, Stop};
use ipw_core::slug::model_label;
use ipw_core::time::Clock;
use ipw_findings::calibration;
use ipw_store::Summary;
use ipw_store::resume::EarlierParts;
use ipw_store::summary::{GivenParameters, Part, ProfilerConfig};
use serde_json::{Map, Value};

use crate::hardware::Hardware;

pub(crate) fn new(
    plan: &Plan,
    clock: &dyn Clock,
    dataset: &dyn Dataset,
    hardware: &Hardware,
    directory: &Path,
    left: &EarlierParts,
) -> Summary {
    let anchor = clock.anchor();
    let this = Part {
        part: left.next_part,
        anchor,
    };
    Summary {
        model: Some(model_label(&plan.model)),
        profiler_config: Some(profiler_config(plan)),
        dataset: Some(dataset.id().to_owned()),
        dataset_name: Some(dataset.name().to_owned()),
        hardware_label: Some(hardware.label.clone()),
        basis: Some(plan.telemetry.basis),
        generated_at: Some(anchor.unix_seconds(clock.now())),
        system_info: Some(hardware.system.clone()),
        gpu_info: hardware.gpu_info(),
        parts: left.parts.iter().copied().chain([this]).collect(),
        calibration: calibration::of(&hardware.label),
        name: plan.name.clone(),
        tags: plan.tags.clone(),
        scoring: left.scoring.clone(),
        ..Summary::begun(directory, anchor)
    }
}

/// The original's configuration, key by key; null where a key does not apply.
fn profiler_config(plan: &Plan) -> ProfilerConfig {
    let max_queries = match plan.load.stop {
        Stop::Exhausted => None,
        Stop::After(most) => Some(most),
    };
    let params = |params: &Params| {
        let params = params.clone().into_iter();
        let params = params.map(|(name, text)| (name, Value::from(text)));
        GivenParameters::from(params.collect::<Map<_, _>>())
    };
    let places = plan.load.arrivals.concurrency();
    ProfilerConfig {
        dataset_id: Some(plan.dataset.id.clone()),
        client_id: Some(plan.client.id.clone()),
        client_base_url: plan.client.base_url.clone(),
        dataset_params: Some(params(&plan.dataset.params)),
        client_params: Some(params(&plan.client.params)),
        model: Some(plan.model.clone()),
        output_dir: Some(plan.output.directory.display().to_string()),
        max_concurrency: places.map(|places| places.get() as u64),
        max_queries: max_queries.map(NonZeroU64::get),
        additional_parameters: Some(plan.generation.parameters.clone().into()),
        warmup_queries: Some(plan.load.warmup.into()),
        ..ProfilerConfig::default()
    }
}
