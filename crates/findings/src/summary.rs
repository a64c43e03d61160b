//! `summary.json` of a run whose rows have changed.

use ipw_analysis::metric::Values;
use ipw_store::{FORMAT_VERSION, Overview, Run, plan};
use serde_json::{Map, Value, json};

use crate::conclusion::Conclusion;
use crate::{efficiency, quality};

/// Puts into `summary.json` what follows from rows that have changed; what else is there stays.
/// Returns the metrics of the run as it is now.
pub fn renew(summary: &mut Value, overview: &Overview, run: &Run) -> Values {
    if !summary.is_object() {
        *summary = Value::Object(Map::new());
    }
    // Without a plan, the time of full load is unknown.
    let plan = plan::of_run(run.directory()).ok();
    let found = Conclusion::of(run, plan.as_ref().map(|plan| &plan.load), &mut []).ok();
    let (values, load) = found.map_or((None, None), |found| (Some(found.values), found.load));
    // Without them, readers compute the metrics from the rows.
    summary["metrics"] = json!(values);
    let values = values.unwrap_or_default();
    summary["format_version"] = json!(FORMAT_VERSION);
    summary["efficiency"] = json!(efficiency::of(overview, &values));
    summary["efficiency"]["derived"] = json!(load.map(|load| load.derived));
    summary["overview"] = json!(overview);
    let notes = quality::notes(overview, &summary["telemetry"], &summary["load"]);
    summary["quality"] = json!(notes);
    values
}
