//! Pareto chart of runs: cost against benefit, and the front of runs that no other run dominates.
//!
//! Lower cost and higher benefit are better. Estimated runs are hollow and have a separate front:
//! an estimate never dominates a measurement.

mod labels;

use std::fmt::Write as _;

use crate::axis::{Axis, Ruler};
use crate::colour::Paint;
use crate::figure::{Heading, Origin, Quantity};
use crate::forest::written;
use crate::frame::{Canvas, Plan, Plot};
use crate::legend::{Entry, Swatch};
use crate::mark::{self, Orientation};
use crate::number::count;
use crate::scene::{PathData, Scene};
use crate::style::Style;

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its name, drawn beside the point.
    pub name: String,
    /// Its group (a model, a machine), which sets colour and shape; empty without a group.
    pub group: String,
    /// Its cost; lower is better.
    pub cost: Quantity,
    /// Its benefit; higher is better.
    pub benefit: Quantity,
    /// Whether its cost was measured.
    pub origin: Origin,
}

/// A chart of runs with their fronts.
#[derive(Debug, Clone, PartialEq)]
pub struct Pareto {
    /// Title and caption.
    pub heading: Heading,
    /// The horizontal axis: cost.
    pub x: Axis,
    /// The vertical axis: benefit.
    pub y: Axis,
    /// The runs.
    pub runs: Vec<Run>,
}

impl Pareto {
    /// Renders the figure.
    pub fn svg(&self, style: &Style) -> String {
        let runs: Vec<&Run> = self.runs.iter().filter(|run| self.fits(run)).collect();
        let groups = groups(&runs);
        let plan = Plan {
            heading: &self.heading,
            legend: legend(&runs, &groups),
            description: self.description(&runs),
            left_out: self.runs.len() - runs.len(),
            least_height: 0.0,
        };
        let mut canvas = Canvas::new(style, &plan);
        let plot = Plot::new(
            canvas.room,
            Ruler::around(&self.x, runs.iter().flat_map(|run| run.cost.values()), 8),
            Ruler::around(&self.y, runs.iter().flat_map(|run| run.benefit.values()), 6),
        );
        let has_place = |run: &&Run| plot.place(run.cost.value, run.benefit.value).is_some();
        let runs: Vec<&Run> = runs.into_iter().filter(has_place).collect();
        let scene = &mut canvas.scene;
        plot.grid(scene);
        for origin in [Origin::Estimated, Origin::Measured] {
            draw_front(scene, &plot, &runs, origin);
        }
        let places: Vec<(f64, f64)> = runs
            .iter()
            .filter_map(|run| plot.place(run.cost.value, run.benefit.value))
            .collect();
        for (run, at) in runs.iter().zip(&places) {
            let paint = Paint::Series(series(&groups, run));
            mark::whisker(
                scene,
                Orientation::Across,
                at.1,
                run.cost.interval,
                &plot.x.scale,
                paint,
            );
            mark::whisker(
                scene,
                Orientation::Up,
                at.0,
                run.benefit.interval,
                &plot.y.scale,
                paint,
            );
        }
        for (run, at) in runs.iter().zip(&places) {
            let hollow = run.origin.is_estimated();
            mark::point(scene, series(&groups, run), *at, 5.0, hollow).titled(&self.title(run));
        }
        plot.axes(scene);
        labels::draw(scene, &plot, &runs, &places);
        if runs.is_empty() {
            canvas.say_empty(&plot.area);
        }
        canvas.scene.finish()
    }

    fn fits(&self, run: &Run) -> bool {
        let fits = |axis: &Axis, value: f64| value.is_finite() && (!axis.log || value > 0.0);
        fits(&self.x, run.cost.value) && fits(&self.y, run.benefit.value)
    }

    fn title(&self, run: &Run) -> String {
        let kind = if run.origin.is_estimated() {
            ", estimated"
        } else {
            ""
        };
        let cost = written(&self.x.unit, run.cost);
        format!(
            "{}: {cost}{kind}, {}",
            run.name,
            written(&self.y.unit, run.benefit)
        )
    }

    fn description(&self, runs: &[&Run]) -> String {
        let mut text = format!(
            "{} runs: {} against {}.",
            count(runs.len()),
            self.y.name,
            self.x.name
        );
        for (origin, kind) in [
            (Origin::Measured, "measured"),
            (Origin::Estimated, "estimated"),
        ] {
            let names: Vec<&str> = front(runs, origin)
                .iter()
                .map(|run| run.name.as_str())
                .collect();
            if !names.is_empty() {
                let _ = write!(text, " Front of {kind} runs: {}.", names.join(", "));
            }
        }
        text
    }
}

/// The runs of one origin that no other run of that origin dominates, from the cheapest.
fn front<'a>(runs: &[&'a Run], origin: Origin) -> Vec<&'a Run> {
    let mut sorted: Vec<&Run> = runs
        .iter()
        .copied()
        .filter(|run| run.origin == origin)
        .collect();
    sorted.sort_by(|a, b| {
        let by_cost = a.cost.value.total_cmp(&b.cost.value);
        by_cost.then_with(|| b.benefit.value.total_cmp(&a.benefit.value))
    });
    let mut best = f64::NEG_INFINITY;
    sorted.retain(|run| {
        let better = run.benefit.value > best;
        best = best.max(run.benefit.value);
        better
    });
    sorted
}

fn draw_front(scene: &mut Scene, plot: &Plot, runs: &[&Run], origin: Origin) {
    let data = PathData::through(steps(plot, runs, origin));
    if data.is_empty() {
        return;
    }
    let line = scene.path(&data).unfilled().stroke(Paint::Soft, 1.6);
    if origin.is_estimated() {
        line.word("stroke-dasharray", "3 3").close();
    } else {
        line.close();
    }
}

/// The corners of a front, as steps across and up.
fn steps(plot: &Plot, runs: &[&Run], origin: Origin) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = Vec::new();
    for run in front(runs, origin) {
        let Some((x, y)) = plot.place(run.cost.value, run.benefit.value) else {
            continue;
        };
        if let Some(last) = corners.last().copied() {
            corners.push((x, last.1));
        }
        corners.push((x, y));
    }
    corners
}

fn groups<'a>(runs: &[&'a Run]) -> Vec<&'a str> {
    let mut groups: Vec<&str> = Vec::new();
    for run in runs {
        if !groups.contains(&run.group.as_str()) {
            groups.push(&run.group);
        }
    }
    groups
}

fn series(groups: &[&str], run: &Run) -> usize {
    groups
        .iter()
        .position(|group| *group == run.group)
        .unwrap_or(0)
}

fn legend(runs: &[&Run], groups: &[&str]) -> Vec<Entry> {
    let of = |origin: Origin| runs.iter().any(|run| run.origin == origin);
    let named = groups
        .iter()
        .enumerate()
        .filter(|(_, name)| !name.trim().is_empty());
    let mut entries: Vec<Entry> = named
        .map(|(series, name)| {
            let mine = |run: &&&Run| run.group == **name;
            let hollow = runs
                .iter()
                .filter(mine)
                .all(|run| run.origin.is_estimated());
            Entry::new(Swatch::Point { series, hollow }, name)
        })
        .collect();
    if of(Origin::Measured) {
        entries.push(Entry::new(
            Swatch::Rule { dash: "none" },
            "front of measured runs",
        ));
    }
    if of(Origin::Estimated) {
        entries.push(Entry::new(
            Swatch::Rule { dash: "3 3" },
            "front of estimated runs (hollow)",
        ));
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, cost: f64, benefit: f64, origin: Origin) -> Run {
        Run {
            name: name.into(),
            group: String::new(),
            cost: Quantity::exact(cost),
            benefit: Quantity::exact(benefit),
            origin,
        }
    }

    #[test]
    fn an_estimate_is_never_on_the_front_of_the_measured() {
        let runs = [
            run("cheap", 1.0, 0.5, Origin::Measured),
            run("beaten", 2.0, 0.4, Origin::Measured),
            run("good", 3.0, 0.8, Origin::Measured),
            run("guess", 0.1, 0.9, Origin::Estimated),
        ];
        let runs: Vec<&Run> = runs.iter().collect();
        let names = |origin| -> Vec<&str> {
            front(&runs, origin)
                .iter()
                .map(|run| run.name.as_str())
                .collect()
        };
        assert_eq!(names(Origin::Measured), ["cheap", "good"]);
        assert_eq!(names(Origin::Estimated), ["guess"]);
    }
}
