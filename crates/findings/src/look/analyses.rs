//! The analyses of `ipw analyze`, by id: each is what its file holds, in the original's envelope.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

use ipw_analysis::bootstrap::MetricEstimate;
use ipw_analysis::metric::Metric;
use ipw_analysis::outliers::{Outliers, outliers};
use ipw_analysis::regression::regressions;
use ipw_core::row::Fields;
use ipw_store::summary::QualityEntry;
use ipw_store::{Run, StoreError};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::accuracy::{self, Records};
use super::{Look, LookOptions};
use crate::quality;

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
pub struct AnalysisResult {
    /// What matters most.
    pub summary: Value,
    /// What to bear in mind.
    pub warnings: Vec<String>,
    /// All of it.
    pub data: Value,
}

impl From<Value> for AnalysisResult {
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

    /// What it needs to be looked at.
    pub fn wanted(&self) -> LookOptions {
        LookOptions {
            sampled: false,
            latency: self.id == "latency",
            original: self.id == "accuracy",
            intervals: matches!(self.id, "accuracy" | "efficiency"),
            power: self.id == "timeline",
        }
    }

    /// Looks at a run.
    fn of(&self, look: &Look<'_>, options: &Options<'_>) -> Result<Value, StoreError> {
        let found = match self.id {
            "regression" => regression(look),
            "latency" => latency(look),
            "accuracy" => accuracy::of(look, options.get(self, "seed"))?,
            "energy" => json!(look.energy).into(),
            "efficiency" => efficiency(look, options.get(self, "seed")),
            "timeline" => {
                let buckets = u32::try_from(options.get(self, "buckets")).unwrap_or(u32::MAX);
                crate::timeline::buckets(look, buckets.clamp(1, 100_000)).into()
            }
            "quality" => {
                let warnings = quality::of_run(look.run, &look.overview);
                let notes: Vec<_> = warnings.iter().map(QualityEntry::from).collect();
                json!({ "notes": notes }).into()
            }
            _ => {
                let most = usize::try_from(options.get(self, "most")).unwrap_or(usize::MAX);
                json!(far_out(look, most)?).into()
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

/// The rows that are far out, with what their queries are called.
fn far_out(look: &Look<'_>, most: usize) -> Result<Outliers, StoreError> {
    let mut found = outliers(&look.lines, most);
    let rows = found.rows();
    let last = rows.last().copied();
    let (mut number, mut names) = (0, BTreeMap::new());
    if let Some(last) = last {
        look.run.for_each_while(Fields::ID, |row| {
            if rows.contains(&number) {
                names.insert(number, row.id.to_owned());
            }
            number += 1;
            number <= last
        })?;
    }
    found.name(&names);
    Ok(found)
}

fn regression(look: &Look<'_>) -> AnalysisResult {
    let found = regressions(&look.lines);
    AnalysisResult {
        summary: json!(found.summary),
        warnings: found.warnings,
        data: json!({
            "regressions": found.regressions,
            "lines": found.lines,
            "robust": found.robust,
        }),
    }
}

fn latency(look: &Look<'_>) -> AnalysisResult {
    let Some(latency) = &look.latency else {
        return Value::Null.into();
    };
    let mut found = json!(latency.summary);
    found["gaps_of_every"] = json!(latency.gaps_of_every);
    found.into()
}

/// Intervals by name; where energy is in it, also with what the meter does not know.
pub(super) fn sure(look: &Look<'_>, wanted: &[Metric], seed: u64) -> Map<String, Value> {
    let energy = &look.overview.energy;
    let relative = energy.sigma_joules.zip(energy.joules);
    let relative = relative.map(|(sigma, joules)| sigma / joules);
    let told = |(metric, sure): (Metric, Option<MetricEstimate>)| {
        let mut told = json!(sure);
        if let (true, Some(sure), Some(relative)) = (metric.has_energy(), sure, relative) {
            told["with_energy_sigma"] = json!(sure.with_sigma(relative));
        }
        (metric.name().to_owned(), told)
    };
    let found = look.sureness.as_ref();
    let found = found.map(|sureness| sureness.intervals(wanted, seed));
    found.into_iter().flatten().map(told).collect()
}

fn efficiency(look: &Look<'_>, seed: u64) -> AnalysisResult {
    AnalysisResult {
        summary: json!({
            "basis": look.overview.energy.basis,
            "is_estimated": look.is_estimated(),
        }),
        warnings: Vec::new(),
        data: Value::Object(sure(look, &EFFICIENCY, seed)),
    }
}

/// What the file of an analysis holds.
pub struct Content<'a> {
    run: &'a Run,
    /// All of it but the records of `accuracy`, which are read while they are written.
    pub found: Value,
}

/// What the file of an analysis holds, with the options that it was made with.
pub fn content<'a>(
    look: &Look<'a>,
    analysis: &Analysis,
    options: &[(String, u64)],
) -> Result<Content<'a>, StoreError> {
    let mut found = analysis.of(look, &Options(options))?;
    let is_own = |name: &str| analysis.options.iter().any(|(own, _)| *own == name);
    let own = options.iter().filter(|(name, _)| is_own(name));
    found["options"] = own
        .map(|(name, value)| (name.clone(), Value::from(*value)))
        .collect();
    let run = look.run;
    Ok(Content { run, found })
}

impl Content<'_> {
    /// The content of the file.
    pub fn write(&self, out: impl Write) -> std::io::Result<()> {
        let mut out = BufWriter::new(out);
        serde_json::to_writer_pretty(&mut out, self)?;
        out.write_all(b"\n")?;
        out.flush()
    }
}

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = self.found.as_object().into_iter().flatten();
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in parts {
            if name == "data" {
                map.serialize_entry(name, &Data(self.run, value))?;
            } else {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

/// The data of an analysis, with the records of the run where it has a place for them.
struct Data<'a>(&'a Run, &'a Value);

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(parts) = self.1.as_object() else {
            return self.1.serialize(serializer);
        };
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in parts {
            if name == "records" {
                let records = BTreeMap::from([(self.0.model(), Records(self.0))]);
                map.serialize_entry(name, &records)?;
            } else {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}
