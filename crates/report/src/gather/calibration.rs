//! This tool's own error, as `ipw calibrate` last found it on this hardware.

use serde_json::Value;

use super::Inputs;
use crate::page::{Calibration, Cell, Column, Table};
use crate::words::day;
use ipw_core::quantity::{Unit, digits};

pub(crate) fn of(known: &Inputs<'_>) -> Calibration {
    let found = known.at("/calibration");
    let checks = found.get("checks").and_then(Value::as_array);
    let Some(checks) = checks else {
        return Calibration {
            text: "Not known: `ipw calibrate` has not been run on this hardware. It takes half a minute, and later runs quote it."
                .to_owned(),
            passed: None,
            out: Vec::new(),
            table: None,
        };
    };
    let out: Vec<&Value> = checks.iter().filter(|check| !passed(check)).collect();
    let failed = out.len();
    let when = found.get("calibrated_at").and_then(Value::as_f64);
    let when = when
        .and_then(day)
        .unwrap_or_else(|| "an unknown day".to_owned());
    let quick = found.get("quick").and_then(Value::as_bool) == Some(true);
    let verdict = match failed {
        0 => "every figure is within its bound".to_owned(),
        1 => "one figure is out of its bound".to_owned(),
        more => format!("{more} figures are out of their bounds"),
    };
    Calibration {
        text: format!(
            "The whole pipeline ran against a service and a sensor that know the truth ({when}{}): {verdict}.",
            if quick { ", the short version" } else { "" }
        ),
        passed: Some(failed == 0),
        out: out.into_iter().map(sentence).collect(),
        table: Some(table(checks)),
    }
}

/// `joules off by 3 % (at most 2 %): what that does to a run`
fn sentence(check: &Value) -> String {
    let text = |key: &str| check.get(key).and_then(Value::as_str).unwrap_or("unknown");
    let found = value(check, "value").unwrap_or_else(|| "n/a".to_owned());
    format!(
        "{}: {found} ({}); {}",
        text("what"),
        bound(check),
        text("otherwise")
    )
}

fn value(check: &Value, key: &str) -> Option<String> {
    let unit = check.get("unit").and_then(Value::as_str).unwrap_or("");
    Some(shown(check.get(key)?.as_f64()?, unit))
}

fn bound(check: &Value) -> String {
    match (value(check, "at_least"), value(check, "at_most")) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => "no bound".to_owned(),
    }
}

fn passed(check: &Value) -> bool {
    check.get("passed").and_then(Value::as_bool) == Some(true)
}

fn table(checks: &[Value]) -> Table {
    let text = |check: &Value, key: &str| {
        let text = check.get(key).and_then(Value::as_str);
        text.unwrap_or("unknown").to_owned()
    };
    let row = |check: &Value| {
        let scenario = text(check, "id");
        let scenario = scenario.split('.').next().unwrap_or_default();
        let verdict = if passed(check) {
            Cell::of("within")
        } else {
            Cell::of("out").with(text(check, "otherwise"))
        };
        vec![
            Cell::of(text(check, "what")).with(scenario),
            verdict,
            value(check, "value").map_or_else(|| Cell::unknown("nothing to compare"), Cell::of),
            Cell::of(bound(check)),
        ]
    };
    Table {
        id: "calibration-checks".to_owned(),
        title: "Checks".to_owned(),
        caption: "How far off this tool was, and how far it may be.".to_owned(),
        columns: vec![
            Column::words("figure"),
            Column::words("verdict"),
            Column::numbers("found"),
            Column::numbers("bound"),
        ],
        rows: checks.iter().map(row).collect(),
    }
}

fn shown(value: f64, unit: &str) -> String {
    match unit {
        "seconds" => Unit::Seconds.show(value),
        "share" => format!("{:.2} %", value * 100.0),
        "per_second" => format!("{} /s", digits(value)),
        _ => digits(value),
    }
}
