//! The legend: a row above the data, so that it never covers them.

use crate::colour::Paint;
use crate::mark;
use crate::scene::{Anchor, Label, PathData, Rect, Scene};
use crate::text::{clean, cut, width};

/// The symbol before a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swatch {
    /// The point of a series.
    Point { series: usize, hollow: bool },
    /// The line of a series, dashed as the series is.
    Line { series: usize },
    /// The line of a curve, with the colour of one series and the dash of another.
    Curve { series: usize, dash: usize },
    /// The line of a series with its point on it.
    LineAndPoint { series: usize },
    /// A pale area with a line through it.
    Band { series: usize },
    /// A filled area.
    Area { paint: Paint },
    /// A hatched area, for estimates.
    Hatch { series: usize },
    /// A line in ink with this dash.
    Rule { dash: &'static str },
}

/// A name with its symbol.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) swatch: Swatch,
    pub(crate) name: String,
}

impl Entry {
    pub(crate) fn new(swatch: Swatch, name: &str) -> Self {
        Self {
            swatch,
            name: clean(name),
        }
    }
}

pub(crate) const SIZE: f64 = 11.0;
const ROW: f64 = 18.0;
const SWATCH: f64 = 22.0;
const GAP: f64 = 18.0;
const MOST_ROWS: usize = 4;

/// A legend with positions of its entries.
#[derive(Debug)]
pub(crate) struct Legend {
    placed: Vec<(f64, usize, Entry)>,
    rows: usize,
    more: Option<(f64, usize, usize)>,
}

impl Legend {
    /// Lays out entries in rows between two edges.
    pub(crate) fn set(entries: &[Entry], left: f64, right: f64) -> Self {
        let mut legend = Self {
            placed: Vec::new(),
            rows: 0,
            more: None,
        };
        let (mut x, mut row) = (left, 0);
        for (index, entry) in entries.iter().enumerate() {
            let name = cut(&entry.name, SIZE, (right - left) * 0.6);
            let wide = SWATCH + 6.0 + width(&name, SIZE);
            let last_row = row + 1 == MOST_ROWS;
            let reserve = if last_row {
                width("and 999 more", SIZE)
            } else {
                0.0
            };
            if x > left && x + wide > right - reserve {
                if last_row {
                    legend.more = Some((x, row, entries.len() - index));
                    break;
                }
                (x, row) = (left, row + 1);
            }
            legend.rows = row + 1;
            legend.placed.push((
                x,
                row,
                Entry {
                    swatch: entry.swatch,
                    name,
                },
            ));
            x += wide + GAP;
        }
        legend
    }

    pub(crate) fn height(&self) -> f64 {
        f64::from(u32::try_from(self.rows).unwrap_or(0)) * ROW
    }

    pub(crate) fn draw(&self, scene: &mut Scene, top: f64) {
        let middle = |row: usize| top + f64::from(u32::try_from(row).unwrap_or(0)) * ROW + 9.0;
        for (x, row, entry) in &self.placed {
            swatch(scene, entry.swatch, *x, middle(*row));
            let at = (x + SWATCH + 6.0, middle(*row) + 4.0);
            scene.label(at, Label::new(&entry.name, SIZE, Anchor::Start));
        }
        if let Some((x, row, rest)) = self.more {
            let text = format!("and {rest} more");
            scene.label(
                (x, middle(row) + 4.0),
                Label::new(&text, SIZE, Anchor::Start).soft(),
            );
        }
    }
}

fn swatch(scene: &mut Scene, swatch: Swatch, x: f64, y: f64) {
    let line = PathData::through([(x, y), (x + SWATCH, y)]);
    let box_ = Rect {
        left: x + 3.0,
        top: y - 5.0,
        right: x + SWATCH - 1.0,
        bottom: y + 5.0,
    };
    match swatch {
        Swatch::Point { series, hollow } => {
            mark::point(scene, series, (x + SWATCH / 2.0, y), 4.0, hollow).close();
        }
        Swatch::Line { series } => mark::stroke_series(scene.path(&line), series, 2.0),
        Swatch::Curve { series, dash } => {
            mark::stroke_dashed(scene.path(&line), series, mark::dash(dash), 2.0);
        }
        Swatch::LineAndPoint { series } => {
            mark::stroke_series(scene.path(&line), series, 2.0);
            mark::point(scene, series, (x + SWATCH / 2.0, y), 3.6, false).close();
        }
        Swatch::Band { series } => {
            scene
                .rect(&box_)
                .fill(Paint::Series(series))
                .number("fill-opacity", 0.22)
                .close();
        }
        Swatch::Area { paint } => scene.rect(&box_).fill(paint).close(),
        Swatch::Hatch { series } => {
            scene
                .rect(&box_)
                .hatched(series)
                .stroke(Paint::Series(series), 1.0)
                .close();
        }
        Swatch::Rule { dash } => {
            let element = scene.path(&line).unfilled().stroke(Paint::Ink, 1.4);
            element.word("stroke-dasharray", dash).close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_never_pass_the_right_edge() {
        let entries: Vec<Entry> = (0..60)
            .map(|index| Entry::new(Swatch::Line { series: index }, &"name ".repeat(index % 9)))
            .collect();
        let legend = Legend::set(&entries, 16.0, 700.0);
        assert!(legend.rows <= MOST_ROWS);
        assert!(legend.more.is_some());
        for (x, _, entry) in &legend.placed {
            assert!(
                x + SWATCH + 6.0 + width(&entry.name, SIZE) <= 700.0,
                "{entry:?}"
            );
        }
    }
}
