//! `ipw list clients|datasets|collectors|scorers|analyses|plots|all`.

use std::fmt::Write as _;

use ipw_core::quantity::grouped;
use ipw_findings::look::analyses;
use ipw_report::figures;

use crate::args::Listed;
use crate::error::{CliError, Exit};
use crate::screen;

#[expect(clippy::unnecessary_wraps, reason = "commands have one shape")]
pub(crate) fn run(what: Listed) -> Result<Exit, CliError> {
    let mut parts = Vec::new();
    if matches!(what, Listed::Clients | Listed::All) {
        parts.push(clients());
    }
    if matches!(what, Listed::Datasets | Listed::All) {
        parts.push(datasets());
    }
    if matches!(what, Listed::Collectors | Listed::All) {
        parts.push(collectors());
    }
    if matches!(what, Listed::Scorers | Listed::All) {
        parts.push(scorers());
    }
    if matches!(what, Listed::Analyses | Listed::All) {
        parts.push(analyses_known());
    }
    if matches!(what, Listed::Plots | Listed::All) {
        parts.push(plots());
    }
    screen::print(&parts.join("\n"));
    Ok(Exit::Done)
}

fn clients() -> String {
    let mut text = "Clients (--client ID)\n".to_owned();
    for known in ipw::clients::known() {
        let _ = writeln!(text, "  {:<10} {}", known.id, known.summary);
        if known.id != ipw::clients::EMBEDDED {
            let url = known.default_url;
            let _ = writeln!(text, "  {:<10} looks at {url} unless told", "");
        }
        for (name, meaning) in known.required {
            let _ = writeln!(text, "  {:<10} needs --param {name}=…: {meaning}", "");
        }
        params(&mut text, "--client-param", known.params);
    }
    text
}

fn datasets() -> String {
    let mut text = "Datasets (--dataset ID, or a path to a file)\n".to_owned();
    for known in ipw_datasets::known() {
        let _ = writeln!(text, "  {:<10} {}", known.id, known.summary);
        params(&mut text, "--dataset-param", known.params);
    }
    text.push('\n');
    text.push_str(&benchmarks());
    text
}

/// A line each: their parameters are the same.
fn benchmarks() -> String {
    let mut text = "Benchmarks (--dataset ID; fetched from the Hugging Face hub)\n".to_owned();
    let mut line = |cells: [&str; 5]| {
        let [id, rows, scorer, license, title] = cells;
        let _ = writeln!(
            text,
            "  {id:<17} {rows:>9}  {scorer:<12} {license:<12} {title}"
        );
    };
    line(["ID", "ROWS", "SCORER", "LICENCE", "TITLE"]);
    for known in ipw_datasets::benchmarks() {
        let title = match (known.is_gated, known.repository) {
            (true, _) => format!("{} (gated)", known.title),
            (false, None) => format!("{} (`path=`)", known.title),
            (false, Some(_)) => known.title.to_owned(),
        };
        let rows = grouped(known.rows);
        line([known.id, &rows, known.scorer, known.license, &title]);
    }
    params(
        &mut text,
        "--dataset-param",
        ipw_datasets::benchmark_params(),
    );
    text
}

/// Which of them are here is `ipw doctor`'s to say.
fn collectors() -> String {
    let mut text = "Collectors (`ipw doctor` says which are here)\n".to_owned();
    for known in ipw_telemetry::known() {
        let _ = writeln!(text, "  {:<10} {}", known.id, known.summary);
        let _ = writeln!(text, "  {:<10} {}", "", known.checked);
    }
    text.push_str("\nElsewhere (--telemetry SOURCE)\n");
    for (source, what) in [
        (
            "grpc://…",
            "a monitor on another machine: `ipw monitor`, or the original's",
        ),
        ("unix:PATH", "a monitor on this machine, by its socket"),
        (
            "http://…",
            "a value over HTTP: `field=` of a JSON reply, `metric=` of a page, or `preset=`:",
        ),
    ] {
        let _ = writeln!(text, "  {source:<10} {what}");
    }
    for preset in ipw_scrape::http::known() {
        let _ = writeln!(text, "  {:<10} {:<16} {}", "", preset.name, preset.about);
    }
    text
}

fn scorers() -> String {
    let mut text = "Scorers (`scorer` in a dataset's row)\n".to_owned();
    for known in ipw_scoring::known() {
        let how = match known.id {
            ipw_scoring::judge::ID => " (`ipw score RUN --judge-model NAME`)",
            _ => "",
        };
        let _ = writeln!(text, "  {:<13} {}{how}", known.id, known.summary);
    }
    text
}

fn analyses_known() -> String {
    let mut text = "Analyses (`ipw analyze RUN --analysis ID`)\n".to_owned();
    for known in analyses::ALL {
        let _ = writeln!(text, "  {:<10} {}", known.id, known.about);
        for (name, usual) in known.options {
            let _ = writeln!(text, "  {:<10} --option {name}=N (without it {usual})", "");
        }
    }
    text
}

fn plots() -> String {
    let mut text = "Plots (`ipw plot RUN --plot ID`)\n".to_owned();
    for (id, about) in figures::all() {
        let _ = writeln!(text, "  {id:<21} {about}");
    }
    text
}

fn params(text: &mut String, flag: &str, params: &[(&str, &str)]) {
    if !params.is_empty() {
        let _ = writeln!(text, "    {flag} NAME=VALUE");
    }
    for (name, meaning) in params {
        let _ = writeln!(text, "      {name:<14} {meaning}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_benchmarks_fits_a_terminal() {
        let text = benchmarks();
        let lines: Vec<_> = text.lines().collect();
        let last = lines.iter().position(|line| line.contains("NAME=VALUE"));
        for line in &lines[..last.unwrap()] {
            assert!(line.chars().count() <= 80, "{line}");
        }
        let gpqa = lines.iter().find(|line| line.starts_with("  gpqa "));
        let gpqa = gpqa.unwrap().split_whitespace().collect::<Vec<_>>();
        let expected = [
            "gpqa",
            "198",
            "choice",
            "CC-BY-4.0",
            "GPQA",
            "Diamond",
            "(gated)",
        ];
        assert_eq!(gpqa, expected);
    }

    #[test]
    fn every_client_is_listed_with_where_it_looks_and_what_it_needs() {
        let text = clients();
        for known in ipw_clients::known() {
            let (id, url) = (known.id, known.default_url);
            assert!(text.contains(&format!("\n  {id:<10} ")), "{text}");
            assert!(
                text.contains(&format!(" looks at {url} unless told")),
                "{text}"
            );
        }
        assert!(text.contains(" needs --param max_tokens=…"), "{text}");
        assert!(text.contains("  cache_prompt "), "{text}");
    }

    #[test]
    fn large_numbers_are_grouped() {
        for (number, text) in [
            (30, "30"),
            (198, "198"),
            (1_319, "1,319"),
            (1_145_824, "1,145,824"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
