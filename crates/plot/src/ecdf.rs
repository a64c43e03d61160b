//! Cumulative distribution with a spread tail: 50, 90, 99 and 99.9 % are at equal distances.

use std::fmt::Write as _;

use crate::axis::{Axis, Ruler, Tick, position};
use crate::figure::{Band, Heading, Quantity};
use crate::frame::{Canvas, Plan, Plot};
use crate::legend::{Entry, Swatch};
use crate::mark::{self, Orientation};
use crate::number::count;
use crate::scale::{Kind, Scale};
use crate::scatter::band;
use crate::scene::{PathData, Scene};
use crate::style::Style;
use crate::text::{clean, isolate};

/// A percentile with its interval, marked on the curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// The share, for example 0.99.
    pub share: f64,
    /// The value of the percentile.
    pub at: Quantity,
}

/// The samples of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// Name of the series.
    pub name: String,
    /// The samples, in any order.
    pub values: Vec<f64>,
    /// Confidence band of the share (`low`, `high`) at a value (`at`); empty without one.
    pub band: Vec<Band>,
    /// Percentiles to mark.
    pub marks: Vec<Mark>,
}

/// A chart of cumulative distributions.
#[derive(Debug, Clone, PartialEq)]
pub struct Ecdf {
    /// Title and caption.
    pub heading: Heading,
    /// The horizontal axis.
    pub x: Axis,
    /// The population of the share (`queries`).
    pub of: String,
    /// The series.
    pub series: Vec<Samples>,
}

impl Ecdf {
    /// Renders the figure.
    pub fn svg(&self, style: &Style) -> String {
        let sorted: Vec<Vec<f64>> = self
            .series
            .iter()
            .map(|series| self.drawable(&series.values))
            .collect();
        let given: usize = self.series.iter().map(|series| series.values.len()).sum();
        let drawn: usize = sorted.iter().map(Vec::len).sum();
        let plan = Plan {
            heading: &self.heading,
            legend: self.legend(),
            description: self.description(&sorted),
            left_out: given - drawn,
            least_height: 0.0,
        };
        let mut canvas = Canvas::new(style, &plan);
        let marks = self.series.iter().flat_map(|series| &series.marks);
        let x = sorted
            .iter()
            .flatten()
            .copied()
            .chain(marks.flat_map(|mark| mark.at.values()));
        let longest = sorted.iter().map(Vec::len).max().unwrap_or(0);
        let plot = Plot::new(
            canvas.room,
            Ruler::around(&self.x, x, 8),
            self.shares(longest),
        );
        plot.grid(&mut canvas.scene);
        canvas.scene.clipped(&plot.area);
        for (index, series) in self.series.iter().enumerate() {
            band(&mut canvas.scene, &plot, &series.band, index);
        }
        for (index, values) in sorted.iter().enumerate() {
            let steps = steps(&plot, values);
            if !steps.is_empty() {
                mark::stroke_series(canvas.scene.path(&steps), index, 2.0);
            }
        }
        canvas.scene.end();
        plot.axes(&mut canvas.scene);
        for (index, series) in self.series.iter().enumerate() {
            self.marks(&mut canvas.scene, &plot, index, series);
        }
        if drawn == 0 {
            canvas.say_empty(&plot.area);
        }
        canvas.scene.finish()
    }

    fn drawable(&self, values: &[f64]) -> Vec<f64> {
        let fits = |value: &f64| value.is_finite() && (!self.x.log || *value > 0.0);
        let mut sorted: Vec<f64> = values.iter().copied().filter(fits).collect();
        sorted.sort_by(f64::total_cmp);
        sorted
    }

    /// The vertical axis, as far into the tail as this many samples reach.
    fn shares(&self, samples: usize) -> Ruler {
        let mut ticks: Vec<Tick> = [(0.0, "0"), (0.25, "25"), (0.5, "50"), (0.9, "90")]
            .map(|(at, label)| Tick {
                at,
                label: Some(label.to_owned()),
            })
            .to_vec();
        let (mut nines, mut rest) = (1, 0.1);
        while position(samples) * rest >= 10.0 && nines < 9 {
            nines += 1;
            rest /= 10.0;
            let label = format!("99.{}", "9".repeat(nines - 2));
            let label = label.trim_end_matches('.').to_owned();
            ticks.push(Tick {
                at: 1.0 - rest,
                label: Some(label),
            });
        }
        // Slightly above the end of the largest sample.
        let high = 1.0 - (rest / 2.5).min(0.5 / position(samples.max(1)));
        ticks.push(Tick {
            at: high,
            label: Some("max".to_owned()),
        });
        let scale = Scale {
            kind: Kind::Tail,
            low: 0.0,
            high,
            from: 0.0,
            to: 1.0,
        };
        let title = format!("Share of {} (%, tail spread)", clean(&self.of));
        Ruler {
            scale,
            ticks,
            title,
            symbol: "%".to_owned(),
            named: false,
        }
    }

    fn marks(&self, scene: &mut Scene, plot: &Plot, index: usize, series: &Samples) {
        for mark in &series.marks {
            let Some(at) = plot.place(mark.at.value, mark.share) else {
                continue;
            };
            let paint = crate::colour::Paint::Series(index);
            mark::whisker(
                scene,
                Orientation::Across,
                at.1,
                mark.at.interval,
                &plot.x.scale,
                paint,
            );
            let title = format!(
                "{}: {} % within {}",
                series.name,
                crate::number::significant(mark.share * 100.0, 4),
                self.x.unit.value(mark.at.value)
            );
            mark::point(scene, index, at, 4.4, false).titled(&title);
        }
    }

    fn legend(&self) -> Vec<Entry> {
        let entry = |(index, series): (usize, &Samples)| {
            let name = format!(
                "{} (n = {})",
                isolate(&clean(&series.name)),
                count(series.values.len())
            );
            Entry {
                swatch: Swatch::LineAndPoint { series: index },
                name,
            }
        };
        let mut entries: Vec<Entry> = self.series.iter().enumerate().map(entry).collect();
        if self.series.iter().any(|series| !series.band.is_empty()) {
            entries.push(Entry::new(
                Swatch::Band { series: 0 },
                "interval of the share",
            ));
        }
        entries
    }

    fn description(&self, sorted: &[Vec<f64>]) -> String {
        let mut text = format!("Cumulative distribution of {}.", self.x.name);
        for (series, values) in self.series.iter().zip(sorted) {
            let _ = write!(text, " {}: {} values", series.name, count(values.len()));
            for mark in series.marks.iter().filter(|mark| mark.at.value.is_finite()) {
                let share = crate::number::significant(mark.share * 100.0, 4);
                let _ = write!(text, ", {share} % {}", self.x.unit.value(mark.at.value));
            }
            text.push('.');
        }
        text
    }
}

/// A step curve from sample to sample, without invisible steps.
fn steps(plot: &Plot, values: &[f64]) -> PathData {
    let mut data = PathData::default();
    let mut last: Option<(f64, f64)> = None;
    let all = position(values.len());
    for (index, value) in values.iter().enumerate() {
        let final_one = index + 1 == values.len();
        let Some((x, y)) = plot.place(*value, position(index + 1) / all) else {
            continue;
        };
        match last {
            None => {
                data.go((x, plot.area.bottom));
                data.draw((x, y));
            }
            Some((before_x, before_y)) => {
                if !final_one && x - before_x < 0.4 && before_y - y < 0.4 {
                    continue;
                }
                data.draw((x, before_y));
                data.draw((x, y));
            }
        }
        last = Some((x, y));
    }
    data
}
