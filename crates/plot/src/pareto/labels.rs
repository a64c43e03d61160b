//! Labels beside points without overlaps: the nearest free place, with a leader line if it is far.

use super::{Run, front, steps};
use crate::colour::Paint;
use crate::figure::Origin;
use crate::frame::Plot;
use crate::scene::{Anchor, Label, Rect, Scene};
use crate::text::{clean, cut, width};

const SIZE: f64 = 10.5;
const MOST_LABELS: usize = 60;

/// Draws labels beside their points where there is room, those of the front first.
pub(super) fn draw(scene: &mut Scene, plot: &Plot, runs: &[&Run], places: &[(f64, f64)]) {
    let mut taken: Vec<Rect> = places.iter().map(|at| around(*at, 6.0, 6.0)).collect();
    for (run, at) in runs.iter().zip(places) {
        taken.extend(whiskers(plot, run, *at));
    }
    let lines: Vec<Rect> = [Origin::Measured, Origin::Estimated]
        .into_iter()
        .flat_map(|origin| front_lines(plot, runs, origin))
        .collect();
    let fronts = [
        front(runs, Origin::Measured),
        front(runs, Origin::Estimated),
    ]
    .concat();
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_cached_key(|index| !fronts.iter().any(|run| std::ptr::eq(*run, runs[*index])));
    let bounds = Rect {
        right: plot.area.right + 8.0,
        ..plot.area
    };
    for index in order.into_iter().take(MOST_LABELS) {
        let name = cut(&clean(&runs[index].name), SIZE, 170.0);
        // A label on a line of the front is better than none.
        let beside = [taken.as_slice(), &lines].concat();
        let place = free_place(&name, index, places, &beside, &bounds)
            .or_else(|| free_place(&name, index, places, &taken, &bounds));
        let Some(rect) = place else { continue };
        let at = places[index];
        let end = nearest(at, &rect);
        if far(at, &rect) > FAR {
            scene.line(at, end).stroke(Paint::Soft, 0.8).close();
        }
        let middle = f64::midpoint(rect.left, rect.right);
        let label = Label::new(&name, SIZE, Anchor::Middle).rimmed();
        scene.label((middle, rect.bottom - 3.5), label);
        taken.push(rect);
    }
}

/// Rectangles covered by the lines of a front.
fn front_lines(plot: &Plot, runs: &[&Run], origin: Origin) -> Vec<Rect> {
    let line = |pair: &[(f64, f64)]| Rect {
        left: pair[0].0.min(pair[1].0) - 1.0,
        right: pair[0].0.max(pair[1].0) + 1.0,
        top: pair[0].1.min(pair[1].1) - 1.0,
        bottom: pair[0].1.max(pair[1].1) + 1.0,
    };
    steps(plot, runs, origin).windows(2).map(line).collect()
}

fn around(at: (f64, f64), across: f64, up: f64) -> Rect {
    Rect {
        left: at.0 - across,
        right: at.0 + across,
        top: at.1 - up,
        bottom: at.1 + up,
    }
}

fn whiskers(plot: &Plot, run: &Run, at: (f64, f64)) -> Vec<Rect> {
    let mut taken = Vec::new();
    if let Some(interval) = run.cost.interval
        && let (Some(left), Some(right)) = (
            plot.x.scale.place(interval.low),
            plot.x.scale.place(interval.high),
        )
    {
        taken.push(Rect {
            left,
            right,
            top: at.1 - 2.0,
            bottom: at.1 + 2.0,
        });
    }
    if let Some(interval) = run.benefit.interval
        && let (Some(bottom), Some(top)) = (
            plot.y.scale.place(interval.low),
            plot.y.scale.place(interval.high),
        )
    {
        taken.push(Rect {
            left: at.0 - 2.0,
            right: at.0 + 2.0,
            top,
            bottom,
        });
    }
    taken
}

/// Above this distance, a leader line connects the label with its point.
const FAR: f64 = 15.0;

/// Distance of a rectangle from a point.
fn far(at: (f64, f64), rect: &Rect) -> f64 {
    let across = (rect.left - at.0).max(at.0 - rect.right).max(0.0);
    let up = (rect.top - at.1).max(at.1 - rect.bottom).max(0.0);
    across.hypot(up)
}

/// Whether a point lies on the leader line from `at` to its label.
fn near_line(point: (f64, f64), at: (f64, f64), rect: &Rect) -> bool {
    let end = nearest(at, rect);
    let along = (end.0 - at.0, end.1 - at.1);
    let length = along.0.hypot(along.1).max(1e-9);
    let aside = (point.0 - at.0, point.1 - at.1);
    let share = (aside.0 * along.0 + aside.1 * along.1) / (length * length);
    let share = share.clamp(0.0, 1.0);
    (aside.0 - share * along.0).hypot(aside.1 - share * along.1) < 9.0
}

/// The point of a rectangle that is nearest to a given point.
fn nearest(at: (f64, f64), rect: &Rect) -> (f64, f64) {
    (
        at.0.clamp(rect.left, rect.right),
        at.1.clamp(rect.top, rect.bottom),
    )
}

/// The nearest free rectangle around a point. No other point may be closer to it, unless it has a
/// leader line.
fn free_place(
    name: &str,
    own: usize,
    places: &[(f64, f64)],
    taken: &[Rect],
    bounds: &Rect,
) -> Option<Rect> {
    let at = places[own];
    let (wide, high) = (width(name, SIZE) + 4.0, SIZE + 3.0);
    for away in [7.0, 10.0, 16.0, 24.0, 34.0, 46.0, 60.0] {
        let right = (at.0 + away).min(bounds.right - wide);
        let left = (at.0 - away - wide).max(bounds.left);
        let (above, below) = (at.1 - away - high, at.1 + away);
        let (level, centre) = (at.1 - high / 2.0, at.0 - wide / 2.0);
        let candidates = [
            (right, above),
            (left, above),
            (right, below),
            (left, below),
            (centre, above),
            (centre, below),
            (right, level),
            (left, level),
            (centre + wide * 0.3, above),
            (centre - wide * 0.3, above),
            (centre + wide * 0.3, below),
            (centre - wide * 0.3, below),
        ];
        let rects = candidates.map(|(left, top)| Rect {
            left,
            top,
            right: left + wide,
            bottom: top + high,
        });
        let free = rects.into_iter().find(|rect| {
            let mine = far(at, rect);
            let nearer = |other: &(f64, f64)| {
                if mine > FAR {
                    near_line(*other, at, rect)
                } else {
                    far(*other, rect) < mine + 8.0
                }
            };
            let mut others = places.iter().enumerate().filter(|(index, _)| *index != own);
            rect.within(bounds)
                && !taken.iter().any(|other| rect.meets(other))
                && !others.any(|(_, place)| nearer(place))
        });
        if free.is_some() {
            return free;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_never_meet() {
        let bounds = Rect {
            left: 0.0,
            top: 0.0,
            right: 300.0,
            bottom: 300.0,
        };
        let mut taken = Vec::new();
        for _ in 0..200 {
            if let Some(rect) = free_place("a name", 0, &[(150.0, 150.0)], &taken, &bounds) {
                assert!(rect.within(&bounds) && !taken.iter().any(|other| rect.meets(other)));
                taken.push(rect);
            }
        }
        assert!(taken.len() > 4);
    }
}
