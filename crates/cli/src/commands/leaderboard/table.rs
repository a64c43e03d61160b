//! The leaderboard on a terminal.

use std::fmt::Write as _;

use ipw_analysis::metric::{Better, Metric};
use ipw_core::text::{excerpt, printable};
use ipw_findings::leaderboard::columns::{self, Column};
use ipw_findings::leaderboard::{Board, Entry, Section};
use ipw_findings::written;

use crate::grid::{Elastic, Grid};

/// Width of a cell at most.
const WIDEST: usize = 28;
/// Columns to leave out on a narrow terminal, in this order. Rank, model, accuracy and the metric
/// of the ranking stay.
const SPARED: [Column; 15] = [
    Column::Day,
    Column::Run,
    Column::Of(Metric::JoulesPerCorrect),
    Column::Of(Metric::Ipj),
    Column::Of(Metric::JoulesPerOutputToken),
    Column::Of(Metric::LatencyP50),
    Column::Of(Metric::TokensPerSecond),
    Column::Hardware,
    Column::Queries,
    Column::Of(Metric::Watts),
    Column::Name,
    Column::Client,
    Column::Of(Metric::JoulesPerQuery),
    Column::Load,
    Column::Of(Metric::Ipw),
];

pub(super) fn text(board: &Board, width: usize) -> String {
    let mut out = String::new();
    let way = match board.sort.better() {
        Better::Lower => "lowest",
        Better::Higher => "highest",
    };
    let _ = writeln!(
        out,
        "{}, ranked by {} ({way} first)",
        board.count(),
        board.sort.name()
    );
    let layout = layout(board, width);
    for section in &board.sections {
        let _ = writeln!(out, "\n{}", section.title());
        table(&mut out, &layout, section);
        out.push_str(&marks(section, width));
    }
    if !board.not_ranked.is_empty() {
        let _ = writeln!(out, "\nNot ranked:");
    }
    for one in &board.not_ranked {
        let line = format!("{}: {}", one.directory, one.reason);
        let _ = writeln!(
            out,
            "  {}",
            written::wrapped(&line, width.max(40) - 2, "    ")
        );
    }
    if board.filtered_out > 0 {
        let _ = writeln!(out, "\n{} left out by `--filter`", board.filtered_out);
    }
    out
}

/// The same columns for all sections.
fn layout(board: &Board, width: usize) -> Grid<Column> {
    let columns = columns::with(board.sort).into_iter();
    // Leave out the names if no run has one.
    let columns = columns.filter(|column| *column != Column::Name || board.has_names());
    let mut spared = SPARED.to_vec();
    spared.retain(|one| *one != Column::Of(board.sort));
    if board.has_twins() {
        // If only their directories differ, keep that column longer.
        spared.retain(|one| *one != Column::Run);
        spared.insert(spared.len() - 3, Column::Run);
    }
    let model = Elastic {
        column: Column::Model,
        enough: usize::MAX,
    };
    let columns = columns.map(|column| (column, widest(board, column)));
    Grid::fit(columns, &spared, &model, width)
}

fn table(out: &mut String, layout: &Grid<Column>, section: &Section) {
    let is_number = Column::is_number;
    layout.line(out, is_number, |column, _| column.title().to_owned());
    for entry in &section.runs {
        layout.line(out, is_number, |column, _| shown(column, entry));
    }
    if !section.too_few.is_empty() {
        let _ = writeln!(out, "too few graded answers for a rank:");
    }
    for entry in &section.too_few {
        layout.line(out, is_number, |column, _| shown(column, entry));
    }
    if section.energy.is_estimated() {
        out.push_str("~ estimated, not measured\n");
    }
}

/// Width of a column.
fn widest(board: &Board, column: Column) -> usize {
    let cells = board
        .entries()
        .map(|entry| shown(column, entry).chars().count());
    cells.max().unwrap_or(0).max(column.title().chars().count())
}

/// The text of a cell; a run with a warning is marked with `!`.
fn shown(column: Column, entry: &Entry) -> String {
    let text = cell(&column.text(entry));
    if column == Column::Model && !entry.marks.is_empty() {
        format!("{text} !")
    } else {
        text
    }
}

fn cell(text: &str) -> String {
    excerpt(&printable(text), WIDEST)
}

fn marks(section: &Section, width: usize) -> String {
    let mut out = String::new();
    for entry in &section.runs {
        for mark in &entry.marks {
            let rank = Column::Rank.text(entry);
            let line = format!("! {rank} {}: {mark}", cell(&entry.facts.model));
            let _ = writeln!(
                out,
                "{}",
                written::wrapped(&printable(&line), width.max(40), "  ")
            );
        }
    }
    out
}

#[cfg(test)]
#[path = "../../../../findings/tests/board.rs"]
mod fixture;

#[cfg(test)]
mod tests {
    use super::fixture::{board, entry};
    use super::*;

    #[test]
    fn a_board_fits_the_terminal_and_says_what_is_not_ranked() {
        let mut marked = entry("a-model-with-a-rather-long-name-indeed", Some(0.3));
        marked.marks.push("others used the machine".to_owned());
        let board = board(vec![marked, entry("small", Some(0.1))]);
        for width in [40, 60, 80, 200] {
            let text = text(&board, width);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{width}: {text}");
            assert!(text.contains("runs/broken: it has no rows"), "{text}");
            assert!(text.contains("others used"), "{text}");
            assert!(text.contains("IPW") && text.contains("accuracy"), "{text}");
        }
        assert!(text(&board, 200).contains("tokens/s"));
        assert!(!text(&board, 60).contains("tokens/s"));
    }
}
