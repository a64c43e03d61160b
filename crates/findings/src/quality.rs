//! Warnings about a run's numbers ([`ipw_analysis::quality`]), from what its summary says.

use ipw_analysis::quality::{self, Facts, Part};
use ipw_core::telemetry::Telemetry;
use ipw_core::warning::{Kind, RunKind, Warning};
use ipw_store::overview::BasisTotals;
use ipw_store::summary::LoadSummary;
use ipw_store::{Overview, Run};

/// What a person should know before quoting the run. `telemetry` and `load` are those parts of its
/// summary; `None` while the run goes on.
pub fn warnings(
    overview: &Overview,
    telemetry: Option<&Telemetry>,
    load: Option<&LoadSummary>,
) -> Vec<Warning> {
    let energy = &overview.energy;
    quality::warnings(&Facts {
        rows_thinly_covered: energy.rows_thinly_covered,
        rows_too_short: energy.reasons.get("too_short").copied().unwrap_or(0),
        rows_with_energy: energy.rows,
        rows_without_energy: energy.reasons.clone(),
        bases: energy.by_basis.iter().map(part).collect(),
        rows_delayed: overview.rows_delayed,
        is_estimated: energy.is_estimated(),
        rows_with_impossible_claims: overview.tokens.rows_with_impossible_claims,
        p99_needs: load.and_then(LoadSummary::p99_needs),
        answered: overview.rows - overview.unanswered(),
        median_query_seconds: overview.total_query_seconds.as_ref().map(|total| total.p50),
        telemetry,
    })
}

/// The same, as far as the summary of the run tells of its sources and its load.
pub fn of_run(run: &Run, overview: &Overview) -> Vec<Warning> {
    let summary = run.summary();
    let mut all = warnings(overview, summary.telemetry.as_ref(), summary.load.as_ref());
    if run.is_original() {
        let text = "the Python original wrote this run: it has no outcomes, instants, sources or uncertainty of energy";
        all.push(Warning::new(RunKind::Original, text).advise(
            "every row counts as complete; IPW and other metrics that need instants are unknown",
        ));
    }
    all
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
pub fn lines(warnings: &[Warning]) -> Vec<String> {
    use RunKind::{Estimated, FewSamples, RowsWithoutEnergy};
    let is_new = |warning: &&Warning| {
        !matches!(
            warning.kind,
            Kind::Run(Estimated | FewSamples | RowsWithoutEnergy)
        )
    };
    let new = warnings.iter().filter(is_new);
    new.map(Warning::to_string).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ipw_analysis::latency::Latencies;
    use ipw_core::counter::Rollover;
    use ipw_core::row::Row;
    use ipw_core::source::{Domain, Method, Quantity, Source};
    use ipw_core::telemetry::SourceReport;
    use ipw_store::overview::{EnergyTotals, TokenTotals, Verdicts};

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

    /// A load of three queries.
    fn load() -> LoadSummary {
        let mut latencies = Latencies::default();
        for n in 0..3 {
            latencies.push(&Row {
                part: 0,
                due: Some(0.0),
                start: Some(0.0),
                sent: Some(0.0),
                first_token: None,
                first_answer_token: None,
                end: Some(f64::from(n)),
                chunks: &[],
                output_tokens: None,
                is_answered: true,
                ..Row::default()
            });
        }
        LoadSummary {
            load: "one after the other".to_owned(),
            latency: latencies.finish(),
            gaps_of_every: 1,
            steady: None,
            not_steady: BTreeMap::new(),
            queue: None,
            slo: None,
        }
    }

    #[test]
    fn a_good_run_has_no_warnings_and_a_bad_one_says_what_is_wrong() {
        let good = overview(EnergyTotals::default());
        assert_eq!(warnings(&good, None, None), []);
        let energy = EnergyTotals {
            rows_thinly_covered: 2,
            reasons: BTreeMap::from([("too_short".to_owned(), 1)]),
            basis: vec!["cpu_estimated".to_owned()],
            ..EnergyTotals::default()
        };
        let counter = Source {
            name: "rapl/package-0".to_owned(),
            collector: "rapl".into(),
            host: None,
            device: None,
            quantity: Quantity::Energy {
                domain: Domain::CpuPackage,
                rollover: Rollover::Resets,
            },
            method: Method::Counter,
            period: None,
            privilege: "none".into(),
            relative_sigma: None,
        };
        let telemetry = Telemetry {
            sources: vec![SourceReport {
                gaps: Some(2),
                resets: Some(1),
                ..SourceReport::of(counter)
            }],
            faults: vec!["rapl: gone".to_owned()],
            ..Telemetry::default()
        };
        let found = warnings(&overview(energy), Some(&telemetry), Some(&load()));
        assert_eq!(found.len(), 8, "{found:#?}");
        let said = lines(&found).join("\n");
        for words in [
            "2 rows have readings",
            "1 query is too short",
            "2 gaps in its readings",
            "reset 1 time",
            "never moved",
            "rapl: gone",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(!said.contains("368"), "the table says so: {said}");
    }
}
