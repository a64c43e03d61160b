//! One run of the list, as its summary has it.

use std::collections::BTreeMap;
use std::path::Path;

use ipw_analysis::metric::{Metric, Values};
use ipw_core::text::printable;
use ipw_store::{Run, Status, StoreError};
use serde::Serialize;
use serde_json::{Value, json};

use crate::comparison::Facts;
use crate::measured;

/// A run with its headline numbers; `None` is not known.
pub struct Entry {
    /// What it says of itself.
    pub facts: Facts,
    /// Where it lies below the directory that was looked into.
    pub place: String,
    /// Rows on disk.
    pub queries: u64,
    /// Share of right answers.
    pub accuracy: Option<f64>,
    /// Energy of all queries.
    pub joules: Option<f64>,
    /// Accuracy per watt.
    pub ipw: Option<f64>,
    /// Since it began.
    pub age_seconds: Option<f64>,
}

impl Entry {
    /// Reads the summary; rows only where the summary of a finished run is of an older format.
    pub fn read(directory: &Path, root: &Path, now: f64) -> Result<Self, StoreError> {
        let run = Run::open(directory)?;
        let facts = Facts::of_summary(&run);
        let place = directory.strip_prefix(root).unwrap_or(directory);
        // A run that is its own root is called by its whole path.
        let place = Some(place).filter(|place| place.file_name().is_some());
        let place = place.unwrap_or(directory);
        let summary = run.summary();
        let told = summary.overview.as_ref();
        let mut queries = told.map(|told| told.rows).or(summary.total_queries);
        let mut joules = told.and_then(|told| told.energy.joules);
        let values = match measured::summarised(&run) {
            Some(values) => values,
            None if summary.status == Some(Status::Running) => Values::default(),
            None => {
                let (overview, values) = measured::counted(&run)?;
                (queries, joules) = (Some(overview.rows), overview.energy.joules);
                values
            }
        };
        Ok(Self {
            place: printable(&place.display().to_string()),
            queries: queries.unwrap_or(0),
            accuracy: values.get(Metric::Accuracy),
            joules,
            ipw: values.get(Metric::Ipw),
            age_seconds: facts.started_at.map(|begun| (now - begun).max(0.0)),
            facts,
        })
    }

    /// How it ended, or `running`.
    pub fn status(&self) -> &str {
        self.facts.status.as_deref().unwrap_or("unknown")
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
            ("ipw", json!(self.ipw)),
            ("started_at", json!(facts.started_at)),
            ("age_seconds", json!(self.age_seconds)),
            ("status", json!(facts.status)),
            ("reason", json!(facts.reason)),
        ]);
        fields.serialize(serializer)
    }
}
