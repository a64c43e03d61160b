//! This tool's own error, as `ipw calibrate` last found it on this hardware.

use crate::calibration::{self, Check};

use super::Inputs;
use super::{Calibration, Cell, Column, Table};
use ipw_core::quantity::{Unit, digits};

pub(super) fn of(known: &Inputs<'_>) -> Calibration {
    let Some(found) = &known.summary().calibration else {
        return Calibration {
            text: "Not known: `ipw calibrate` has not been run on this hardware. It takes half a minute, and later runs show its result."
                .to_owned(),
            passed: None,
            out: Vec::new(),
            table: None,
        };
    };
    let out: Vec<&Check> = found.checks.iter().filter(|check| !check.passed).collect();
    let failed = out.len();
    let when = calibration::day(found.calibrated_at);
    let verdict = match failed {
        0 => "every figure is within its bounds".to_owned(),
        1 => "one figure is out of bounds".to_owned(),
        more => format!("{more} figures are out of bounds"),
    };
    Calibration {
        text: format!(
            "The whole pipeline ran against a simulated service and sensor with known true values ({when}{}): {verdict}.",
            if found.quick { ", quick check" } else { "" }
        ),
        passed: Some(failed == 0),
        out: out.into_iter().map(sentence).collect(),
        table: Some(table(&found.checks)),
    }
}

/// `joules off by 3 % (at most 2 %): what that does to a run`
fn sentence(check: &Check) -> String {
    let found = check.value.map(|value| shown(value, check.unit));
    let found = found.unwrap_or_else(|| "n/a".to_owned());
    format!(
        "{}: {found} ({}); {}",
        check.what,
        bound(check),
        check.otherwise
    )
}

fn bound(check: &Check) -> String {
    let end = |end: Option<f64>| end.map(|end| shown(end, check.unit));
    match (end(check.at_least), end(check.at_most)) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => "no bound".to_owned(),
    }
}

fn table(checks: &[Check]) -> Table {
    let row = |check: &Check| {
        let scenario = check.id.split('.').next().unwrap_or_default();
        let verdict = if check.passed {
            Cell::of("within")
        } else {
            Cell::of("out").with(check.otherwise.clone())
        };
        let found = check.value.map(|value| shown(value, check.unit));
        vec![
            Cell::of(check.what.clone()).with(scenario),
            verdict,
            found.map_or_else(|| Cell::unknown("nothing to compare"), Cell::of),
            Cell::of(bound(check)),
        ]
    };
    Table {
        id: "calibration-checks".to_owned(),
        title: "Checks".to_owned(),
        caption: "Measured error of this tool, and the bound for each figure.".to_owned(),
        columns: vec![
            Column::words("figure"),
            Column::words("verdict"),
            Column::numbers("found"),
            Column::numbers("bound"),
        ],
        rows: checks.iter().map(row).collect(),
    }
}

fn shown(value: f64, unit: calibration::Unit) -> String {
    match unit {
        calibration::Unit::Seconds => Unit::Seconds.show(value),
        calibration::Unit::Share => format!("{:.2} %", value * 100.0),
        calibration::Unit::PerSecond => format!("{} /s", digits(value)),
        calibration::Unit::Count => digits(value),
    }
}
