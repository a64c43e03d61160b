//! Energy of correct and wrong answers: every query, and the quartiles.

use std::fmt::Write as _;

use crate::axis::{Axis, Ruler, position};
use crate::colour::Paint;
use crate::figure::{Heading, Origin};
use crate::frame::{Canvas, Plan, Plot};
use crate::legend::{Entry, Swatch};
use crate::number::count;
use crate::scene::{PathData, Rect, Scene};
use crate::style::Style;
use crate::text::{clean, isolate};

/// The queries with one verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The verdict (`correct`).
    pub name: String,
    /// One value per query.
    pub values: Vec<f64>,
    /// Lower quartile, median and upper quartile; `None` with too few values.
    pub quartiles: Option<[f64; 3]>,
}

/// A chart of distributions in rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Correctness {
    /// Title and caption.
    pub heading: Heading,
    /// The horizontal axis.
    pub x: Axis,
    /// The groups, from the top.
    pub groups: Vec<Group>,
    /// Whether the values were measured.
    pub origin: Origin,
}

/// With more values, points are replaced by a mirrored histogram.
const MOST_POINTS: usize = 1_500;

impl Correctness {
    /// Renders the figure.
    pub fn svg(&self, style: &Style) -> String {
        let all = || self.groups.iter().flat_map(|group| &group.values);
        let drawn = all().filter(|value| self.fits(**value)).count();
        let plan = Plan {
            heading: &self.heading,
            legend: self.legend(),
            description: self.description(),
            left_out: all().count() - drawn,
            least_height: 180.0 + position(self.groups.len()) * 80.0,
        };
        let mut canvas = Canvas::new(style, &plan);
        let quartiles = self
            .groups
            .iter()
            .filter_map(|group| group.quartiles)
            .flatten();
        let x = Ruler::around(&self.x, all().copied().chain(quartiles), 8);
        let names = self.groups.iter().map(|group| {
            format!(
                "{} (n = {})",
                isolate(&clean(&group.name)),
                count(group.values.len())
            )
        });
        let plot = Plot::rows(canvas.room, x, Ruler::named("Verdict", names));
        plot.grid(&mut canvas.scene);
        canvas.scene.clipped(&plot.area);
        for (index, group) in self.groups.iter().enumerate() {
            if let Some(middle) = plot.y.scale.place(position(index)) {
                let high = plot.area.height() / position(self.groups.len());
                self.strip(&mut canvas.scene, &plot, group, index, (middle, high));
                quartile_box(&mut canvas.scene, &plot, group, index, middle + high * 0.3);
            }
        }
        canvas.scene.end();
        plot.axes(&mut canvas.scene);
        if drawn == 0 {
            canvas.say_empty(&plot.area);
        }
        canvas.scene.finish()
    }

    fn fits(&self, value: f64) -> bool {
        value.is_finite() && (!self.x.log || value > 0.0)
    }

    fn strip(
        &self,
        scene: &mut Scene,
        plot: &Plot,
        group: &Group,
        index: usize,
        (middle, high): (f64, f64),
    ) {
        let (centre, half) = (middle - high * 0.1, (high * 0.26).min(46.0));
        let places: Vec<f64> = group
            .values
            .iter()
            .filter_map(|value| plot.x.scale.place(*value))
            .collect();
        if places.len() > MOST_POINTS {
            histogram(scene, plot, &places, index, (centre, half));
            return;
        }
        let element = scene.element("g");
        if self.origin.is_estimated() {
            element.unfilled().stroke(Paint::Series(index), 1.1).open();
        } else {
            element
                .fill(Paint::Series(index))
                .number("fill-opacity", 0.75)
                .open();
        }
        for (order, place) in places.iter().enumerate() {
            // The golden ratio spreads points evenly and deterministically.
            let aside = ((position(order) + 0.5) * 0.618_034).fract() * 2.0 - 1.0;
            let at = (*place, centre + aside * half);
            if index == 0 {
                scene
                    .element("circle")
                    .number("cx", at.0)
                    .number("cy", at.1)
                    .word("r", "2.4")
                    .close();
            } else {
                scene.path(&crate::mark::shape(index, at, 2.4)).close();
            }
        }
        scene.end();
    }

    fn legend(&self) -> Vec<Entry> {
        let hollow = self.origin.is_estimated();
        let kind = if hollow { ", estimated" } else { "" };
        let entry = |(series, group): (usize, &Group)| {
            Entry::new(
                Swatch::Point { series, hollow },
                &format!("{}{kind}", group.name),
            )
        };
        let mut entries: Vec<Entry> = self.groups.iter().enumerate().map(entry).collect();
        if self.groups.iter().any(|group| group.quartiles.is_some()) {
            entries.push(Entry::new(
                Swatch::Band { series: 0 },
                "quartiles; bar: median",
            ));
        }
        entries
    }

    fn description(&self) -> String {
        let mut text = format!("{} by verdict.", self.x.name);
        for group in &self.groups {
            let _ = write!(
                text,
                " {}: {} queries",
                group.name,
                count(group.values.len())
            );
            if let Some([_, median, _]) =
                group.quartiles.filter(|[_, median, _]| median.is_finite())
            {
                let _ = write!(text, ", median {}", self.x.unit.value(median));
            }
            text.push('.');
        }
        text
    }
}

fn quartile_box(scene: &mut Scene, plot: &Plot, group: &Group, index: usize, middle: f64) {
    let Some(places) = group
        .quartiles
        .map(|values| values.map(|value| plot.x.scale.place(value)))
    else {
        return;
    };
    let [Some(low), Some(median), Some(high)] = places else {
        return;
    };
    let area = Rect {
        left: low.min(high),
        right: low.max(high),
        top: middle - 8.0,
        bottom: middle + 8.0,
    };
    scene
        .rect(&area)
        .fill(Paint::Series(index))
        .number("fill-opacity", 0.25)
        .stroke(Paint::Series(index), 1.4)
        .close();
    let line = scene.line((median, middle - 11.0), (median, middle + 11.0));
    line.stroke(Paint::Ink, 2.4).close();
}

fn histogram(
    scene: &mut Scene,
    plot: &Plot,
    places: &[f64],
    series: usize,
    (centre, half): (f64, f64),
) {
    let wide = 4.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "places lie within the plot"
    )]
    let bin = |place: f64| ((place - plot.area.left) / wide).max(0.0) as usize;
    let mut counts = vec![0_u32; bin(plot.area.right) + 1];
    for place in places {
        counts[bin(*place)] += 1;
    }
    let most = f64::from(counts.iter().copied().max().unwrap_or(1).max(1));
    let mut data = PathData::default();
    for (index, held) in counts.iter().enumerate().filter(|(_, held)| **held > 0) {
        let left = plot.area.left + position(index) * wide;
        let reach = (f64::from(*held) / most * half).max(0.5);
        data.go((left, centre - reach));
        data.draw((left + wide, centre - reach));
        data.draw((left + wide, centre + reach));
        data.draw((left, centre + reach));
        data.shut();
    }
    scene
        .path(&data)
        .fill(Paint::Series(series))
        .number("fill-opacity", 0.6)
        .close();
}
