//! Stacked bars: energy per token or per query by phase and source.
//!
//! An estimate is never stacked on a measurement. Where a bar has both, the estimated parts are
//! beside it, hatched.

use std::fmt::Write as _;

use crate::axis::{Axis, Ruler, position};
use crate::colour::Paint;
use crate::figure::{Heading, Interval, Origin};
use crate::frame::{Canvas, Plan, Plot};
use crate::legend::{Entry, Swatch};
use crate::mark::{self, Orientation};
use crate::number::significant;
use crate::scene::{Anchor, Label, Rect, Scene};
use crate::style::Style;
use crate::text::{clean, width};

/// A part of a bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Its name (`decode, GPU`); equal names have the same colour in every bar.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Whether it was measured.
    pub origin: Origin,
}

/// A bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Its name (`batch 8`).
    pub name: String,
    /// Its parts, from the bottom.
    pub segments: Vec<Segment>,
    /// The interval of the measured sum, if it is known.
    pub measured: Option<Interval>,
    /// The interval of the estimated sum, if it is known.
    pub estimated: Option<Interval>,
}

/// A chart of stacked bars.
#[derive(Debug, Clone, PartialEq)]
pub struct StackedBars {
    /// Title and caption.
    pub heading: Heading,
    /// What a bar stands for (`Run`).
    pub bar: String,
    /// The vertical axis; always linear, as parts are added.
    pub y: Axis,
    /// The bars, from the left.
    pub bars: Vec<Bar>,
}

/// With more bars there is no room for values above them.
const MOST_VALUES: usize = 10;

impl StackedBars {
    /// Renders the figure.
    pub fn svg(&self, style: &Style) -> String {
        let names = self.names();
        let segments = || self.bars.iter().flat_map(|bar| &bar.segments);
        let plan = Plan {
            heading: &self.heading,
            legend: self.legend(&names),
            description: self.description(),
            left_out: segments().filter(|segment| !drawable(segment)).count(),
            least_height: 0.0,
        };
        let mut canvas = Canvas::new(style, &plan);
        let axis = Axis {
            log: false,
            ..self.y.clone()
        };
        let y = Ruler::around(&axis, self.tops(), 6);
        let x = Ruler::named(&self.bar, self.bars.iter().map(|bar| bar.name.clone()));
        let plot = Plot::new(canvas.room, x, y);
        plot.grid(&mut canvas.scene);
        let slot = plot.area.width() / position(self.bars.len().max(1));
        for (index, bar) in self.bars.iter().enumerate() {
            let Some(centre) = plot.x.scale.place(position(index)) else {
                continue;
            };
            self.bar(&mut canvas.scene, &plot, bar, &names, (centre, slot));
        }
        plot.axes(&mut canvas.scene);
        if !segments().any(drawable) {
            canvas.say_empty(&plot.area);
        }
        canvas.scene.finish()
    }

    /// Names of the parts, in the order of their first appearance.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for segment in self.bars.iter().flat_map(|bar| &bar.segments) {
            if !names.contains(&segment.name.as_str()) {
                names.push(&segment.name);
            }
        }
        names
    }

    fn tops(&self) -> impl Iterator<Item = f64> {
        let sums = self.bars.iter().flat_map(|bar| {
            [Origin::Measured, Origin::Estimated]
                .into_iter()
                .flat_map(|origin| {
                    let sum: f64 = parts(bar, origin).map(|segment| segment.value).sum();
                    let end = interval(bar, origin).map(|interval| interval.high);
                    // Room above the bar for its value.
                    std::iter::once(sum * 1.06).chain(end.map(|end| end * 1.06))
                })
        });
        sums.chain([0.0])
    }

    fn bar(
        &self,
        scene: &mut Scene,
        plot: &Plot,
        bar: &Bar,
        names: &[&str],
        (centre, slot): (f64, f64),
    ) {
        let both = parts(bar, Origin::Measured).next().is_some()
            && parts(bar, Origin::Estimated).next().is_some();
        let wide = (slot * if both { 0.34 } else { 0.6 }).min(80.0);
        let aside = if both { wide / 2.0 + 2.0 } else { 0.0 };
        for (origin, centre) in [
            (Origin::Measured, centre - aside),
            (Origin::Estimated, centre + aside),
        ] {
            self.stack(scene, plot, bar, names, (origin, centre, wide));
        }
    }

    fn stack(
        &self,
        scene: &mut Scene,
        plot: &Plot,
        bar: &Bar,
        names: &[&str],
        (origin, centre, wide): (Origin, f64, f64),
    ) {
        let mut sum = 0.0;
        for segment in parts(bar, origin) {
            let series = names
                .iter()
                .position(|name| *name == segment.name)
                .unwrap_or(0);
            let ends = (
                plot.y.scale.place(sum),
                plot.y.scale.place(sum + segment.value),
            );
            sum += segment.value;
            let (Some(bottom), Some(top)) = ends else {
                continue;
            };
            let area = Rect {
                left: centre - wide / 2.0,
                right: centre + wide / 2.0,
                top,
                bottom,
            };
            let title = format!(
                "{}, {}: {}",
                bar.name,
                segment.name,
                self.y.unit.value(segment.value)
            );
            if origin.is_estimated() {
                let element = scene.rect(&area).hatched(series);
                element
                    .stroke(Paint::Series(series), 1.0)
                    .titled(&format!("{title}, estimated"));
            } else {
                scene
                    .rect(&area)
                    .fill(Paint::Series(series))
                    .stroke(Paint::Paper, 0.8)
                    .titled(&title);
            }
        }
        let Some(top) = plot.y.scale.place(sum).filter(|_| sum > 0.0) else {
            return;
        };
        let error = interval(bar, origin);
        mark::whisker(
            scene,
            Orientation::Up,
            centre,
            error,
            &plot.y.scale,
            Paint::Ink,
        );
        let above = error
            .and_then(|error| plot.y.scale.place(error.high))
            .unwrap_or(top)
            .min(top);
        // In the unit of the axis.
        let text = significant(
            sum / self.y.unit.scaled(plot.y.scale.high * 0.999).factor,
            3,
        );
        if self.bars.len() <= MOST_VALUES && width(&text, 10.5) < wide * 1.6 {
            let label = Label::new(&text, 10.5, Anchor::Middle).rimmed();
            scene.label((centre, above - 6.0), label);
        }
    }

    fn legend(&self, names: &[&str]) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (series, name) in names.iter().enumerate() {
            let of = |origin: Origin| {
                self.bars
                    .iter()
                    .any(|bar| parts(bar, origin).any(|segment| segment.name == **name))
            };
            if of(Origin::Measured) {
                let paint = Paint::Series(series);
                entries.push(Entry::new(Swatch::Area { paint }, name));
            }
            if of(Origin::Estimated) {
                let name = format!("{}, estimated", clean(name));
                entries.push(Entry::new(Swatch::Hatch { series }, &name));
            }
        }
        entries
    }

    fn description(&self) -> String {
        let mut text = format!("{} by {}.", self.y.name, self.bar);
        for bar in &self.bars {
            let _ = write!(text, " {}:", bar.name);
            for segment in bar.segments.iter().filter(|segment| drawable(segment)) {
                let kind = if segment.origin.is_estimated() {
                    " estimated"
                } else {
                    ""
                };
                let value = self.y.unit.value(segment.value);
                let _ = write!(text, " {}{kind} {value};", segment.name);
            }
        }
        text
    }
}

fn drawable(segment: &Segment) -> bool {
    segment.value.is_finite() && segment.value >= 0.0
}

fn parts(bar: &Bar, origin: Origin) -> impl Iterator<Item = &Segment> {
    bar.segments
        .iter()
        .filter(move |segment| segment.origin == origin && drawable(segment))
}

fn interval(bar: &Bar, origin: Origin) -> Option<Interval> {
    match origin {
        Origin::Measured => bar.measured,
        Origin::Estimated => bar.estimated,
    }
}
