//! Renders the queries of a page as CSV. No cell can start a formula in a spreadsheet.

use ipw_findings::page::{Page, QueryLine, Text};

const HEAD: [&str; 19] = [
    "query_index",
    "subject",
    "prompt",
    "answer",
    "expected",
    "error",
    "outcome",
    "is_correct",
    "start_seconds",
    "end_seconds",
    "total_seconds",
    "time_to_first_token_seconds",
    "input_tokens",
    "output_tokens",
    "joules",
    "sigma_joules",
    "is_estimated",
    "energy_reason",
    "is_shortened",
];

/// One line per query of the page. Unknown values are empty.
pub fn csv(page: &Page) -> String {
    let mut text = HEAD.join(",");
    text.push('\n');
    for line in &page.queries.lines {
        text.push_str(&row(line).join(","));
        text.push('\n');
    }
    text
}

fn row(line: &QueryLine) -> Vec<String> {
    let words = |text: &Option<Text>| {
        text.as_ref()
            .map(|text| cell(&text.text))
            .unwrap_or_default()
    };
    let number = |value: Option<f64>| {
        let value = value.filter(|value| value.is_finite());
        value.map(|value| value.to_string()).unwrap_or_default()
    };
    let count = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let is_cut = [&line.prompt, &line.answer, &line.expected, &line.error];
    let is_cut = is_cut.into_iter().flatten().any(|text| text.is_cut);
    vec![
        line.index.to_string(),
        line.subject.as_deref().map(cell).unwrap_or_default(),
        words(&line.prompt),
        words(&line.answer),
        words(&line.expected),
        words(&line.error),
        cell(&line.outcome),
        line.is_correct
            .map(|correct| correct.to_string())
            .unwrap_or_default(),
        number(line.start),
        number(line.end),
        number(line.seconds),
        number(line.time_to_first_token_seconds),
        count(line.input_tokens),
        count(line.output_tokens),
        number(line.joules),
        number(line.sigma_joules),
        line.is_estimated.to_string(),
        line.energy_reason.as_deref().map(cell).unwrap_or_default(),
        is_cut.to_string(),
    ]
}

/// Quotes a text from outside, drops control characters, and puts an apostrophe before what a
/// spreadsheet would take for a formula.
fn cell(text: &str) -> String {
    let plain: String = text
        .chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect();
    let lead = plain.trim_start().chars().next();
    let apostrophe =
        if lead.is_some_and(|c| "=+-@|%＝＋－＠".contains(c)) || plain.starts_with('\t') {
            "'"
        } else {
            ""
        };
    format!("\"{apostrophe}{}\"", plain.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        for (text, expected) in [
            ("=1+1", "\"'=1+1\""),
            ("+1", "\"'+1\""),
            ("-1", "\"'-1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("  =1", "\"'  =1\""),
            ("\t=1", "\"'\t=1\""),
            ("\r=1", "\"'=1\""),
            ("a,\"b\"\nc", "\"a,\"\"b\"\"\nc\""),
            ("a\0b\u{1b}", "\"ab\""),
            ("plain", "\"plain\""),
        ] {
            assert_eq!(cell(text), expected);
        }
    }

    #[test]
    fn a_negative_number_stays_a_number_and_the_unknown_is_empty() {
        let line = QueryLine {
            joules: Some(-0.5),
            ..QueryLine::default()
        };
        let row = row(&line);
        assert_eq!(row.len(), HEAD.len());
        assert_eq!(row[14], "-0.5");
        assert_eq!(row[10], "");
    }
}
