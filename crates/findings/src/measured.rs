//! The metrics of a run: the one place where its rows become the rows of the dictionary
//! ([`ipw_analysis::metric`]), whatever shows them afterwards.

use ipw_analysis::latency;
use ipw_analysis::metric::{Frame, Row, Tally, Values};
use ipw_analysis::steady::Flights;
use ipw_store::queries::QueryRow;
use ipw_store::{FORMAT_VERSION, Overview, Run, Status, StoreError, plan};

use crate::load;

/// The windows of a run. Without a plan the whole run counts.
pub fn frame(run: &Run) -> Result<Frame, StoreError> {
    let mut flights = Flights::default();
    run.for_each(|instants| flights.push(&load::row(instants)))?;
    let plan = plan::of_run(run.directory()).ok();
    let load = plan.map(|plan| load::kind(&plan.load));
    Ok(Frame::of(&flights, load))
}

/// A row as metrics are computed from it; `frame` is that of its run.
pub fn row<'a>(frame: &Frame, row: &QueryRow<'a>) -> Row<'a> {
    let at = row.instants;
    let instants = latency::Row {
        part: row.part,
        due: at.due,
        start: at.start,
        sent: at.sent,
        first_token: at.first_token,
        first_answer_token: None,
        end: at.end,
        chunks: row.chunks,
        output_tokens: row.output_tokens,
        is_answered: row.is_answered,
    };
    let latency = instants.latency();
    let joules = row.energy.joules;
    let is_prefill = row
        .phases
        .kind
        .is_some_and(|kind| kind != "wait_and_prefill");
    Row {
        query: row.id,
        joules,
        prefill_joules: row.phases.before.filter(|_| is_prefill),
        decode_joules: row.phases.after,
        seconds: at.end.zip(at.start).map(|(end, start)| end - start),
        input_tokens: row.input_tokens,
        output_tokens: row.output_tokens,
        total_tokens: row
            .input_tokens
            .zip(row.output_tokens)
            .map(|(input, output)| input + output),
        first_token: latency
            .first_token
            .planned
            .or(row.time_to_first_token_seconds),
        latency: latency.total.planned.or(row.total_seconds),
        sent_first_token: latency.first_token.sent.or(row.time_to_first_token_seconds),
        sent_latency: latency.total.sent.or(row.total_seconds),
        per_output_token: latency.per_output_token,
        is_answered: row.is_answered,
        is_correct: row.is_correct,
        is_good: row.is_slo_met,
        placed: frame.place(&instants, joules),
    }
}

/// The metrics of a run with these windows.
pub fn within(run: &Run, frame: &Frame) -> Result<Values, StoreError> {
    let mut tally = Tally::default();
    run.for_each_query(|one| tally.push(&row(frame, one)))?;
    Ok(tally.finish())
}

/// The metrics of a run: those in its summary if they are of its rows, of its basis and of this
/// version's definitions, else computed from the rows.
pub fn values(run: &Run, overview: &Overview) -> Result<Values, StoreError> {
    match stored(run, overview) {
        Some(values) => Ok(values),
        None => within(run, &frame(run)?),
    }
}

fn stored(run: &Run, overview: &Overview) -> Option<Values> {
    summarised(run).filter(|_| run.summary().total_queries == Some(overview.rows))
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
