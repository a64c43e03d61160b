//! The frame of a figure: title, legend and caption around an area with axes.

use crate::axis::Ruler;
use crate::colour::Paint;
use crate::figure::Heading;
use crate::legend::{Entry, Legend};
use crate::scene::{Anchor, Label, Rect, Scene};
use crate::style::Style;
use crate::text::{clean, cut, width, wrap};

const PAD: f64 = 16.0;
const TITLE: f64 = 15.0;
const CAPTION: f64 = 10.5;
pub(crate) const TICK: f64 = 11.0;
const AXIS: f64 = 12.0;

/// The texts and size of a figure.
pub(crate) struct Plan<'a> {
    pub(crate) heading: &'a Heading,
    pub(crate) legend: Vec<Entry>,
    /// Text alternative for readers who cannot see the figure.
    pub(crate) description: String,
    /// Number of values that could not be drawn.
    pub(crate) left_out: usize,
    /// Smallest height; figures with many rows grow.
    pub(crate) least_height: f64,
}

/// A figure with heading and caption, and the area between them.
pub(crate) struct Canvas {
    pub(crate) scene: Scene,
    pub(crate) room: Rect,
}

impl Canvas {
    pub(crate) fn new(style: &Style, plan: &Plan<'_>) -> Self {
        let (wide, high) = style.size();
        let high = high.max(plan.least_height);
        let right = wide - PAD;
        let title = clean(&plan.heading.title);
        let caption = plan.heading.caption.text(plan.left_out);
        let description = format!("{} {caption}", plan.description);
        let mut scene = Scene::new(style, (wide, high), &title, description.trim());

        let mut top = PAD - 2.0;
        for line in wrap(&title, TITLE, right - PAD, 2) {
            top += 16.0;
            scene.label((PAD, top), Label::new(&line, TITLE, Anchor::Start));
            top += 4.0;
        }
        let legend = Legend::set(&plan.legend, PAD, right);
        top += if legend.height() > 0.0 { 6.0 } else { 0.0 };
        legend.draw(&mut scene, top);
        top += legend.height() + 10.0;

        let lines = wrap(&caption, CAPTION, right - PAD, 4);
        let mut bottom = high - PAD + 4.0;
        for line in lines.iter().rev() {
            scene.label(
                (PAD, bottom),
                Label::new(line, CAPTION, Anchor::Start).soft(),
            );
            bottom -= 14.0;
        }
        let room = Rect {
            left: PAD,
            top,
            right,
            bottom: (bottom - 4.0).max(top + 80.0),
        };
        Self { scene, room }
    }

    /// Writes that there is no data, in the middle of a plot.
    pub(crate) fn say_empty(&mut self, area: &Rect) {
        let at = (
            f64::midpoint(area.left, area.right),
            f64::midpoint(area.top, area.bottom),
        );
        let label = Label::new("no data to draw", 12.0, Anchor::Middle);
        self.scene.label(at, label.soft().rimmed());
    }
}

/// Two axes around an area.
pub(crate) struct Plot {
    pub(crate) area: Rect,
    pub(crate) x: Ruler,
    pub(crate) y: Ruler,
    /// Available area for the labels of named rows.
    room: Rect,
}

impl Plot {
    /// Fits the axes and their labels into the area.
    pub(crate) fn new(room: Rect, x: Ruler, y: Ruler) -> Self {
        let widest = widest_label(&y).min(room.width() * 0.38);
        let left = room.left + if y.title.is_empty() { 0.0 } else { 20.0 } + widest + 8.0;
        let last = x
            .ticks
            .iter()
            .filter_map(|tick| tick.label.as_deref())
            .next_back();
        let overhang = if x.named {
            0.0
        } else {
            last.map_or(0.0, |text| width(text, TICK) / 2.0)
        };
        let below = if x.ticks.is_empty() { 0.0 } else { 18.0 }
            + if x.title.is_empty() { 0.0 } else { 20.0 };
        let area = Rect {
            left,
            top: room.top + 4.0,
            right: (room.right - overhang.min(40.0)).max(left + 40.0),
            bottom: (room.bottom - below).max(room.top + 40.0),
        };
        let (x, y) = (x.onto(area.left, area.right), y.onto(area.bottom, area.top));
        Self { area, x, y, room }
    }

    /// The plot with rows from the top.
    pub(crate) fn rows(room: Rect, x: Ruler, y: Ruler) -> Self {
        let mut plot = Self::new(room, x, y);
        plot.y = plot.y.onto(plot.area.top, plot.area.bottom);
        plot
    }

    /// The plot with other edges, so that stacked panels share an axis.
    pub(crate) fn between(mut self, left: f64, right: f64) -> Self {
        self.area = Rect {
            left,
            right,
            ..self.area
        };
        self.x = self.x.onto(left, right);
        self
    }

    /// Coordinates of a point, clipped to the edge.
    pub(crate) fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.x.scale.place(x)?, self.y.scale.place(y)?))
    }

    /// Coordinates of a point without clipping.
    pub(crate) fn place_beyond(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.x.scale.place_beyond(x)?, self.y.scale.place_beyond(y)?))
    }

    /// The grid, drawn below the data.
    pub(crate) fn grid(&self, scene: &mut Scene) {
        scene.element("g").stroke(Paint::Grid, 1.0).open();
        if !self.x.named {
            for place in labelled(&self.x) {
                scene
                    .line((place, self.area.top), (place, self.area.bottom))
                    .close();
            }
        }
        if !self.y.named {
            for place in labelled(&self.y) {
                scene
                    .line((self.area.left, place), (self.area.right, place))
                    .close();
            }
        }
        scene.end();
    }

    /// Axes with ticks, labels and titles.
    pub(crate) fn axes(&self, scene: &mut Scene) {
        let area = self.area;
        scene.element("g").stroke(Paint::Ink, 1.0).open();
        scene
            .line((area.left, area.bottom), (area.right, area.bottom))
            .close();
        scene
            .line((area.left, area.top), (area.left, area.bottom))
            .close();
        for tick in self.x.ticks.iter().filter(|_| !self.x.named) {
            if let Some(place) = self.x.scale.place(tick.at) {
                let long = if tick.label.is_some() { 5.0 } else { 3.0 };
                scene
                    .line((place, area.bottom), (place, area.bottom + long))
                    .close();
            }
        }
        for tick in self.y.ticks.iter().filter(|_| !self.y.named) {
            if let Some(place) = self.y.scale.place(tick.at) {
                let long = if tick.label.is_some() { 5.0 } else { 3.0 };
                scene
                    .line((area.left - long, place), (area.left, place))
                    .close();
            }
        }
        scene.end();
        self.x_labels(scene);
        self.y_labels(scene);
    }

    fn x_labels(&self, scene: &mut Scene) {
        let slot = self.area.width() / f64::from(u32::try_from(self.x.ticks.len()).unwrap_or(1));
        let mut free_from = f64::NEG_INFINITY;
        for tick in &self.x.ticks {
            let (Some(text), Some(place)) = (&tick.label, self.x.scale.place(tick.at)) else {
                continue;
            };
            let text = if self.x.named {
                cut(text, TICK, slot - 4.0)
            } else {
                text.clone()
            };
            let half = width(&text, TICK) / 2.0;
            if place - half < free_from {
                continue;
            }
            free_from = place + half + 4.0;
            let label = Label::new(&text, TICK, Anchor::Middle).soft();
            scene.label((place, self.area.bottom + 18.0), label);
        }
        if !self.x.title.is_empty() {
            let title = cut(&self.x.title, AXIS, self.room.width());
            // Below the middle of the axis, unless it would leave the area.
            let half = width(&title, AXIS) / 2.0;
            let middle = f64::midpoint(self.area.left, self.area.right);
            let middle = middle
                .min(self.room.right - half)
                .max(self.room.left + half);
            let at = (middle, self.area.bottom + 36.0);
            scene.label(at, Label::new(&title, AXIS, Anchor::Middle));
        }
    }

    fn y_labels(&self, scene: &mut Scene) {
        let mut last: Option<f64> = None;
        for tick in &self.y.ticks {
            let (Some(text), Some(place)) = (&tick.label, self.y.scale.place(tick.at)) else {
                continue;
            };
            if last.is_some_and(|last| (last - place).abs() < TICK) {
                continue;
            }
            last = Some(place);
            let room = self.room.width() * 0.38;
            let text = cut(text, TICK, room);
            let label = Label::new(&text, TICK, Anchor::End);
            let label = if self.y.named { label } else { label.soft() };
            scene.label((self.area.left - 8.0, place + 4.0), label);
        }
        if !self.y.title.is_empty() {
            let middle = f64::midpoint(self.area.top, self.area.bottom);
            let title = cut(&self.y.title, AXIS, self.area.height() + 50.0);
            let label = Label::new(&title, AXIS, Anchor::Middle);
            scene.label_turned((self.room.left + 10.0, middle), label, true);
        }
    }
}

fn widest_label(ruler: &Ruler) -> f64 {
    ruler
        .ticks
        .iter()
        .filter_map(|tick| tick.label.as_deref())
        .map(|text| width(text, TICK))
        .fold(0.0, f64::max)
}

fn labelled(ruler: &Ruler) -> impl Iterator<Item = f64> {
    ruler
        .ticks
        .iter()
        .filter(|tick| tick.label.is_some())
        .filter_map(|tick| ruler.scale.place(tick.at))
}
