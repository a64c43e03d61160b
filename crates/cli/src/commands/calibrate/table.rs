//! The table of a calibration, in 80 columns.

use std::fmt::Write as _;

use ipw::calibrate::Scenario;
use ipw_findings::calibration::{Calibration, Check, Unit};

use crate::commands::doctor::wrapped;
use crate::screen;

const WHAT: usize = 40;
const CELL: usize = 14;

pub(super) fn text(scenarios: &[Scenario], calibration: &Calibration) -> String {
    let mut text = format!("{:<WHAT$}{:>CELL$}{:>CELL$}\n", "what", "measured", "bound");
    let mut heads: Vec<(&str, &str)> = scenarios
        .iter()
        .map(|scenario| (scenario.id, scenario.what.as_str()))
        .collect();
    heads.push(("all", "all of them"));
    for (id, what) in heads {
        let _ = writeln!(text, "{what}");
        let of_it = |check: &&Check| check.id.split('.').next() == Some(id);
        for check in calibration.checks.iter().filter(of_it) {
            let _ = writeln!(text, "{}", line(check));
        }
    }
    text.push_str(&verdict(&calibration.checks));
    text
}

fn line(check: &Check) -> String {
    let value = check
        .value
        .map_or("none".to_owned(), |value| figure(value, check.unit));
    let verdict = if check.passed { "pass" } else { "FAIL" };
    format!(
        "  {:<width$}{value:>CELL$}{:>CELL$}   {verdict}",
        check.what,
        bound(check),
        width = WHAT - 2
    )
}

fn verdict(checks: &[Check]) -> String {
    let failed: Vec<_> = checks.iter().filter(|check| !check.passed).collect();
    if failed.is_empty() {
        return format!("\nAll {} checks passed.\n", checks.len());
    }
    let mut text = format!(
        "\n{} of {} checks failed: measurements taken now have errors of this size.\n",
        failed.len(),
        checks.len()
    );
    for check in failed {
        let (scenario, _) = check.id.split_once('.').unwrap_or_default();
        let why = format!("{} ({scenario}): {}", check.what, check.otherwise);
        let _ = writeln!(text, "{}", wrapped("  ", &why));
    }
    let advice = "The machine may be busy, or slowed down to save power. Let it idle, then calibrate \
                  again.";
    let _ = writeln!(text, "{}", wrapped("", advice));
    text
}

fn bound(check: &Check) -> String {
    let show = |value: f64| figure(value, check.unit);
    match (check.at_least, check.at_most) {
        (Some(least), Some(most)) if (least + most).abs() < f64::EPSILON => {
            format!("± {}", show(most))
        }
        (Some(least), Some(most)) => {
            let least = show(least);
            // Write the unit once: `85–100 %`.
            let number = least.split(' ').next().unwrap_or_default();
            format!("{number}–{}", show(most))
        }
        (Some(least), None) => format!("≥ {}", show(least)),
        (None, Some(most)) => format!("≤ {}", show(most)),
        (None, None) => String::new(),
    }
}

/// A number with its unit.
fn figure(value: f64, unit: Unit) -> String {
    let size = value.abs();
    let text = match unit {
        // Timestamps have no finer resolution.
        Unit::Seconds if size < 5e-7 => "0 µs".to_owned(),
        Unit::Seconds => screen::seconds(size),
        Unit::Share if size >= 0.1 => format!("{:.0} %", size * 100.0),
        Unit::Share if size >= 0.01 => format!("{:.1} %", size * 100.0),
        Unit::Share => format!("{:.2} %", size * 100.0),
        Unit::Count => format!("{size:.0}"),
        Unit::PerSecond => format!("{size:.0}/s"),
    };
    // A value that rounds to zero has no sign.
    let is_nothing = !text.contains(|digit: char| ('1'..='9').contains(&digit));
    let sign = if value < 0.0 && !is_nothing { "-" } else { "" };
    format!("{sign}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipw::calibrate::Effort;
    use ipw_findings::calibration::Occasion;

    fn check(
        id: &'static str,
        unit: Unit,
        value: f64,
        bounds: (Option<f64>, Option<f64>),
    ) -> Check {
        let (at_least, at_most) = bounds;
        Check {
            id: id.into(),
            what: "arrival at the service after due, p99".into(),
            unit,
            value: Some(value),
            at_least,
            at_most,
            passed: Check::is_within(Some(value), at_least, at_most),
            otherwise: "a sentence that is long enough to be broken "
                .repeat(3)
                .into(),
        }
    }

    #[test]
    fn nothing_has_no_sign() {
        assert_eq!(figure(-1e-7, Unit::Share), "0.00 %");
        assert_eq!(figure(-1e-9, Unit::Seconds), "0 µs");
        assert_eq!(figure(-0.002, Unit::Share), "-0.20 %");
        assert_eq!(figure(-0.002, Unit::Seconds), "-2.00 ms");
    }

    #[test]
    fn the_table_fits_80_columns_and_says_what_failed() {
        let checks = vec![
            check("sequential.a", Unit::Seconds, 0.000_2, (None, Some(0.001))),
            check("streams.b", Unit::Seconds, -1.5, (Some(-0.5), Some(0.5))),
            check("open.c", Unit::Share, 0.97, (Some(0.85), Some(1.0))),
            check(
                "ceiling.d",
                Unit::PerSecond,
                123_456.0,
                (Some(1000.0), None),
            ),
            check("all.e", Unit::Count, 0.0, (None, Some(0.0))),
        ];
        let occasion = Occasion {
            calibrated_at: 0.0,
            hardware_label: String::new(),
            quick: true,
        };
        for effort in [Effort::Full, Effort::Quick] {
            let scenarios = ipw::calibrate::scenarios(effort).unwrap();
            let calibration = ipw::calibrate::calibration::new(
                Occasion {
                    hardware_label: String::new(),
                    ..occasion
                },
                checks.clone(),
            );
            let text = text(&scenarios, &calibration);
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{line}");
            }
            for words in [
                "200 µs     ≤ 1.00 ms   pass",
                "-1.50 s      ± 500 ms   FAIL",
                "97 %      85–100 %   pass",
                "123456/s      ≥ 1000/s   pass",
                "0           ≤ 0   pass",
                "1 of 5 checks failed",
            ] {
                assert!(text.contains(words), "{words}\n{text}");
            }
        }
    }
}
