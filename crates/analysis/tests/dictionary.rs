//! `docs/metrics.md` lists the dictionary of metrics.

use std::fmt::Write as _;

use ipw_analysis::metric::{Better, Metric, Phase, TimeOrigin, Unit};
use ipw_testkit::docs::check_generated;

fn table() -> String {
    let mut table = String::from(
        "| id | name | unit | better | formula | counts | columns |\n|---|---|---|---|---|---|---|\n",
    );
    for metric in Metric::ALL {
        let definition = metric.definition();
        let unit = match definition.unit {
            Unit::Joules => "J",
            Unit::Watts => "W",
            Unit::Seconds => "s",
            Unit::PerSecond => "1/s",
            Unit::PerWatt => "1/W",
            Unit::PerJoule => "1/J",
            Unit::Share | Unit::Plain => "",
        };
        let better = match definition.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
        };
        let mut counts = match definition.phase {
            Phase::Whole => "all rows",
            Phase::Prefill => "prefill",
            Phase::Decode => "decode",
            Phase::Steady => "steady",
        }
        .to_owned();
        match definition.since {
            TimeOrigin::Planned => counts.push_str(", from the planned send"),
            TimeOrigin::Sent => counts.push_str(", from the actual send"),
            TimeOrigin::Neither => {}
        }
        let columns: Vec<String> = definition
            .columns
            .iter()
            .map(|column| format!("`{column}`"))
            .collect();
        let _ = writeln!(
            table,
            "| `{}` | {} | {unit} | {better} | {} | {counts} | {} |",
            definition.id,
            definition.label,
            definition.formula,
            columns.join(", ")
        );
    }
    table
}

/// Set `IPW_UPDATE_DOCS=1` to rewrite the table.
#[test]
fn the_documented_metrics_are_the_dictionarys() {
    check_generated("metrics.md", "metrics", &table());
}
