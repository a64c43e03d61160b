//! `ipw list clients|datasets|all`.

use std::fmt::Write as _;

use crate::args::Listed;
use crate::error::{CliError, Exit};
use crate::screen;

#[expect(clippy::unnecessary_wraps, reason = "commands have one shape")]
pub(crate) fn run(what: Listed) -> Result<Exit, CliError> {
    let mut text = String::new();
    if what != Listed::Datasets {
        text.push_str("Clients (--client ID)\n");
        for known in crate::clients::known() {
            let _ = writeln!(text, "  {:<10} {}", known.id, known.summary);
            if known.id != crate::clients::EMBEDDED {
                let url = known.default_url;
                let _ = writeln!(text, "  {:<10} looks at {url} unless told", "");
            }
            params(&mut text, "--client-param", known.params);
        }
    }
    if what == Listed::All {
        text.push('\n');
    }
    if what != Listed::Clients {
        text.push_str("Datasets (--dataset ID, or a path to a file)\n");
        for known in ipw_datasets::known() {
            let _ = writeln!(text, "  {:<10} {}", known.id, known.summary);
            params(&mut text, "--dataset-param", known.params);
        }
    }
    screen::print(&text);
    Ok(Exit::Done)
}

fn params(text: &mut String, flag: &str, params: &[(&str, &str)]) {
    if !params.is_empty() {
        let _ = writeln!(text, "    {flag} NAME=VALUE");
    }
    for (name, meaning) in params {
        let _ = writeln!(text, "      {name:<14} {meaning}");
    }
}
