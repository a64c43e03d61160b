//! Power and queries over time.

pub(crate) mod power;

use std::collections::BTreeMap;

use ipw_analysis::timeline::Traffic;
use ipw_store::Run;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::look::{Line, Look};
use power::Power;

/// Power and queries over time; seconds count from the beginning of the first part, and parts
/// stand one behind the other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// How long it is.
    pub seconds: f64,
    /// Where parts begin.
    pub parts: Vec<f64>,
    /// Power by source.
    pub series: Vec<Series>,
}

/// The power of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The source.
    pub name: String,
    /// Whether it is a model's.
    pub is_estimated: bool,
    /// Whether another source contains it or is contained in it.
    pub is_nested: bool,
    /// Its idle power, in watts.
    pub idle: Option<f64>,
    /// A stretch for each part.
    pub segments: Vec<Segment>,
}

/// An even stretch of a series; `None` where nothing was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Where it begins, in seconds.
    pub start: f64,
    /// How long each bucket is, in seconds.
    pub width: f64,
    /// Least power in each bucket, in watts.
    pub min: Vec<Option<f64>>,
    /// Mean power.
    pub mean: Vec<Option<f64>>,
    /// Largest power.
    pub max: Vec<Option<f64>>,
}

impl Timeline {
    /// The power of a run's sources, parts one behind the other, and what to add to the instants
    /// of each part. `extents` is from when until when the queries of each part lasted.
    pub fn of(run: &Run, extents: BTreeMap<u32, (f64, f64)>) -> (Self, BTreeMap<u32, f64>) {
        Self::drawn(run, &power::of(run), extents)
    }

    /// The same of sources whose readings have been gone through.
    pub(crate) fn drawn(
        run: &Run,
        sources: &[Power],
        mut extents: BTreeMap<u32, (f64, f64)>,
    ) -> (Self, BTreeMap<u32, f64>) {
        for source in sources {
            let Some((from, until)) = source.extent() else {
                continue;
            };
            let extent = extents.entry(source.part).or_insert((from, until));
            *extent = (extent.0.min(from), extent.1.max(until));
        }
        let mut offsets = BTreeMap::new();
        let mut parts = Vec::new();
        let mut end = 0.0;
        for (part, (from, until)) in extents {
            offsets.insert(part, end - from);
            parts.push(end);
            end += until - from;
        }
        let timeline = Self {
            seconds: end,
            parts,
            series: power::series(sources, &offsets, run.summary()),
        };
        (timeline, offsets)
    }
}

/// A query on a timeline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flight {
    /// When it began, in seconds of the timeline.
    pub start: f64,
    /// When it was over.
    pub end: f64,
    /// Whether it was answered.
    pub is_answered: bool,
    /// Whether the reply was complete.
    pub is_complete: bool,
}

impl Look<'_> {
    /// [`Timeline::of`] the run, from what was read already if it was.
    pub(crate) fn timeline_of(
        &self,
        extents: BTreeMap<u32, (f64, f64)>,
    ) -> (Timeline, BTreeMap<u32, f64>) {
        match &self.power {
            Some(power) => Timeline::drawn(self.run, power, extents),
            None => Timeline::of(self.run, extents),
        }
    }

    /// The timeline, and the queries on it.
    pub fn timeline(&self) -> (Timeline, Vec<Flight>) {
        let mut extents: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for line in &self.lines {
            if let Some((start, end)) = line.span() {
                let extent = extents.entry(line.part).or_insert((start, end));
                *extent = (extent.0.min(start), extent.1.max(end));
            }
        }
        let (timeline, offsets) = self.timeline_of(extents);
        let flight = |line: &Line| {
            let (start, end) = line.span()?;
            let offset = offsets.get(&line.part)?;
            Some(Flight {
                start: start + offset,
                end: end + offset,
                is_answered: line.is_answered,
                is_complete: line.is_complete,
            })
        };
        let flights = self.lines.iter().filter_map(flight).collect();
        (timeline, flights)
    }
}

/// Power by source and queries in flight, in `most` pieces at the most.
pub fn buckets(look: &Look<'_>, most: u32) -> Value {
    let (timeline, queries) = look.timeline();
    let spans = queries.into_iter().map(|span| (span.start, span.end));
    let traffic = Traffic::of(spans, (0.0, timeline.seconds), most);
    let series = timeline.series.iter().map(|series| {
        let steps: Vec<_> = series.segments.iter().flat_map(steps).collect();
        json!({
            "source": series.name,
            "is_estimated": series.is_estimated,
            "is_nested": series.is_nested,
            "idle_watts": series.idle,
            "buckets": traffic.as_ref().map(|traffic| traffic.under(&steps)),
        })
    });
    json!({
        "seconds": timeline.seconds,
        "parts": timeline.parts,
        "sources": series.collect::<Vec<_>>(),
    })
}

fn steps(segment: &Segment) -> Vec<ipw_analysis::timeline::Step> {
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
