//! The summary of a run whose rows have changed.

use ipw_analysis::metric::Values;
use ipw_store::summary::EfficiencySummary;
use ipw_store::{FORMAT_VERSION, Overview, Run, Summary, plan};

use crate::conclusion::Conclusion;
use crate::{efficiency, quality};

/// Puts into the summary what follows from rows that have changed; what else is there stays.
/// Returns the metrics of the run as it is now.
pub fn renew(summary: &mut Summary, overview: &Overview, run: &Run) -> Values {
    // Without a plan, the time of full load is unknown.
    let plan = plan::of_run(run.directory()).ok();
    let found = Conclusion::of(run, plan.as_ref().map(|plan| &plan.load), &mut []).ok();
    let (values, load) = found.map_or((None, None), |found| (Some(found.values), found.load));
    // Without them, readers compute the metrics from the rows.
    summary.metrics = values;
    let values = summary.metrics.unwrap_or_default();
    summary.format_version = Some(FORMAT_VERSION);
    summary.efficiency = Some(EfficiencySummary {
        bought: efficiency::of(overview, &values),
        derived: load.map(|load| load.derived),
    });
    let (telemetry, load) = (summary.telemetry.as_ref(), summary.load.as_ref());
    summary.quality = Some(quality::warnings(overview, telemetry, load));
    summary.overview = Some(overview.clone());
    values
}
