//! The timeline as a static drawing, for print and for readers without scripts.

use std::fmt::Write as _;

use ipw_core::quantity::Unit;
use ipw_findings::timeline::Segment;

use crate::markup::text;
use ipw_findings::page::{Page, QueryLine};

const WIDTH: f64 = 960.0;
const LEFT: f64 = 56.0;
const POWER: f64 = 200.0;
const LANE: f64 = 9.0;
const TOP: f64 = 12.0;
/// Limits on lanes, points of a line and bars.
const MOST_LANES: usize = 16;
const MOST_POINTS: usize = 480;
const MOST_BARS: usize = 600;

pub(super) fn timeline(out: &mut String, page: &Page) {
    let seconds = page.timeline.seconds;
    let bars = lanes(&page.queries.lines);
    let lanes = bars.iter().map(|(_, lane)| lane + 1).max().unwrap_or(0);
    let largest = page
        .timeline
        .series
        .iter()
        .flat_map(|series| &series.segments)
        .flat_map(|segment| segment.max.iter().flatten().copied())
        .fold(0.0, f64::max);
    let has_power = largest > 0.0;
    let power = if has_power { POWER } else { 0.0 };
    let height = TOP + power + 14.0 + real(lanes) * LANE + 28.0;
    let _ = writeln!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Power and queries over time\">"
    );
    let x = |at: f64| LEFT + at / seconds * (WIDTH - LEFT - 8.0);
    let y = |watts: f64| TOP + power * (1.0 - watts / (largest * 1.08));
    if has_power {
        for watts in steps(largest, 3.0) {
            grid(out, y(watts), &Unit::Watts.show(watts));
        }
    }
    for (place, series) in page.timeline.series.iter().enumerate() {
        let dashed = if series.is_estimated {
            " stroke-dasharray=\"6 4\""
        } else {
            ""
        };
        for segment in &series.segments {
            let points = line(segment, &x, &y);
            let _ = writeln!(
                out,
                "<path d=\"{points}\" fill=\"none\" stroke=\"var(--ipw-series-{})\" stroke-width=\"1.5\"{dashed}/>",
                place % 7 + 1
            );
        }
    }
    let base = TOP + power + 14.0;
    let every = bars.len().div_ceil(MOST_BARS).max(1);
    for (line, lane) in bars.iter().step_by(every) {
        bar(out, line, base + real(*lane) * LANE, &x);
    }
    axis(out, seconds, height - 10.0, &x);
    out.push_str("</svg>\n");
}

fn grid(out: &mut String, y: f64, label: &str) {
    let _ = writeln!(
        out,
        "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"var(--ipw-grid)\"/><text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\" font-size=\"11\" fill=\"var(--ipw-soft)\">{}</text>",
        LEFT - 6.0,
        y + 4.0,
        text(label)
    );
}

fn line(segment: &Segment, x: &impl Fn(f64) -> f64, y: &impl Fn(f64) -> f64) -> String {
    let every = segment.mean.len().div_ceil(MOST_POINTS).max(1);
    let mut path = String::new();
    let mut is_down = false;
    for (place, chunk) in segment.mean.chunks(every).enumerate() {
        let known: Vec<f64> = chunk.iter().flatten().copied().collect();
        let Some(mean) = ipw_core::stats::mean(&known) else {
            is_down = false;
            continue;
        };
        let at = segment.start + (real(place * every) + real(chunk.len()) / 2.0) * segment.width;
        let verb = if is_down { 'L' } else { 'M' };
        let _ = write!(path, "{verb}{:.1} {:.1}", x(at), y(mean));
        is_down = true;
    }
    path
}

fn bar(out: &mut String, line: &QueryLine, y: f64, x: &impl Fn(f64) -> f64) {
    let (Some(start), Some(end)) = (line.start, line.end) else {
        return;
    };
    let (left, width) = (x(start), (x(end) - x(start)).max(1.0));
    let (paint, height) = match (line.is_answered, line.is_correct) {
        (false, _) => ("fill=\"none\" stroke=\"var(--failed)\"", 5.0),
        (_, Some(true)) => ("fill=\"var(--right)\"", 6.0),
        (_, Some(false)) => ("fill=\"none\" stroke=\"var(--wrong)\"", 5.0),
        (_, None) => ("fill=\"var(--ungraded)\"", 3.0),
    };
    let _ = writeln!(
        out,
        "<rect x=\"{left:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height}\" {paint}/>"
    );
}

fn axis(out: &mut String, seconds: f64, y: f64, x: &impl Fn(f64) -> f64) {
    for at in steps(seconds, 6.0) {
        let anchor = if x(at) > WIDTH - 40.0 {
            "end"
        } else {
            "middle"
        };
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"11\" fill=\"var(--ipw-soft)\">{} s</text>",
            x(at),
            round(at)
        );
    }
}

/// Round numbers from zero to `until`, about `count` of them.
fn steps(until: f64, count: f64) -> Vec<f64> {
    let rough = until / count;
    let power = 10_f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0].map(|one| one * power);
    let step = round.into_iter().find(|step| *step >= rough);
    let Some(step) = step.filter(|step| step.is_finite() && *step > 0.0) else {
        return Vec::new();
    };
    let places = (0..16).map(|place| real(place) * step);
    places.take_while(|at| *at <= until * 1.001).collect()
}

/// A number without trailing zeros.
fn round(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Puts each query into the first lane that is free when it begins.
fn lanes(lines: &[QueryLine]) -> Vec<(&QueryLine, usize)> {
    let mut sorted: Vec<_> = lines.iter().filter(|line| line.start.is_some()).collect();
    sorted.sort_by(|one, two| {
        one.start
            .unwrap_or(0.0)
            .total_cmp(&two.start.unwrap_or(0.0))
    });
    let mut ends: Vec<f64> = Vec::new();
    let mut placed = Vec::with_capacity(sorted.len());
    for (number, line) in sorted.into_iter().enumerate() {
        let (start, end) = (line.start.unwrap_or(0.0), line.end.unwrap_or(0.0));
        let free = ends.iter().position(|busy| *busy <= start);
        let lane = match free {
            Some(lane) => lane,
            None if ends.len() < MOST_LANES => {
                ends.push(0.0);
                ends.len() - 1
            }
            None => number % MOST_LANES,
        };
        ends[lane] = ends[lane].max(end);
        placed.push((line, lane));
    }
    placed
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand at the most")]
fn real(place: usize) -> f64 {
    place as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(steps(11.7, 3.0), [0.0, 5.0, 10.0]);
        assert_eq!(steps(0.0, 3.0), Vec::<f64>::new());
        assert_eq!(steps(f64::NAN, 3.0), Vec::<f64>::new());
        assert_eq!([round(20.0), round(0.5)], ["20", "0.5"]);
    }

    #[test]
    fn queries_at_once_have_lanes_of_their_own() {
        let line = |start: f64, end: f64| QueryLine {
            start: Some(start),
            end: Some(end),
            ..QueryLine::default()
        };
        let lines = [line(0.0, 2.0), line(1.0, 3.0), line(2.5, 4.0)];
        let placed: Vec<_> = lanes(&lines).iter().map(|(_, lane)| *lane).collect();
        assert_eq!(placed, [0, 1, 0]);
    }
}
