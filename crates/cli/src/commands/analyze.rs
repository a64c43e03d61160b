//! `ipw analyze RUN…`.

use std::fmt::Write as _;

use anyhow::Context;
use ipw_core::nearest::nearest;
use ipw_store::Overview;
use ipw_store::file::replace;
use serde_json::Value;

use super::open;
use crate::args::AnalyzeArgs;
use crate::error::{CliError, Exit};
use crate::look::Look;
use crate::look::analyses::{ALL, Analysis, Options};
use crate::screen;

pub(crate) fn run(args: &AnalyzeArgs) -> Result<Exit, CliError> {
    let chosen = chosen(&args.analyses)?;
    let options = options(&args.options, &chosen)?;
    let mut all = Vec::new();
    for place in &args.runs {
        let run = open(place)?;
        let overview = Overview::of(&run).context("counting the rows")?;
        let look = Look::at(&run, &overview).context("reading the rows")?;
        for analysis in &chosen {
            let found = content(&look, analysis, &options)?;
            let directory = place.join("analysis");
            std::fs::create_dir_all(&directory)
                .with_context(|| format!("creating `{}`", directory.display()))?;
            let path = directory.join(format!("{}.json", analysis.id));
            replace(&path, format!("{found:#}\n").as_bytes(), false).context("writing a result")?;
            if args.json {
                all.push(found);
            } else {
                screen::print(&words::told(analysis, &found, &path));
            }
        }
    }
    if args.json {
        screen::print(&format!("{:#}\n", Value::Array(all)));
    }
    Ok(Exit::Done)
}

/// What the file of an analysis holds, with the options that it was made with.
pub(crate) fn content(
    look: &Look<'_>,
    analysis: &Analysis,
    options: &[(String, u64)],
) -> Result<Value, CliError> {
    let mut found = analysis
        .of(look, &Options(options))
        .with_context(|| format!("computing `{}`", analysis.id))?;
    let is_own = |name: &str| analysis.options.iter().any(|(own, _)| *own == name);
    let own = options.iter().filter(|(name, _)| is_own(name));
    found["options"] = own
        .map(|(name, value)| (name.clone(), Value::from(*value)))
        .collect();
    Ok(found)
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

/// `NAME=NUMBER`, each one that some chosen analysis takes.
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
                    .help("write it as NAME=NUMBER")
            })?;
            if !known.contains(&name) {
                return Err(unknown("option", name, &known));
            }
            let value = value.parse().map_err(|_| {
                CliError::usage(format!("`--option {option}`: `{value}` is no whole number"))
            })?;
            Ok((name.to_owned(), value))
        })
        .collect()
}

/// An error that names what there is.
pub(crate) fn unknown(what: &str, given: &str, known: &[&str]) -> CliError {
    let mut message = format!("there is no {what} `{given}`");
    if let Some(near) = nearest(given, known.iter().copied()) {
        let _ = write!(message, "; `{near}` is near");
    }
    let there = if known.is_empty() {
        "there is none to choose".to_owned()
    } else {
        format!("there are: {}", known.join(", "))
    };
    CliError::usage(message).help(there)
}

mod words {
    //! What an analysis found, in a few lines.

    use std::fmt::Write as _;
    use std::path::Path;

    use serde_json::Value;

    use crate::look::analyses::Analysis;

    pub(super) fn told(analysis: &Analysis, found: &Value, path: &Path) -> String {
        let data = &found["data"];
        let lines = match analysis.id {
            "regression" => regression(data),
            "latency" => latency(data),
            "energy" => energy(data),
            "efficiency" => efficiency(data),
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

    /// Four digits that count, or `n/a`.
    fn number(value: &Value) -> String {
        let Some(value) = value.as_f64() else {
            return "n/a".to_owned();
        };
        let size = value.abs();
        if size == 0.0 || (1e-3..1e5).contains(&size) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and 6"
            )]
            let decimals = (3.0 - size.max(1e-3).log10().floor()).clamp(0.0, 6.0) as usize;
            format!("{value:.decimals$}")
        } else {
            format!("{value:.3e}")
        }
    }

    fn with_interval(value: &Value) -> String {
        if value.is_null() {
            return "n/a".to_owned();
        }
        if let Some(needs) = value["needs"].as_u64() {
            return format!("n/a: needs ≥ {needs}");
        }
        format!(
            "{} (95 %: {} to {})",
            number(&value["value"]),
            number(&value["low"]),
            number(&value["high"])
        )
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
                "{name:<12} mean {} s, p50 {} s, p99 {} s",
                number(&summary["mean"]),
                with_interval(&summary["p50"]),
                with_interval(&summary["p99"]),
            )
        };
        vec![
            line("first token", &data["first_token_seconds"]["sent"]),
            line("whole query", &data["total_seconds"]["sent"]),
            line("… as planned", &data["total_seconds"]["planned"]),
        ]
    }

    fn energy(data: &Value) -> Vec<String> {
        let mut lines = Vec::new();
        for source in data["sources"].as_array().into_iter().flatten() {
            lines.push(format!(
                "{:<24} {} J in {} rows, {}",
                source["name"].as_str().unwrap_or_default(),
                number(&source["joules"]),
                source["rows"],
                source["method"].as_str().unwrap_or_default(),
            ));
        }
        let per = &data["per_token"];
        lines.push(format!(
            "J per token {}; prefill, per input token {}; decode, per output token {}",
            number(&per["joules_per_token"]),
            number(&per["prefill_joules_per_input_token"]),
            number(&per["decode_joules_per_output_token"]),
        ));
        lines
    }

    fn efficiency(data: &Value) -> Vec<String> {
        let found = data.as_object().into_iter().flatten();
        found
            .map(|(name, sure)| format!("{name:<20} {}", with_interval(sure)))
            .collect()
    }

    fn quality(data: &Value) -> Vec<String> {
        let notes = data["notes"].as_array().into_iter().flatten();
        let text = |note: &Value, key: &str| note[key].as_str().unwrap_or_default().to_owned();
        let lines: Vec<_> = notes
            .map(|note| format!("{}: {}", text(note, "finding"), text(note, "advice")))
            .collect();
        if lines.is_empty() {
            vec!["nothing to doubt".to_owned()]
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
