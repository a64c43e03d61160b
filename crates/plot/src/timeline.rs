//! Power over time, with the queries below it.

mod flight;

use crate::axis::{Axis, Ruler, Tick, position};
use crate::colour::Paint;
use crate::figure::{Heading, Interval, Origin};
use crate::frame::{Canvas, Plan, Plot};
use crate::legend::{Entry, Swatch};
use crate::number::count;
use crate::scene::{PathData, Rect, Scene};
use crate::style::Style;
use crate::text::{clean, isolate};
use crate::unit::Unit;

/// A time slot of one source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slot {
    /// Where it begins, in seconds.
    pub at: f64,
    /// Its mean power in watts; `None` is drawn as a gap.
    pub mean: Option<f64>,
    /// Its smallest and largest power, if they are known.
    pub range: Option<Interval>,
}

/// Power of one source over time.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerSource {
    /// Its name.
    pub name: String,
    /// Its slots, sorted by time.
    pub slots: Vec<Slot>,
    /// Its idle power, if it is known.
    pub idle: Option<f64>,
    /// Whether it was measured.
    pub origin: Origin,
}

/// Outcome of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryOutcome {
    /// With a complete reply.
    Complete,
    /// Truncated by a limit.
    Truncated,
    /// With an error, a timeout or a refusal.
    Failed,
}

/// The time of one query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// When it started, in seconds.
    pub start: f64,
    /// When it ended, in seconds.
    pub end: f64,
    /// Its outcome.
    pub ending: QueryOutcome,
}

/// Whether sources are stacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrangement {
    /// Each source starts at zero.
    #[default]
    Overlaid,
    /// Measured sources are stacked; estimated sources never are.
    Stacked,
}

/// A chart of power over time.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerTimeline {
    /// Title and caption.
    pub heading: Heading,
    /// The sources.
    pub sources: Vec<PowerSource>,
    /// Whether sources are stacked.
    pub arrangement: Arrangement,
    /// The queries.
    pub queries: Vec<Span>,
}

const IDLE: &str = "5 3";
/// Largest number of slots; finer ones would not be visible.
const MOST_SLOTS: usize = 460;

/// A slot as drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Level {
    at: f64,
    low: f64,
    mean: f64,
    high: f64,
}

impl PowerTimeline {
    /// Renders the figure.
    pub fn svg(&self, style: &Style) -> String {
        let plan = Plan {
            heading: &self.heading,
            legend: self.legend(),
            description: self.description(),
            left_out: self.left_out(),
            least_height: 0.0,
        };
        let mut canvas = Canvas::new(style, &plan);
        let stretches = self.stretches();
        let (power, below) = self.plots(canvas.room, &stretches);
        power.grid(&mut canvas.scene);
        canvas.scene.clipped(&power.area);
        for (index, source) in stretches.iter().enumerate() {
            self.source(&mut canvas.scene, &power, index, source);
        }
        self.idle(&mut canvas.scene, &power);
        canvas.scene.end();
        power.axes(&mut canvas.scene);
        if let Some(below) = below {
            flight::draw(&mut canvas.scene, &below, &self.queries);
            below.axes(&mut canvas.scene);
        }
        if stretches.iter().all(Vec::is_empty) {
            canvas.say_empty(&power.area);
        }
        canvas.scene.finish()
    }

    /// The levels of each source, split at gaps; stacked if requested.
    fn stretches(&self) -> Vec<Vec<Vec<Level>>> {
        let mut sources: Vec<Vec<Vec<Level>>> = self
            .sources
            .iter()
            .map(|source| levels(&source.slots))
            .collect();
        if self.arrangement == Arrangement::Stacked {
            let mut floor: Vec<Vec<Level>> = Vec::new();
            for (source, levels) in self.sources.iter().zip(&mut sources) {
                if !source.origin.is_estimated() {
                    *levels = stacked(levels, &floor);
                    floor.clone_from(levels);
                }
            }
        }
        sources
    }

    /// The plot of power, and the plot of queries below it with the same time axis.
    fn plots(&self, room: Rect, stretches: &[Vec<Vec<Level>>]) -> (Plot, Option<Plot>) {
        let levels = || stretches.iter().flatten().flatten();
        let spans = self.queries.iter().filter(|span| drawable(span));
        let times = levels()
            .map(|level| level.at)
            .chain(spans.flat_map(|span| [span.start, span.end]));
        let seen = crate::scale::extent(times, crate::scale::Kind::Linear).unwrap_or((0.0, 1.0));
        let (low, high) = if seen.1 > seen.0 {
            seen
        } else {
            (seen.0 - 0.5, seen.0 + 0.5)
        };
        let (low, high) = if low < high { (low, high) } else { (0.0, 1.0) };
        let time = Ruler::spanning(&Axis::linear("Time", Unit::Seconds), low, high, 8);
        let idle = self.sources.iter().filter_map(|source| source.idle);
        let watts = levels()
            .flat_map(|level| [level.low, level.high])
            .chain(idle)
            .chain([0.0]);
        let power = Ruler::around(&Axis::linear("Power", Unit::Watts), watts, 5);
        if !self.queries.iter().any(drawable) {
            return (Plot::new(room, time, power), None);
        }
        let split = room.top + room.height() * 0.62;
        let bare = Ruler {
            ticks: Vec::<Tick>::new(),
            title: String::new(),
            ..time.clone()
        };
        let above = Plot::new(
            Rect {
                bottom: split - 10.0,
                ..room
            },
            bare,
            power,
        );
        let below = Plot::new(
            Rect { top: split, ..room },
            time,
            flight::ruler(&self.queries),
        );
        let left = above.area.left.max(below.area.left);
        let right = above.area.right.min(below.area.right);
        (above.between(left, right), Some(below.between(left, right)))
    }

    fn source(&self, scene: &mut Scene, plot: &Plot, index: usize, stretches: &[Vec<Level>]) {
        let estimated = self.sources[index].origin.is_estimated();
        let line_of = |stretch: &[Level], value: fn(&Level) -> f64| -> Vec<(f64, f64)> {
            stretch
                .iter()
                .filter_map(|level| plot.place_beyond(level.at, value(level)))
                .collect()
        };
        for stretch in stretches {
            let (high, low) = (
                line_of(stretch, |level| level.high),
                line_of(stretch, |level| level.low),
            );
            let area = PathData::between(&high, &low);
            if !area.is_empty() {
                let element = scene.path(&area);
                if estimated {
                    element.hatched(index).close();
                } else {
                    let stacked = self.arrangement == Arrangement::Stacked;
                    let opacity = if stacked { 0.5 } else { 0.22 };
                    element
                        .fill(Paint::Series(index))
                        .number("fill-opacity", opacity)
                        .close();
                }
            }
            let mean = PathData::through(line_of(stretch, |level| level.mean));
            let element = scene
                .path(&mean)
                .unfilled()
                .stroke(Paint::Series(index), 1.6);
            let element = element.word("stroke-linejoin", "round");
            if estimated {
                element.word("stroke-dasharray", "4 2").close();
            } else {
                element.close();
            }
        }
    }

    fn idle(&self, scene: &mut Scene, plot: &Plot) {
        for (index, watts) in self.idle_levels() {
            let Some(place) = plot.y.scale.place(watts) else {
                continue;
            };
            let line = scene.line((plot.area.left, place), (plot.area.right, place));
            let paint = index.map_or(Paint::Ink, Paint::Series);
            line.stroke(paint, 1.3)
                .word("stroke-dasharray", IDLE)
                .close();
        }
    }

    /// Stacked idle power, if it is known for all sources.
    fn idle_levels(&self) -> Vec<(Option<usize>, f64)> {
        let known = |value: Option<f64>| value.filter(|watts| watts.is_finite());
        let stacked = self.arrangement == Arrangement::Stacked;
        let mut levels: Vec<(Option<usize>, f64)> = Vec::new();
        for (index, source) in self.sources.iter().enumerate() {
            if let Some(watts) = known(source.idle)
                && (!stacked || source.origin.is_estimated())
            {
                levels.push((Some(index), watts));
            }
        }
        if stacked {
            let measured = self
                .sources
                .iter()
                .filter(|source| !source.origin.is_estimated());
            let sum: Option<f64> = measured.map(|source| known(source.idle)).sum();
            levels.extend(sum.filter(|watts| *watts > 0.0).map(|watts| (None, watts)));
        }
        levels
    }

    fn legend(&self) -> Vec<Entry> {
        let entry = |(series, source): (usize, &PowerSource)| {
            let estimated = source.origin.is_estimated();
            let swatch = match (estimated, self.arrangement) {
                (true, _) => Swatch::Hatch { series },
                (false, _) => Swatch::Area {
                    paint: Paint::Series(series),
                },
            };
            let kind = if estimated { ", estimated" } else { "" };
            Entry {
                swatch,
                name: format!("{}{kind}", isolate(&clean(&source.name))),
            }
        };
        let mut entries: Vec<Entry> = self.sources.iter().enumerate().map(entry).collect();
        if !self.idle_levels().is_empty() {
            entries.push(Entry::new(Swatch::Rule { dash: IDLE }, "idle"));
        }
        entries.extend(flight::legend(&self.queries));
        entries
    }

    fn description(&self) -> String {
        let names: Vec<&str> = self
            .sources
            .iter()
            .map(|source| source.name.as_str())
            .collect();
        format!(
            "Power over time of {}; line: mean, band: minimum to maximum; below it {} queries.",
            if names.is_empty() {
                "no source".to_owned()
            } else {
                names.join(", ")
            },
            count(self.queries.len())
        )
    }

    fn left_out(&self) -> usize {
        let slots = self.sources.iter().flat_map(|source| &source.slots);
        let bad =
            |slot: &&Slot| !slot.at.is_finite() || slot.mean.is_some_and(|mean| !mean.is_finite());
        let spans = self.queries.iter().filter(|span| !drawable(span));
        slots.filter(bad).count() + spans.count()
    }
}

fn drawable(span: &Span) -> bool {
    span.start.is_finite() && span.end.is_finite() && span.end >= span.start
}

/// Slots split at gaps, merged down to the largest number of slots.
fn levels(slots: &[Slot]) -> Vec<Vec<Level>> {
    let merge = slots.len().div_ceil(MOST_SLOTS).max(1);
    let mut stretches: Vec<Vec<Level>> = vec![Vec::new()];
    for slots in slots.chunks(merge) {
        let known: Vec<Level> = slots.iter().filter_map(level).collect();
        match (merged(&known), stretches.last_mut()) {
            (Some(level), Some(stretch)) => stretch.push(level),
            _ => stretches.push(Vec::new()),
        }
    }
    stretches.retain(|stretch| !stretch.is_empty());
    stretches
}

fn level(slot: &Slot) -> Option<Level> {
    let mean = slot
        .mean
        .filter(|mean| mean.is_finite() && slot.at.is_finite())?;
    let range = slot
        .range
        .filter(|range| range.low.is_finite() && range.high.is_finite());
    let (low, high) = range.map_or((mean, mean), |range| {
        (range.low.min(mean), range.high.max(mean))
    });
    Some(Level {
        at: slot.at,
        low,
        mean,
        high,
    })
}

fn merged(levels: &[Level]) -> Option<Level> {
    let first = levels.first()?;
    let share = 1.0 / position(levels.len());
    Some(Level {
        at: first.at,
        low: levels
            .iter()
            .map(|level| level.low)
            .fold(f64::INFINITY, f64::min),
        mean: levels.iter().map(|level| level.mean * share).sum(),
        high: levels
            .iter()
            .map(|level| level.high)
            .fold(f64::NEG_INFINITY, f64::max),
    })
}

/// The means stacked on a floor. Where the floor has a gap or has not started, there is no sum.
fn stacked(source: &[Vec<Level>], floor: &[Vec<Level>]) -> Vec<Vec<Level>> {
    let mut out: Vec<Vec<Level>> = Vec::new();
    for stretch in source {
        let mut run: Vec<Level> = Vec::new();
        for level in stretch {
            let below = if floor.is_empty() {
                Some(0.0)
            } else {
                height(floor, level.at)
            };
            match below {
                Some(low) => {
                    let mean = low + level.mean;
                    run.push(Level {
                        at: level.at,
                        low,
                        mean,
                        high: mean,
                    });
                }
                None => out.push(std::mem::take(&mut run)),
            }
        }
        out.push(run);
    }
    out.retain(|stretch| !stretch.is_empty());
    out
}

/// The mean of a floor at an instant, linearly interpolated between its slots.
fn height(floor: &[Vec<Level>], at: f64) -> Option<f64> {
    let stretch = floor.iter().find(|stretch| {
        stretch.first().is_some_and(|first| first.at <= at)
            && stretch.last().is_some_and(|last| at <= last.at)
    })?;
    let after = stretch.partition_point(|level| level.at < at);
    let next = stretch.get(after)?;
    let Some(before) = after.checked_sub(1).and_then(|index| stretch.get(index)) else {
        return Some(next.mean);
    };
    let share = (at - before.at) / (next.at - before.at);
    let share = if share.is_finite() { share } else { 1.0 };
    Some(before.mean + (next.mean - before.mean) * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(at: f64, mean: Option<f64>) -> Slot {
        Slot {
            at,
            mean,
            range: None,
        }
    }

    #[test]
    fn a_gap_is_a_gap() {
        let slots = [slot(0.0, Some(1.0)), slot(1.0, None), slot(2.0, Some(3.0))];
        assert_eq!(levels(&slots).len(), 2);
    }

    #[test]
    fn many_slots_are_merged_and_keep_their_extremes() {
        let mut slots: Vec<Slot> = (0..10_000)
            .map(|index| slot(f64::from(index), Some(100.0)))
            .collect();
        slots[5_000].range = Some(Interval {
            low: 10.0,
            high: 700.0,
        });
        let stretches = levels(&slots);
        let all: Vec<&Level> = stretches.iter().flatten().collect();
        assert!(all.len() <= MOST_SLOTS);
        assert!(
            all.iter()
                .any(|level| level.high >= 700.0 && level.low <= 10.0)
        );
    }

    #[test]
    fn a_stack_stands_on_its_floor_and_has_its_gaps() {
        let floor = levels(&[slot(0.0, Some(10.0)), slot(2.0, Some(20.0))]);
        let above = levels(&[
            slot(0.0, Some(1.0)),
            slot(1.0, Some(1.0)),
            slot(5.0, Some(1.0)),
        ]);
        let stacked = stacked(&above, &floor);
        let means: Vec<f64> = stacked.iter().flatten().map(|level| level.mean).collect();
        assert_eq!(means, [11.0, 16.0]);
    }
}
