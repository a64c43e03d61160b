//! Power over time, with the queries.

use std::collections::BTreeMap;

use ipw_plot::{
    Arrangement, Caption, Ending, Interval, Origin, PowerSource, PowerTimeline, Slot, Span,
};
use ipw_report::{Series, Timeline};
use serde_json::{Value, json};

use super::figures::Drawing;
use super::{Line, Look};

/// The timeline, and the queries on it.
fn timeline(look: &Look<'_>) -> (Timeline, Vec<Span>) {
    let mut extents: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    let lasted = |line: &Line| line.start.get().zip(line.end.get());
    for line in &look.lines {
        if let Some((start, end)) = lasted(line) {
            let extent = extents.entry(line.part).or_insert((start, end));
            *extent = (extent.0.min(start), extent.1.max(end));
        }
    }
    let (timeline, offsets) = Timeline::of(look.run, extents);
    let span = |line: &Line| {
        let (start, end) = lasted(line)?;
        let offset = offsets.get(&line.part)?;
        Some(Span {
            start: start + offset,
            end: end + offset,
            ending: match (line.is_answered, line.is_complete) {
                (false, _) => Ending::Failed,
                (true, false) => Ending::Truncated,
                (true, true) => Ending::Complete,
            },
        })
    };
    let spans = look.lines.iter().filter_map(span).collect();
    (timeline, spans)
}

pub(super) fn figure(look: &Look<'_>) -> Option<Drawing> {
    let (timeline, queries) = timeline(look);
    // What lies within another source would be seen twice.
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
        method: look.method(),
        notes: Vec::new(),
    };
    let what = "Power over time";
    let heading = look.heading(what, caption);
    let figure = PowerTimeline {
        heading,
        sources: seen.into_iter().map(source).collect(),
        arrangement: Arrangement::Overlaid,
        queries,
    };
    Some(Drawing::new("timeline", what, figure, PowerTimeline::svg))
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

/// Power by source and queries in flight, in at most so many pieces.
pub(super) fn buckets(look: &Look<'_>, most: u32) -> Value {
    let (timeline, queries) = timeline(look);
    let spans: Vec<_> = queries.iter().map(|span| (span.start, span.end)).collect();
    let whole = (0.0, timeline.seconds);
    let series = timeline.series.iter().map(|series| {
        let steps: Vec<_> = series.segments.iter().flat_map(steps).collect();
        json!({
            "source": series.name,
            "is_estimated": series.is_estimated,
            "is_nested": series.is_nested,
            "idle_watts": series.idle,
            "buckets": ipw_analysis::timeline::timeline(&steps, &spans, whole, most),
        })
    });
    json!({
        "seconds": timeline.seconds,
        "parts": timeline.parts,
        "sources": series.collect::<Vec<_>>(),
    })
}

fn steps(segment: &ipw_report::Segment) -> Vec<ipw_analysis::timeline::Step> {
    let place = |place: u32| segment.start + segment.width * f64::from(place);
    let means = segment.mean.iter().zip(0_u32..);
    means
        .filter_map(|(mean, at)| {
            Some(ipw_analysis::timeline::Step {
                from: place(at),
                until: place(at + 1),
                watts: (*mean)?,
            })
        })
        .collect()
}
