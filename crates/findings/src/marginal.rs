//! What one more token and one more second cost, over the basis of a run (docs/method.md §6.9).

use ipw_analysis::interval::Estimate;
use ipw_analysis::marginal::{Marginal, NotTold, Observation, fit};
use ipw_core::quantity::Unit;
use ipw_store::attribute::{Work, Worked};
use serde_json::{Value, json};

/// What `summary.json` says; `None` where no measured source is in the basis.
pub fn of(worked: &[Worked]) -> Option<Value> {
    if worked.is_empty() {
        return None;
    }
    let fits: Vec<_> = worked
        .iter()
        .map(|source| (&source.source, fitted(&source.work)))
        .collect();
    let found: Result<Vec<Marginal>, NotTold> = fits.iter().map(|(_, fit)| *fit).collect();
    let sum = |get: fn(&Marginal) -> Estimate| {
        let found = found.as_ref().ok()?;
        Some(sum(found.iter().map(get)))
    };
    let sources: Vec<Value> = fits
        .iter()
        .map(|(source, fit)| match fit {
            Ok(found) => json!({ "source": source, "fit": found, "reason": null }),
            Err(not_told) => json!({ "source": source, "fit": null, "reason": reason(not_told) }),
        })
        .collect();
    Some(json!({
        "joules_per_input_token": sum(|found| found.joules_per_input_token),
        "joules_per_output_token": sum(|found| found.joules_per_output_token),
        "idle_watts": sum(|found| found.idle_watts),
        "reason": found.as_ref().err().map(reason),
        "sources": sources,
    }))
}

fn fitted(work: &[Work]) -> Result<Marginal, NotTold> {
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

/// Why nothing is told, in one word.
fn reason(not_told: &NotTold) -> &'static str {
    match not_told {
        NotTold::TooFew { .. } => "too_few",
        NotTold::Collinear { .. } => "collinear",
    }
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
pub fn line(marginal: &Value) -> Option<String> {
    let part = |key: &str, shown: Unit, unit: &str| {
        let number = |name: &str| marginal.get(key)?.get(name)?.as_f64();
        let (value, low, high) = (number("value")?, number("low")?, number("high")?);
        Some((
            format!("{}{unit}", shown.show(value)),
            shown.range(low, high),
        ))
    };
    let parts = [
        part("joules_per_input_token", Unit::Joules, "/input token")?,
        part("joules_per_output_token", Unit::Joules, "/output token")?,
        part("idle_watts", Unit::Watts, " idle")?,
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

    fn source(name: &str, work: Vec<Work>) -> Worked {
        Worked {
            source: name.to_owned(),
            work,
        }
    }

    #[test]
    fn the_basis_costs_what_its_sources_cost_together() {
        let told = of(&[source("a", work(1.0)), source("b", work(0.5))]).unwrap();
        let value = |key: &str| told[key]["value"].as_f64().unwrap();
        assert!((value("joules_per_output_token") - 3.0).abs() < 1e-9);
        assert!((value("idle_watts") - 45.0).abs() < 1e-9, "{told}");
        assert_eq!(told["reason"], Value::Null);
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
        assert_eq!(told["reason"], "collinear");
        assert_eq!(told["idle_watts"], Value::Null);
        assert_eq!(told["sources"][0]["reason"], Value::Null);
        assert_eq!(line(&told), None);
        assert_eq!(of(&[source("a", Vec::new())]).unwrap()["reason"], "too_few");
        assert_eq!(of(&[]), None);
    }
}
