//! Scatter plots with a fit: time to first token, latency, energy, power.
//!
//! Many points are drawn as a density with isolated points, to keep the file small.

use crate::axis::{Axis, Ruler, position};
use crate::colour::Paint;
use crate::figure::{Band, Heading, Origin};
use crate::frame::{Canvas, Plan, Plot};
use crate::legend::{Entry, Swatch};
use crate::mark;
use crate::number::{count, significant};
use crate::scale::extent;
use crate::scene::{PathData, Scene};
use crate::style::Style;

/// Largest number of points drawn one by one.
const MOST_POINTS: usize = 5_000;
/// Largest number of isolated points drawn over a density.
const MOST_LONE: usize = 600;
/// Edge of a cell of the density.
const CELL: f64 = 6.0;

/// A curve through the points, with its label.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Its label, with coefficients and r².
    pub name: String,
    /// The curve.
    pub points: Vec<(f64, f64)>,
    /// Its confidence band; empty without one.
    pub band: Vec<Band>,
}

impl Curve {
    /// A straight line from `from` to `to`, labelled with its coefficients.
    pub fn linear(intercept: f64, slope: f64, r_squared: Option<f64>, from: f64, to: f64) -> Self {
        let name = format!("fit: {}·x{}", sum(intercept, slope), r2(r_squared));
        Self::sampled(name, from, to, |x| intercept + slope * x)
    }

    /// A line in the logarithm of x, labelled with its coefficients.
    pub fn logarithmic(
        intercept: f64,
        slope: f64,
        r_squared: Option<f64>,
        from: f64,
        to: f64,
    ) -> Self {
        let name = format!("log fit: {}·ln x{}", sum(intercept, slope), r2(r_squared));
        Self::sampled(name, from, to, |x| intercept + slope * x.ln())
    }

    /// The curve with a band.
    #[must_use]
    pub fn with_band(self, band: Vec<Band>) -> Self {
        Self { band, ..self }
    }

    fn sampled(name: String, from: f64, to: f64, at: impl Fn(f64) -> f64) -> Self {
        // Closer together where a logarithmic axis is wider.
        let points = (0..=96)
            .map(|step| from + (to - from) * (f64::from(step) / 96.0).powi(3))
            .map(|x| (x, at(x)))
            .collect();
        Self {
            name,
            points,
            band: Vec::new(),
        }
    }
}

fn sum(intercept: f64, slope: f64) -> String {
    let sign = if slope < 0.0 { '−' } else { '+' };
    format!(
        "y = {} {sign} {}",
        significant(intercept, 3),
        significant(slope.abs(), 3)
    )
}

fn r2(r_squared: Option<f64>) -> String {
    r_squared.map_or(String::new(), |value| {
        format!(", r² = {}", significant(value, 3))
    })
}

/// A scatter plot with curves.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    /// Title and caption.
    pub heading: Heading,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What a point stands for, in the legend (`query`).
    pub point: String,
    /// The points.
    pub points: Vec<(f64, f64)>,
    /// Fitted curves.
    pub curves: Vec<Curve>,
    /// Whether the points were measured.
    pub origin: Origin,
}

impl Scatter {
    /// Renders the figure.
    pub fn svg(&self, style: &Style) -> String {
        let drawable: Vec<(f64, f64)> = self
            .points
            .iter()
            .copied()
            .filter(|point| self.can_draw(*point))
            .collect();
        let (x, y) = self.rulers(&drawable);
        let plan = Plan {
            heading: &self.heading,
            legend: self.legend(drawable.len(), &y),
            description: self.description(drawable.len()),
            left_out: self.points.len() - drawable.len(),
            least_height: 0.0,
        };
        let mut canvas = Canvas::new(style, &plan);
        let plot = Plot::new(canvas.room, x, y);
        plot.grid(&mut canvas.scene);
        canvas.scene.clipped(&plot.area);
        for (index, curve) in self.curves.iter().enumerate() {
            band(&mut canvas.scene, &plot, &curve.band, index + 1);
        }
        if drawable.len() > MOST_POINTS {
            density(&mut canvas.scene, &plot, &drawable);
        }
        canvas.scene.end();
        if drawable.len() <= MOST_POINTS {
            self.dots(&mut canvas.scene, &plot, &drawable);
        }
        canvas.scene.clipped(&plot.area);
        for (index, curve) in self.curves.iter().enumerate() {
            draw_curve(&mut canvas.scene, &plot, curve, index);
        }
        canvas.scene.end();
        plot.axes(&mut canvas.scene);
        if drawable.is_empty() && self.curves.is_empty() {
            canvas.say_empty(&plot.area);
        }
        canvas.scene.finish()
    }

    /// Axes around the points, and around the curves over the range of the points.
    fn rulers(&self, drawable: &[(f64, f64)]) -> (Ruler, Ruler) {
        let seen = extent(drawable.iter().map(|point| point.0), self.x.kind());
        let reached =
            |point: &(f64, f64)| seen.is_none_or(|(low, high)| (low..=high).contains(&point.0));
        let curves = || {
            let points = self
                .curves
                .iter()
                .flat_map(|curve| curve.points.iter().copied());
            points.filter(|point| self.can_draw(*point)).filter(reached)
        };
        let all = || drawable.iter().copied().chain(curves());
        (
            Ruler::around(&self.x, all().map(|point| point.0), 8),
            Ruler::around(&self.y, all().map(|point| point.1), 6),
        )
    }

    fn can_draw(&self, point: (f64, f64)) -> bool {
        let fits = |axis: &Axis, value: f64| value.is_finite() && (!axis.log || value > 0.0);
        fits(&self.x, point.0) && fits(&self.y, point.1)
    }

    fn legend(&self, drawn: usize, y: &Ruler) -> Vec<Entry> {
        let hollow = self.origin.is_estimated();
        let kind = if hollow { ", estimated" } else { "" };
        let name = if drawn > MOST_POINTS {
            format!("{}{kind} (shade: count; dots: isolated)", self.point)
        } else {
            format!("{}{kind}", self.point)
        };
        let mut entries = vec![Entry::new(Swatch::Point { series: 0, hollow }, &name)];
        for (index, curve) in self.curves.iter().enumerate() {
            let swatch = Swatch::Curve {
                series: index + 1,
                dash: index,
            };
            // Coefficients are in base units; the legend says so if the axis is not.
            let base = self.y.unit.scaled(1.0).symbol;
            let name = if y.symbol == base {
                curve.name.clone()
            } else {
                format!("{} (y in {base})", curve.name)
            };
            entries.push(Entry::new(swatch, &name));
            if !curve.band.is_empty() {
                entries.push(Entry::new(
                    Swatch::Band { series: index + 1 },
                    "its interval",
                ));
            }
        }
        entries
    }

    fn description(&self, drawn: usize) -> String {
        let mut text = format!(
            "{} points: {} against {}.",
            count(drawn),
            self.y.name,
            self.x.name
        );
        for curve in &self.curves {
            text.push(' ');
            text.push_str(&curve.name);
            text.push('.');
        }
        text
    }

    fn dots(&self, scene: &mut Scene, plot: &Plot, points: &[(f64, f64)]) {
        let radius = if points.len() > 800 { 2.2 } else { 3.0 };
        let group = scene.element("g");
        if self.origin.is_estimated() {
            group.unfilled().stroke(Paint::Series(0), 1.2).open();
        } else {
            let opacity = if points.len() > 200 { 0.55 } else { 0.75 };
            group
                .fill(Paint::Series(0))
                .number("fill-opacity", opacity)
                .open();
        }
        for (x, y) in points
            .iter()
            .filter_map(|point| plot.place(point.0, point.1))
        {
            circle(scene, (x, y), radius);
        }
        scene.end();
    }
}

fn draw_curve(scene: &mut Scene, plot: &Plot, curve: &Curve, index: usize) {
    let places = curve
        .points
        .iter()
        .filter_map(|at| plot.place_beyond(at.0, at.1));
    let line = PathData::through(places);
    if line.is_empty() {
        return;
    }
    // A pale outline separates the line from the points that it crosses.
    let rim = scene.path(&line).unfilled().stroke(Paint::Paper, 4.0);
    rim.number("stroke-opacity", 0.6).close();
    mark::stroke_dashed(scene.path(&line), index + 1, mark::dash(index), 2.2);
}

fn circle(scene: &mut Scene, at: (f64, f64), radius: f64) {
    scene
        .element("circle")
        .number("cx", at.0)
        .number("cy", at.1)
        .number("r", radius)
        .close();
}

/// The area between the edges of a band.
pub(crate) fn band(scene: &mut Scene, plot: &Plot, band: &[Band], series: usize) {
    let edge = |value: fn(&Band) -> f64| -> Vec<(f64, f64)> {
        band.iter()
            .filter(|place| {
                plot.place_beyond(place.at, place.low).is_some()
                    && plot.place_beyond(place.at, place.high).is_some()
            })
            .filter_map(|place| plot.place_beyond(place.at, value(place)))
            .collect()
    };
    let area = PathData::between(&edge(|place| place.high), &edge(|place| place.low));
    if !area.is_empty() {
        scene
            .path(&area)
            .fill(Paint::Series(series))
            .number("fill-opacity", 0.18)
            .close();
    }
}

/// Cells shaded by their number of points, and isolated points.
fn density(scene: &mut Scene, plot: &Plot, points: &[(f64, f64)]) {
    let (columns, rows) = (cells(plot.area.width()), cells(plot.area.height()));
    let mut counts = vec![0_u32; columns * rows];
    let mut lone = vec![(0.0, 0.0); columns * rows];
    for (x, y) in points
        .iter()
        .filter_map(|point| plot.place(point.0, point.1))
    {
        let column = cells(x - plot.area.left).saturating_sub(1).min(columns - 1);
        let row = cells(y - plot.area.top).saturating_sub(1).min(rows - 1);
        counts[row * columns + column] += 1;
        lone[row * columns + column] = (x, y);
    }
    let most = f64::from(counts.iter().copied().max().unwrap_or(1).max(2)).ln();
    let levels = 6;
    let mut shades = vec![PathData::default(); levels + 1];
    for (index, &held) in counts.iter().enumerate().filter(|(_, held)| **held > 1) {
        let level = (1..levels)
            .find(|&level| f64::from(held).ln() <= most * position(level) / position(levels))
            .unwrap_or(levels);
        let left = plot.area.left + position(index % columns) * CELL;
        let top = plot.area.top + position(index / columns) * CELL;
        shades[level].go((left, top));
        shades[level].0.push_str("h6v6h-6Z");
    }
    scene.element("g").fill(Paint::Series(0)).open();
    for (level, shade) in shades
        .iter()
        .enumerate()
        .filter(|(_, shade)| !shade.is_empty())
    {
        let opacity = 0.12 + 0.88 * position(level) / position(levels);
        scene.path(shade).number("fill-opacity", opacity).close();
    }
    let alone = counts.iter().zip(&lone).filter(|(held, _)| **held == 1);
    for (_, at) in alone.take(MOST_LONE) {
        circle(scene, *at, 1.6);
    }
    scene.end();
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a length within the figure, in cells"
)]
fn cells(length: f64) -> usize {
    ((length / CELL).ceil().max(1.0)) as usize
}
