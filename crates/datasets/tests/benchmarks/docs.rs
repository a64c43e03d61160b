//! The documented table is the one in the code.

use std::fmt::Write as _;
use std::path::Path;

fn generated() -> String {
    let mut table = String::from(
        "| id | title | on the hub | config, split | columns | rows | scorer | licence |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for known in ipw_datasets::benchmarks() {
        let names: Vec<_> = [&known.id]
            .into_iter()
            .chain(known.aliases)
            .map(|name| format!("`{name}`"))
            .collect();
        let (repository, part) = match known.repository {
            Some(repository) => (
                format!("`{repository}`"),
                format!("`{}`, `{}`", known.config, known.split),
            ),
            None => ("on disk only (`path=`)".to_owned(), String::new()),
        };
        let gated = if known.is_gated { ", gated" } else { "" };
        let mixed = if known.mixes_options() {
            ", options mixed"
        } else {
            ""
        };
        let (required, optional) = known.columns();
        let optional = match quoted(&optional) {
            names if names.is_empty() => names,
            names => format!("; {names}"),
        };
        let _ = writeln!(
            table,
            "| {} | {} | {repository}{gated} | {part} | {}{optional} | {} | `{}`{mixed} | {} |",
            names.join(", "),
            known.title,
            quoted(&required),
            known.rows,
            known.scorer,
            known.license,
        );
    }
    table
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Run with `IPW_UPDATE_DOCS=1` to write the table anew.
#[test]
fn the_documented_benchmarks_are_these() {
    const FIRST: &str = "<!-- benchmarks: generated, do not edit -->\n";
    const LAST: &str = "<!-- end of benchmarks -->";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/datasets.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let begin = text.find(FIRST).expect("the table's first mark") + FIRST.len();
    let end = text.find(LAST).expect("the table's last mark");
    let generated = generated();
    if std::env::var_os("IPW_UPDATE_DOCS").is_some() {
        let updated = format!("{}\n{generated}\n{}", &text[..begin], &text[end..]);
        std::fs::write(&path, updated).unwrap();
        return;
    }
    let documented = text[begin..end].trim();
    assert_eq!(documented, generated.trim(), "run with IPW_UPDATE_DOCS=1");
}
