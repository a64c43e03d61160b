//! Power over time, with the queries.

use ipw_findings::look::Look;
use ipw_findings::timeline::{Flight, Series};
use ipw_plot::{
    Arrangement, Caption, Interval, Origin, PowerSource, PowerTimeline, QueryOutcome, Slot, Span,
};

use super::{Drawing, heading, method};

pub(super) fn figure(look: &Look<'_>) -> Option<Drawing> {
    let (timeline, flights) = look.timeline();
    let queries: Vec<Span> = flights.iter().map(span).collect();
    // Leave out sources contained in another source: their power would show twice.
    let seen: Vec<&Series> = timeline
        .series
        .iter()
        .filter(|series| !series.is_nested)
        .collect();
    if seen.is_empty() && queries.is_empty() {
        return None;
    }
    let caption = Caption {
        n: Some(queries.len()),
        interval: Some("band: least and most power".to_owned()),
        method: method(look),
        notes: Vec::new(),
    };
    let what = "Power over time";
    let heading = heading(look, what, caption);
    let figure = PowerTimeline {
        heading,
        sources: seen.into_iter().map(source).collect(),
        arrangement: Arrangement::Overlaid,
        queries,
    };
    Some(Drawing::new("timeline", what, figure, PowerTimeline::svg))
}

fn span(flight: &Flight) -> Span {
    Span {
        start: flight.start,
        end: flight.end,
        ending: match (flight.is_answered, flight.is_complete) {
            (false, _) => QueryOutcome::Failed,
            (true, false) => QueryOutcome::Truncated,
            (true, true) => QueryOutcome::Complete,
        },
    }
}

fn source(series: &Series) -> PowerSource {
    let slots = series.segments.iter().flat_map(|segment| {
        let powers = segment.min.iter().zip(&segment.mean).zip(&segment.max);
        powers.zip(0_u32..).map(|(((min, mean), max), place)| Slot {
            at: segment.start + segment.width * (f64::from(place) + 0.5),
            mean: *mean,
            range: min.zip(*max).map(|(low, high)| Interval { low, high }),
        })
    });
    PowerSource {
        name: series.name.clone(),
        slots: slots.collect(),
        idle: series.idle,
        origin: if series.is_estimated {
            Origin::Estimated
        } else {
            Origin::Measured
        },
    }
}
