//! Tables that fit the terminal: on a narrow one, the least important columns are left out.

use std::fmt::Write as _;

use ipw_core::text::excerpt;

/// Spaces between two columns.
const GAP: usize = 2;
/// The elastic column is not cut below this.
const LEAST: usize = 12;

/// The column that shrinks when the table does not fit.
pub(crate) struct Elastic<C> {
    pub(crate) column: C,
    /// It shrinks to this width before any other column is left out.
    pub(crate) enough: usize,
}

/// Columns with their widths, including the gap after each.
pub(crate) struct Grid<C> {
    columns: Vec<(C, usize)>,
}

impl<C: Copy + PartialEq> Grid<C> {
    /// Fits columns into `width`. Columns in `spared` are left out in their order.
    pub(crate) fn fit(
        columns: impl IntoIterator<Item = (C, usize)>,
        spared: &[C],
        elastic: &Elastic<C>,
        width: usize,
    ) -> Self {
        let mut columns: Vec<(C, usize)> = columns
            .into_iter()
            .map(|(column, width)| (column, width + GAP))
            .collect();
        let is_elastic = |column: C| column == elastic.column;
        let needed = |&(column, width): &(C, usize)| {
            if is_elastic(column) {
                width.min(elastic.enough.saturating_add(GAP))
            } else {
                width
            }
        };
        for one in spared {
            if columns.iter().map(needed).sum::<usize>() <= width + GAP {
                break;
            }
            columns.retain(|(column, _)| column != one);
        }
        let used: usize = columns.iter().map(|(_, width)| width).sum();
        let beyond = used.saturating_sub(width + GAP);
        for (column, width) in &mut columns {
            if is_elastic(*column) {
                let least = (*width).min(LEAST + GAP);
                *width = width.saturating_sub(beyond).max(least);
            }
        }
        Self { columns }
    }

    /// Appends a line; `text` gets the column and its width.
    pub(crate) fn line(
        &self,
        out: &mut String,
        is_number: impl Fn(C) -> bool,
        text: impl Fn(C, usize) -> String,
    ) {
        let mut line = String::new();
        for (column, width) in &self.columns {
            let room = width - GAP;
            let mut cell = text(*column, room);
            if cell.chars().count() > room {
                cell = excerpt(&cell, room - 1);
            }
            let _ = if is_number(*column) {
                write!(line, "{cell:>room$}  ")
            } else {
                write!(line, "{cell:<room$}  ")
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(width: usize) -> String {
        let elastic = Elastic {
            column: 'a',
            enough: 14,
        };
        let columns = [('a', 30), ('b', 8), ('c', 8)];
        let grid = Grid::fit(columns, &['c', 'b'], &elastic, width);
        let mut out = String::new();
        grid.line(
            &mut out,
            |column| column == 'b',
            |column, _| column.to_string(),
        );
        out
    }

    #[test]
    fn the_elastic_column_is_cut_before_others_go_and_they_go_in_order() {
        let letters = |width| line(width).split_whitespace().collect::<String>();
        assert_eq!(letters(60), "abc");
        assert_eq!(letters(34), "abc");
        assert_eq!(letters(33), "ab");
        assert_eq!(letters(20), "a");
        assert!(line(60).starts_with(&format!("a{}b", " ".repeat(38))));
    }
}
