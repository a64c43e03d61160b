//! Accuracy by subject: a point with its interval, and the number of queries.

use std::fmt::Write as _;

use crate::axis::{Axis, Ruler, position};
use crate::colour::Paint;
use crate::figure::{Heading, Quantity};
use crate::frame::{Canvas, Plan, Plot, TICK};
use crate::legend::{Entry, Swatch};
use crate::mark::{self, Orientation};
use crate::number::{count, fixed, significant};
use crate::scene::{Anchor, Label, Rect, Scene};
use crate::style::Style;
use crate::text::{clean, isolate, width};
use crate::unit::Unit;

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// Its value; for accuracy, a fraction of one.
    pub value: Quantity,
    /// Number of queries, if it is known.
    pub n: Option<usize>,
}

/// A forest plot, sorted from the best.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    /// Title and caption.
    pub heading: Heading,
    /// The horizontal axis.
    pub x: Axis,
    /// What a row stands for (`Subject`).
    pub row: String,
    /// The rows, in any order.
    pub subjects: Vec<Subject>,
    /// The value over all rows; `None` draws no line.
    pub overall: Option<Quantity>,
}

/// More rows would not fit on a page.
const MOST_ROWS: usize = 60;

impl Forest {
    /// Renders the figure.
    pub fn svg(&self, style: &Style) -> String {
        let mut rows: Vec<&Subject> = self
            .subjects
            .iter()
            .filter(|row| drawable(&self.x, row.value.value))
            .collect();
        rows.sort_by(|a, b| {
            b.value
                .value
                .total_cmp(&a.value.value)
                .then_with(|| a.name.cmp(&b.name))
        });
        let left_out = self.subjects.len() - rows.len();
        let beyond = rows.len().saturating_sub(MOST_ROWS);
        rows.truncate(MOST_ROWS);
        let mut heading = self.heading.clone();
        if beyond > 0 {
            heading
                .caption
                .notes
                .push(format!("the lowest {} rows are not shown", count(beyond)));
        }
        let plan = Plan {
            heading: &heading,
            legend: self.legend(),
            description: self.description(&rows),
            left_out,
            least_height: 150.0 + position(rows.len()) * 20.0,
        };
        let mut canvas = Canvas::new(style, &plan);
        let texts: Vec<String> = rows
            .iter()
            .map(|row| written(&self.x.unit, row.value))
            .collect();
        let aside = texts
            .iter()
            .map(|text| width(text, TICK))
            .fold(0.0, f64::max)
            + 10.0;
        let room = Rect {
            right: canvas.room.right - aside,
            ..canvas.room
        };
        let names = rows.iter().map(|row| match row.n {
            Some(n) => format!("{} ({})", isolate(&clean(&row.name)), count(n)),
            None => row.name.clone(),
        });
        let y = Ruler::named(&format!("{} (n)", self.row), names);
        let plot = Plot::rows(room, self.ruler(&rows), y);
        plot.grid(&mut canvas.scene);
        self.overall(&mut canvas.scene, &plot);
        for (index, row) in rows.iter().enumerate() {
            let Some(at) = plot.place(row.value.value, position(index)) else {
                continue;
            };
            let scene = &mut canvas.scene;
            mark::whisker(
                scene,
                Orientation::Across,
                at.1,
                row.value.interval,
                &plot.x.scale,
                Paint::Series(0),
            );
            let title = format!("{}: {}", row.name, texts[index]);
            mark::point(scene, 0, at, 4.2, false).titled(&title);
            let label = Label::new(&texts[index], TICK, Anchor::End).soft();
            scene.label((canvas.room.right, at.1 + 4.0), label);
        }
        plot.axes(&mut canvas.scene);
        if rows.is_empty() {
            canvas.say_empty(&plot.area);
        }
        canvas.scene.finish()
    }

    fn ruler(&self, rows: &[&Subject]) -> Ruler {
        if self.x.unit == Unit::Percent && !self.x.log {
            return Ruler::spanning(&self.x, 0.0, 1.0, 6);
        }
        let values = rows.iter().flat_map(|row| row.value.values());
        Ruler::around(
            &self.x,
            values.chain(self.overall.into_iter().flat_map(Quantity::values)),
            6,
        )
    }

    fn overall(&self, scene: &mut Scene, plot: &Plot) {
        let Some(overall) = self.overall else { return };
        if let Some(interval) = overall.interval
            && let (Some(low), Some(high)) = (
                plot.x.scale.place(interval.low),
                plot.x.scale.place(interval.high),
            )
        {
            let band = Rect {
                left: low.min(high),
                right: high.max(low),
                ..plot.area
            };
            scene
                .rect(&band)
                .fill(Paint::Series(1))
                .number("fill-opacity", 0.15)
                .close();
        }
        if let Some(place) = plot.x.scale.place(overall.value) {
            let line = scene.line((place, plot.area.top), (place, plot.area.bottom));
            line.stroke(Paint::Series(1), 1.6)
                .word("stroke-dasharray", "7 3")
                .close();
        }
    }

    fn legend(&self) -> Vec<Entry> {
        let mut entries = vec![Entry::new(
            Swatch::Point {
                series: 0,
                hollow: false,
            },
            &format!("{} with its interval", self.x.name.to_lowercase()),
        )];
        if let Some(overall) = self.overall.filter(|overall| overall.value.is_finite()) {
            let name = format!("all together: {}", written(&self.x.unit, overall));
            entries.push(Entry::new(Swatch::Line { series: 1 }, &name));
        }
        entries
    }

    fn description(&self, rows: &[&Subject]) -> String {
        let mut text = format!("{} by {}, highest first.", self.x.name, self.row);
        for row in rows {
            let _ = write!(text, " {}: {}.", row.name, written(&self.x.unit, row.value));
        }
        text
    }
}

fn drawable(axis: &Axis, value: f64) -> bool {
    value.is_finite() && (!axis.log || value > 0.0)
}

/// A value with its interval, as text beside a row.
pub(crate) fn written(unit: &Unit, quantity: Quantity) -> String {
    let scaled = unit.scaled(quantity.value);
    let number = |value: f64| match unit {
        Unit::Percent => fixed(value / scaled.factor, 1),
        _ => significant(value / scaled.factor, 3),
    };
    let ends = quantity
        .interval
        .filter(|interval| interval.low.is_finite() && interval.high.is_finite())
        .map(|interval| format!(" [{}, {}]", number(interval.low), number(interval.high)));
    format!(
        "{} {}{}",
        number(quantity.value),
        scaled.symbol,
        ends.unwrap_or_default()
    )
}
