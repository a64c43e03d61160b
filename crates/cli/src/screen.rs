//! What a person sees: tables on standard output, talk on standard error.
//!
//! A closed pipe is not an error: whoever closed it has seen enough.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use comfy_table::{CellAlignment, ContentArrangement, Table};
use ipw_core::text::{excerpt, printable};
use ipw_store::Overview;
use ipw_store::overview::Distribution;

use crate::error::CliError;

/// Prints the product.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Says something beside the product.
pub(crate) fn talk(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Says what went wrong and what to do.
pub(crate) fn error(error: &CliError) {
    let mut text = String::new();
    for (depth, cause) in error.error.chain().enumerate() {
        let lead = if depth == 0 { "error" } else { "  because" };
        for (line, content) in cause.to_string().lines().enumerate() {
            // Messages may carry their own `help:` line; all else from outside is one line each.
            let content = printable(content);
            let _ = if line == 0 {
                writeln!(text, "{lead}: {content}")
            } else {
                writeln!(text, "{content}")
            };
        }
    }
    if let Some(help) = &error.help {
        let _ = writeln!(text, "help: {}", printable(help));
    }
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// What came out of a run.
pub(crate) fn overview(head: &[(&str, String)], overview: &Overview, directory: &Path) -> String {
    let mut text = String::new();
    for (name, value) in head {
        let _ = writeln!(text, "{name:<9} {}", excerpt(&printable(value), 200));
    }
    let _ = writeln!(text, "{:<9} {}", "queries", outcomes(overview));
    let _ = writeln!(text, "{:<9} {}", "tokens", tokens(overview));
    if let Some(elapsed) = overview.elapsed_seconds {
        let _ = writeln!(text, "{:<9} {}", "elapsed", seconds(elapsed));
    }
    let _ = writeln!(text, "{:<9} not measured yet in this version", "energy");
    if let Some(table) = latencies(overview) {
        let _ = writeln!(text, "\n{table}");
    }
    let _ = writeln!(text, "\n{}", printable(&directory.display().to_string()));
    text
}

fn outcomes(overview: &Overview) -> String {
    if overview.rows == 0 {
        return "none".to_owned();
    }
    let by_kind: Vec<_> = overview
        .outcomes
        .iter()
        .map(|(outcome, count)| format!("{count} {outcome}"))
        .collect();
    format!("{} ({})", overview.rows, by_kind.join(", "))
}

fn tokens(overview: &Overview) -> String {
    let count =
        |tokens: Option<u64>| tokens.map_or("unknown".to_owned(), |count| count.to_string());
    let mut text = format!(
        "{} in, {} out",
        count(overview.tokens.input),
        count(overview.tokens.output)
    );
    let by_chunks = overview.tokens.rows_counted_by_chunks;
    if by_chunks > 0 {
        let _ = write!(
            text,
            " ({by_chunks} rows counted by chunks, as the service gave no usage)"
        );
    }
    text
}

fn latencies(overview: &Overview) -> Option<Table> {
    overview.total_query_seconds?;
    let mut table = Table::new();
    table
        .load_style(comfy_table::presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(["per query", "mean", "min", "p50", "p90", "p99", "max"]);
    let mut row = |name: &str, of: Option<Distribution>, show: fn(f64) -> String| {
        if let Some(of) = of {
            let values = [of.mean, of.min, of.p50, of.p90, of.p99, of.max].map(show);
            table.add_row(std::iter::once(name.to_owned()).chain(values));
        }
    };
    row("first token", overview.time_to_first_token_seconds, seconds);
    row("whole query", overview.total_query_seconds, seconds);
    row("tokens/s", overview.throughput_tokens_per_sec, |value| {
        format!("{value:.1}")
    });
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    Some(table)
}

/// Seconds with a unit that fits.
pub(crate) fn seconds(value: f64) -> String {
    if value < 0.001 {
        format!("{:.0} µs", value * 1e6)
    } else if value < 1.0 {
        format!("{:.1} ms", value * 1e3)
    } else {
        format!("{value:.2} s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_a_unit_that_fits() {
        assert_eq!(seconds(0.000_012), "12 µs");
        assert_eq!(seconds(0.012_34), "12.3 ms");
        assert_eq!(seconds(12.345), "12.35 s");
    }
}
