//! From a run to a page: one pass over the rows, one over the readings.
//!
//! Whatever a run lacks (it still goes on, it was killed, an older version wrote it) is left out or
//! said to be missing; only a run that cannot be read is an error.

mod budget;
mod calibration;
mod headline;
mod lines;
mod manifest;
mod pass;
mod tables;
mod warnings;

use ipw_analysis::metric::Values;
use ipw_core::setting::Setting;
use ipw_core::warning::Warning;
use ipw_findings::timeline::Timeline;
use ipw_store::{Overview, Run, Status, StoreError, Summary};

use crate::page::{About, Figure, Page};
use crate::redact;
use crate::words::{duration, moment};
pub(crate) use pass::Pass;

/// What a page is made with beside the run itself.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The metrics of the run.
    pub values: Values,
    /// Leave out texts, names and places.
    pub redact: bool,
    /// Warnings about the data beside those that the page adds.
    pub warnings: Vec<Warning>,
    /// Drawings.
    pub figures: Vec<Figure>,
}

/// What everything below looks at.
pub(crate) struct Inputs<'a> {
    pub(crate) run: &'a Run,
    pub(crate) overview: &'a Overview,
    pub(crate) pass: &'a Pass,
    pub(crate) values: &'a Values,
}

impl Inputs<'_> {
    pub(crate) fn summary(&self) -> &Summary {
        self.run.summary()
    }

    /// Whether the headline's joules are a model's.
    pub(crate) fn is_estimated(&self) -> bool {
        self.overview.energy.is_estimated()
    }
}

impl Page {
    /// Gathers what a run says. `overview` is [`Overview::of`] the same run.
    pub fn of(run: &Run, overview: &Overview, options: &Options) -> Result<Self, StoreError> {
        let mut pass = Pass::of(overview, options.redact);
        run.feed(&mut [&mut pass])?;
        Ok(Self::from_pass(run, overview, pass, options))
    }

    /// The same from a pass that has seen all rows.
    pub(crate) fn from_pass(
        run: &Run,
        overview: &Overview,
        mut pass: Pass,
        options: &Options,
    ) -> Self {
        pass.finish();
        let timeline = timeline(run, &mut pass);
        let queries = pass::queries(std::mem::take(&mut pass.lines), overview);
        let known = Inputs {
            run,
            overview,
            pass: &pass,
            values: &options.values,
        };
        let mut warnings = warnings::of(&known);
        warnings.extend(options.warnings.iter().cloned());
        warnings.sort_by_key(|warning| warning.severity);
        let page = Self {
            about: about(&known),
            lede: headline::lede(&known),
            headline: headline::of(&known),
            basis: run.choice(),
            metrics: options.values,
            warnings,
            tables: tables::of(&known),
            figures: options.figures.clone(),
            timeline,
            queries,
            manifest: manifest::of(&known),
            calibration: calibration::of(&known),
            plan: read_plan(run),
            command: format!(
                "ipw profile {} {}",
                Setting::Plan.to("plan.toml"),
                Setting::OutputDir.to("again")
            ),
            is_redacted: false,
        };
        if options.redact {
            redact::page(page, run)
        } else {
            page
        }
    }
}

fn about(known: &Inputs<'_>) -> About {
    let summary = known.summary();
    let started = summary.parts.first().map(|part| part.anchor.unix_nanos);
    let status = summary.status.map_or("unknown", Status::label);
    let versions = summary.versions.as_ref();
    About {
        model: known.run.model().to_owned(),
        name: summary.name.clone(),
        dataset: summary.dataset_name.clone(),
        hardware: summary.hardware_label.clone(),
        status: status.to_owned(),
        reason: summary.reason.clone(),
        started: started.and_then(moment),
        duration: known.overview.elapsed_seconds.map(duration),
        rows: known.overview.rows,
        ipw: versions.and_then(|versions| Some(versions.ipw.as_ref()?.to_string())),
    }
}

/// Puts parts one behind the other, and moves the lines with them.
fn timeline(run: &Run, pass: &mut Pass) -> Timeline {
    let (timeline, offsets) = Timeline::of(run, pass.extents.clone());
    pass.lines.shift(&offsets);
    timeline
}

fn read_plan(run: &Run) -> Option<String> {
    let plan = ipw_store::file::read(&run.directory().join("plan.toml")).ok()?;
    String::from_utf8(plan).ok()
}
