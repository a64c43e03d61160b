//! The end of a run: writes the summary of its rows, and reports the outcome to observers.

use std::path::Path;

use ipw_core::attribution::Weights;
use ipw_core::event::Event;
use ipw_core::plan::Plan;
use ipw_core::setting::Setting;
use ipw_core::telemetry::Telemetry;
use ipw_core::text::with_causes;
use ipw_core::time::{Clock, Timestamp};
use ipw_findings::conclusion::Conclusion;
use ipw_findings::{attribution, efficiency, quality};
use ipw_runner::idle::IdleMeasurements;
use ipw_runner::{Notices, RunEnd, RunError};
use ipw_store::summary::EfficiencySummary;
use ipw_store::writer::Finished as Stored;
use ipw_store::{Overview, Run, RunWriter, Status, StoreError, Summary};
use ipw_telemetry::SelfTest;

use crate::error::Error;
use crate::hardware::Hardware;
use crate::pauses::{PauseCounter, SideObservations};

/// Everything that the summary needs once the last query has ended.
pub(super) struct Ending<'a> {
    pub(super) plan: &'a Plan,
    pub(super) clock: &'a dyn Clock,
    pub(super) hardware: &'a Hardware,
    /// Results of the sources' self-tests after the warm-up.
    pub(super) self_tests: &'a [SelfTest],
    pub(super) idled: &'a IdleMeasurements,
    pub(super) beside: SideObservations,
    pub(super) ended: &'a Result<RunEnd, RunError>,
}

impl Ending<'_> {
    /// Closes the store and writes the final summary.
    pub(super) fn store(self, writer: RunWriter) -> Result<Stored, StoreError> {
        writer.conclude(status_of(self.ended), |summary, run| {
            self.summarise(summary, run)
        })
    }

    fn summarise(self, summary: &mut Summary, run: &Run) -> Result<Overview, StoreError> {
        let Self {
            plan,
            clock,
            hardware,
            idled,
            ..
        } = self;
        let elapsed = clock.now().since(Timestamp::ZERO);
        summary.server_metrics = self.beside.server_metrics;
        let part = summary.parts.last().map_or(0, |part| part.part);
        let mut pauses = PauseCounter::of(part, &self.beside.pauses);
        let Conclusion {
            overview,
            values,
            load,
        } = Conclusion::of(run, Some(&plan.load), &mut [&mut pauses])?;
        summary.telemetry = Some(Telemetry {
            pauses: pauses.into_pauses(),
            ..hardware.summary(elapsed, self.self_tests, idled)
        });
        summary.metrics = Some(values);
        summary.efficiency = Some(EfficiencySummary {
            bought: efficiency::of(&overview, &values),
            derived: load.as_ref().map(|load| load.derived),
        });
        summary.load = load.map(|load| load.load);
        let (telemetry, load) = (summary.telemetry.as_ref(), summary.load.as_ref());
        summary.quality = Some(quality::warnings(&overview, telemetry, load));
        let at = clock.anchor().unix_seconds(clock.now());
        let idle = hardware.idle_used(part, idled);
        summary.attribution = Some(attribution::of(Weights::Equal, &idle, &overview, at));
        summary.marginal = hardware.marginal(&overview, run);
        summary.generated_at = Some(clock.anchor().unix_seconds(clock.now()));
        summary.reason = reason(self.ended, &overview);
        Ok(overview)
    }
}

/// Why the run is not complete; `None` if it is.
fn reason(ended: &Result<RunEnd, RunError>, overview: &Overview) -> Option<String> {
    match ended {
        Err(error) => Some(with_causes(error)),
        Ok(RunEnd::Interrupted) => Some("stopped by a signal".to_owned()),
        Ok(RunEnd::Failing { failed, sent }) => Some(format!(
            "{failed} of {sent} queries failed, more than `{}` allows",
            Setting::MaxErrorRate
        )),
        Ok(RunEnd::Complete) if overview.rows == 0 => Some("the dataset has no rows".to_owned()),
        Ok(RunEnd::Complete) => None,
    }
}

pub(super) fn status_of(ended: &Result<RunEnd, RunError>) -> Status {
    match ended {
        Ok(RunEnd::Complete) => Status::Complete,
        Ok(RunEnd::Interrupted) => Status::Interrupted,
        Ok(RunEnd::Failing { .. }) | Err(_) => Status::Failed,
    }
}

/// Sends the outcome to the observers, and waits until they have handled it.
pub(super) fn announce(
    stored: &Result<Stored, StoreError>,
    status: Status,
    aside: Option<&Path>,
    notices: Notices,
) {
    let status = if stored.is_ok() {
        status
    } else {
        Status::Failed
    };
    let rows = stored.as_ref().map_or(0, |stored| stored.overview.rows);
    for message in stored.iter().flat_map(|stored| &stored.warnings) {
        notices.send(Event::Warning {
            message: message.clone(),
        });
    }
    if let (Some(old), false) = (aside, status == Status::Complete) {
        let message = format!("the previous run is kept at `{}`", old.display());
        notices.send(Event::Warning { message });
    }
    notices.finish(|notices_dropped| Event::RunFinished {
        status: status.label().to_owned(),
        rows,
        notices_dropped,
    });
}

/// Reported in place of the run's error, because it is the reason why appends to the sink failed.
pub(super) fn not_stored(error: StoreError, directory: &Path) -> Error {
    let error = Error::from(anyhow::Error::from(error).context("storing the rows"));
    error.left(directory).with_help(format!(
        "committed rows are in `{}`; fix the cause, then resume the run",
        directory.display()
    ))
}
