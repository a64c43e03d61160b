//! Comparison of two runs: relative differences with intervals around zero. Better is always to the
//! right.

use std::fmt::Write as _;

use crate::axis::{Axis, Ruler, position};
use crate::colour::Paint;
use crate::figure::{Heading, Interval, Quantity};
use crate::frame::{Canvas, Plan, Plot, TICK};
use crate::legend::{Entry, Swatch};
use crate::mark::{self, Orientation};
use crate::number::{count, significant};
use crate::scene::{Anchor, Label, Rect, Scene};
use crate::style::Style;
use crate::text::width;
use crate::unit::Unit;

/// Difference of two runs in one quantity.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Name of the quantity (`Latency p99`).
    pub name: String,
    /// New ÷ old − 1: −0.1 is ten percent lower.
    pub change: Quantity,
    /// Whether lower is better (latency, joules) or higher (accuracy, throughput).
    pub lower_is_better: bool,
}

impl Difference {
    /// The change with the sign that makes better positive.
    fn turned(&self) -> Quantity {
        if !self.lower_is_better {
            return self.change;
        }
        let turn = |interval: Interval| Interval {
            low: -interval.high,
            high: -interval.low,
        };
        Quantity {
            value: -self.change.value,
            interval: self.change.interval.map(turn),
        }
    }

    /// The series of the verdict: better, worse, or neither.
    fn verdict(&self, tolerance: f64) -> usize {
        let Some(interval) = self.turned().interval else {
            return NEITHER;
        };
        if interval.low > tolerance {
            BETTER
        } else if interval.high < -tolerance {
            WORSE
        } else {
            NEITHER
        }
    }
}

// Series by shape and colour: triangle up, square, disc.
const BETTER: usize = 2;
const WORSE: usize = 1;
const NEITHER: usize = 0;

/// A row that is this many times longer than the next one is drawn at the edge.
const FAR_BEYOND: f64 = 3.0;

/// A chart of the differences of two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareBars {
    /// Title and caption.
    pub heading: Heading,
    /// The rows, from the top.
    pub differences: Vec<Difference>,
    /// Largest change that does not matter (0.05: five percent); `None` draws no shade.
    pub tolerance: Option<f64>,
}

impl CompareBars {
    /// Renders the figure.
    pub fn svg(&self, style: &Style) -> String {
        let rows: Vec<&Difference> = self
            .differences
            .iter()
            .filter(|row| row.change.value.is_finite())
            .collect();
        let plan = Plan {
            heading: &self.heading,
            legend: self.legend(),
            description: Self::description(&rows),
            left_out: self.differences.len() - rows.len(),
            least_height: 170.0 + position(rows.len()) * 24.0,
        };
        let mut canvas = Canvas::new(style, &plan);
        let texts: Vec<String> = rows.iter().map(|row| change_text(row.change)).collect();
        let aside = texts
            .iter()
            .map(|text| width(text, TICK))
            .fold(width("change [interval]", TICK), f64::max)
            + 12.0;
        let room = Rect {
            right: canvas.room.right - aside,
            top: canvas.room.top + 14.0,
            ..canvas.room
        };
        let names = rows.iter().map(|row| row.name.clone());
        let domain = self.domain(&rows);
        let axis = Axis::linear("Improvement", Unit::Percent);
        let ruler = Ruler::spanning(&axis, domain.0, domain.1, 8);
        let plot = Plot::rows(room, ruler, Ruler::named("", names));
        self.shade(&mut canvas.scene, &plot);
        plot.grid(&mut canvas.scene);
        sides(&mut canvas.scene, &plot);
        let head = Label::new("change [interval]", TICK, Anchor::End).soft();
        canvas
            .scene
            .label((canvas.room.right, plot.area.top - 6.0), head);
        for (index, row) in rows.iter().enumerate() {
            let whole = row.turned();
            let turned = whole.clamped(domain);
            let Some(at) = plot.place(turned.value, position(index)) else {
                continue;
            };
            let series = row.verdict(self.tolerance());
            let scene = &mut canvas.scene;
            let paint = Paint::Series(series);
            mark::whisker(
                scene,
                Orientation::Across,
                at.1,
                turned.interval,
                &plot.x.scale,
                paint,
            );
            mark::point(scene, series, at, 4.6, false)
                .titled(&format!("{}: {}", row.name, texts[index]));
            // A change beyond the axis is drawn as an arrow, with its number.
            if whole.value > domain.1 {
                let beyond = Label::new("»", TICK, Anchor::End);
                scene.label((at.0 - 7.0, at.1 + 4.0), beyond);
            } else if whole.value < domain.0 {
                let beyond = Label::new("«", TICK, Anchor::Start);
                scene.label((at.0 + 7.0, at.1 + 4.0), beyond);
            }
            let label = Label::new(&texts[index], TICK, Anchor::End).soft();
            scene.label((canvas.room.right, at.1 + 4.0), label);
        }
        plot.axes(&mut canvas.scene);
        if rows.is_empty() {
            canvas.say_empty(&plot.area);
        }
        canvas.scene.finish()
    }

    fn tolerance(&self) -> f64 {
        self.tolerance
            .filter(|value| value.is_finite())
            .unwrap_or(0.0)
            .abs()
    }

    /// A symmetric domain. A single row far beyond all others does not stretch the axis; it is
    /// drawn at the edge.
    fn domain(&self, rows: &[&Difference]) -> (f64, f64) {
        let reach = |row: &&Difference| {
            let values = row.change.values().filter(|value| value.is_finite());
            values.fold(0.0, |far: f64, value| far.max(value.abs()))
        };
        let mut reaches: Vec<f64> = rows.iter().map(reach).collect();
        reaches.sort_unstable_by(|left, right| right.total_cmp(left));
        let farthest = match reaches[..] {
            [far, next, _, ..] if next > 0.0 && far > FAR_BEYOND * next => 1.3 * next,
            [far, ..] => far,
            [] => 0.0,
        };
        let farthest = farthest.max(self.tolerance() * 1.5);
        let farthest = if farthest > 0.0 {
            farthest.min(1e300) * 1.05
        } else {
            0.1
        };
        crate::scale::linear_domain(Some((-farthest, farthest)), 8)
    }

    fn shade(&self, scene: &mut Scene, plot: &Plot) {
        let tolerance = self.tolerance();
        let ends = (
            plot.x.scale.place(-tolerance),
            plot.x.scale.place(tolerance),
        );
        if let (Some(left), Some(right), true) = (ends.0, ends.1, tolerance > 0.0) {
            let band = Rect {
                left,
                right,
                ..plot.area
            };
            scene
                .rect(&band)
                .fill(Paint::Soft)
                .number("fill-opacity", 0.14)
                .close();
        }
    }

    fn legend(&self) -> Vec<Entry> {
        let point = |series, name: &str| {
            Entry::new(
                Swatch::Point {
                    series,
                    hollow: false,
                },
                name,
            )
        };
        let beyond = match self.tolerance() {
            0.0 => String::new(),
            tolerance => format!(" by more than {} %", significant(tolerance * 100.0, 3)),
        };
        vec![
            point(BETTER, &format!("better{beyond}")),
            point(WORSE, &format!("worse{beyond}")),
            point(NEITHER, "no clear difference"),
        ]
    }

    fn description(rows: &[&Difference]) -> String {
        let mut text = format!("{} relative differences.", count(rows.len()));
        for row in rows {
            let good = if row.lower_is_better {
                "lower"
            } else {
                "higher"
            };
            let change = change_text(row.change);
            let _ = write!(text, " {} ({good} is better): {change}.", row.name);
        }
        text
    }
}

/// The line at zero, and the labels of its sides.
fn sides(scene: &mut Scene, plot: &Plot) {
    let Some(middle) = plot.x.scale.place(0.0) else {
        return;
    };
    scene
        .line((middle, plot.area.top), (middle, plot.area.bottom))
        .stroke(Paint::Ink, 1.4)
        .close();
    let top = plot.area.top - 6.0;
    scene.label(
        (middle - 10.0, top),
        Label::new("← worse", TICK, Anchor::End).soft(),
    );
    scene.label(
        (middle + 10.0, top),
        Label::new("better →", TICK, Anchor::Start).soft(),
    );
}

fn change_text(change: Quantity) -> String {
    let number = |value: f64| {
        let sign = if value > 0.0 { "+" } else { "" };
        format!("{sign}{}", significant(value * 100.0, 3))
    };
    let ends = change
        .interval
        .filter(|interval| interval.low.is_finite() && interval.high.is_finite())
        .map(|interval| format!(" [{}, {}]", number(interval.low), number(interval.high)));
    format!("{} %{}", number(change.value), ends.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Caption;
    use crate::style::Mode;

    fn bars(changes: &[f64]) -> CompareBars {
        let difference = |change: &f64| Difference {
            name: format!("metric {change}"),
            change: Quantity::exact(*change),
            lower_is_better: false,
        };
        CompareBars {
            heading: Heading::new("B against A", Caption::default()),
            differences: changes.iter().map(difference).collect(),
            tolerance: Some(0.02),
        }
    }

    fn reach(bars: &CompareBars) -> f64 {
        let rows: Vec<&Difference> = bars.differences.iter().collect();
        bars.domain(&rows).1
    }

    #[test]
    fn one_outlier_does_not_stretch_the_axis_and_is_still_drawn() {
        let far = bars(&[0.1, -0.12, 9.0]);
        assert!((0.12..0.5).contains(&reach(&far)), "{}", reach(&far));
        let drawing = far.svg(&Style::new(Mode::Inline));
        assert!(drawing.contains('»'), "it points beyond the axis");
        assert!(drawing.contains("+900 %"), "its number is told");
        // Without other rows, or with two of similar length, the axis contains all.
        assert!(reach(&bars(&[0.1, 9.0])) >= 9.0);
        assert!(reach(&bars(&[0.1, 8.0, 9.0])) >= 9.0);
    }
}
