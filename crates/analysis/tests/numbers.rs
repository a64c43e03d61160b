//! Any input yields finite numbers only: others would be serialized as null.

use ipw_analysis::bootstrap;
use ipw_analysis::density::Density;
use ipw_analysis::ecdf::Ecdf;
use ipw_analysis::energy::Energies;
use ipw_analysis::metric::{Metric, Row};
use ipw_core::row::{Phases, Row as EnergyRow, Share};
use ipw_core::source::Method;
use proptest::prelude::*;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn densities_and_curves_are_numbers(values in prop::collection::vec(any::<f64>(), 0..60)) {
        if let Some(density) = Density::of(values.clone()) {
            let all = density.x.iter().chain(&density.y);
            prop_assert!(all.chain([&density.mean, &density.median]).all(|one| one.is_finite()));
        }
        if let Some(curve) = Ecdf::of(values, 10) {
            prop_assert!(curve.points.len() <= 10);
            let finite = |one: &ipw_analysis::ecdf::Point| {
                one.value.is_finite() && (0.0..=1.0).contains(&one.share)
            };
            prop_assert!(curve.points.iter().all(finite));
            prop_assert!(curve.exact_from.is_finite() && curve.band.is_finite());
        }
    }

    #[test]
    fn bootstraps_are_numbers(
        rows in prop::collection::vec(
            (0_usize..4, any::<[Option<f64>; 2]>(), any::<Option<u64>>(), any::<Option<bool>>()),
            0..12,
        ),
    ) {
        let rows: Vec<Row> = rows.into_iter().map(|(name, values, tokens, is_correct)| Row {
            query: NAMES[name],
            joules: values[0],
            seconds: values[1],
            total_tokens: tokens,
            is_answered: true,
            is_correct,
            ..Row::default()
        }.alone()).collect();
        for sure in bootstrap::intervals(&rows, &Metric::ALL, 1).into_values().flatten() {
            prop_assert!(sure.value.is_finite() && sure.low.is_finite() && sure.high.is_finite());
            prop_assert!(sure.low <= sure.high);
        }
    }

    #[test]
    fn breakdowns_are_numbers(
        rows in prop::collection::vec(
            (any::<[Option<f64>; 4]>(), any::<[Option<u32>; 2]>(), any::<(bool, bool)>()),
            0..12,
        ),
    ) {
        let mut energies = Energies::on(["gpu".to_owned()].into());
        for (values, tokens, (is_headline, is_prefill)) in rows {
            let shares = [Share {
                name: if is_headline { "gpu" } else { "core" },
                method: Method::Counter.label(),
                joules: values[0],
                above_idle: values[1],
                ..Share::default()
            }];
            energies.push(&EnergyRow {
                shares: &shares,
                phases: Phases {
                    kind: Some(if is_prefill { "prefill" } else { "wait_and_prefill" }),
                    before: values[2],
                    after: values[3],
                },
                input_tokens: tokens[0].map(u64::from),
                output_tokens: tokens[1].map(u64::from),
                ..EnergyRow::default()
            });
        }
        let found = energies.finish();
        let mut spent = vec![
            found.headline,
            found.phases.prefill,
            found.phases.wait_and_prefill,
            found.phases.decode,
        ];
        spent.extend(found.sources.iter().map(|one| one.spent));
        spent.extend(found.methods.iter().map(|one| one.spent));
        let sums = spent.iter().flat_map(|one| [one.joules, one.above_idle_joules, one.idle_share]);
        let per = found.per_token;
        let rates = [
            per.joules_per_token,
            per.prefill_joules_per_input_token,
            per.decode_joules_per_output_token,
            per.joules_per_output_token,
        ];
        prop_assert!(sums.chain(rates).flatten().all(f64::is_finite));
    }
}
