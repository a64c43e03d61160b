//! A dataset of rows, independent of their storage.
//!
//! Opening makes one pass over the rows, also over those that offset and limit leave out: the shape
//! of the metadata then does not depend on the selection. Only in a large file does a limit end the
//! pass early. Memory holds the shape and, only for a shuffle, the place of each selected row; it
//! never holds the rows.

use ipw_core::query::{LiveTurn, Query, Turn};
use ipw_core::shape::Shape;
use serde_json::{Map, Value};

use crate::chat::Question;
use crate::columns::{Answer, Columns, Row, RowPrompt};
use crate::error::DatasetError;
use crate::jsonl::Jsonl;
use crate::options::{OnError, Options};
use crate::order::{Selection, shuffle};
use crate::reader::{RawRow, Supply};
use crate::stream::Stream;
use crate::survey::{SkippedRows, Survey};
use crate::{Dataset, Queries, ReadError};

/// The metadata field with a row's place in the source.
const ROW: &str = "row";

/// The place of one row in its source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Rows before it.
    pub(crate) row: u64,
    /// The argument of [`Reader::jump`](crate::reader::Reader::jump) that leads to it.
    pub(crate) offset: u64,
    /// Queries that it yields.
    pub(crate) queries: u32,
}

#[derive(Debug)]
pub(crate) enum Order {
    /// The order of the source, from `first` on.
    AsWritten {
        /// The first row, from 0.
        first: u64,
    },
    /// Exactly these rows, in this order.
    Shuffled(Vec<Place>),
}

/// The rows of a dataset after the first pass.
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
    /// The new name of the source's own column `row` in the metadata.
    source_row: Option<String>,
    skipped: SkippedRows,
    is_cut: bool,
}

impl Rows {
    /// Makes the first pass over `supply`.
    pub(crate) fn open(
        id: &'static str,
        name: String,
        supply: Box<dyn Supply>,
        options: Options,
    ) -> Result<Self, DatasetError> {
        let mut seen = Survey::new(supply.as_ref(), &options)?;
        let mut reader = supply.reader()?;
        let is_cut = loop {
            if seen.is_enough(&options) {
                break true;
            }
            match reader.advance()? {
                Some(raw) => seen.look(raw, &options)?,
                None => break false,
            }
        };
        let selection = &options.selection;
        let supply = match seen.spool {
            Some(spool) => Box::new(Jsonl(spool.finish(supply.path())?)),
            None => supply,
        };
        let (shape, source_row) = with_row(seen.joined);
        let order = order(seen.places, selection);
        let size = match &order {
            Order::AsWritten { .. } => seen.selected,
            Order::Shuffled(places) => places.iter().map(|place| u64::from(place.queries)).sum(),
        };
        Ok(Self {
            id,
            name,
            supply,
            columns: options.columns,
            on_error: options.on_error,
            order,
            size,
            shape,
            source_row,
            skipped: seen.skipped,
            is_cut,
        })
    }

    /// Whether the first pass ended early, so that there may be more rows.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(crate) fn supply(&self) -> &dyn Supply {
        self.supply.as_ref()
    }

    pub(crate) fn order(&self) -> &Order {
        &self.order
    }

    /// Whether a bad row is skipped.
    pub(crate) fn leaves_out(&self, raw: &RawRow<'_>) -> bool {
        self.on_error == OnError::Skip
            && raw
                .object
                .as_ref()
                .map_or(true, |object| self.columns.row(object.clone()).is_err())
    }

    /// The queries of one row, numbered from `index`; `None` if the row has changed since the first
    /// pass.
    pub(crate) fn queries_of(
        &self,
        index: u64,
        number: u64,
        raw: RawRow<'_>,
    ) -> Option<Vec<Query>> {
        let mut row = self.columns.row(raw.object.ok()?).ok()?;
        let asks = std::mem::replace(&mut row.asks, RowPrompt::Text(String::new()));
        let answer = std::mem::replace(&mut row.answer, Answer::Last(None));
        let shared = self.shared(index, number, row)?;
        Some(match asks {
            RowPrompt::Text(problem) => vec![Query {
                problem,
                answer: answers(answer, 1).next().flatten(),
                ..shared
            }],
            RowPrompt::Chat(conversation, asked) => {
                let conversation = conversation.unwrap_or_else(|| shared.id.clone());
                turns(&shared, &conversation, asked, answer)
            }
        })
    }

    /// The parts that all queries of a row share.
    fn shared(&self, index: u64, number: u64, row: Row) -> Option<Query> {
        Some(Query {
            index,
            id: row.id.unwrap_or_else(|| number.to_string()),
            metadata: self.metadata(number, row.rest)?,
            subject: row.subject,
            parameters: row.parameters,
            ..Query::asking(String::new())
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

/// The answer to each of `count` questions.
fn answers(answer: Answer, count: usize) -> impl Iterator<Item = Option<String>> {
    let all = match answer {
        Answer::Each(all) => all,
        Answer::Last(last) => {
            let before = count.saturating_sub(1);
            std::iter::repeat_n(None, before).chain([last]).collect()
        }
    };
    all.into_iter()
}

/// One query for each turn that is sent.
fn turns(shared: &Query, conversation: &str, asked: Vec<Question>, answer: Answer) -> Vec<Query> {
    let count = asked.len();
    let of = u32::try_from(count).unwrap_or(u32::MAX);
    let answers = answers(answer, count);
    let turns = (shared.index..).zip(asked).zip(answers);
    turns
        .map(|((index, asked), answer)| Query {
            index,
            id: match count {
                1 => shared.id.clone(),
                _ => format!("{}#{}", shared.id, asked.number),
            },
            problem: asked.problem,
            messages: asked.messages,
            turn: Some(Turn {
                conversation: conversation.to_owned(),
                number: asked.number,
                live: asked
                    .replies_before
                    .map(|replies_before| LiveTurn { of, replies_before }),
            }),
            answer: answer.or(asked.recorded),
            ..shared.clone()
        })
        .collect()
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

/// The joined shape of all rows with `row` in front, and the new name of a source column `row`.
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

    fn queries(&self) -> Result<Queries<'_>, ReadError> {
        let stream = Stream::begin(self, self.size)?;
        Ok(Box::new(stream.map(|query| query.map_err(ReadError::from))))
    }
}
