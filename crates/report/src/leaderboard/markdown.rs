//! A board in Markdown.

use std::fmt::Write as _;

use ipw_findings::leaderboard::{Board, Section, columns};

use crate::markup::markdown;

/// The leaderboard in Markdown.
pub fn text(board: &Board) -> String {
    let mut out = format!(
        "# Leaderboard\n\n{}, ranked by `{}`. Intervals are of 95 %.\n",
        board.count(),
        board.sort.name()
    );
    for section in &board.sections {
        self::section(&mut out, board, section);
    }
    if !board.not_ranked.is_empty() {
        out.push_str("\n## Not ranked\n\n");
    }
    for one in &board.not_ranked {
        let _ = writeln!(
            out,
            "- {}: {}",
            markdown(&one.directory),
            markdown(&one.reason)
        );
    }
    if board.filtered_out > 0 {
        let _ = writeln!(out, "\n{} runs left out by a filter.", board.filtered_out);
    }
    out
}

fn section(out: &mut String, board: &Board, section: &Section) {
    let _ = writeln!(out, "\n## {}\n", markdown(&section.title()));
    let columns = columns::with(board.sort);
    let (mut titles, mut rules) = ("|".to_owned(), "|".to_owned());
    for column in &columns {
        let _ = write!(titles, " {} |", markdown(column.title()));
        rules.push_str(if column.is_number() { "---:|" } else { "---|" });
    }
    let _ = writeln!(out, "{titles}\n{rules}");
    for entry in section.runs.iter().chain(&section.too_few) {
        out.push('|');
        for column in &columns {
            let text = markdown(&column.text(entry));
            let _ = match column.interval(entry) {
                Some(interval) => write!(out, " {text} ({}) |", markdown(&interval)),
                None => write!(out, " {text} |"),
            };
        }
        out.push('\n');
    }
    if section.energy.is_estimated() {
        out.push_str("\n\\~ estimated, not measured\n");
    }
    if !section.too_few.is_empty() {
        out.push_str("\nRuns without a rank have too few graded answers.\n");
    }
    let mut is_first = true;
    for entry in &section.runs {
        for mark in &entry.marks {
            if is_first {
                out.push('\n');
                is_first = false;
            }
            let _ = writeln!(
                out,
                "- {}: {}",
                markdown(&entry.facts.model),
                markdown(mark)
            );
        }
    }
}
