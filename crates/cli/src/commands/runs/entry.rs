//! One run of the list, as its summary has it.

use std::collections::BTreeMap;
use std::path::Path;

use ipw_core::text::printable;
use ipw_store::{Overview, Run, StoreError};
use serde::Serialize;
use serde_json::{Value, json};

use crate::compared::Facts;
use crate::grading::efficiency;

/// A run with its headline numbers; `None` is not known.
pub(super) struct Entry {
    pub(super) facts: Facts,
    /// Where it lies below the directory that was looked into.
    pub(super) place: String,
    /// Rows on disk.
    pub(super) queries: u64,
    pub(super) accuracy: Option<f64>,
    pub(super) joules: Option<f64>,
    /// Accuracy per watt.
    pub(super) ipw: Option<f64>,
    /// Since it began.
    pub(super) age_seconds: Option<f64>,
}

impl Entry {
    /// Reads the summary; rows only where a finished run's summary does not count them.
    pub(super) fn read(directory: &Path, root: &Path, now: f64) -> Result<Self, StoreError> {
        let run = Run::open(directory)?;
        let facts = Facts::of_summary(&run);
        let place = directory.strip_prefix(root).unwrap_or(directory);
        // A run that is its own root is called by its whole path.
        let place = Some(place).filter(|place| place.file_name().is_some());
        let place = place.unwrap_or(directory);
        let counted = match run.summary().get("overview") {
            Some(overview) if !overview.is_null() => Counted::of_summary(run.summary()),
            _ if facts.status.as_deref() == Some("running") => Counted {
                queries: run.summary().get("total_queries").and_then(Value::as_u64),
                ..Counted::default()
            },
            _ => Counted::of_rows(&Overview::of(&run)?),
        };
        Ok(Self {
            place: printable(&place.display().to_string()),
            queries: counted.queries.unwrap_or(0),
            accuracy: counted.accuracy,
            joules: counted.joules,
            ipw: counted.ipw,
            age_seconds: facts.started_at.map(|begun| (now - begun).max(0.0)),
            facts,
        })
    }

    pub(super) fn status(&self) -> &str {
        self.facts.status.as_deref().unwrap_or("unknown")
    }
}

#[derive(Default)]
struct Counted {
    queries: Option<u64>,
    accuracy: Option<f64>,
    joules: Option<f64>,
    ipw: Option<f64>,
}

impl Counted {
    fn of_summary(summary: &Value) -> Self {
        let number = |pointer: &str| summary.pointer(pointer).and_then(Value::as_f64);
        Self {
            queries: summary.pointer("/overview/rows").and_then(Value::as_u64),
            accuracy: number("/efficiency/accuracy/value"),
            joules: number("/overview/energy/joules"),
            ipw: number("/efficiency/intelligence_per_watt"),
        }
    }

    fn of_rows(overview: &Overview) -> Self {
        let efficiency = efficiency(overview);
        Self {
            queries: Some(overview.rows),
            accuracy: efficiency.accuracy.map(|accuracy| accuracy.value),
            joules: overview.energy.joules,
            ipw: efficiency.intelligence_per_watt,
        }
    }
}

impl Serialize for Entry {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let facts = &self.facts;
        let fields: BTreeMap<&str, Value> = BTreeMap::from([
            ("directory", json!(facts.directory)),
            ("name", json!(facts.name)),
            ("tags", json!(facts.tags)),
            ("model", json!(facts.model)),
            ("client", json!(facts.client)),
            ("dataset", json!(facts.dataset)),
            ("dataset_name", json!(facts.dataset_name)),
            ("hardware", json!(facts.hardware)),
            ("load", json!(facts.load)),
            ("queries", json!(self.queries)),
            ("accuracy", json!(self.accuracy)),
            ("joules", json!(self.joules)),
            ("energy", json!(facts.energy)),
            ("basis", json!(facts.basis)),
            ("intelligence_per_watt", json!(self.ipw)),
            ("started_at", json!(facts.started_at)),
            ("age_seconds", json!(self.age_seconds)),
            ("status", json!(facts.status)),
            ("reason", json!(facts.reason)),
        ]);
        fields.serialize(serializer)
    }
}
