//! Facts about a run that a comparison depends on. `None` where an older version or a killed run
//! did not store them.

use std::collections::{BTreeMap, BTreeSet};

use ipw_core::text::printable;
use ipw_core::units::Watts;
use ipw_core::warning::{Kind, Warning};
use ipw_store::attribute::IdleUsed;
use ipw_store::{Overview, Run, StoreError, Summary, plan};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{RowFacts, is_estimated};
use crate::{load, quality};

/// How a run's energy was obtained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// From counters or sensors.
    Measured,
    /// From counters or sensors in some rows, from a model in others.
    PartlyEstimated,
    /// From a model of the hardware.
    Estimated,
    /// The run has no energy.
    #[default]
    Unknown,
}

impl How {
    /// In words, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::PartlyEstimated => "partly estimated",
            Self::Estimated => "estimated",
            Self::Unknown => "unknown",
        }
    }

    /// Whether any of it is estimated.
    pub const fn is_estimated(self) -> bool {
        matches!(self, Self::Estimated | Self::PartlyEstimated)
    }
}

/// The idle power of a source that attribution used.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Idle {
    pub source: String,
    /// Mean over the parts of the run; `None` when unknown.
    pub watts: Option<f64>,
    /// The largest of the parts.
    pub sigma_watts: f64,
    /// `recorded`, `given` or `between_queries`.
    pub from: Option<String>,
}

/// What a run's files say about it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Facts {
    /// Where it lies, as it was named.
    pub directory: String,
    /// The model's label.
    pub model: String,
    /// What the user calls it; `name` is the letter of a comparison.
    #[serde(rename = "run_name")]
    pub name: Option<String>,
    /// What the user notes about it.
    pub tags: BTreeMap<String, String>,
    /// Id of the client.
    pub client: Option<String>,
    /// Id of the dataset.
    pub dataset: Option<String>,
    /// What the dataset is called.
    pub dataset_name: Option<String>,
    /// The label of the hardware.
    pub hardware: Option<String>,
    /// `complete`, or why its numbers are not all there.
    pub status: Option<String>,
    /// Why it is not complete.
    pub reason: Option<String>,
    /// Whether its summary is there and has no status: the original writes none.
    #[serde(skip)]
    pub is_without_status: bool,
    /// When it began: seconds since the Unix epoch.
    pub started_at: Option<f64>,
    /// Rows on disk.
    pub rows: u64,
    /// Queries that differ: one asked twice counts once.
    pub queries: u64,
    /// Rows without an answer.
    pub failed: u64,
    /// How queries were sent.
    pub load: Option<String>,
    /// Generation parameters, and the system's text.
    pub generation: Option<Value>,
    /// How its energy came about.
    pub energy: How,
    /// What the joules are made from; several where rows differ.
    pub basis: Vec<String>,
    /// `counter`, `integrated`, `estimated`.
    pub methods: Vec<String>,
    /// How queries in flight share energy: `equal` or `tokens`.
    pub weights: Option<String>,
    /// By source.
    pub idle: Vec<Idle>,
    /// Scorers: `numeric`, or `judge MODEL (PROMPT)`.
    pub scorers: Vec<String>,
    /// Rows whose tokens were counted by chunks, as the service gave no usage.
    pub rows_counted_by_chunks: Option<u64>,
    /// Rows whose tokens were counted by a tokenizer; `None`: by a version that had none.
    pub rows_counted_by_tokenizer: Option<u64>,
    /// Version of ipw.
    pub ipw: Option<String>,
    /// Whether `ipw calibrate` found everything within its bounds; `None` where it never ran.
    pub calibration_passed: Option<bool>,
    /// Warnings about its numbers.
    #[serde(rename = "notes", serialize_with = "noted")]
    pub warnings: Vec<Warning>,
}

impl Facts {
    pub(super) fn of(run: &Run, seen: RowFacts) -> Result<Self, StoreError> {
        Ok(Self {
            rows: seen.rows,
            queries: seen.queries,
            failed: seen.failed,
            generation: generation(run),
            energy: how(&seen.basis),
            basis: seen.basis.into_iter().collect(),
            methods: seen.methods.into_iter().collect(),
            scorers: seen.scorers.iter().map(|config| scorer(config)).collect(),
            warnings: warnings(run)?,
            ..Self::of_summary(run)
        })
    }

    /// Facts from `summary.json`, or from the plan where it has none. Reads no row.
    pub fn of_summary(run: &Run) -> Self {
        let summary = run.summary();
        let text = |text: Option<&str>| {
            let text = text.map(printable);
            text.filter(|text| !text.trim().is_empty())
        };
        let config = summary.profiler_config.as_ref();
        let versions = summary.versions.as_ref();
        let overview = summary.overview.as_ref();
        let basis = overview.into_iter().flat_map(|of| &of.energy.basis);
        let basis: BTreeSet<String> = basis.cloned().collect();
        let planned = || {
            let plan = plan::of_run(run.directory()).ok()?;
            Some(load::in_words(&plan.load))
        };
        Self {
            name: text(summary.name.as_deref()),
            tags: tags(summary),
            client: text(config.and_then(|config| config.client_id.as_deref())),
            directory: run.directory().display().to_string(),
            model: printable(run.model()),
            dataset: text(summary.dataset.as_deref()),
            dataset_name: text(summary.dataset_name.as_deref()),
            hardware: text(summary.hardware_label.as_deref()),
            status: summary.status.map(|status| status.label().to_owned()),
            reason: text(summary.reason.as_deref()),
            is_without_status: summary.generated_at.is_some() && summary.status.is_none(),
            started_at: started(summary),
            load: text(summary.load.as_ref().map(|load| &*load.load)).or_else(planned),
            energy: how(&basis),
            basis: basis.into_iter().collect(),
            weights: summary
                .attribution
                .as_ref()
                .map(|made| made.weights.label().to_owned()),
            idle: idle(summary),
            rows_counted_by_chunks: overview.map(|of| of.tokens.rows_counted_by_chunks),
            rows_counted_by_tokenizer: overview.and_then(|of| of.tokens.rows_counted_by_tokenizer),
            ipw: text(versions.and_then(|versions| versions.ipw.as_deref())),
            calibration_passed: summary.calibration.as_ref().map(|of| of.passed),
            ..Self::default()
        }
    }

    /// Whether all queries were sent.
    pub fn is_complete(&self) -> bool {
        self.status.as_deref() == Some("complete")
    }

    /// Why the run is not complete; `None` also for runs of programs that store no status.
    pub fn unfinished(&self) -> Option<String> {
        if self.is_complete() || self.is_without_status {
            return None;
        }
        let rows = self.rows;
        let status = self.status.as_deref().unwrap_or("of unknown status");
        Some(match (status, &self.reason) {
            ("running", _) => format!("still running, or killed: {rows} rows so far"),
            (status, Some(reason)) => format!("{status}: {reason} ({rows} rows)"),
            (status, None) => format!("{status} ({rows} rows)"),
        })
    }

    /// Name of the dataset, for people.
    pub fn dataset_label(&self) -> &str {
        let name = self.dataset_name.as_deref().or(self.dataset.as_deref());
        name.unwrap_or("unknown dataset")
    }

    /// The basis in one text; `None` without energy.
    pub fn basis_label(&self) -> Option<String> {
        (!self.basis.is_empty()).then(|| self.basis.join(", "))
    }
}

/// The idle power that attribution used, by source.
fn idle(summary: &Summary) -> Vec<Idle> {
    let used = summary.attribution.iter().flat_map(|made| &made.idle);
    let mut parts: BTreeMap<String, Vec<&IdleUsed>> = BTreeMap::new();
    for part in used {
        parts.entry(printable(&part.source)).or_default().push(part);
    }
    let of_source = |(source, parts): (String, Vec<&IdleUsed>)| {
        let watts = parts.iter().filter_map(|part| part.watts);
        let watts: Vec<f64> = watts.map(Watts::watts).collect();
        let sigma = parts.iter().filter_map(|part| part.sigma_watts);
        #[expect(clippy::cast_precision_loss, reason = "parts are few")]
        let mean = watts.iter().sum::<f64>() / watts.len() as f64;
        let from = parts.iter().find_map(|part| part.from);
        Idle {
            source,
            watts: (!watts.is_empty()).then_some(mean),
            sigma_watts: sigma.map(Watts::watts).fold(0.0, f64::max),
            from: from.map(|from| from.label().to_owned()),
        }
    };
    parts.into_iter().map(of_source).collect()
}

/// The scorer in words, from `evaluation.config` of a row.
fn scorer(config: &str) -> String {
    let config: Value = serde_json::from_str(config).unwrap_or_default();
    let text = |pointer: &str| config.pointer(pointer).and_then(Value::as_str);
    let id = printable(text("/scorer").unwrap_or("unknown"));
    match (text("/judge/model"), text("/judge/prompt")) {
        (Some(model), Some(prompt)) => format!("{id} {} ({})", printable(model), printable(prompt)),
        _ => id,
    }
}

fn how(basis: &BTreeSet<String>) -> How {
    let estimated = basis.iter().filter(|basis| is_estimated(basis));
    match (estimated.count(), basis.len()) {
        (_, 0) => How::Unknown,
        (0, _) => How::Measured,
        (some, all) if some < all => How::PartlyEstimated,
        _ => How::Estimated,
    }
}

fn tags(summary: &Summary) -> BTreeMap<String, String> {
    let tags = summary.tags.iter();
    tags.map(|(key, value)| (printable(key), printable(value)))
        .collect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a moment to the microsecond is enough"
)]
fn started(summary: &Summary) -> Option<f64> {
    let first = summary.parts.first();
    let began = first.map(|part| part.anchor.unix_nanos as f64 / 1e9);
    began.or(summary.generated_at)
}

/// From the plan, which has the system's text too; else from the original's configuration.
fn generation(run: &Run) -> Option<Value> {
    let plan = ipw_store::file::read(&run.directory().join("plan.toml")).ok();
    let plan: Option<toml::Table> = plan.and_then(|text| toml::from_slice(&text).ok());
    let of_plan = plan.and_then(|mut plan| serde_json::to_value(plan.remove("generation")?).ok());
    of_plan.or_else(|| {
        let config = run.summary().profiler_config.as_ref()?;
        let parameters = config.additional_parameters.as_ref()?;
        Some(serde_json::json!({ "parameters": parameters }))
    })
}

/// As the summary has them; a run that says nothing is looked at again.
fn warnings(run: &Run) -> Result<Vec<Warning>, StoreError> {
    let warnings = match run.summary().quality.clone() {
        Some(warnings) => warnings,
        None => quality::of_run(run, &Overview::of(run)?),
    };
    let shown = |warning: Warning| warning.map_texts(printable);
    Ok(warnings.into_iter().map(shown).collect())
}

/// Warnings as the JSON of a comparison has them: the source is in the text.
fn noted<S: Serializer>(warnings: &[Warning], to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct WarningEntry<'a> {
        id: Kind,
        finding: &'a str,
        advice: &'a str,
    }
    to.collect_seq(warnings.iter().map(|warning| WarningEntry {
        id: warning.kind,
        finding: &warning.text,
        advice: warning.advice(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(basis: &[&str]) -> BTreeSet<String> {
        basis.iter().map(|&basis| basis.to_owned()).collect()
    }

    #[test]
    fn one_estimated_row_is_not_measured() {
        assert_eq!(how(&seen(&[])), How::Unknown);
        assert_eq!(how(&seen(&["cpu", "gpu+cpu"])), How::Measured);
        assert_eq!(how(&seen(&["cpu_estimated"])), How::Estimated);
        assert_eq!(how(&seen(&["cpu", "cpu_estimated"])), How::PartlyEstimated);
        assert!(How::PartlyEstimated.is_estimated() && !How::Measured.is_estimated());
    }

    #[test]
    fn warnings_are_notes_in_json() {
        let warning = ipw_core::warning::RunKind::Gaps;
        let facts = Facts {
            warnings: vec![
                Warning::new(warning, "silent")
                    .advise("look")
                    .of_source("x"),
            ],
            ..Facts::default()
        };
        let written = serde_json::to_value(facts).unwrap();
        assert_eq!(
            written["notes"].to_string(),
            r#"[{"id":"gaps","finding":"silent","advice":"look"}]"#
        );
    }

    #[test]
    fn an_unfinished_run_says_why() {
        let mut facts = Facts {
            rows: 7,
            status: Some("running".to_owned()),
            ..Facts::default()
        };
        assert_eq!(
            facts.unfinished().as_deref(),
            Some("still running, or killed: 7 rows so far")
        );
        facts.status = Some("interrupted".to_owned());
        facts.reason = Some("Ctrl-C".to_owned());
        assert_eq!(
            facts.unfinished().as_deref(),
            Some("interrupted: Ctrl-C (7 rows)")
        );
        facts.status = Some("complete".to_owned());
        assert_eq!(facts.unfinished(), None);
        let original = Facts {
            is_without_status: true,
            ..Facts::default()
        };
        assert_eq!(original.unfinished(), None);
    }
}
