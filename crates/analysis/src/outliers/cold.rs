//! Rows that found a service at rest.

use std::collections::BTreeMap;
use std::fmt;

use ipw_core::stats::quantile;
use serde::Serialize;

use crate::line::Line;

/// Shorter is no pause.
const SHORTEST: f64 = 1.0;

/// Nor is one that is usual: it must be so many times the median one.
const TIMES: f64 = 10.0;

/// Why a row may have been cold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "cold")]
pub enum Cold {
    /// The first of its part.
    FirstOfPart,
    /// Nobody was in flight before it.
    AfterPause {
        /// For so long.
        seconds: f64,
    },
}

/// A row that may have been cold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColdRow {
    /// Which row, from 0.
    pub row: u64,
    /// Which query; empty until [`super::Outliers::name`].
    pub query: String,
    /// Why.
    #[serde(flatten)]
    pub why: Cold,
}

impl fmt::Display for Cold {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::FirstOfPart => formatter.write_str("the first of its part"),
            Self::AfterPause { seconds } => write!(formatter, "after a pause of {seconds:.1} s"),
        }
    }
}

/// For each row, whether it may have been cold.
pub(super) fn marks(lines: &[Line]) -> Vec<Option<Cold>> {
    let mut parts: BTreeMap<u32, Vec<(f64, f64, usize)>> = BTreeMap::new();
    for (place, line) in lines.iter().enumerate() {
        if let Some((start, end)) = line.span() {
            parts
                .entry(line.part)
                .or_default()
                .push((start, end, place));
        }
    }
    let mut marks = vec![None; lines.len()];
    for spans in parts.values_mut() {
        spans.sort_by(|left, right| left.0.total_cmp(&right.0));
        mark(spans, &mut marks);
    }
    marks
}

fn mark(spans: &[(f64, f64, usize)], marks: &mut [Option<Cold>]) {
    let mut busy_until = f64::NEG_INFINITY;
    let mut pauses = Vec::with_capacity(spans.len());
    for (start, end, _) in spans {
        pauses.push((start - busy_until).max(0.0));
        busy_until = busy_until.max(*end);
    }
    let mut sorted = pauses.get(1..).unwrap_or_default().to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let usual = quantile(&sorted, 0.5).unwrap_or(0.0);
    let shortest = SHORTEST.max(TIMES * usual);
    for ((_, _, place), seconds) in spans.iter().zip(pauses) {
        marks[*place] = if seconds.is_infinite() {
            Some(Cold::FirstOfPart)
        } else if seconds >= shortest {
            Some(Cold::AfterPause { seconds })
        } else {
            None
        };
    }
}

/// Those that are marked.
pub(super) fn listed(marks: &[Option<Cold>]) -> Vec<ColdRow> {
    let marks = marks.iter().enumerate();
    marks
        .filter_map(|(place, why)| {
            Some(ColdRow {
                row: place as u64,
                query: String::new(),
                why: (*why)?,
            })
        })
        .collect()
}
