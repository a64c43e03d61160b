//! Reads any run: finished, running, or left by a killed process.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, SchemaRef};
use ipw_core::rollup::Choice;
use serde_json::Value;

use crate::StoreError;
use crate::adopt::Adoption;
use crate::basis::View;
use crate::ipc::Stream;
use crate::rows::Read;
use crate::standing::Standing;
use crate::state::State;
use crate::summary::{Stored, Summary, Unread};

/// An open run directory.
pub struct Run {
    directory: PathBuf,
    files: Vec<PathBuf>,
    /// Conversion to our types, for rows that another program wrote.
    adoption: Option<Adoption>,
    schema: SchemaRef,
    model: String,
    summary: Summary,
    stored: Stored,
    view: Option<(Choice, View)>,
    standing: OnceLock<Standing>,
}

impl Run {
    /// Opens a run.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        settled(directory, |files| Self::over(directory, files))
    }

    fn over(directory: &Path, files: Vec<PathBuf>) -> Result<Self, StoreError> {
        let not_a_run = |reason: &str| StoreError::NotARun {
            path: directory.to_owned(),
            reason: reason.to_owned(),
        };
        let first = files
            .first()
            .ok_or_else(|| not_a_run("its state names no data file"))?;
        let schema = Stream::open(first)?.schema();
        let model = match schema
            .field_with_name("model_answers")
            .map(Field::data_type)
        {
            Ok(DataType::Struct(models)) if models.len() == 1 => models[0].name().clone(),
            _ => return Err(not_a_run("its rows are not those of one model")),
        };
        let (summary, stored) = Stored::read(directory)?;
        let adoption = Adoption::of(&schema, &model);
        let schema = adoption
            .as_ref()
            .map_or(schema, |adoption| SchemaRef::clone(adoption.schema()));
        Ok(Self {
            directory: directory.to_owned(),
            files,
            adoption,
            schema,
            model,
            summary,
            stored,
            view: None,
            standing: OnceLock::new(),
        })
    }

    /// The basis selected for this view of the run.
    pub(crate) fn chosen(&self) -> Option<Choice> {
        self.view.as_ref().map(|(choice, _)| *choice)
    }

    pub(crate) fn seen_through(mut self, choice: Choice, view: View) -> Self {
        self.view = Some((choice, view));
        self.standing = OnceLock::new();
        self
    }

    /// The rows whose energy counts in the run's figures.
    pub(crate) fn standing(&self) -> Result<&Standing, StoreError> {
        if self.standing.get().is_none() {
            self.stand(self.find_standing()?);
        }
        Ok(self.standing.get_or_init(Standing::default))
    }

    /// Learns which rows its figures stand for; what is known already stays.
    pub(crate) fn stand(&self, standing: Standing) {
        let _ = self.standing.set(standing);
    }

    /// The data files of the run.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Whether the selected basis differs from the run's own.
    pub(crate) fn has_view(&self) -> bool {
        self.view.is_some()
    }

    /// Whether the Python original wrote the run. Its rows have no outcome.
    pub fn is_original(&self) -> bool {
        self.schema.field_with_name("outcome").is_err()
    }

    /// The batch with energy on the selected basis.
    pub(crate) fn seen(&self, batch: RecordBatch) -> Result<RecordBatch, StoreError> {
        match &self.view {
            Some((_, view)) => view.apply(&batch),
            None => Ok(batch),
        }
    }

    /// The run directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The Arrow schema of the rows. Known columns have our types, even if another program wrote
    /// them.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The model's label.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The content of `summary.json`; empty without one.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Keys of `summary.json` that this version does not know.
    pub fn unread(&self) -> &[Unread] {
        self.stored.unread()
    }

    /// `summary.json` as stored, including unknown keys, for programs; null without one.
    pub fn stored_summary(&self) -> Value {
        self.stored.value()
    }

    pub(crate) fn stored(&self) -> &Stored {
        &self.stored
    }

    /// Replaces `summary.json`. Unchanged keys stay as stored.
    pub(crate) fn write_summary(&self, summary: &Summary) -> Result<(), StoreError> {
        self.stored.write(summary, &self.directory, true)
    }

    /// The rows, batch by batch. Memory holds one batch at a time.
    pub fn batches(&self) -> impl Iterator<Item = Result<RecordBatch, StoreError>> + '_ {
        self.files.iter().flat_map(move |path| {
            let batches: Read<'_> = match Stream::open(path) {
                Ok(stream) => Box::new(stream.map(move |batch| {
                    let batch = batch.map_err(StoreError::arrow("read rows of", path))?;
                    self.seen(self.adopted(batch)?)
                })),
                Err(error) => Box::new(std::iter::once(Err(error))),
            };
            batches
        })
    }

    /// Conversion to our types; `None` if the rows have them.
    pub(crate) const fn adoption(&self) -> Option<&Adoption> {
        self.adoption.as_ref()
    }

    /// A batch of the data files, in our types.
    pub(crate) fn adopted(&self, batch: RecordBatch) -> Result<RecordBatch, StoreError> {
        match &self.adoption {
            Some(adoption) => adoption
                .apply(&batch)
                .map_err(StoreError::arrow("read rows of", &self.directory)),
            None => Ok(batch),
        }
    }

    /// Opens all present data files. Later renames and appends do not affect them.
    pub(crate) fn streams(&self) -> Result<Vec<Stream>, StoreError> {
        settled(&self.directory, |files| {
            files.iter().map(|path| Stream::open(path)).collect()
        })
    }

    /// The column at a dotted path below the model's metrics.
    pub fn metric<'a, A: 'static>(
        &self,
        batch: &'a RecordBatch,
        path: &str,
    ) -> Result<&'a A, StoreError> {
        // The model's name may hold dots: it is a step of its own, not part of the dotted path.
        let steps = ["model_metrics", &self.model]
            .into_iter()
            .chain(path.split('.'));
        column_at(batch, steps, path)
    }
}

/// Opens again if the run finished meanwhile: it then switches to other files, and those named by
/// the old state are gone.
fn settled<T>(
    directory: &Path,
    open: impl Fn(Vec<PathBuf>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    loop {
        let files = |state: &State| state.files().map(|name| directory.join(name)).collect();
        let before: Vec<PathBuf> = files(&State::read(directory)?);
        let opened = open(before.clone());
        let is_gone = matches!(
            &opened,
            Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound
        );
        if !is_gone || before == files(&State::read(directory)?) {
            return opened;
        }
    }
}

/// The column at a dotted path.
pub fn column<'a, A: 'static>(batch: &'a RecordBatch, path: &str) -> Result<&'a A, StoreError> {
    column_at(batch, path.split('.'), path)
}

fn column_at<'a, 'b, A: 'static>(
    batch: &'a RecordBatch,
    mut steps: impl Iterator<Item = &'b str>,
    path: &str,
) -> Result<&'a A, StoreError> {
    let missing = || StoreError::Column {
        column: path.to_owned(),
    };
    let first = steps
        .next()
        .and_then(|step| batch.column_by_name(step))
        .ok_or_else(missing)?;
    let column = steps.try_fold(first, |column, step| {
        column
            .as_any()
            .downcast_ref::<StructArray>()?
            .column_by_name(step)
    });
    column
        .and_then(|column| column.as_any().downcast_ref::<A>())
        .ok_or_else(missing)
}
