//! Queries below the power: one bar per query, packed in lanes. Too many queries are drawn as the
//! number in flight.

use super::{QueryOutcome, Span, drawable};
use crate::axis::{Axis, Ruler, position};
use crate::colour::Paint;
use crate::frame::Plot;
use crate::legend::{Entry, Swatch};
use crate::scale::{Kind, Scale};
use crate::scene::{PathData, Rect, Scene};
use crate::unit::Unit;

/// Largest number of queries drawn as bars.
const MOST_SPANS: usize = 300;
/// Largest number of distinguishable lanes.
const MOST_LANES: usize = 24;

const TRUNCATED: usize = 4;
const FAILED: usize = 3;

/// The vertical axis: lanes without ticks, or a count.
pub(super) fn ruler(queries: &[Span]) -> Ruler {
    if let Some(lanes) = lanes(queries) {
        let used = lanes.iter().map(|(lane, _)| lane + 1).max().unwrap_or(1);
        // One lane more than needed, so that a few bars do not become thick.
        let high = position(used.max(4)) - 0.5;
        let scale = Scale {
            kind: Kind::Linear,
            low: -0.5,
            high,
            from: 0.0,
            to: 1.0,
        };
        return Ruler {
            scale,
            ticks: Vec::new(),
            title: "Queries (bars)".to_owned(),
            symbol: String::new(),
            named: true,
        };
    }
    let most = in_flight(queries)
        .into_iter()
        .map(|(_, held)| position(held))
        .fold(0.0, f64::max);
    Ruler::around(
        &Axis::linear("In flight", Unit::Queries),
        [0.0, most].into_iter(),
        3,
    )
}

/// Draws bars, or the area of the number in flight.
pub(super) fn draw(scene: &mut Scene, plot: &Plot, queries: &[Span]) {
    let Some(lanes) = lanes(queries) else {
        area(scene, plot, queries);
        return;
    };
    for (lane, span) in lanes {
        let ends = (plot.x.scale.place(span.start), plot.x.scale.place(span.end));
        let (Some(left), Some(right), Some(middle)) =
            (ends.0, ends.1, plot.y.scale.place(position(lane)))
        else {
            continue;
        };
        let high = (plot.area.height() / (plot.y.scale.high + 0.5) * 0.72).min(12.0);
        let right = right.max(left + 1.2);
        let bar = Rect {
            left,
            right,
            top: middle - high / 2.0,
            bottom: middle + high / 2.0,
        };
        let element = scene.rect(&bar).word("rx", "1");
        match span.ending {
            QueryOutcome::Complete => element.fill(Paint::Soft).close(),
            QueryOutcome::Truncated => element.fill(Paint::Series(TRUNCATED)).close(),
            QueryOutcome::Failed => element
                .hatched(FAILED)
                .stroke(Paint::Series(FAILED), 1.0)
                .close(),
        }
    }
}

pub(super) fn legend(queries: &[Span]) -> Vec<Entry> {
    if !queries.iter().any(drawable) {
        return Vec::new();
    }
    if lanes(queries).is_none() {
        return vec![Entry::new(
            Swatch::Area { paint: Paint::Soft },
            "queries in flight",
        )];
    }
    let kinds = [
        (
            QueryOutcome::Complete,
            Swatch::Area { paint: Paint::Soft },
            "complete query",
        ),
        (
            QueryOutcome::Truncated,
            Swatch::Area {
                paint: Paint::Series(TRUNCATED),
            },
            "truncated",
        ),
        (
            QueryOutcome::Failed,
            Swatch::Hatch { series: FAILED },
            "failed",
        ),
    ];
    kinds
        .into_iter()
        .filter(|(ending, ..)| queries.iter().any(|span| span.ending == *ending))
        .map(|(_, swatch, name)| Entry::new(swatch, name))
        .collect()
}

/// Each query in the first free lane; `None` with too many queries for bars.
fn lanes(queries: &[Span]) -> Option<Vec<(usize, Span)>> {
    let mut spans: Vec<Span> = queries.iter().copied().filter(drawable).collect();
    if spans.len() > MOST_SPANS {
        return None;
    }
    spans.sort_by(|a, b| a.start.total_cmp(&b.start));
    let mut ends: Vec<f64> = Vec::new();
    let mut placed = Vec::with_capacity(spans.len());
    for span in spans {
        let lane = ends
            .iter()
            .position(|end| *end <= span.start)
            .unwrap_or(ends.len());
        if lane == ends.len() {
            ends.push(span.end);
        }
        ends[lane] = span.end;
        placed.push((lane, span));
    }
    (ends.len() <= MOST_LANES).then_some(placed)
}

/// The number in flight from each instant on.
fn in_flight(queries: &[Span]) -> Vec<(f64, usize)> {
    let mut changes: Vec<(f64, i64)> = queries
        .iter()
        .filter(|span| drawable(span))
        .flat_map(|span| [(span.start, 1), (span.end, -1)])
        .collect();
    // At equal instants ends come first, so back-to-back queries do not overlap.
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut held = 0_i64;
    changes
        .into_iter()
        .map(|(at, change)| {
            held = (held + change).max(0);
            (at, usize::try_from(held).unwrap_or(0))
        })
        .collect()
}

fn area(scene: &mut Scene, plot: &Plot, queries: &[Span]) {
    // The maximum per pixel, so that no peak is lost between two columns.
    let mut columns: Vec<(f64, f64)> = Vec::new();
    for (at, held) in in_flight(queries) {
        let Some((x, y)) = plot.place(at, position(held)) else {
            continue;
        };
        match columns.last_mut() {
            Some(column) if x - column.0 < 1.0 => column.1 = column.1.min(y),
            _ => columns.push((x, y)),
        }
    }
    let mut upper = Vec::with_capacity(columns.len() * 2);
    for pair in columns.windows(2) {
        upper.extend([pair[0], (pair[1].0, pair[0].1)]);
    }
    let lower: Vec<(f64, f64)> = upper
        .iter()
        .map(|place| (place.0, plot.area.bottom))
        .collect();
    let data = PathData::between(&upper, &lower);
    if !data.is_empty() {
        scene
            .path(&data)
            .fill(Paint::Soft)
            .number("fill-opacity", 0.75)
            .close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: f64, end: f64) -> Span {
        Span {
            start,
            end,
            ending: QueryOutcome::Complete,
        }
    }

    #[test]
    fn queries_that_meet_share_no_lane() {
        let placed = lanes(&[span(0.0, 2.0), span(1.0, 3.0), span(2.0, 4.0)]).unwrap();
        let lanes: Vec<usize> = placed.iter().map(|(lane, _)| *lane).collect();
        assert_eq!(lanes, [0, 1, 0]);
    }

    #[test]
    fn too_many_become_the_number_in_flight() {
        let many: Vec<Span> = (0..400)
            .map(|index| span(f64::from(index), 500.0))
            .collect();
        assert_eq!(lanes(&many), None);
        assert_eq!(
            in_flight(&many).iter().map(|(_, held)| *held).max(),
            Some(400)
        );
    }

    #[test]
    fn one_after_another_is_one_in_flight() {
        let flight = in_flight(&[span(0.0, 1.0), span(1.0, 2.0)]);
        assert_eq!(flight.iter().map(|(_, held)| *held).max(), Some(1));
    }
}
