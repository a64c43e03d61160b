//! Computes the metrics of a run. Rows become rows of the metric dictionary
//! ([`ipw_analysis::metric`]) only here, so that every view shows the same numbers.

use ipw_analysis::metric::{Frame, Row, Tally, Values};
use ipw_core::row::{self, Fields};
use ipw_store::overview::Counting;
use ipw_store::{Consumer, FORMAT_VERSION, Overview, Run, Status, StoreError};

use crate::survey::Survey;

/// Rows on their way to the metrics of their run.
pub struct Measuring<'a> {
    frame: &'a Frame,
    tally: Tally,
}

impl<'a> Measuring<'a> {
    /// Nothing yet, with the windows of a run.
    pub fn within(frame: &'a Frame) -> Self {
        Self {
            frame,
            tally: Tally::default(),
        }
    }

    /// The metrics.
    pub fn finish(self) -> Values {
        self.tally.finish()
    }
}

impl Consumer for Measuring<'_> {
    fn fields(&self) -> Fields {
        Row::fields()
    }

    fn row(&mut self, row: &row::Row<'_>) {
        self.tally.push(&Row::of(self.frame, row));
    }

    fn wants_more(&mut self) -> bool {
        self.tally.wants_more()
    }
}

/// The rows of a run, counted, and its metrics: those in its summary where they are of its rows,
/// else computed in the same pass.
pub fn counted(run: &Run) -> Result<(Overview, Values), StoreError> {
    if let Some(values) = summarised(run).filter(|_| run.rows().is_ok_and(|rows| is_of(run, rows)))
    {
        return Ok((Overview::of(run)?, values));
    }
    let survey = Survey::of_run(run)?;
    let mut counting = Counting::of(run);
    let mut measuring = Measuring::within(&survey.frame);
    run.feed(&mut [&mut counting, &mut measuring])?;
    Ok((counting.finish(), measuring.finish()))
}

/// Whether the summary was written for this number of rows.
pub fn is_of(run: &Run, rows: u64) -> bool {
    run.summary().total_queries == Some(rows)
}

/// The metrics in the summary of a run, if they are of this version's definitions and its basis.
pub fn summarised(run: &Run) -> Option<Values> {
    let summary = run.summary();
    let is_current = summary.format_version == Some(FORMAT_VERSION)
        && summary.status != Some(Status::Running)
        && summary.basis == Some(run.choice());
    summary.metrics.filter(|_| is_current)
}

/// What to tell of a run whose summary quotes another IPW than its rows give now.
pub fn redefined(run: &Run, values: &Values) -> Option<String> {
    use ipw_analysis::metric::Metric;
    let summary = run.summary();
    let version = summary.format_version?;
    let quoted = summary.efficiency?.bought.intelligence_per_watt?;
    let now = values.get(Metric::Ipw)?;
    let is_other = version < FORMAT_VERSION && (now / quoted - 1.0).abs() > 1e-6;
    let unit = Metric::Ipw.unit();
    is_other.then(|| {
        format!(
            "IPW is {} by the power of the service; this run's summary (format {version}) says {}, by the power of one query's share",
            unit.show(now),
            unit.show(quoted)
        )
    })
}
