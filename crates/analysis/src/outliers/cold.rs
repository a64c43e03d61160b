//! Rows that may have met a cold service.

use std::collections::BTreeMap;
use std::fmt;

use ipw_core::stats::quantile;
use serde::Serialize;

use crate::line::Line;

/// Shortest pause, in seconds.
const SHORTEST: f64 = 1.0;

/// A pause must exceed the median pause by this factor.
const TIMES: f64 = 10.0;

/// Why the service may have been cold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "cold")]
pub enum ColdCause {
    /// The first of its part.
    FirstOfPart,
    /// No query was in flight before it.
    AfterPause {
        /// Length of the pause.
        seconds: f64,
    },
}

/// A row that may have met a cold service.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColdRow {
    /// Index of the row, from 0.
    pub row: u64,
    /// The query's id; empty until [`super::Outliers::name`].
    pub query: String,
    /// The cause.
    #[serde(flatten)]
    pub why: ColdCause,
}

impl fmt::Display for ColdCause {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::FirstOfPart => formatter.write_str("the first of its part"),
            Self::AfterPause { seconds } => write!(formatter, "after a pause of {seconds:.1} s"),
        }
    }
}

/// The rows that may have been cold, by index.
pub(super) fn marks(lines: &[Line]) -> BTreeMap<usize, ColdCause> {
    let mut parts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (place, line) in lines.iter().enumerate() {
        if line.span().is_some() {
            parts.entry(line.part).or_default().push(place);
        }
    }
    let start = |place: usize| lines[place].span().map_or(0.0, |span| span.0);
    let mut marks = BTreeMap::new();
    for places in parts.values_mut() {
        places.sort_by(|left, right| start(*left).total_cmp(&start(*right)));
        mark(lines, places, &mut marks);
    }
    marks
}

/// Marks rows of one part, in the order of their starts.
fn mark(lines: &[Line], places: &[usize], marks: &mut BTreeMap<usize, ColdCause>) {
    let mut busy_until = f64::NEG_INFINITY;
    let mut pauses = Vec::with_capacity(places.len());
    for (start, end) in places.iter().filter_map(|place| lines[*place].span()) {
        pauses.push((start - busy_until).max(0.0));
        busy_until = busy_until.max(end);
    }
    let mut sorted = pauses.get(1..).unwrap_or_default().to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let usual = quantile(&sorted, 0.5).unwrap_or(0.0);
    let shortest = SHORTEST.max(TIMES * usual);
    for (place, seconds) in places.iter().zip(pauses) {
        if seconds.is_infinite() {
            marks.insert(*place, ColdCause::FirstOfPart);
        } else if seconds >= shortest {
            marks.insert(*place, ColdCause::AfterPause { seconds });
        }
    }
}

/// The marked rows, at most `most`.
pub(super) fn listed(marks: &BTreeMap<usize, ColdCause>, most: usize) -> Vec<ColdRow> {
    let row = |(place, why): (&usize, &ColdCause)| ColdRow {
        row: *place as u64,
        query: String::new(),
        why: *why,
    };
    marks.iter().map(row).take(most).collect()
}
