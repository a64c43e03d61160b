//! Rows of a run as [`Row`]s. Each reader names the fields it needs, and only their columns are
//! read.
//!
//! A column that is missing, in a run of an older version or of the original, leaves its field
//! unknown. Rows of the original have no outcome, index or id. All of them count as answered,
//! because the original stops at the first failure; they are numbered in order.

mod columns;

use std::sync::mpsc::sync_channel;
use std::thread;

use arrow_array::RecordBatch;
use ipw_core::row::{Energy, Fields, OTHER_BASIS, Phases, Row, Share};

use crate::ipc::guarded;
use crate::projected::{Batches, count, entries};
use crate::{Run, StoreError, file};

pub(crate) use columns::{Columns, Shares, Texts};

/// Batches as they are read.
pub(crate) type Read<'a> = Box<dyn Iterator<Item = Result<RecordBatch, StoreError>> + Send + 'a>;

/// Consumes the rows of a run. All consumers of a run are fed in one pass.
pub trait Consumer {
    /// The fields it needs.
    fn fields(&self) -> Fields;

    /// Takes one row.
    fn row(&mut self, row: &Row<'_>);

    /// Called after the last row. Returns whether it needs another pass.
    fn wants_more(&mut self) -> bool {
        false
    }

    /// Whether it takes energy as stored. Other consumers get unknown energy (`other_basis`) for
    /// rows whose energy comes from other sources than the run's figures.
    fn takes_all_energy(&self) -> bool {
        false
    }
}

impl Run {
    /// Calls `each` with every row, in the order of the run. Memory holds at most two batches.
    ///
    /// ```no_run
    /// use ipw_core::row::Fields;
    ///
    /// let run = ipw_store::Run::open("runs/profile_EPYC9654_smollm2_starter".as_ref())?;
    /// let mut joules = 0.0;
    /// run.for_each(Fields::ENERGY, |row| joules += row.energy.joules.unwrap_or(0.0))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_each(
        &self,
        fields: Fields,
        mut each: impl FnMut(&Row<'_>),
    ) -> Result<(), StoreError> {
        self.for_each_while(fields, |row| {
            each(row);
            true
        })
    }

    /// Like [`Run::for_each`], with all fields.
    pub fn for_each_query(&self, each: impl FnMut(&Row<'_>)) -> Result<(), StoreError> {
        self.for_each(Fields::ALL, each)
    }

    /// Like [`Run::for_each`], until `each` returns `false`.
    pub fn for_each_while(
        &self,
        fields: Fields,
        mut each: impl FnMut(&Row<'_>) -> bool,
    ) -> Result<(), StoreError> {
        self.stored_rows(with_part_of_energy(fields), |row| {
            Ok(each(&self.standing_row(row)?))
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> Result<u64, StoreError> {
        let mut all = 0;
        for path in self.files() {
            let open = file::open(path)?;
            all += guarded(|| count(&open)).map_err(StoreError::arrow("read rows of", path))?;
        }
        Ok(all)
    }

    /// Feeds all consumers in one pass. Those that need another pass are fed again.
    pub fn feed(&self, consumers: &mut [&mut dyn Consumer]) -> Result<(), StoreError> {
        let mut waiting: Vec<&mut dyn Consumer> = Vec::new();
        for consumer in consumers {
            waiting.push(&mut **consumer);
        }
        while !waiting.is_empty() {
            let fields = waiting.iter().map(|consumer| consumer.fields());
            let fields = fields.fold(Fields::NONE, Fields::and);
            let (mut as_stored, mut standing): (Vec<_>, Vec<_>) = waiting
                .into_iter()
                .partition(|consumer| consumer.takes_all_energy());
            self.stored_rows(with_part_of_energy(fields), |row| {
                for consumer in &mut as_stored {
                    consumer.row(row);
                }
                if !standing.is_empty() {
                    let row = self.standing_row(row)?;
                    for consumer in &mut standing {
                        consumer.row(&row);
                    }
                }
                Ok(true)
            })?;
            waiting = as_stored.into_iter().chain(standing).collect();
            waiting.retain_mut(|consumer| consumer.wants_more());
        }
        Ok(())
    }

    /// Number of chunks of all replies.
    pub fn chunks(&self) -> Result<u64, StoreError> {
        let mut all = 0;
        for path in self.files() {
            let open = file::open(path)?;
            let counted = guarded(|| entries(&open, &["timing", "chunk_seconds"]));
            let Some(chunks) = counted.map_err(StoreError::arrow("read rows of", path))? else {
                // Another program's layout: count row by row.
                let mut chunks = 0;
                self.for_each(Fields::CHUNKS, |row| chunks += row.chunks.len() as u64)?;
                return Ok(chunks);
            };
            all += chunks;
        }
        Ok(all)
    }

    /// The row with its energy unknown where it is made from other sources than the run's figures.
    pub(crate) fn standing_row<'a>(&self, row: &Row<'a>) -> Result<Row<'a>, StoreError> {
        let basis = row.energy.basis.filter(|_| row.energy.joules.is_some());
        let is_apart = match basis {
            Some(basis) => !self.standing()?.holds(row.part, basis),
            None => false,
        };
        Ok(if is_apart {
            Row {
                energy: Energy {
                    basis: row.energy.basis,
                    reason: Some(OTHER_BASIS),
                    ..Energy::default()
                },
                phases: Phases::default(),
                ..*row
            }
        } else {
            *row
        })
    }

    /// Calls `each` with every row as it is stored, until it says that it has seen enough.
    pub(crate) fn stored_rows(
        &self,
        fields: Fields,
        mut each: impl FnMut(&Row<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let mut number = 0;
        self.read_ahead(fields, |batch| {
            let columns = Columns::of(self, batch, fields, number);
            let mut shares: Vec<Share<'_>> = Vec::new();
            for place in 0..batch.num_rows() {
                shares.clear();
                columns.shares(place, &mut shares);
                if !each(&columns.row(place, &shares))? {
                    return Ok(false);
                }
            }
            number += batch.num_rows() as u64;
            Ok(true)
        })
    }

    /// Calls `each` with the columns of these fields, batch by batch, until it says that it has
    /// seen enough. A second thread reads the next batch meanwhile, so two are in memory.
    fn read_ahead(
        &self,
        fields: Fields,
        mut each: impl FnMut(&RecordBatch) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel(0);
            scope.spawn(move || {
                // Without a receiver there is nothing left to do.
                let _ = self
                    .projected(fields)
                    .try_for_each(|batch| sender.send(batch));
            });
            for batch in receiver {
                if !each(&batch?)? {
                    break;
                }
            }
            Ok(())
        })
    }

    /// The columns of these fields, batch by batch.
    pub(crate) fn projected(&self, fields: Fields) -> Read<'_> {
        self.read(columns::paths(self.model(), fields, self.has_view()))
    }

    /// The columns at these paths, batch by batch; those of the model's metrics begin with `~`.
    pub(crate) fn batches_of(&self, paths: &'static [&'static str]) -> Read<'_> {
        let paths = paths.iter().map(|path| columns::steps(self.model(), path));
        self.read(paths.collect())
    }

    fn read<'a>(&'a self, paths: Vec<Vec<&'a str>>) -> Read<'a> {
        if self.adoption().is_some() {
            // Whole, as rows of another program get our types.
            return Box::new(self.batches());
        }
        Box::new(self.files().iter().flat_map(move |path| {
            let batches: Read<'_> = match Batches::open(path, &paths) {
                Ok(batches) => Box::new(batches.map(move |batch| {
                    self.seen(batch.map_err(StoreError::arrow("read rows of", path))?)
                })),
                Err(error) => Box::new(std::iter::once(Err(error))),
            };
            batches
        }))
    }
}

/// Phases are of the same energy: whether they count is known from its basis.
fn with_part_of_energy(fields: Fields) -> Fields {
    if fields.has(Fields::PHASES) {
        fields | Fields::ENERGY
    } else {
        fields
    }
}
