//! What one more token and one more second cost, over the basis of a run (docs/method.md §6.9).

use ipw_analysis::interval::Estimate;
use ipw_analysis::marginal::{Marginal, MarginalError, Observation, fit};
use ipw_core::quantity::Unit;
use ipw_store::attribute::{SourceWork, Work};
use ipw_store::summary::{MarginalCosts, SourceCost, Untold};

/// What the summary says; `None` where no measured source is in the basis.
pub fn of(worked: &[SourceWork]) -> Option<MarginalCosts> {
    if worked.is_empty() {
        return None;
    }
    let fits: Vec<_> = worked
        .iter()
        .map(|source| (&source.source, fitted(&source.work)))
        .collect();
    let found: Result<Vec<Marginal>, MarginalError> = fits.iter().map(|(_, fit)| *fit).collect();
    let sum = |get: fn(&Marginal) -> Estimate| {
        let found = found.as_ref().ok()?;
        Some(sum(found.iter().map(get)))
    };
    let sources = fits.iter().map(|(source, fit)| SourceCost {
        source: (*source).clone(),
        fit: fit.ok(),
        reason: fit.err().map(Untold::from),
    });
    Some(MarginalCosts {
        joules_per_input_token: sum(|found| found.joules_per_input_token),
        joules_per_output_token: sum(|found| found.joules_per_output_token),
        idle_watts: sum(|found| found.idle_watts),
        sources: sources.collect(),
        reason: found.err().map(Untold::from),
    })
}

fn fitted(work: &[Work]) -> Result<Marginal, MarginalError> {
    let observations: Vec<Observation> = work
        .iter()
        .map(|work| Observation {
            input_tokens: work.input_tokens,
            output_tokens: work.output_tokens,
            seconds: work.seconds,
            joules: work.joules,
            weight: 1.0,
        })
        .collect();
    fit(&observations)
}

/// The sum over sources; they err apart, so the squares of their intervals are added.
fn sum(estimates: impl Iterator<Item = Estimate>) -> Estimate {
    let (value, squares) = estimates.fold((0.0, 0.0), |(value, squares), one| {
        let half = (one.high - one.low) / 2.0;
        (value + one.value, squares + half * half)
    });
    Estimate {
        value,
        low: value - squares.sqrt(),
        high: value + squares.sqrt(),
    }
}

/// The line for the screen; `None` where nothing is told.
pub fn line(marginal: &MarginalCosts) -> Option<String> {
    let part = |cost: Option<Estimate>, shown: Unit, unit: &str| {
        let Estimate { value, low, high } = cost?;
        Some((
            format!("{}{unit}", shown.show(value)),
            shown.range(low, high),
        ))
    };
    let parts = [
        part(
            marginal.joules_per_input_token,
            Unit::Joules,
            "/input token",
        )?,
        part(
            marginal.joules_per_output_token,
            Unit::Joules,
            "/output token",
        )?,
        part(marginal.idle_watts, Unit::Watts, " idle")?,
    ];
    let (values, intervals): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    Some(format!(
        "{:<9} {} (95 %: {})",
        "marginal",
        values.join(", "),
        intervals.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stretches in which tokens and time vary apart.
    fn work(factor: f64) -> Vec<Work> {
        (0..40_u32)
            .map(|number| {
                let input_tokens = f64::from(number * 37 % 11) * 20.0;
                let output_tokens = f64::from(number * 17 % 7);
                let seconds = 0.25 + f64::from(number * 5 % 3) * 0.1;
                Work {
                    input_tokens,
                    output_tokens,
                    seconds,
                    joules: factor * (0.05 * input_tokens + 2.0 * output_tokens + 30.0 * seconds),
                }
            })
            .collect()
    }

    fn source(name: &str, work: Vec<Work>) -> SourceWork {
        SourceWork {
            source: name.to_owned(),
            work,
        }
    }

    #[test]
    fn the_basis_costs_what_its_sources_cost_together() {
        let told = of(&[source("a", work(1.0)), source("b", work(0.5))]).unwrap();
        assert!((told.joules_per_output_token.unwrap().value - 3.0).abs() < 1e-9);
        assert!(
            (told.idle_watts.unwrap().value - 45.0).abs() < 1e-9,
            "{told:?}"
        );
        assert_eq!(told.reason, None);
        let line = line(&told).unwrap();
        assert!(
            line.starts_with(
                "marginal  75.0 mJ/input token, 3.00 J/output token, 45.0 W idle (95 %: "
            ),
            "{line}"
        );
    }

    #[test]
    fn one_source_that_cannot_tell_leaves_the_basis_untold() {
        let steady = vec![
            Work {
                input_tokens: 1.0,
                output_tokens: 1.0,
                seconds: 1.0,
                joules: 1.0,
            };
            20
        ];
        let told = of(&[source("a", work(1.0)), source("b", steady)]).unwrap();
        assert_eq!(told.reason, Some(Untold::Collinear));
        assert_eq!(told.idle_watts, None);
        assert_eq!(told.sources[0].reason, None);
        assert_eq!(line(&told), None);
        let few = of(&[source("a", Vec::new())]).unwrap();
        assert_eq!(few.reason, Some(Untold::TooFew));
        assert_eq!(of(&[]), None);
    }
}
