//! A dataset of rows, whatever they are stored in.
//!
//! Opening makes one pass over all rows, also over those that offset and limit leave out: the
//! shape of the metadata then does not depend on the selection. Kept in memory are the shape and,
//! only when rows are shuffled, the place of each selected row; never the rows.

use ipw_core::query::Query;
use ipw_core::shape::Shape;
use serde_json::{Map, Value};

use crate::columns::Columns;
use crate::error::DatasetError;
use crate::jsonl::Jsonl;
use crate::options::{OnError, Options};
use crate::order::{Selection, shuffle};
use crate::reader::{Raw, Supply};
use crate::seen::{Seen, Skipped};
use crate::stream::Stream;
use crate::{Dataset, Queries};

/// The field of the metadata that says where in the source a row was.
const ROW: &str = "row";

/// Where one row is in its source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// How many rows are before it.
    pub(crate) row: u64,
    /// Where to jump to for it.
    pub(crate) offset: u64,
}

/// The order of the rows.
#[derive(Debug)]
pub(crate) enum Order {
    /// As in the source, from this row on.
    AsWritten {
        /// The first row, from 0.
        first: u64,
    },
    /// Just these, just so.
    Shuffled(Vec<Place>),
}

/// Rows that have been looked through once.
#[derive(Debug)]
pub(crate) struct Rows {
    id: &'static str,
    name: String,
    supply: Box<dyn Supply>,
    columns: Columns,
    on_error: OnError,
    order: Order,
    size: u64,
    shape: Shape,
    /// What the source's own column `row` is called in the metadata.
    source_row: Option<String>,
    skipped: Skipped,
}

impl Rows {
    /// Looks through `supply`.
    pub(crate) fn open(
        id: &'static str,
        name: String,
        supply: Box<dyn Supply>,
        options: Options,
    ) -> Result<Self, DatasetError> {
        let mut seen = Seen::new(supply.as_ref(), &options)?;
        let mut reader = supply.reader()?;
        while let Some(raw) = reader.advance()? {
            seen.look(raw, &options)?;
        }
        let selection = &options.selection;
        let size = selection.size(seen.good);
        let supply = match seen.spool {
            Some(spool) => Box::new(Jsonl(spool.finish(supply.path())?)),
            None => supply,
        };
        let (shape, source_row) = with_row(seen.joined);
        Ok(Self {
            id,
            name,
            supply,
            columns: options.columns,
            on_error: options.on_error,
            order: order(seen.places, selection),
            size,
            shape,
            source_row,
            skipped: seen.skipped,
        })
    }

    /// Where the rows are read from.
    pub(crate) fn supply(&self) -> &dyn Supply {
        self.supply.as_ref()
    }

    /// In which order they are read.
    pub(crate) fn order(&self) -> &Order {
        &self.order
    }

    /// Whether a bad row is left out.
    pub(crate) fn leaves_out(&self, raw: &Raw<'_>) -> bool {
        self.on_error == OnError::Skip
            && raw
                .object
                .as_ref()
                .map_or(true, |object| self.columns.row(object.clone()).is_err())
    }

    /// The query of one row; `None` when the row is not what it was in the first pass.
    pub(crate) fn query(&self, index: u64, number: u64, raw: Raw<'_>) -> Option<Query> {
        let row = self.columns.row(raw.object.ok()?).ok()?;
        Some(Query {
            index,
            id: row.id.unwrap_or_else(|| number.to_string()),
            metadata: self.metadata(number, row.rest)?,
            problem: row.problem,
            answer: row.answer,
            subject: row.subject,
            parameters: row.parameters,
        })
    }

    fn metadata(&self, number: u64, rest: Map<String, Value>) -> Option<Map<String, Value>> {
        let mut metadata = Map::new();
        metadata.insert(ROW.to_owned(), Value::from(number));
        for (name, value) in rest {
            let name = match name.as_str() {
                ROW => self.source_row.clone()?,
                _ => name,
            };
            metadata.insert(name, value);
        }
        match self.shape.fit(&Value::Object(metadata))? {
            Value::Object(fitted) => Some(fitted),
            _ => None,
        }
    }
}

fn order(mut places: Vec<Place>, selection: &Selection) -> Order {
    let Some(seed) = selection.shuffle else {
        return Order::AsWritten {
            first: selection.offset,
        };
    };
    shuffle(&mut places, seed);
    let size = selection.size(places.len() as u64);
    let offset = usize::try_from(selection.offset).unwrap_or(usize::MAX);
    places.drain(..offset.min(places.len()));
    places.truncate(usize::try_from(size).unwrap_or(usize::MAX));
    places.shrink_to_fit();
    Order::Shuffled(places)
}

/// The rows' joined shape with `row` in front, and the new name of a column that was called so.
fn with_row(joined: Shape) -> (Shape, Option<String>) {
    let mut fields = match joined {
        Shape::Struct(fields) => fields,
        _ => Vec::new(),
    };
    let mut source_row = None;
    if let Some(place) = fields.iter().position(|(name, _)| name == ROW) {
        let mut name = format!("source_{ROW}");
        while fields.iter().any(|(known, _)| *known == name) {
            name.push('_');
        }
        fields[place].0.clone_from(&name);
        source_row = Some(name);
    }
    fields.insert(0, (ROW.to_owned(), Shape::Int));
    (Shape::Struct(fields).settled(), source_row)
}

impl Dataset for Rows {
    fn id(&self) -> &str {
        self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> Option<u64> {
        Some(self.size)
    }

    fn metadata_shape(&self) -> &Shape {
        &self.shape
    }

    fn notes(&self) -> Vec<String> {
        self.skipped.notes(&self.supply.path())
    }

    fn queries(&self) -> Result<Queries<'_>, DatasetError> {
        Ok(Box::new(Stream::begin(self, self.size)?))
    }
}
