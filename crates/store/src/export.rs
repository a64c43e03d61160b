//! A run on its way elsewhere: Parquet, CSV or JSON lines, one batch in memory at a time.
//!
//! Rows go out as they are, nested. In CSV, and where several runs share a file, the model's name is
//! no level of the columns' names, so that the same name means the same in every run. What is
//! written is what was committed when its files were opened: a run may go on meanwhile.

mod choice;
mod columns;
mod csv;
mod flat;
mod json;
mod layout;
mod number;
mod packed;
mod readings;
mod sheet;
mod template;
mod turns;

use std::io::Write;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use ipw_core::setting::Setting;
use serde_json::Value;

pub use choice::{Choice, Shape, Texts};
pub use readings::has_readings;

pub(crate) use json::json_texts;

use crate::{Run, StoreError};
use layout::Layout;
use turns::Feed;

/// How tables are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Nested columns, typed and compressed.
    Parquet,
    /// Flat columns by dotted names, lists as JSON.
    Csv,
    /// One object a line, nested.
    Jsonl,
}

impl Format {
    /// How its files' names end.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
        }
    }
}

/// A run, and what it is called among others.
pub struct LabelledRun {
    /// What stands in the column `run`.
    pub label: String,
    /// The run.
    pub run: Run,
}

/// The runs that make up one table.
#[derive(Clone, Copy)]
pub enum Runs<'a> {
    /// One run, as it is.
    Apart(&'a LabelledRun),
    /// All of them, with `run` and `model` in front.
    Together(&'a [LabelledRun]),
}

impl<'a> Runs<'a> {
    fn all(self) -> &'a [LabelledRun] {
        match self {
            Self::Apart(one) => std::slice::from_ref(one),
            Self::Together(all) => all,
        }
    }

    const fn is_together(self) -> bool {
        matches!(self, Self::Together(_))
    }
}

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A run cannot be read.
    #[error(transparent)]
    Run(#[from] StoreError),
    /// No run has a column of this name.
    #[error("there is no column `{pattern}`; the nearest are {}", quoted(nearest))]
    NoColumn {
        /// What was asked for.
        pattern: String,
        /// What there is.
        nearest: Vec<String>,
    },
    /// The selection has no column.
    #[error(
        "no column is left to export: `{}` removes all columns that `{}` selects",
        Setting::NoText,
        Setting::Columns
    )]
    NothingLeft,
    /// The output cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Rows cannot be encoded in the format.
    #[error("cannot encode `{}`", path.display())]
    Encode {
        /// Where they should go.
        path: PathBuf,
        /// What the encoder said.
        #[source]
        source: ArrowError,
    },
}

fn quoted(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// Says whether there is something to export, before anything is written.
pub fn check(runs: Runs<'_>, choice: &Choice) -> Result<(), ExportError> {
    match choice.shape {
        Shape::Nested => Layout::of(runs, choice, Format::Parquet).map(drop),
        Shape::Tidy => flat::check(runs, &choice.columns),
    }
}

/// Writes the rows of `runs`; how many there were. `path` is what errors call the output.
pub fn rows(
    runs: Runs<'_>,
    choice: &Choice,
    format: Format,
    out: impl Write + Send + 'static,
    path: &Path,
) -> Result<u64, ExportError> {
    let write = |schema: &SchemaRef, feed: Feed<'_>| {
        let about = About::of(runs);
        let written = sheet::write(format, schema, &about, feed, Box::new(out));
        written.map_err(|fault| fault.at(path))
    };
    if choice.shape == Shape::Tidy {
        let layout = &flat::Layout::of(runs, &choice.columns)?;
        let feed = runs.all().iter().enumerate().flat_map(|(place, run)| {
            let mut first = 0;
            layout.batches(place).map(move |batch| {
                let batch = batch?;
                let made = layout.fit((place, run), first, &batch)?;
                first += batch.num_rows() as u64;
                Ok(made)
            })
        });
        return write(layout.schema(), Box::new(feed));
    }
    let layout = Layout::of(runs, choice, format)?;
    let feed = runs
        .all()
        .iter()
        .flat_map(|run| batches(run).map(|batch| Ok(layout.fit(run, &batch?)?)));
    write(layout.schema(), Box::new(feed))
}

/// The rows that a run has committed by now, on the basis that it is looked at on.
fn batches(
    run: &LabelledRun,
) -> Box<dyn Iterator<Item = Result<RecordBatch, StoreError>> + Send + '_> {
    let seen = |batch: Result<RecordBatch, ArrowError>| {
        let batch = batch.map_err(StoreError::arrow("read rows of", run.run.directory()))?;
        run.run.seen(run.run.adopted(batch)?)
    };
    match run.run.streams() {
        Ok(streams) => Box::new(streams.into_iter().flatten().map(seen)),
        Err(error) => Box::new(std::iter::once(Err(error))),
    }
}

/// Writes the raw readings of `runs`, with what their sources are; how many there were.
pub fn readings(
    runs: Runs<'_>,
    format: Format,
    out: impl Write + Send + 'static,
    path: &Path,
) -> Result<u64, ExportError> {
    let layout = &readings::Layout::of(runs);
    let batches = runs.all().iter().flat_map(|run| {
        let directory = run.run.directory();
        match readings::open(directory) {
            Ok(Some((streams, sources))) => {
                let fit = move |batch: Result<RecordBatch, ArrowError>| {
                    let batch = batch.map_err(StoreError::arrow("read readings of", directory))?;
                    Ok(layout.fit(run, &sources, &batch)?)
                };
                Box::new(streams.into_iter().flatten().map(fit)) as Feed<'_>
            }
            Ok(None) => Box::new(std::iter::empty()),
            Err(error) => Box::new(std::iter::once(Err(error.into()))),
        }
    });
    let feed = Box::new(batches);
    sheet::write(
        format,
        layout.schema(),
        &About::of(runs),
        feed,
        Box::new(out),
    )
    .map_err(|fault| fault.at(path))
}

/// What a file says of itself, where its format has a place for it.
struct About(Vec<(&'static str, String)>);

impl About {
    fn of(runs: Runs<'_>) -> Self {
        // No prompt and no reply is in a summary.
        let summary = |run: &LabelledRun| run.run.stored_summary();
        let (key, summary) = match runs {
            Runs::Apart(one) => ("ipw.summary", summary(one)),
            Runs::Together(all) => {
                let summaries = all.iter().map(|run| (run.label.clone(), summary(run)));
                ("ipw.summaries", Value::Object(summaries.collect()))
            }
        };
        Self(vec![
            ("ipw.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("ipw.format_version", crate::FORMAT_VERSION.to_string()),
            (key, summary.to_string()),
        ])
    }
}
