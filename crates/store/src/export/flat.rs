//! The flat table of `tidy`, over one run or several.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, Fields, SchemaRef};
use ipw_core::nearest::nearest_few;

use super::choice::{SUGGESTIONS, glob};
use super::layout::constant;
use super::sheet::Fault;
use super::{ExportError, LabelledRun, Runs};
use crate::features::schema_with_features;
use crate::rows::Read;
use crate::tidy::{COLUMNS, Maker, TidyColumn};

/// The column that tells runs apart.
const RUN: &str = "run";
const MODEL: &str = "model";

/// A column that goes out.
#[derive(Clone, Copy)]
enum Picked {
    /// What the run is called.
    Run,
    Own(&'static TidyColumn),
}

impl Picked {
    const fn name(self) -> &'static str {
        match self {
            Self::Run => RUN,
            Self::Own(column) => column.name,
        }
    }

    fn field(self) -> FieldRef {
        Arc::new(match self {
            Self::Run => Field::new(RUN, DataType::Utf8, true),
            Self::Own(column) => column.field(),
        })
    }
}

/// All columns, in the order of the table: with several runs, whose rows they are comes first.
fn all(runs: Runs<'_>) -> Vec<Picked> {
    let (model, others): (Vec<_>, Vec<_>) = COLUMNS.iter().partition(|it| it.name == MODEL);
    let own = |columns: Vec<&'static TidyColumn>| columns.into_iter().map(Picked::Own);
    if runs.is_together() {
        [Picked::Run]
            .into_iter()
            .chain(own(model))
            .chain(own(others))
            .collect()
    } else {
        own(others).chain(own(model)).collect()
    }
}

/// The columns that were asked for, in that order, and those of them that were asked for by their
/// full names. Without a wish, all.
fn picked(
    runs: Runs<'_>,
    wanted: &[String],
) -> Result<(Vec<Picked>, BTreeSet<&'static str>), ExportError> {
    let all = all(runs);
    if wanted.is_empty() {
        return Ok((all, BTreeSet::new()));
    }
    let mut picked: Vec<Picked> = Vec::new();
    let mut named = BTreeSet::new();
    for pattern in wanted {
        let meant: Vec<_> = all.iter().filter(|it| glob(pattern, it.name())).collect();
        if meant.is_empty() {
            let names = all.iter().map(|it| it.name());
            let nearest = nearest_few(pattern, names, SUGGESTIONS).into_iter();
            return Err(ExportError::NoColumn {
                pattern: pattern.clone(),
                nearest: nearest.map(str::to_owned).collect(),
            });
        }
        for column in meant {
            if column.name() == pattern {
                named.insert(column.name());
            }
            if !picked.iter().any(|it| it.name() == column.name()) {
                picked.push(*column);
            }
        }
    }
    Ok((picked, named))
}

/// Says whether these columns are there.
pub(super) fn check(runs: Runs<'_>, wanted: &[String]) -> Result<(), ExportError> {
    picked(runs, wanted).map(drop)
}

/// The columns of the table, and how rows of each run fill them.
pub(super) struct Layout<'a> {
    makers: Vec<Maker<'a>>,
    columns: Vec<Picked>,
    own: Vec<&'static TidyColumn>,
    schema: SchemaRef,
}

impl<'a> Layout<'a> {
    /// The columns that were asked for. What is null in all rows of all runs is left out, unless it
    /// was asked for by its full name.
    pub(super) fn of(runs: Runs<'a>, wanted: &[String]) -> Result<Self, ExportError> {
        let (mut columns, named) = picked(runs, wanted)?;
        let makers: Vec<_> = runs.all().iter().map(|run| Maker::of(&run.run)).collect();
        let is_unasked = |column: &&'static TidyColumn| !named.contains(column.name);
        let mut empty: Vec<&'static TidyColumn> = own(&columns).filter(is_unasked).collect();
        for maker in &makers {
            let still = maker.empty(&empty)?;
            empty.retain(|column| still.contains(column.name));
        }
        columns.retain(|column| !empty.iter().any(|it| it.name == column.name()));
        let fields: Fields = columns.iter().map(|column| column.field()).collect();
        Ok(Self {
            makers,
            own: own(&columns).collect(),
            schema: schema_with_features(fields),
            columns,
        })
    }

    pub(super) const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows of the run at `place`, batch by batch.
    pub(super) fn batches(&self, place: usize) -> Read<'a> {
        self.makers[place].batches()
    }

    /// The rows of a run in these columns; `place` is the run's, `first` the number of its first
    /// row in the batch.
    pub(super) fn fit(
        &self,
        (place, run): (usize, &LabelledRun),
        first: u64,
        batch: &RecordBatch,
    ) -> Result<RecordBatch, Fault> {
        let mut made = self.makers[place]
            .arrays(batch, first, &self.own)?
            .into_iter();
        let arrays = self.columns.iter().filter_map(|column| match column {
            Picked::Run => Some(constant(&run.label, batch.num_rows())),
            Picked::Own(_) => made.next(),
        });
        let arrays: Vec<ArrayRef> = arrays.collect();
        Ok(RecordBatch::try_new(
            SchemaRef::clone(&self.schema),
            arrays,
        )?)
    }
}

fn own(columns: &[Picked]) -> impl Iterator<Item = &'static TidyColumn> {
    columns.iter().filter_map(|column| match column {
        Picked::Run => None,
        Picked::Own(column) => Some(*column),
    })
}
