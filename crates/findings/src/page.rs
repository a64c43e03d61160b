//! What the report of a run says, as plain data: one pass over the rows, one over the readings.
//!
//! Whatever a run lacks (it still goes on, it was killed, an older version wrote it) is left out or
//! said to be missing; only a run that cannot be read is an error. How a page looks, and its
//! drawings, are up to `ipw-report`.

mod budget;
mod calibration;
mod content;
mod headline;
mod lines;
mod manifest;
mod pass;
mod redact;
mod tables;
mod warnings;

use std::collections::BTreeMap;

use ipw_analysis::metric::Values;
use ipw_core::setting::Setting;
use ipw_core::warning::{Kind, RunKind, Warning};
use ipw_store::{Overview, Run, Status, StoreError, Summary};

use crate::look::{Look, LookOptions};
use crate::timeline::Timeline;
use crate::written::{duration, moment};
use crate::{failures, quality};
use pass::Pass;

pub use content::{
    About, Calibration, Cell, Column, Figure, Headline, How, LineShare, Page, Queries, QueryLine,
    Section, Table, Text,
};

/// What a page is made with beside the run itself.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The metrics of the run.
    pub values: Values,
    /// Leave out texts, names and places.
    pub redact: bool,
    /// Warnings about the data beside those that the page adds.
    pub warnings: Vec<Warning>,
}

/// What everything below looks at.
struct Inputs<'a> {
    run: &'a Run,
    overview: &'a Overview,
    pass: &'a Pass,
    values: &'a Values,
}

impl Inputs<'_> {
    fn summary(&self) -> &Summary {
        self.run.summary()
    }

    /// Whether the headline's joules are a model's.
    fn is_estimated(&self) -> bool {
        self.overview.energy.is_estimated()
    }
}

impl Page {
    /// The report of a run without drawings, and the look at the run that drawings are made from.
    /// With `redact` there are no prompts, replies and names. `overview` is [`Overview::of`] the
    /// same run.
    pub fn of_run<'a>(
        run: &'a Run,
        overview: &Overview,
        redact: bool,
    ) -> Result<(Self, Look<'a>), StoreError> {
        let mut warnings = failures::warnings(overview, redact);
        let of_run = quality::of_run(run, overview).into_iter();
        warnings.extend(of_run.filter(|warning| !is_said(warning)));
        let mut pass = Pass::of(overview, redact);
        let look = Look::at(
            run,
            Some(overview.clone()),
            LookOptions::PAGE,
            &mut [&mut pass],
        )?;
        let options = Options {
            values: look.values,
            redact,
            warnings,
        };
        pass.finish();
        let timeline = look.timeline_of(pass.extents.clone());
        let page = Self::from_pass(run, overview, pass, timeline, options);
        Ok((page, look))
    }

    /// The same from metrics and warnings that are known; only those that a page adds are found.
    pub fn of(run: &Run, overview: &Overview, options: Options) -> Result<Self, StoreError> {
        let mut pass = Pass::of(overview, options.redact);
        run.feed(&mut [&mut pass])?;
        pass.finish();
        let timeline = Timeline::of(run, pass.extents.clone());
        Ok(Self::from_pass(run, overview, pass, timeline, options))
    }

    /// The same from a pass that is over. Parts stand one behind the other on the timeline, and
    /// the lines move with them.
    fn from_pass(
        run: &Run,
        overview: &Overview,
        mut pass: Pass,
        (timeline, offsets): (Timeline, BTreeMap<u32, f64>),
        options: Options,
    ) -> Self {
        pass.lines.shift(&offsets);
        let queries = pass::queries(std::mem::take(&mut pass.lines), overview);
        let known = Inputs {
            run,
            overview,
            pass: &pass,
            values: &options.values,
        };
        let mut warnings = warnings::of(&known);
        warnings.extend(options.warnings);
        warnings.sort_by_key(|warning| warning.severity);
        let page = Self {
            about: about(&known),
            lede: headline::lede(&known),
            headline: headline::of(&known),
            basis: run.choice(),
            metrics: options.values,
            warnings,
            tables: tables::of(&known),
            figures: Vec::new(),
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

/// Whether a page says a warning in words of its own.
fn is_said(warning: &Warning) -> bool {
    use RunKind::{Estimated, RowsWithoutEnergy};
    matches!(warning.kind, Kind::Run(Estimated | RowsWithoutEnergy))
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

fn read_plan(run: &Run) -> Option<String> {
    let plan = ipw_store::file::read(&run.directory().join("plan.toml")).ok()?;
    String::from_utf8(plan).ok()
}
