//! `ipw list clients|datasets|collectors|scorers|analyses|plots|all`.

use std::fmt::Write as _;

use crate::args::Listed;
use crate::error::{CliError, Exit};
use crate::look::{analyses, figures};
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
    for known in crate::clients::known() {
        let _ = writeln!(text, "  {:<10} {}", known.id, known.summary);
        if known.id != crate::clients::EMBEDDED {
            let url = known.default_url;
            let _ = writeln!(text, "  {:<10} looks at {url} unless told", "");
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
    text
}

/// Which of them are here is `ipw doctor`'s to say.
fn collectors() -> String {
    let mut text = "Collectors (`ipw doctor` says which are here)\n".to_owned();
    for known in ipw_telemetry::known() {
        let _ = writeln!(text, "  {:<10} {}", known.id, known.summary);
        let _ = writeln!(text, "  {:<10} {}", "", known.checked);
    }
    text
}

fn scorers() -> String {
    let mut text = "Scorers (`scorer` in a dataset's row)\n".to_owned();
    for known in ipw_scoring::known() {
        let _ = writeln!(text, "  {:<13} {}", known.id, known.summary);
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
