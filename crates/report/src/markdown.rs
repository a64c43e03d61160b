//! Renders the page as Markdown, for a pull request or an issue, without the list of queries.

use std::fmt::Write as _;

use ipw_core::setting::Setting;
use ipw_core::text::printable;

use ipw_core::quantity::grouped;
use ipw_findings::page::{Cell, How, Page, Table};

/// Result, notes, tables, manifest and plan.
pub fn markdown(page: &Page) -> String {
    let mut text = String::new();
    let about = &page.about;
    let place = about
        .hardware
        .as_deref()
        .map_or(String::new(), |hardware| format!(" on {}", plain(hardware)));
    let _ = writeln!(
        text,
        "# {}{place}\n\n{}\n",
        plain(&about.model),
        prose(&page.lede)
    );
    let mut facts = vec![format!("status {}", plain(&about.status))];
    facts.extend(
        about
            .dataset
            .as_deref()
            .map(|name| format!("dataset {}", plain(name))),
    );
    facts.extend(about.started.clone());
    facts.extend(about.duration.clone());
    facts.extend(
        about
            .ipw
            .as_deref()
            .map(|version| format!("ipw {}", plain(version))),
    );
    let _ = writeln!(text, "{}\n", facts.join(" · "));
    headline(&mut text, page);
    warnings(&mut text, page);
    for one in &page.tables {
        table(&mut text, one, 2);
    }
    for section in &page.manifest {
        let _ = writeln!(text, "## {}\n", plain(&section.title));
        for (name, value) in &section.facts {
            let _ = writeln!(text, "- {}: {}", plain(name), prose(value));
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "## This tool's own error\n\n{}\n",
        prose(&page.calibration.text)
    );
    if let Some(one) = &page.calibration.table {
        table(&mut text, one, 3);
    }
    again(&mut text, page);
    text
}

fn headline(text: &mut String, page: &Page) {
    text.push_str("| figure | value | interval | how |\n|---|---:|---|---|\n");
    for one in &page.headline {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            plain(&one.label),
            plain(one.value.as_deref().unwrap_or("n/a")),
            prose(one.detail.as_deref().unwrap_or_default()),
            one.how.map_or("", How::label)
        );
    }
    text.push('\n');
}

fn warnings(text: &mut String, page: &Page) {
    if page.warnings.is_empty() {
        return;
    }
    text.push_str("## What to know\n\n");
    for warning in &page.warnings {
        let advice = warning.advice.as_deref().map_or(String::new(), |advice| {
            format!(" What to do: {}.", prose(advice))
        });
        let _ = writeln!(
            text,
            "- **{}**: {}.{advice}",
            warning.severity.label(),
            prose(warning.text.trim_end_matches('.'))
        );
    }
    text.push('\n');
}

fn table(text: &mut String, table: &Table, depth: usize) {
    let _ = writeln!(
        text,
        "{} {}\n\n{}\n",
        "#".repeat(depth),
        plain(&table.title),
        prose(&table.caption)
    );
    let heads: Vec<_> = table
        .columns
        .iter()
        .map(|column| plain(&column.label))
        .collect();
    let rules = table
        .columns
        .iter()
        .map(|column| if column.is_number { "---:" } else { "---" });
    let _ = writeln!(
        text,
        "| {} |\n|{}|",
        heads.join(" | "),
        rules.collect::<Vec<_>>().join("|")
    );
    for row in &table.rows {
        let cells: Vec<_> = row.iter().map(cell).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text.push('\n');
}

fn cell(cell: &Cell) -> String {
    let mark = if cell.is_estimated { "~" } else { "" };
    let detail = cell
        .detail
        .as_deref()
        .map_or(String::new(), |detail| format!(" ({})", plain(detail)));
    format!("{mark}{}{detail}", plain(&cell.text))
}

fn again(text: &mut String, page: &Page) {
    let _ = writeln!(
        text,
        "## Run it again\n\n```console\n$ {}\n```\n",
        page.command
    );
    if let Some(plan) = &page.plan {
        // Break up long fences: the plan must not be able to close this one.
        let _ = writeln!(
            text,
            "````toml\n{}\n````\n",
            plan.trim_end().replace("````", "` ` ` `")
        );
    }
    let shown = page.queries.lines.len() as u64;
    let _ = writeln!(
        text,
        "{} queries in all; `ipw report {}` lists {} of them.",
        grouped(page.queries.in_all),
        Setting::Format.to("csv"),
        grouped(shown)
    );
}

/// Escapes a text from outside, so that none of it is markup.
fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in printable(text).chars() {
        match character {
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' => shown.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' | '~' => {
                shown.push('\\');
                shown.push(character);
            }
            character => shown.push(character),
        }
    }
    shown
}

/// Escapes a sentence of this tool, in which backticks mark code.
fn prose(text: &str) -> String {
    let pieces: Vec<_> = text.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return plain(text);
    }
    let mut shown = String::new();
    for (place, piece) in pieces.into_iter().enumerate() {
        if place % 2 == 0 {
            shown.push_str(&plain(piece));
        } else {
            let _ = write!(shown, "`{}`", printable(piece).replace('|', "\\|"));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_is_markup() {
        assert_eq!(
            plain("<img src=x> [a](b) | `c` **d**\n# e"),
            "&lt;img src=x&gt; \\[a\\](b) \\| \\`c\\` \\*\\*d\\*\\* \\# e"
        );
        assert_eq!(
            prose("run `ipw doctor` <now>"),
            "run `ipw doctor` &lt;now&gt;"
        );
        assert_eq!(prose("one ` alone <"), "one \\` alone &lt;");
    }
}
