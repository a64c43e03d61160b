//! The documented table is the one in the code.

use std::fmt::Write as _;

use ipw_testkit::docs::check_generated;

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
    check_generated("datasets.md", "benchmarks", &generated());
}
