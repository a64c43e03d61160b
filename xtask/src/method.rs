//! The table of docs/method.md §6.6: how far attribution is from simulated truth.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use ipw_testkit::simulation::{between_markers, scored, table};

/// What `cargo xtask method` takes.
#[derive(Debug, Args)]
pub(crate) struct MethodArgs {}

/// Works the table out and writes it into the documentation.
pub(crate) fn run(_: &MethodArgs) -> anyhow::Result<ExitCode> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/method.md");
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("reading `{}`", path.display()))?;
    let (before, _, behind) =
        between_markers(&text).context("`docs/method.md` has no place for the table")?;
    let written = format!("{before}\n\n{}\n{behind}", table(&scored()));
    std::fs::write(&path, written).with_context(|| format!("writing `{}`", path.display()))?;
    crate::say("docs/method.md is up to date");
    Ok(ExitCode::SUCCESS)
}
