//! Reading any run: finished, running, or left behind by a process that was killed.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use arrow::array::{Array, RecordBatch, StructArray};
use arrow::datatypes::{DataType, Field, SchemaRef};
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

/// A run directory that is open for reading.
pub struct Run {
    directory: PathBuf,
    files: Vec<PathBuf>,
    /// How rows that another program wrote get our types.
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

    /// The basis that was chosen for looking at it.
    pub(crate) fn chosen(&self) -> Option<Choice> {
        self.view.as_ref().map(|(choice, _)| *choice)
    }

    pub(crate) fn seen_through(mut self, choice: Choice, view: View) -> Self {
        self.view = Some((choice, view));
        self.standing = OnceLock::new();
        self
    }

    /// The rows whose energy its figures stand for.
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

    /// Its data files.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Whether it is looked at on another basis than its own.
    pub(crate) fn has_view(&self) -> bool {
        self.view.is_some()
    }

    /// Whether the original wrote it: its rows do not say how they ended.
    pub fn is_original(&self) -> bool {
        self.schema.field_with_name("outcome").is_err()
    }

    /// The batch with its energy on the basis that was chosen.
    pub(crate) fn seen(&self, batch: RecordBatch) -> Result<RecordBatch, StoreError> {
        match &self.view {
            Some((_, view)) => view.apply(&batch),
            None => Ok(batch),
        }
    }

    /// Where it lies.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The Arrow schema of its rows; in rows that another program wrote, columns that we know have our
    /// types.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The model's label.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// What its `summary.json` says; an empty one where there is none.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The keys of its `summary.json` that are not understood.
    pub fn unread(&self) -> &[Unread] {
        self.stored.unread()
    }

    /// Its `summary.json` as it is stored, with keys of other versions, for programs; null where
    /// there is none.
    pub fn stored_summary(&self) -> Value {
        self.stored.value()
    }

    pub(crate) fn stored(&self) -> &Stored {
        &self.stored
    }

    /// Replaces its `summary.json`: what has not changed stays as it is stored.
    pub(crate) fn write_summary(&self, summary: &Summary) -> Result<(), StoreError> {
        self.stored.write(summary, &self.directory, true)
    }

    /// Its rows, batch by batch; never more than one batch in memory.
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

    /// How its rows get our types; `None` where they have them.
    pub(crate) const fn adoption(&self) -> Option<&Adoption> {
        self.adoption.as_ref()
    }

    /// A batch of its data files, in our types.
    pub(crate) fn adopted(&self, batch: RecordBatch) -> Result<RecordBatch, StoreError> {
        match &self.adoption {
            Some(adoption) => adoption
                .apply(&batch)
                .map_err(StoreError::arrow("read rows of", &self.directory)),
            None => Ok(batch),
        }
    }

    /// All data files that the run has now, open: what happens to their names or behind their ends
    /// from here on does not matter.
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

/// A run that ends while it is opened switches to other files, and those that its state named are
/// gone: then it is asked again.
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
