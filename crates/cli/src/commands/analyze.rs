//! `ipw analyze RUN…`.

use std::fmt::Write as _;

use anyhow::Context;
use ipw_core::nearest::nearest;
use ipw_findings::look::analyses::{ALL, Analysis, content};
use ipw_findings::look::{Look, LookOptions};
use ipw_store::file::{make_directory, replace_by};
use serde_json::Value;

use super::open;
use crate::args::AnalyzeArgs;
use crate::error::{CliError, Exit};
use crate::screen;

pub(crate) fn run(args: &AnalyzeArgs) -> Result<Exit, CliError> {
    let chosen = chosen(&args.analyses)?;
    let options = options(&args.options, &chosen)?;
    let mut all = Vec::new();
    for place in &args.runs {
        let run = open(place, args.basis.choice())?;
        let wanted = chosen.iter().map(|analysis| analysis.wanted());
        let wanted = wanted.fold(LookOptions::FIGURES, LookOptions::and);
        let look = Look::at(&run, None, wanted, &mut []).context("cannot read the rows")?;
        for analysis in &chosen {
            let found = content(&look, analysis, &options)
                .with_context(|| format!("cannot compute `{}`", analysis.id))?;
            let directory = make_directory(place, "analysis").context("cannot write a result")?;
            let path = directory.join(format!("{}.json", analysis.id));
            replace_by(&path, |out| found.write(out)).context("cannot write a result")?;
            if args.json {
                all.push(serde_json::to_value(&found).context("cannot write a result")?);
            } else {
                screen::print(&words::text(analysis, &found.found, &path));
            }
        }
    }
    if args.json {
        screen::print(&screen::json(&Value::Array(all)));
    }
    Ok(Exit::Done)
}

fn chosen(ids: &[String]) -> Result<Vec<&'static Analysis>, CliError> {
    if ids.is_empty() {
        return Ok(ALL.iter().collect());
    }
    ids.iter()
        .map(|id| {
            Analysis::by_id(id).ok_or_else(|| {
                let known: Vec<_> = ALL.iter().map(|analysis| analysis.id).collect();
                unknown("analysis", id, &known)
            })
        })
        .collect()
}

/// Parses `NAME=NUMBER`. A chosen analysis must have the option.
fn options(given: &[String], chosen: &[&Analysis]) -> Result<Vec<(String, u64)>, CliError> {
    let known: Vec<_> = chosen
        .iter()
        .flat_map(|analysis| analysis.options)
        .map(|(name, _)| *name)
        .collect();
    given
        .iter()
        .map(|option| {
            let (name, value) = option.split_once('=').ok_or_else(|| {
                CliError::usage(format!("`--option {option}` has no `=`"))
                    .help("use `--option NAME=NUMBER`")
            })?;
            if !known.contains(&name) {
                return Err(unknown("option", name, &known));
            }
            let value = value.parse().map_err(|_| {
                CliError::usage(format!(
                    "`--option {option}`: `{value}` is not a whole number"
                ))
            })?;
            Ok((name.to_owned(), value))
        })
        .collect()
}

/// An error that lists the known names, the nearest first.
pub(crate) fn unknown(what: &str, given: &str, known: &[&str]) -> CliError {
    let mut help = String::new();
    if let Some(near) = nearest(given, known.iter().copied()) {
        let _ = write!(help, "did you mean `{near}`? ");
    }
    let _ = match known {
        [] => write!(help, "no {what} is known here; omit it"),
        _ => write!(help, "known: {}", known.join(", ")),
    };
    CliError::usage(format!("unknown {what} `{given}`")).help(help)
}

mod words {
    //! The result of an analysis in a few lines.

    use std::fmt::Write as _;
    use std::path::Path;

    use ipw_analysis::metric::{Metric, Unit};
    use ipw_core::quantity::digits;
    use ipw_core::text::printable;
    use serde_json::Value;

    use ipw_findings::look::analyses::Analysis;

    pub(super) fn text(analysis: &Analysis, found: &Value, path: &Path) -> String {
        let data = &found["data"];
        let lines = match analysis.id {
            "regression" => regression(data),
            "latency" => latency(data),
            "energy" => energy(data),
            "efficiency" => efficiency(data),
            "accuracy" => accuracy(&found["summary"], data),
            "timeline" => timeline(data),
            "quality" => quality(data),
            "outliers" => outliers(data),
            _ => Vec::new(),
        };
        let mut text = format!("{}: {}\n", analysis.id, analysis.about);
        let warnings = found["warnings"].as_array().into_iter().flatten();
        let warnings = warnings.filter_map(Value::as_str);
        for line in lines
            .into_iter()
            .chain(warnings.map(|text| format!("warning: {text}")))
        {
            let _ = writeln!(text, "  {line}");
        }
        let _ = writeln!(text, "  → {}\n", path.display());
        text
    }

    /// Three significant digits, or `n/a`.
    fn number(value: &Value) -> String {
        value.as_f64().map_or("n/a".to_owned(), digits)
    }

    fn shown(unit: Unit, value: &Value) -> String {
        value
            .as_f64()
            .map_or("n/a".to_owned(), |value| unit.show(value))
    }

    fn with_interval(unit: Unit, value: &Value) -> String {
        if let Some(needs) = value["needs"].as_u64() {
            return format!("n/a: needs ≥ {needs}");
        }
        let part = |key: &str| value[key].as_f64();
        match (part("value"), part("low"), part("high")) {
            (Some(found), Some(low), Some(high)) => {
                format!("{} (95 %: {})", unit.show(found), unit.range(low, high))
            }
            _ => "n/a".to_owned(),
        }
    }

    fn regression(data: &Value) -> Vec<String> {
        let fits = data["regressions"].as_object().into_iter().flatten();
        fits.map(|(name, fit)| {
            let robust = &data["robust"][name]["slope"]["value"];
            format!(
                "{name:<26} slope {}, intercept {}, r² {}, n {}; robust slope {}",
                number(&fit["slope"]),
                number(&fit["intercept"]),
                number(&fit["r2"]),
                fit["count"],
                number(robust),
            )
        })
        .collect()
    }

    fn latency(data: &Value) -> Vec<String> {
        let line = |name: &str, summary: &Value| {
            format!(
                "{name:<12} mean {}, p50 {}, p99 {}",
                shown(Unit::Seconds, &summary["mean"]),
                with_interval(Unit::Seconds, &summary["p50"]),
                with_interval(Unit::Seconds, &summary["p99"]),
            )
        };
        vec![
            line("first token", &data["time_to_first_token_seconds"]["sent"]),
            line("whole query", &data["total_seconds"]["sent"]),
            line("… as planned", &data["total_seconds"]["planned"]),
        ]
    }

    fn energy(data: &Value) -> Vec<String> {
        let mut lines = Vec::new();
        for source in data["sources"].as_array().into_iter().flatten() {
            lines.push(format!(
                "{:<24} {} in {} rows, {}",
                source["name"].as_str().unwrap_or_default(),
                shown(Unit::Joules, &source["joules"]),
                source["rows"],
                source["method"].as_str().unwrap_or_default(),
            ));
        }
        for metric in [
            Metric::JoulesPerToken,
            Metric::JoulesPerOutputToken,
            Metric::PrefillJoulesPerInputToken,
            Metric::DecodeJoulesPerOutputToken,
        ] {
            let value = shown(Unit::Joules, &data["per_token"][metric.name()]);
            lines.push(format!("{}: {value}", metric.definition().label));
        }
        lines
    }

    fn efficiency(data: &Value) -> Vec<String> {
        let line = |metric: Metric| {
            let sure = data.get(metric.name())?;
            let value = with_interval(metric.unit(), sure);
            Some(format!("{:<38} {value}", metric.definition().label))
        };
        Metric::ALL.into_iter().filter_map(line).collect()
    }

    /// This project's figures and the original project's.
    fn accuracy(summary: &Value, data: &Value) -> Vec<String> {
        let text = |key: &str| summary[key].as_str().unwrap_or("no energy").to_owned();
        let interval =
            |metric: Metric| with_interval(metric.unit(), &data["intervals"][metric.name()]);
        let mut lines = vec![
            format!(
                "{} of {} correct: {}",
                summary["correct"],
                summary["total_scored"],
                shown(Unit::Share, &summary["accuracy"])
            ),
            format!("IPW {} on {}", interval(Metric::Ipw), text("metrics_basis")),
            format!("IPJ {}", interval(Metric::Ipj)),
        ];
        if !summary["intelligence_per_watt"].is_null() {
            lines.push(format!(
                "as the original project counts ({}): IPW {}, IPJ {}",
                text("energy_basis"),
                shown(Unit::PerWatt, &summary["intelligence_per_watt"]),
                shown(Unit::PerJoule, &summary["intelligence_per_joule"])
            ));
        }
        for (subject, found) in data["subjects"].as_object().into_iter().flatten() {
            lines.push(format!(
                "{:<24} {} of {}: {}",
                printable(subject),
                found["correct"],
                found["graded"],
                with_interval(Unit::Share, &found["accuracy"])
            ));
        }
        lines
    }

    /// Mean and largest power of each source.
    fn timeline(data: &Value) -> Vec<String> {
        let sources = data["sources"].as_array().into_iter().flatten();
        let mut lines: Vec<String> = sources
            .map(|source| {
                let buckets = source["buckets"].as_array().into_iter().flatten();
                let (mut joules, mut seconds, mut most) = (0.0, 0.0, None::<f64>);
                for bucket in buckets {
                    let number = |key: &str| bucket[key].as_f64();
                    let Some(watts) = number("mean_watts") else {
                        continue;
                    };
                    let length = number("until").zip(number("from"));
                    let length = length.map_or(0.0, |(until, from)| until - from);
                    joules += watts * length;
                    seconds += length;
                    let peak = number("max_watts").unwrap_or(watts);
                    most = Some(most.map_or(peak, |most| most.max(peak)));
                }
                let mean = (seconds > 0.0).then(|| joules / seconds);
                format!(
                    "{:<24} mean {}, most {}",
                    printable(source["source"].as_str().unwrap_or_default()),
                    Unit::Watts.known(mean),
                    Unit::Watts.known(most)
                )
            })
            .collect();
        lines.push(format!("over {}", shown(Unit::Seconds, &data["seconds"])));
        lines
    }

    fn quality(data: &Value) -> Vec<String> {
        let notes = data["notes"].as_array().into_iter().flatten();
        let text = |note: &Value, key: &str| note[key].as_str().unwrap_or_default().to_owned();
        let lines: Vec<_> = notes
            .map(|note| format!("{}: {}", text(note, "finding"), text(note, "advice")))
            .collect();
        if lines.is_empty() {
            vec!["no warnings".to_owned()]
        } else {
            lines
        }
    }

    fn outliers(data: &Value) -> Vec<String> {
        let found = data["outliers"].as_array().into_iter().flatten();
        let lines: Vec<_> = found
            .map(|one| {
                format!(
                    "{}: {}",
                    one["query"].as_str().unwrap_or_default(),
                    one["reason"].as_str().unwrap_or_default()
                )
            })
            .collect();
        if lines.is_empty() {
            vec!["none".to_owned()]
        } else {
            lines
        }
    }
}
