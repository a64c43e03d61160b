//! The analyses of `ipw analyze`, by id: each is what its file holds, in the original's envelope.

use ipw_analysis::bootstrap::{Sure, intervals};
use ipw_analysis::latency::Latencies;
use ipw_analysis::metric::{Metric, Row};
use ipw_analysis::outliers::outliers;
use ipw_analysis::regression::regressions;
use ipw_store::StoreError;
use serde_json::{Map, Value, json};

use super::{Line, Look, accuracy};
use crate::{load, measured, quality};

/// An analysis by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Analysis {
    /// The name that selects it.
    pub id: &'static str,
    /// What it says, in a line.
    pub about: &'static str,
    /// Options that it takes, with their defaults.
    pub options: &'static [(&'static str, u64)],
}

/// All of them.
pub const ALL: [Analysis; 8] = [
    Analysis {
        id: "regression",
        about: "tokens against time, energy and power: the original's five fits, with intervals and a robust fit",
        options: &[],
    },
    Analysis {
        id: "latency",
        about: "latencies from the planned and the actual send, with intervals",
        options: &[],
    },
    Analysis {
        id: "energy",
        about: "where the joules went: by source, method and phase; per token; the share of idle",
        options: &[],
    },
    Analysis {
        id: "accuracy",
        about: "right answers by subject, and over repeats; the original's keys",
        options: &[("seed", 0)],
    },
    Analysis {
        id: "efficiency",
        about: "accuracy, IPW, IPJ, joules per right answer, with bootstrap intervals",
        options: &[("seed", 0)],
    },
    Analysis {
        id: "timeline",
        about: "power and queries in flight over time",
        options: &[("buckets", 600)],
    },
    Analysis {
        id: "quality",
        about: "doubts about the numbers, each with advice",
        options: &[],
    },
    Analysis {
        id: "outliers",
        about: "which queries are far out, and why",
        options: &[("most", 20)],
    },
];

/// What efficiency is asked for.
const EFFICIENCY: [Metric; 12] = [
    Metric::Accuracy,
    Metric::Ipw,
    Metric::Ipj,
    Metric::JoulesPerCorrect,
    Metric::JoulesPerQuery,
    Metric::JoulesPerToken,
    Metric::JoulesPerOutputToken,
    Metric::PrefillJoulesPerInputToken,
    Metric::DecodeJoulesPerOutputToken,
    Metric::Watts,
    Metric::TokensPerSecond,
    Metric::QueryTokensPerSecond,
];

/// Option values by name.
pub struct Options<'a>(pub &'a [(String, u64)]);

impl Options<'_> {
    fn get(&self, analysis: &Analysis, name: &str) -> u64 {
        let given = self.0.iter().rev().find(|(given, _)| given == name);
        let usual = analysis.options.iter().find(|(known, _)| *known == name);
        given
            .map(|(_, value)| *value)
            .or(usual.map(|(_, value)| *value))
            .unwrap_or_default()
    }
}

/// What a file holds.
pub struct Found {
    /// What matters most.
    pub summary: Value,
    /// What to bear in mind.
    pub warnings: Vec<String>,
    /// All of it.
    pub data: Value,
}

impl From<Value> for Found {
    fn from(data: Value) -> Self {
        Self {
            summary: json!({}),
            warnings: Vec::new(),
            data,
        }
    }
}

impl Analysis {
    /// The analysis of that id.
    pub fn by_id(id: &str) -> Option<&'static Self> {
        ALL.iter().find(|analysis| analysis.id == id)
    }

    /// Looks at a run.
    pub fn of(&self, look: &Look<'_>, options: &Options<'_>) -> Result<Value, StoreError> {
        let found = match self.id {
            "regression" => regression(look),
            "latency" => latency(look)?,
            "accuracy" => accuracy::of(look, options.get(self, "seed"))?,
            "energy" => json!(look.energy).into(),
            "efficiency" => efficiency(look, options.get(self, "seed"))?,
            "timeline" => {
                let buckets = u32::try_from(options.get(self, "buckets")).unwrap_or(u32::MAX);
                crate::timeline::buckets(look, buckets.clamp(1, 100_000)).into()
            }
            "quality" => json!({ "notes": notes(look) }).into(),
            _ => {
                let most = usize::try_from(options.get(self, "most")).unwrap_or(usize::MAX);
                let rows: Vec<_> = look.lines.iter().map(Line::outlier).collect();
                json!(outliers(&rows, most)).into()
            }
        };
        let mut summary = found.summary;
        summary["rows"] = json!(look.lines.len());
        Ok(json!({
            "analysis": self.id,
            "basis": look.run.choice(),
            "summary": summary,
            "warnings": found.warnings,
            "data": found.data,
            "ipw": env!("CARGO_PKG_VERSION"),
        }))
    }
}

/// The doubts about a run, as they would be noted now.
pub fn notes(look: &Look<'_>) -> Vec<ipw_analysis::quality::Note> {
    quality::of_run(look.run, look.overview)
}

fn regression(look: &Look<'_>) -> Found {
    let found = regressions(look.lines.iter().map(Line::regression));
    Found {
        summary: json!(found.summary),
        warnings: found.warnings,
        data: json!({
            "regressions": found.regressions,
            "lines": found.lines,
            "robust": found.robust,
        }),
    }
}

fn latency(look: &Look<'_>) -> Result<Found, StoreError> {
    let mut latencies = Latencies::default();
    let mut rows = load::Thinned::new(look.run)?;
    look.run
        .for_each(|instants| latencies.push(&rows.row(instants)))?;
    let mut found = json!(latencies.finish());
    found["gaps_of_every"] = json!(rows.of_every());
    Ok(found.into())
}

/// Intervals by name; where energy is in it, also with what the meter does not know.
pub fn sure(
    look: &Look<'_>,
    wanted: &[Metric],
    seed: u64,
) -> Result<Map<String, Value>, StoreError> {
    let energy = &look.overview.energy;
    let relative = energy.sigma_joules.zip(energy.joules);
    let relative = relative.map(|(sigma, joules)| sigma / joules);
    let told = |(metric, sure): (Metric, Option<Sure>)| {
        let mut told = json!(sure);
        if let (true, Some(sure), Some(relative)) = (metric.has_energy(), sure, relative) {
            told["with_energy_sigma"] = json!(sure.with_sigma(relative));
        }
        (metric.name().to_owned(), told)
    };
    let mut rows: Vec<Row<'static>> = Vec::with_capacity(look.lines.len());
    let frame = measured::frame(look.run)?;
    look.run.for_each_query(|row| {
        rows.push(Row {
            query: "",
            ..measured::row(&frame, row)
        });
    })?;
    let named = rows.into_iter().zip(&look.lines);
    let rows: Vec<Row<'_>> = named
        .map(|(row, line)| Row {
            query: &line.id,
            ..row
        })
        .collect();
    let found = intervals(&rows, wanted, seed);
    Ok(found.into_iter().map(told).collect())
}

fn efficiency(look: &Look<'_>, seed: u64) -> Result<Found, StoreError> {
    Ok(Found {
        summary: json!({
            "basis": look.overview.energy.basis,
            "is_estimated": look.is_estimated(),
        }),
        warnings: Vec::new(),
        data: Value::Object(sure(look, &EFFICIENCY, seed)?),
    })
}

/// What the file of an analysis holds, with the options that it was made with.
pub fn content(
    look: &Look<'_>,
    analysis: &Analysis,
    options: &[(String, u64)],
) -> Result<Value, StoreError> {
    let mut found = analysis.of(look, &Options(options))?;
    let is_own = |name: &str| analysis.options.iter().any(|(own, _)| *own == name);
    let own = options.iter().filter(|(name, _)| is_own(name));
    found["options"] = own
        .map(|(name, value)| (name.clone(), Value::from(*value)))
        .collect();
    Ok(found)
}
