//! `ipw list clients|datasets|collectors|scorers|analyses|plots|all`: names with one line each.
//! `--long` adds parameters, defaults and details.

use std::fmt::Write as _;

use ipw_core::quantity::grouped;
use ipw_findings::look::analyses;
use ipw_report::figures;

use crate::args::ListKind;
use crate::error::{CliError, Exit};
use crate::screen;

/// Columns before the text of a detail: the indent and the widest name.
const NAME: usize = 10;

#[expect(clippy::unnecessary_wraps, reason = "commands have one shape")]
pub(crate) fn run(kind: ListKind, is_long: bool) -> Result<Exit, CliError> {
    let mut parts = Vec::new();
    if matches!(kind, ListKind::Clients | ListKind::All) {
        parts.push(clients(is_long));
    }
    if matches!(kind, ListKind::Datasets | ListKind::All) {
        parts.push(datasets(is_long));
    }
    if matches!(kind, ListKind::Collectors | ListKind::All) {
        parts.push(collectors(is_long));
    }
    if matches!(kind, ListKind::Scorers | ListKind::All) {
        parts.push(scorers());
    }
    if matches!(kind, ListKind::Analyses | ListKind::All) {
        parts.push(analyses_known(is_long));
    }
    if matches!(kind, ListKind::Plots | ListKind::All) {
        parts.push(plots());
    }
    let has_details = !matches!(kind, ListKind::Scorers | ListKind::Plots);
    if has_details && !is_long {
        parts.push("`--long` also shows parameters, defaults and details.\n".to_owned());
    }
    screen::print(&parts.join("\n"));
    Ok(Exit::Done)
}

fn clients(is_long: bool) -> String {
    let mut text = "Clients (--client ID)\n".to_owned();
    for known in ipw::clients::known() {
        let _ = writeln!(text, "  {:<NAME$} {}", known.id, known.summary);
        if !is_long {
            continue;
        }
        if known.id != ipw::clients::EMBEDDED {
            let url = known.default_url;
            let _ = writeln!(text, "  {:<NAME$} default URL: {url}", "");
        }
        for (name, meaning) in known.required {
            let _ = writeln!(text, "  {:<NAME$} requires --param {name}=…: {meaning}", "");
        }
        params(&mut text, "--client-param", known.params);
    }
    text
}

fn datasets(is_long: bool) -> String {
    let mut text = "Datasets (--dataset ID, or a path to a file)\n".to_owned();
    for known in ipw_datasets::known() {
        let _ = writeln!(text, "  {:<NAME$} {}", known.id, known.summary);
        if is_long {
            params(&mut text, "--dataset-param", known.params);
        }
    }
    text.push('\n');
    text.push_str(&benchmarks(is_long));
    text
}

/// One line per benchmark; all of them take the same parameters.
fn benchmarks(is_long: bool) -> String {
    let mut text = "Benchmarks (--dataset ID; downloaded from the Hugging Face hub)\n".to_owned();
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
    if is_long {
        params(
            &mut text,
            "--dataset-param",
            ipw_datasets::benchmark_params(),
        );
    }
    text
}

fn collectors(is_long: bool) -> String {
    let mut text = "Collectors (`ipw doctor` shows which work here)\n".to_owned();
    for known in ipw_telemetry::known() {
        let _ = writeln!(text, "  {:<NAME$} {}", known.id, known.summary);
        if is_long {
            let _ = writeln!(text, "  {:<NAME$} {}", "", known.checked);
        }
    }
    text.push_str("\nRemote sources (--telemetry SOURCE)\n");
    for (source, about) in [
        (
            "grpc://…",
            "`ipw monitor` on another machine, or the original project's monitor",
        ),
        ("unix:PATH", "a monitor on this machine, over its socket"),
        (
            "http://…",
            "a value over HTTP: `field=` of JSON, `metric=` of a Prometheus page, or `preset=`",
        ),
    ] {
        let _ = writeln!(text, "  {source:<NAME$} {about}");
    }
    if is_long {
        for preset in ipw_scrape::http::known() {
            let (name, about) = (preset.name, preset.about);
            let _ = writeln!(text, "  {:<NAME$} preset={name:<16} {about}", "");
        }
    }
    text
}

fn scorers() -> String {
    let mut text = "Scorers (`scorer` in a dataset's row, or --scorer ID)\n".to_owned();
    for known in ipw_scoring::known() {
        let how = match known.id {
            ipw_scoring::judge::ID => " (`ipw score RUN --judge-model NAME`)",
            _ => "",
        };
        let _ = writeln!(text, "  {:<13} {}{how}", known.id, known.summary);
    }
    text
}

fn analyses_known(is_long: bool) -> String {
    let mut text = "Analyses (`ipw analyze RUN --analysis ID`)\n".to_owned();
    for known in analyses::ALL {
        let _ = writeln!(text, "  {:<NAME$} {}", known.id, known.about);
        for (name, default) in known.options.iter().filter(|_| is_long) {
            let _ = writeln!(
                text,
                "  {:<NAME$} --option {name}=N [default: {default}]",
                ""
            );
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
        let text = benchmarks(true);
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
        let text = clients(true);
        for known in ipw_clients::known() {
            let (id, url) = (known.id, known.default_url);
            assert!(text.contains(&format!("\n  {id:<10} ")), "{text}");
            assert!(text.contains(&format!(" default URL: {url}\n")), "{text}");
        }
        assert!(text.contains(" requires --param max_tokens=…"), "{text}");
        assert!(text.contains("  cache_prompt "), "{text}");
    }

    #[test]
    fn without_long_a_client_is_one_line() {
        let text = clients(false);
        assert_eq!(text.lines().count(), 1 + ipw::clients::known().len());
        assert!(clients(true).lines().count() > text.lines().count());
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
