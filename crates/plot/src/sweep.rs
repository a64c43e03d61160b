//! A sweep over load: one panel per dependent quantity, with the knee across all panels.

use std::fmt::Write as _;

use crate::axis::{Axis, Ruler, Tick, position};
use crate::colour::Paint;
use crate::figure::{Heading, Origin, Quantity};
use crate::frame::{Canvas, Plan, Plot};
use crate::legend::{Entry, Legend, Swatch};
use crate::mark::{self, Orientation};
use crate::number::fixed;
use crate::scene::{PathData, Rect, Scene};
use crate::style::Style;

/// A line of a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepLine {
    /// Its name (`p99`).
    pub name: String,
    /// Load and value, from left to right.
    pub points: Vec<(f64, Quantity)>,
    /// Whether it was measured.
    pub origin: Origin,
}

/// A panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The vertical axis.
    pub y: Axis,
    /// Its lines.
    pub lines: Vec<SweepLine>,
}

/// A chart of panels over the same load.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepCurves {
    /// Title and caption.
    pub heading: Heading,
    /// The horizontal axis of all panels.
    pub load: Axis,
    /// The panels, in reading order.
    pub panels: Vec<Panel>,
    /// The knee: throughput no longer grows beyond this load; `None` without a knee.
    pub knee: Option<f64>,
}

const KNEE: &str = "5 3";

impl SweepCurves {
    /// Renders the figure.
    pub fn svg(&self, style: &Style) -> String {
        let wide = style.size().0;
        let columns = if self.panels.len() > 1 && wide >= 560.0 {
            2
        } else {
            1
        };
        let rows = self.panels.len().max(1).div_ceil(columns);
        let plan = Plan {
            heading: &self.heading,
            legend: self.legend(),
            description: self.description(),
            left_out: self.left_out(),
            least_height: 110.0 + position(rows) * 240.0,
        };
        let mut canvas = Canvas::new(style, &plan);
        let room = canvas.room;
        let (wide, high) = (
            room.width() / position(columns),
            room.height() / position(rows),
        );
        let mut plots: Vec<Plot> = Vec::new();
        for (index, panel) in self.panels.iter().enumerate() {
            let (column, row) = (index % columns, index / columns);
            let left = room.left + position(column) * wide;
            let top = room.top + position(row) * high;
            let right = left + wide - if column + 1 < columns { 16.0 } else { 0.0 };
            let rect = Rect {
                left,
                top,
                right,
                bottom: top + high - 14.0,
            };
            plots.push(self.plot(&mut canvas.scene, panel, rect));
        }
        let lefts: Vec<f64> = (0..columns)
            .map(|column| plots.iter().skip(column).step_by(columns))
            .map(|plots| plots.map(|plot| plot.area.left).fold(0.0, f64::max))
            .collect();
        for (index, (panel, plot)) in self.panels.iter().zip(plots).enumerate() {
            let right = plot.area.right;
            self.panel(
                &mut canvas,
                panel,
                &plot.between(lefts[index % columns], right),
            );
        }
        if self.panels.is_empty() {
            canvas.say_empty(&room);
        }
        canvas.scene.finish()
    }

    /// The legend of a panel, and its axes below.
    fn plot(&self, scene: &mut Scene, panel: &Panel, rect: Rect) -> Plot {
        let entries: Vec<Entry> = panel.lines.iter().enumerate().map(line_entry).collect();
        let legend = Legend::set(&entries, rect.left + 8.0, rect.right);
        legend.draw(scene, rect.top);
        let room = Rect {
            top: rect.top + legend.height() + 4.0,
            ..rect
        };
        let values = panel
            .lines
            .iter()
            .flat_map(|line| line.points.iter().flat_map(|point| point.1.values()));
        let zero = if panel.y.log { None } else { Some(0.0) };
        Plot::new(
            room,
            self.loads(),
            Ruler::around(&panel.y, values.chain(zero), 5),
        )
    }

    /// The horizontal axis, with a tick at every load if there are few.
    fn loads(&self) -> Ruler {
        let lines = self.panels.iter().flat_map(|panel| &panel.lines);
        let mut loads: Vec<f64> = lines
            .flat_map(|line| line.points.iter().map(|point| point.0))
            .collect();
        let mut ruler = Ruler::around(&self.load, loads.iter().copied().chain(self.knee), 6);
        loads.retain(|load| ruler.scale.holds(*load));
        loads.sort_by(f64::total_cmp);
        loads.dedup();
        let whole = |load: &f64| load.fract() == 0.0 && (1.0..1e4).contains(load);
        if self.load.log && (2..=9).contains(&loads.len()) && loads.iter().all(whole) {
            let tick = |load: &f64| Tick {
                at: *load,
                label: Some(fixed(*load, 0)),
            };
            ruler.ticks = loads.iter().map(tick).collect();
        }
        ruler
    }

    fn panel(&self, canvas: &mut Canvas, panel: &Panel, plot: &Plot) {
        plot.grid(&mut canvas.scene);
        if let Some(place) = self.knee.and_then(|knee| plot.x.scale.place(knee)) {
            let line = canvas
                .scene
                .line((place, plot.area.top), (place, plot.area.bottom));
            line.stroke(Paint::Ink, 1.3)
                .word("stroke-dasharray", KNEE)
                .close();
        }
        for (series, line) in panel.lines.iter().enumerate() {
            draw_line(&mut canvas.scene, plot, series, line);
        }
        plot.axes(&mut canvas.scene);
        let drawable = |point: &(f64, Quantity)| plot.place(point.0, point.1.value).is_some();
        if !panel
            .lines
            .iter()
            .any(|line| line.points.iter().any(drawable))
        {
            canvas.say_empty(&plot.area);
        }
    }

    fn left_out(&self) -> usize {
        let bad = |axis: &Axis, value: f64| !value.is_finite() || (axis.log && value <= 0.0);
        self.panels
            .iter()
            .flat_map(|panel| panel.lines.iter().map(move |line| (panel, line)))
            .flat_map(|(panel, line)| line.points.iter().map(move |point| (panel, point)))
            .filter(|(panel, point)| bad(&self.load, point.0) || bad(&panel.y, point.1.value))
            .count()
    }

    fn legend(&self) -> Vec<Entry> {
        let knee = self.knee.filter(|knee| knee.is_finite());
        let entry = |knee| {
            let name = format!("knee at {}", self.load.unit.value(knee));
            Entry::new(Swatch::Rule { dash: KNEE }, &name)
        };
        knee.map(entry).into_iter().collect()
    }

    fn description(&self) -> String {
        let mut text = format!("{} panels over {}.", self.panels.len(), self.load.name);
        for panel in &self.panels {
            let names: Vec<&str> = panel.lines.iter().map(|line| line.name.as_str()).collect();
            let _ = write!(text, " {}: {}.", panel.y.name, names.join(", "));
        }
        if let Some(knee) = self.knee.filter(|knee| knee.is_finite()) {
            let _ = write!(text, " Knee at {}.", self.load.unit.value(knee));
        }
        text
    }
}

fn line_entry((series, line): (usize, &SweepLine)) -> Entry {
    if line.origin.is_estimated() {
        let name = format!("{}, estimated", line.name);
        return Entry::new(
            Swatch::Point {
                series,
                hollow: true,
            },
            &name,
        );
    }
    Entry::new(Swatch::LineAndPoint { series }, &line.name)
}

fn draw_line(scene: &mut Scene, plot: &Plot, series: usize, line: &SweepLine) {
    let places: Vec<((f64, f64), Quantity)> = line
        .points
        .iter()
        .filter_map(|point| Some((plot.place(point.0, point.1.value)?, point.1)))
        .collect();
    let data = PathData::through(places.iter().map(|place| place.0));
    if !data.is_empty() {
        mark::stroke_series(scene.path(&data), series, 1.8);
    }
    for (at, quantity) in places {
        let paint = Paint::Series(series);
        mark::whisker(
            scene,
            Orientation::Up,
            at.0,
            quantity.interval,
            &plot.y.scale,
            paint,
        );
        mark::point(scene, series, at, 3.4, line.origin.is_estimated()).close();
    }
}
