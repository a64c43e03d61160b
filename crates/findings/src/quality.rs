//! Doubts about a run's numbers ([`ipw_analysis::quality`]), from what its summary says.

use ipw_analysis::quality::{self, Facts, Part};
pub use ipw_analysis::quality::{Doubt, Note};
use ipw_store::Overview;
use ipw_store::overview::BasisTotals;
use serde::Deserialize;
use serde_json::Value;

/// What a person should know before quoting the run. `telemetry` and `load` are those parts of
/// `summary.json`, null while the run goes on.
pub fn notes(overview: &Overview, telemetry: &Value, load: &Value) -> Vec<Note> {
    let energy = &overview.energy;
    quality::notes(&Facts {
        rows_thinly_covered: energy.rows_thinly_covered,
        rows_too_short: energy.reasons.get("too_short").copied().unwrap_or(0),
        rows_with_energy: energy.rows,
        rows_without_energy: energy.reasons.clone(),
        bases: energy.by_basis.iter().map(part).collect(),
        rows_delayed: overview.rows_delayed,
        is_estimated: energy.is_estimated(),
        rows_with_impossible_claims: overview.tokens.rows_with_impossible_claims,
        p99_needs: load
            .pointer("/latency/total_seconds/sent/p99/needs")
            .and_then(Value::as_u64),
        answered: overview.rows - overview.unanswered(),
        median_query_seconds: overview.total_query_seconds.as_ref().map(|total| total.p50),
        // What is no telemetry says nothing.
        telemetry: Deserialize::deserialize(telemetry).unwrap_or_default(),
    })
}

fn part(basis: &BasisTotals) -> Part {
    Part {
        basis: basis.basis.clone(),
        sources: basis.sources.clone(),
        rows: basis.rows,
        joules: basis.joules,
    }
}

/// Those that the screen does not say elsewhere.
pub fn lines(notes: &[Note]) -> Vec<String> {
    let is_new = |note: &&Note| {
        !matches!(
            note.id,
            Doubt::Estimated | Doubt::FewSamples | Doubt::RowsWithoutEnergy
        )
    };
    notes.iter().filter(is_new).map(Note::to_string).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ipw_store::overview::{EnergyTotals, TokenTotals, Verdicts};
    use serde_json::json;

    use super::*;

    fn overview(energy: EnergyTotals) -> Overview {
        Overview {
            failures: Vec::new(),
            rows: 3,
            outcomes: BTreeMap::new(),
            tokens: TokenTotals::default(),
            elapsed_seconds: None,
            time_to_first_token_seconds: None,
            total_query_seconds: None,
            throughput_tokens_per_sec: None,
            rows_delayed: 0,
            energy,
            verdicts: Verdicts::default(),
            subjects: None,
            cost_usd: None,
        }
    }

    #[test]
    fn a_good_run_has_no_notes_and_a_bad_one_says_what_is_wrong() {
        let good = overview(EnergyTotals::default());
        assert_eq!(notes(&good, &Value::Null, &Value::Null), []);
        let energy = EnergyTotals {
            rows_thinly_covered: 2,
            reasons: BTreeMap::from([("too_short".to_owned(), 1)]),
            basis: vec!["cpu_estimated".to_owned()],
            ..EnergyTotals::default()
        };
        let telemetry = json!({
            "sources": [{
                "about": {"name": "rapl/package-0", "quantity": {"kind": "energy"}},
                "joules": null, "gaps": 2, "resets": 1,
            }],
            "faults": ["rapl: gone"],
        });
        let load = json!({"latency": {"total_seconds": {"sent": {"p99": {"needs": 368}}}}});
        let found = notes(&overview(energy), &telemetry, &load);
        assert_eq!(found.len(), 8, "{found:#?}");
        let said = lines(&found).join("\n");
        for words in [
            "2 rows have readings",
            "1 query is too short",
            "silent 2 times",
            "anew 1 times",
            "never moved",
            "rapl: gone",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(!said.contains("368"), "the table says so: {said}");
    }
}
