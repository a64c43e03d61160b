//! A board as a page of its own: it reads without a script, which only sorts and filters.

use std::fmt::Write as _;

use ipw_analysis::metric::Metric;
use ipw_findings::leaderboard::columns::{self, Column};
use ipw_findings::leaderboard::{Board, Entry, Section};
use ipw_plot::{Mode, Style};

use crate::document::{definitions, document, escape, prose};
use crate::figures;

const SCRIPT: &str = include_str!("../../assets/leaderboard.js");
/// The leaderboard as a page of its own.
pub fn page(board: &Board) -> String {
    let mut body = String::new();
    let _ = writeln!(
        body,
        "<h1>Leaderboard</h1>\n<p class=\"soft\">{}, ranked by <code>{}</code>. Intervals are of 95 %. Measured and estimated energy, different bases and different datasets are never ranked together.</p>\n<div id=\"filter\"></div>",
        board.count(),
        board.sort.name()
    );
    for (place, section) in board.sections.iter().enumerate() {
        self::section(&mut body, board, section, place);
    }
    not_ranked(&mut body, board);
    definitions(&mut body, &columns::metrics(board.sort));
    document("ipw leaderboard", &body, Some(SCRIPT))
}

fn section(out: &mut String, board: &Board, section: &Section, place: usize) {
    let title = escape(&section.title());
    let _ = writeln!(out, "<section>\n<h2>{title}</h2>");
    if let Some(figure) = figures::of_section(section) {
        let style = Style::new(Mode::Inline).with_prefix(&format!("section{place}"));
        let _ = writeln!(out, "<figure>{}</figure>", figure.svg(&style));
    }
    let _ = writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\"><table class=\"board\"><caption>The better first</caption><thead><tr>"
    );
    let columns = shown(board.sort);
    for column in &columns {
        let class = if column.is_number() {
            " class=\"n\""
        } else {
            ""
        };
        let about = match column {
            Column::Of(metric) => format!(" title=\"{}\"", escape(metric.definition().label)),
            _ => String::new(),
        };
        let _ = write!(
            out,
            "<th scope=\"col\"{class}{about}>{}</th>",
            column.title()
        );
    }
    out.push_str("</tr></thead><tbody>\n");
    for entry in section.runs.iter().chain(&section.too_few) {
        out.push_str("<tr>");
        for column in &columns {
            cell(out, *column, entry);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    if !section.too_few.is_empty() {
        out.push_str("<p class=\"soft\">Runs without a rank have too few graded answers.</p>\n");
    }
    if section.energy.is_estimated() {
        out.push_str("<p class=\"soft\">~ estimated, not measured</p>\n");
    }
    for entry in &section.runs {
        for mark in &entry.marks {
            let _ = writeln!(
                out,
                "<p class=\"note\"><b>{} {}:</b>{}</p>",
                Column::Rank.text(entry),
                escape(&entry.facts.model),
                prose(mark)
            );
        }
    }
    out.push_str("</section>\n");
}

/// The columns of the page: what tells runs apart stands below model and load.
fn shown(sort: Metric) -> Vec<Column> {
    let about = [Column::Rank, Column::Model, Column::Load, Column::Queries];
    let metrics = columns::metrics(sort).into_iter().map(Column::Of);
    about.into_iter().chain(metrics).collect()
}

fn cell(out: &mut String, column: Column, entry: &Entry) {
    let text = escape(&column.text(entry));
    let value = column
        .number(entry)
        .map_or(String::new(), |number| format!(" data-value=\"{number}\""));
    let small: Vec<String> = match column {
        Column::Model => {
            let name = entry.facts.name.iter().map(|name| escape(name));
            name.chain([format!("<code>{}</code>", escape(&entry.place))])
                .collect()
        }
        Column::Load => [Column::Client, Column::Hardware]
            .map(|column| escape(&column.text(entry)))
            .into(),
        Column::Queries => vec![escape(&Column::Day.text(entry))],
        _ => column
            .interval(entry)
            .iter()
            .map(|interval| escape(interval))
            .collect(),
    };
    let small = small.iter().fold(String::new(), |mut spans, small| {
        let _ = write!(spans, "<span class=\"small\">{small}</span>");
        spans
    });
    // What a card on a narrow screen calls the value.
    let label = escape(column.title());
    let _ = match column {
        Column::Model => write!(out, "<th scope=\"row\"{value}>{text}{small}</th>"),
        _ if column.is_number() => {
            write!(
                out,
                "<td class=\"n\" data-label=\"{label}\"{value}>{text}{small}</td>"
            )
        }
        _ => write!(out, "<td data-label=\"{label}\"{value}>{text}{small}</td>"),
    };
}

fn not_ranked(out: &mut String, board: &Board) {
    if !board.not_ranked.is_empty() {
        out.push_str("<section>\n<h2>Not ranked</h2>\n<ul class=\"findings\">\n");
        for one in &board.not_ranked {
            let _ = writeln!(
                out,
                "<li><code>{}</code>: {}</li>",
                escape(&one.directory),
                prose(&one.reason)
            );
        }
        out.push_str("</ul>\n</section>\n");
    }
    if board.filtered_out > 0 {
        let _ = writeln!(
            out,
            "<p class=\"soft\">{} runs left out by a filter.</p>",
            board.filtered_out
        );
    }
}

#[cfg(test)]
#[path = "../../../findings/tests/board.rs"]
mod fixture;

#[cfg(test)]
mod tests {
    use super::fixture::{board, entry};
    use super::*;

    #[test]
    fn names_from_outside_are_texts_on_the_page() {
        let hostile = "</td><img src=x onerror=alert(1)>";
        let mut run = entry(hostile, Some(0.3));
        run.facts.hardware = Some("\"><svg onload=alert(2)>".to_owned());
        run.marks.push("<b>bold</b>".to_owned());
        let page = page(&board(vec![run, entry("m", Some(0.2))]));
        for raw in ["<img", "<svg onload", "<b>bold"] {
            assert!(!page.contains(raw), "{raw}");
        }
        assert!(page.contains("&lt;/td&gt;&lt;img src=x onerror=alert(1)&gt;"));
        assert_eq!(page.matches("<script>").count(), 1);
        assert!(!page.contains("NaN") && page.contains("<svg"));
    }
}
