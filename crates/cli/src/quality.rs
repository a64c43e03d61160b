//! Doubts about a run's numbers, each with a sentence of advice.

use ipw_store::Overview;
use serde_json::Value;

/// °C by which a device may warm up before it is worth a word.
const WARMING: f64 = 15.0;
/// Share by which a counter may differ from the power beside it.
const DISAGREEMENT: f64 = 0.1;

/// What a person should know before quoting the run. `telemetry` is that part of `summary.json`,
/// null while the run goes on.
pub(crate) fn notes(overview: &Overview, telemetry: &Value) -> Vec<String> {
    let mut notes = Vec::new();
    let thin = overview.energy.rows_thinly_covered;
    if thin > 0 {
        notes.push(format!(
            "{thin} rows have readings for less than 95 % of their time: their joules are too low; look at `energy.shares`"
        ));
    }
    let sources = telemetry.get("sources").and_then(Value::as_array);
    for source in sources.into_iter().flatten() {
        let name = source
            .pointer("/about/name")
            .and_then(Value::as_str)
            .unwrap_or("a source");
        let count = |key: &str| source.get(key).and_then(Value::as_u64).unwrap_or(0);
        let (gaps, resets) = (count("gaps"), count("resets"));
        if gaps > 0 {
            notes.push(format!(
                "`{name}` was silent {gaps} times for longer than it may: a busy machine, a lost device, or sleep"
            ));
        }
        if resets > 0 {
            notes.push(format!(
                "`{name}` started anew {resets} times: the queries it hit have no energy"
            ));
        }
        notes.extend(state(name, source));
        notes.extend(disagreement(name, source));
        notes.extend(drift(name, source));
        let is_energy = source
            .pointer("/about/quantity/kind")
            .and_then(Value::as_str);
        if is_energy == Some("energy") && source.get("joules").is_none_or(Value::is_null) {
            notes.push(format!(
                "`{name}` never moved and counts as absent; see `ipw doctor`"
            ));
        }
    }
    let faults = telemetry.get("faults").and_then(Value::as_array);
    for fault in faults.into_iter().flatten().filter_map(Value::as_str) {
        notes.push(format!("a reading failed: {fault}"));
    }
    notes
}

/// What a gauge tells about the conditions of the run.
fn state(name: &str, source: &Value) -> Option<String> {
    let gauge = source.pointer("/about/quantity/gauge")?.as_str()?;
    let value = |key: &str| source.get("values")?.get(key)?.as_f64();
    let (first, last, max) = (value("first")?, value("last")?, value("max")?);
    match gauge {
        "throttle" if max > 0.0 => Some(format!(
            "`{name}`: the board was held back by heat or power: its speed is not its own; cool it, or lower the load"
        )),
        "power_limit" if (first - last).abs() > 0.5 => Some(format!(
            "`{name}` changed from {first:.0} W to {last:.0} W during the run: parts of it are not comparable"
        )),
        "gpu_temperature" | "cpu_temperature" if max - first > WARMING => Some(format!(
            "`{name}` rose from {first:.0} °C to {max:.0} °C: a hotter chip takes more power; warm up longer for steady figures"
        )),
        "processes" if max > 1.0 => Some(format!(
            "`{name}`: up to {max:.0} processes used the board: their energy is in these joules"
        )),
        _ => None,
    }
}

/// Idle that was not the same before and after.
fn drift(name: &str, source: &Value) -> Option<String> {
    let watts = |moment: &str| source.get("idle")?.get(moment)?.get("watts")?.as_f64();
    let (before, after) = (watts("before")?, watts("after")?);
    ((after - before).abs() > DISAGREEMENT * before).then(|| {
        format!(
            "`{name}` drew {before:.1} W idle before the queries and {after:.1} W after: joules above idle are as uncertain as that"
        )
    })
}

/// A counter and the power of the same device that tell different things.
fn disagreement(name: &str, source: &Value) -> Option<String> {
    let ratio = source.pointer("/self_test/end/against_power")?.as_f64()?;
    ((ratio - 1.0).abs() > DISAGREEMENT).then(|| {
        format!(
            "`{name}` counted {:.0} % of what its own power readings say: one of the two is wrong; see `ipw doctor`",
            ratio * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ipw_store::overview::{EnergyTotals, TokenTotals, Verdicts};
    use serde_json::json;

    use super::*;

    fn overview(rows_thinly_covered: u64) -> Overview {
        Overview {
            failures: Vec::new(),
            rows: 3,
            outcomes: BTreeMap::new(),
            tokens: TokenTotals::default(),
            elapsed_seconds: None,
            time_to_first_token_seconds: None,
            total_query_seconds: None,
            throughput_tokens_per_sec: None,
            energy: EnergyTotals {
                rows_thinly_covered,
                ..EnergyTotals::default()
            },
            verdicts: Verdicts::default(),
        }
    }

    #[test]
    fn a_good_run_has_no_notes_and_a_bad_one_says_what_is_wrong() {
        let source = |joules: Value, gaps: u64, resets: u64| {
            json!({
                "about": {"name": "rapl/package-0", "quantity": {"kind": "energy"}},
                "joules": joules, "gaps": gaps, "resets": resets,
            })
        };
        let good = json!({"sources": [source(json!(5.0), 0, 0)], "faults": []});
        assert_eq!(notes(&overview(0), &good), Vec::<String>::new());
        assert_eq!(notes(&overview(0), &Value::Null), Vec::<String>::new());
        let bad = json!({"sources": [source(Value::Null, 2, 1)], "faults": ["rapl: gone"]});
        let said = notes(&overview(2), &bad).join("\n");
        for words in [
            "2 rows have readings",
            "silent 2 times",
            "anew 1 times",
            "never moved",
            "rapl: gone",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}
