//! Marks: points that differ in shape and colour, error bars, dashes.

use crate::colour::Paint;
use crate::figure::Interval;
use crate::scale::Scale;
use crate::scene::{Element, PathData, Scene};

/// The shape of the points of a series.
pub(crate) fn shape(series: usize, at: (f64, f64), size: f64) -> PathData {
    let (x, y) = at;
    let corners: &[(f64, f64)] = match series % 6 {
        0 => return disc(at, size),
        1 => &[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)],
        2 => &[(0.0, -1.15), (1.1, 0.85), (-1.1, 0.85)],
        3 => &[(0.0, -1.25), (1.1, 0.0), (0.0, 1.25), (-1.1, 0.0)],
        4 => &[(0.0, 1.15), (1.1, -0.85), (-1.1, -0.85)],
        _ => &[
            (-0.4, -1.15),
            (0.4, -1.15),
            (0.4, -0.4),
            (1.15, -0.4),
            (1.15, 0.4),
            (0.4, 0.4),
            (0.4, 1.15),
            (-0.4, 1.15),
            (-0.4, 0.4),
            (-1.15, 0.4),
            (-1.15, -0.4),
            (-0.4, -0.4),
        ],
    };
    let mut data = PathData::through(
        corners
            .iter()
            .map(|corner| (x + corner.0 * size, y + corner.1 * size)),
    );
    data.shut();
    data
}

fn disc(at: (f64, f64), radius: f64) -> PathData {
    let number = crate::number::coordinate;
    let (radius_text, across) = (number(radius), number(2.0 * radius));
    PathData(format!(
        "M{} {}a{radius_text} {radius_text} 0 1 0 {across} 0a{radius_text} {radius_text} 0 1 0 -{across} 0Z",
        number(at.0 - radius),
        number(at.1),
    ))
}

/// A point of a series; hollow for estimates.
pub(crate) fn point(
    scene: &mut Scene,
    series: usize,
    at: (f64, f64),
    size: f64,
    hollow: bool,
) -> Element<'_> {
    let data = shape(series, at, size);
    let element = scene.path(&data);
    if hollow {
        element
            .fill(Paint::Paper)
            .stroke(Paint::Series(series), 1.6)
    } else {
        element
            .fill(Paint::Series(series))
            .stroke(Paint::Paper, 0.8)
    }
}

/// The dash of a series; the first one is solid.
pub(crate) fn dash(series: usize) -> Option<&'static str> {
    [
        None,
        Some("7 3"),
        Some("2 2.5"),
        Some("8 3 2 3"),
        Some("12 4"),
        Some("4 2 1 2 1 2"),
    ][series % 6]
}

/// A line of a series, with its dash.
pub(crate) fn stroke_series(element: Element<'_>, series: usize, width: f64) {
    stroke_dashed(element, series, dash(series), width);
}

/// A line in the colour of a series.
pub(crate) fn stroke_dashed(
    element: Element<'_>,
    series: usize,
    dash: Option<&'static str>,
    width: f64,
) {
    let element = element
        .unfilled()
        .stroke(Paint::Series(series), width)
        .word("stroke-linejoin", "round")
        .word("stroke-linecap", "butt");
    match dash {
        Some(dash) => element.word("stroke-dasharray", dash).close(),
        None => element.close(),
    }
}

/// Orientation of an error bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Orientation {
    Across,
    Up,
}

/// An error bar with two caps; `at` is its coordinate on the other axis.
pub(crate) fn whisker(
    scene: &mut Scene,
    way: Orientation,
    at: f64,
    interval: Option<Interval>,
    scale: &Scale,
    paint: Paint,
) {
    let Some(interval) = interval else { return };
    let (Some(low), Some(high)) = (scale.place(interval.low), scale.place(interval.high)) else {
        return;
    };
    let cap = 3.0;
    let place = |along: f64, aside: f64| match way {
        Orientation::Across => (along, at + aside),
        Orientation::Up => (at + aside, along),
    };
    let mut data = PathData::through([place(low, 0.0), place(high, 0.0)]);
    for end in [low, high] {
        data.go(place(end, -cap));
        data.draw(place(end, cap));
    }
    scene.path(&data).unfilled().stroke(paint, 1.3).close();
}
