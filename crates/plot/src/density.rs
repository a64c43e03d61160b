//! A density curve with mean and median, as for reply lengths.

use std::fmt::Write as _;

use crate::axis::{Axis, Ruler};
use crate::colour::Paint;
use crate::figure::Heading;
use crate::frame::{Canvas, Plan, Plot};
use crate::legend::{Entry, Swatch};
use crate::mark;
use crate::scene::PathData;
use crate::style::Style;

/// With more samples, single samples are not drawn.
const MOST_SAMPLES: usize = 400;

/// A density chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Density {
    /// Title and caption.
    pub heading: Heading,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis (`Density`, `1/tokens`).
    pub y: Axis,
    /// The curve, from left to right.
    pub curve: Vec<(f64, f64)>,
    /// The samples, drawn as small ticks below the curve if there are few.
    pub samples: Vec<f64>,
    /// The mean, if it is known.
    pub mean: Option<f64>,
    /// The median, if it is known.
    pub median: Option<f64>,
}

const MEAN: &str = "6 3";
const MEDIAN: &str = "2 2";

impl Density {
    /// Draws it.
    pub fn svg(&self, style: &Style) -> String {
        let unplaced = |value: f64| !value.is_finite() || (self.x.log && value <= 0.0);
        let plan = Plan {
            heading: &self.heading,
            legend: self.legend(),
            description: self.description(),
            left_out: self
                .samples
                .iter()
                .filter(|value| unplaced(**value))
                .count(),
            least_height: 0.0,
        };
        let mut canvas = Canvas::new(style, &plan);
        let lines = || self.mean.into_iter().chain(self.median);
        let x = self.curve.iter().map(|point| point.0).chain(lines());
        let y = self.curve.iter().map(|point| point.1).chain([0.0]);
        let plot = Plot::new(
            canvas.room,
            Ruler::around(&self.x, x, 8),
            Ruler::around(&self.y, y, 5),
        );
        let scene = &mut canvas.scene;
        plot.grid(scene);
        scene.clipped(&plot.area);
        let line: Vec<(f64, f64)> = self
            .curve
            .iter()
            .filter_map(|point| plot.place_beyond(point.0, point.1))
            .collect();
        let floor: Vec<(f64, f64)> = line
            .iter()
            .map(|point| (point.0, plot.area.bottom))
            .collect();
        let area = PathData::between(&line, &floor);
        if !area.is_empty() {
            scene
                .path(&area)
                .fill(Paint::Series(0))
                .number("fill-opacity", 0.2)
                .close();
            mark::stroke_series(scene.path(&PathData::through(line.iter().copied())), 0, 2.2);
        }
        if self.samples.len() <= MOST_SAMPLES {
            let mut rug = PathData::default();
            for place in self
                .samples
                .iter()
                .filter_map(|value| plot.x.scale.place(*value))
            {
                rug.go((place, plot.area.bottom));
                rug.draw((place, plot.area.bottom - 7.0));
            }
            if !rug.is_empty() {
                let rug = scene.path(&rug).unfilled().stroke(Paint::Series(0), 1.0);
                rug.number("stroke-opacity", 0.6).close();
            }
        }
        for (value, dash) in [(self.mean, MEAN), (self.median, MEDIAN)] {
            if let Some(place) = value.and_then(|value| plot.x.scale.place(value)) {
                let line = scene.line((place, plot.area.top), (place, plot.area.bottom));
                line.stroke(Paint::Ink, 1.4)
                    .word("stroke-dasharray", dash)
                    .close();
            }
        }
        scene.end();
        plot.axes(scene);
        if line.is_empty() {
            canvas.say_empty(&plot.area);
        }
        canvas.scene.finish()
    }

    fn legend(&self) -> Vec<Entry> {
        let mut entries = vec![Entry::new(Swatch::Line { series: 0 }, "density")];
        for (name, value, dash) in [("mean", self.mean, MEAN), ("median", self.median, MEDIAN)] {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                let name = format!("{name} {}", self.x.unit.value(value));
                entries.push(Entry::new(Swatch::Rule { dash }, &name));
            }
        }
        entries
    }

    fn description(&self) -> String {
        let mut text = format!("Density of {}.", self.x.name);
        for (name, value) in [("Mean", self.mean), ("Median", self.median)] {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                let _ = write!(text, " {name} {}.", self.x.unit.value(value));
            }
        }
        text
    }
}
