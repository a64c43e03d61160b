//! Attributes energy again: computes the energy columns of a run from its raw readings
//! (docs/method.md §6.3).
//!
//! Rows and readings of a part are read side by side, once. Memory holds the queries in flight,
//! finished queries that started after one still in flight, their batches, and a few bytes for each
//! other batch. New data files are written beside the old ones and put in place by one rename: a
//! failure or a kill leaves the run unchanged.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use ipw_core::attribution::{Idle, Step, Weights};
use ipw_core::energy::QueryEnergy;
use ipw_core::reading::Window;
use ipw_core::time::Timestamp;
use ipw_core::units::Watts;
use serde::{Deserialize, Serialize};

use crate::compact::rewrite;
use crate::lock::Lock;
use crate::overview::EnergyTotals;
use crate::schema::{RenewedColumns, Row};
use crate::splice::splice;
use crate::{Overview, Run, StoreError, Summary};

mod book;
mod changed;
mod playback;
mod rows;
mod sources;
mod work;

pub use sources::IdleFrom;
pub use work::{SourceWork, Work};

use book::Book;
use playback::{Follow, Playback};
use rows::{FlightRow, Outline, Rows};
use sources::{PartSources, Sources};
use work::{QuietSteps, Works};

/// The attribution rule, as files name it (docs/method.md §6.3).
pub const METHOD: &str = "steps_above_idle";

/// How to share energy among queries.
#[derive(Debug, Clone, Default)]
pub struct Asking {
    /// How the queries in flight share the energy of a step.
    pub weights: Weights,
    /// Idle power by source name. It replaces the recorded one.
    pub idle: BTreeMap<String, Watts>,
}

/// The idle power used for a source in one part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdleUsed {
    /// Name of the source.
    pub source: String,
    /// Number of the part.
    pub part: u32,
    /// Idle power; `None` if unknown.
    pub watts: Option<Watts>,
    /// Standard deviation of the idle power.
    pub sigma_watts: Option<Watts>,
    /// Where the value comes from.
    pub from: Option<IdleFrom>,
}

impl IdleUsed {
    /// The idle power of a source in a part.
    pub fn new(source: &str, part: u32, idle: Option<Idle>, from: Option<IdleFrom>) -> Self {
        Self {
            source: source.to_owned(),
            part,
            watts: idle.map(|idle| idle.power),
            sigma_watts: idle.map(|idle| idle.sigma),
            from,
        }
    }
}

/// Result of attributing energy again.
#[derive(Debug, Clone)]
pub struct AttributionResult {
    /// Number of rows whose joules changed.
    pub changed: u64,
    /// Energy of the run before.
    pub before: EnergyTotals,
    /// Overview of the run after.
    pub overview: Overview,
    /// Idle power used for each source and part.
    pub idle: Vec<IdleUsed>,
    /// Tokens, time and energy of each source of the basis.
    pub worked: Vec<SourceWork>,
}

/// Names of the measured sources in the run's headline energy.
pub fn basis(run: &Run) -> Result<Vec<String>, StoreError> {
    Sources::of(run, run.choice()).map(|sources| sources.basis())
}

/// What was done in which time for which energy, by source of the basis. Nothing is changed.
pub fn worked(run: &Run) -> Result<Vec<SourceWork>, StoreError> {
    let (sources, outline) = (Sources::of(run, run.choice())?, Outline::of(run)?);
    let mut all = Vec::new();
    each_part(run, &sources, &outline, |part, own, rows| {
        let mut works = Works::of(own, outline.first_of(part));
        Playback::new(part, own).play(rows, &mut works)?;
        works.finish(&mut all);
        Ok(())
    })?;
    Ok(all)
}

/// Computes the energy columns of the run in `directory` again and switches them in. `change` gets
/// the summary with what came out.
pub fn attribute(
    directory: &Path,
    asking: &Asking,
    change: impl FnOnce(&mut Summary, &AttributionResult, &Run),
) -> Result<AttributionResult, StoreError> {
    let run = Run::open(directory)?;
    let _lock = Lock::take(directory)?;
    let done = attribute_locked(&run, asking, change);
    Lock::release(directory);
    done
}

fn attribute_locked(
    run: &Run,
    asking: &Asking,
    change: impl FnOnce(&mut Summary, &AttributionResult, &Run),
) -> Result<AttributionResult, StoreError> {
    let (mut sources, outline, before) = look(run)?;
    sources.settle_idle(run, &asking.idle);
    look_between_queries(run, &mut sources, &outline)?;
    let (changed, worked) = renew(run, &sources, &outline, asking.weights)?;
    let run = Run::open(run.directory())?;
    let done = AttributionResult {
        changed,
        before,
        overview: Overview::of(&run)?,
        idle: sources.idle_used(),
        worked,
    };
    let mut about = run.summary().clone();
    change(&mut about, &done, &run);
    run.write_summary(&about)?;
    Ok(done)
}

/// What there is, and the energy as it was: a thread for the readings, one for the rows.
fn look(run: &Run) -> Result<(Sources, Outline, EnergyTotals), StoreError> {
    let (sources, rows) = thread::scope(|scope| {
        let sources = scope.spawn(|| Sources::of(run, run.choice()));
        let outline = Outline::of(run);
        let rows = outline.and_then(|outline| Ok((outline, Overview::of(run)?.energy)));
        (joined(sources.join()), rows)
    });
    // A run without readings is told that, whatever is wrong with its rows.
    let sources = sources?;
    let (outline, before) = rows?;
    Ok((sources, outline, before))
}

/// Computes the energy columns and writes them: one thread goes through readings and rows, the
/// other puts what comes out into the rows. How many rows changed, and what was done.
fn renew(
    run: &Run,
    sources: &Sources,
    outline: &Outline,
    weights: Weights,
) -> Result<(u64, Vec<SourceWork>), StoreError> {
    let columns = RenewedColumns::energy(run.model());
    let mut changed = 0;
    let (played, rewritten) = thread::scope(|scope| {
        let (sender, receiver) = sync_channel(CHUNKS_AHEAD);
        let player = scope.spawn(move || {
            Again::new(run, sources, outline, weights).send_all(outline.rows(), &sender)
        });
        let mut computed = ComputedRows {
            receiver,
            rows: Vec::new().into_iter(),
        };
        let rewritten = rewrite(run.directory(), run.adoption(), &mut |batch| {
            let new = splice(&columns, &batch, computed.take(batch.num_rows())?)?;
            changed += changed::changed(&batch, &new)?;
            Ok(new)
        });
        // Without a receiver the other thread ends.
        drop(computed);
        (joined(player.join()), rewritten)
    });
    // If computing failed, rewriting failed for want of rows.
    let worked = played?;
    rewritten?;
    Ok((changed, worked.ok_or(StoreError::Changed)?))
}

/// Rows that go from one thread to the other at a time.
const CHUNK: usize = 256;
/// Chunks of rows that may wait.
const CHUNKS_AHEAD: usize = 8;

type Chunk = Vec<Option<Renewal>>;

/// The energy of a row, and what else its columns need. A whole row is ten times as large.
struct Renewal {
    energy: QueryEnergy,
    window: Option<Window>,
    tokens: (Option<u64>, Option<u64>),
    rate: Option<f64>,
    flops: Option<f64>,
}

/// Rows with their energy, as they are computed.
struct ComputedRows {
    receiver: Receiver<Chunk>,
    rows: std::vec::IntoIter<Option<Renewal>>,
}

impl ComputedRows {
    /// The next rows.
    fn take(&mut self, count: usize) -> Result<Vec<Option<Row>>, StoreError> {
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count {
            let rows = self.rows.by_ref().take(count - taken.len());
            taken.extend(rows.map(|renewal| renewal.map(Row::from)));
            if taken.len() < count {
                self.rows = self
                    .receiver
                    .recv()
                    .map_err(|_| StoreError::Changed)?
                    .into_iter();
            }
        }
        Ok(taken)
    }
}

/// What a thread came to; its panic goes on here.
fn joined<T>(done: thread::Result<T>) -> T {
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Calls `each` for every part that has rows and readings, in the order of the rows.
fn each_part(
    run: &Run,
    sources: &Sources,
    outline: &Outline,
    mut each: impl FnMut(u32, &PartSources, &mut Rows<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut rows = Rows::new(run, outline);
    while let Some(part) = rows.next_part() {
        match sources.of_part(part) {
            Some(own) => each(part, own, &mut rows)?,
            None => drop(rows.skip(part)?),
        }
    }
    Ok(())
}

/// Estimates idle power from the steps between queries, for measured sources without a recorded or
/// given value.
fn look_between_queries(
    run: &Run,
    sources: &mut Sources,
    outline: &Outline,
) -> Result<(), StoreError> {
    let is_wanted = |source: &sources::EnergySource| {
        source.idle.is_none() && source.about.is_measured_energy() && source.readings > 0
    };
    let mut found: BTreeMap<u32, Vec<Option<Idle>>> = BTreeMap::new();
    let is_any = sources
        .parts_mut()
        .any(|(_, part)| part.counted.iter().any(is_wanted));
    if !is_any {
        return Ok(());
    }
    each_part(run, sources, outline, |part, own, rows| {
        let mut quiet = QuietSteps::of(own.counted.len(), outline.first_of(part));
        Playback::new(part, own).play(rows, &mut quiet)?;
        found.insert(part, quiet.idle(own));
        Ok(())
    })?;
    for (part, own) in sources.parts_mut() {
        let found = found.remove(&part).unwrap_or_default();
        for (source, idle) in own.counted.iter_mut().zip(found) {
            if is_wanted(source) && idle.is_some() {
                source.idle = idle;
                source.idle_from = Some(IdleFrom::BetweenQueries);
            }
        }
    }
    Ok(())
}

/// The rows of a run with their energy, in the order of the file.
struct Again<'a> {
    sources: &'a Sources,
    outline: &'a Outline,
    rows: Rows<'a>,
    weights: Weights,
    at: At<'a>,
    worked: Vec<SourceWork>,
}

/// Where it stands.
enum At<'a> {
    /// Between two parts.
    Between,
    /// In a part without readings; the number of its rows still to come.
    Silent(usize),
    /// In a part that is played.
    Playing(Box<Playing<'a>>),
}

struct Playing<'a> {
    playback: Playback<'a>,
    book: Book<'a>,
    works: Works,
    is_over: bool,
}

/// Two that follow.
struct Both<'a, 'b>(&'a mut Book<'b>, &'a mut Works);

impl Follow for Both<'_, '_> {
    fn reads(&mut self, asked: &Rc<FlightRow>) {
        self.0.reads(asked);
    }

    fn begins(&mut self, asked: &Rc<FlightRow>) {
        self.0.begins(asked);
        self.1.begins(asked);
    }

    fn counts(&mut self, place: usize, step: &Step) {
        self.0.counts(place, step);
        self.1.counts(place, step);
    }

    fn ends(&mut self, place: usize) {
        self.0.ends(place);
        self.1.ends(place);
    }
}

impl<'a> Again<'a> {
    fn new(run: &'a Run, sources: &'a Sources, outline: &'a Outline, weights: Weights) -> Self {
        Self {
            sources,
            outline,
            rows: Rows::new(run, outline),
            weights,
            at: At::Between,
            worked: Vec::new(),
        }
    }

    /// The next row with its energy; `None` for one that stays as it was.
    fn next(&mut self) -> Result<Option<Renewal>, StoreError> {
        loop {
            match &mut self.at {
                At::Silent(left @ 1..) => {
                    *left -= 1;
                    return Ok(None);
                }
                At::Playing(playing) => {
                    if let Some((asked, energy)) = playing.book.next() {
                        return Ok(energy.map(|energy| Renewal::of(&asked, energy)));
                    }
                    if !playing.advance(&mut self.rows)? {
                        self.leave_part()?;
                    }
                }
                At::Silent(0) | At::Between => self.next_part()?,
            }
        }
    }

    /// Sends this number of rows, and plays the readings behind them; `None` if the receiver is gone.
    fn send_all(
        mut self,
        rows: usize,
        sender: &SyncSender<Chunk>,
    ) -> Result<Option<Vec<SourceWork>>, StoreError> {
        let mut left = rows;
        while left > 0 {
            let count = left.min(CHUNK);
            let chunk: Result<Chunk, StoreError> = (0..count).map(|_| self.next()).collect();
            if sender.send(chunk?).is_err() {
                return Ok(None);
            }
            left -= count;
        }
        self.finish().map(Some)
    }

    /// Plays what is left behind the last row.
    fn finish(mut self) -> Result<Vec<SourceWork>, StoreError> {
        if let At::Playing(playing) = &mut self.at {
            while playing.advance(&mut self.rows)? {}
            self.leave_part()?;
        }
        Ok(self.worked)
    }

    fn next_part(&mut self) -> Result<(), StoreError> {
        let part = self.rows.next_part().ok_or(StoreError::Changed)?;
        self.at = match self.sources.of_part(part) {
            None => At::Silent(self.rows.skip(part)?),
            Some(own) => {
                let mut playing = Playing {
                    playback: Playback::new(part, own),
                    book: Book::new(own, self.weights),
                    works: Works::of(own, self.outline.first_of(part)),
                    is_over: false,
                };
                let Playing {
                    playback,
                    book,
                    works,
                    ..
                } = &mut playing;
                playback.begin(&mut Both(book, works));
                At::Playing(Box::new(playing))
            }
        };
        Ok(())
    }

    /// Leaves a part when all of it was played.
    fn leave_part(&mut self) -> Result<(), StoreError> {
        if let At::Playing(playing) = std::mem::replace(&mut self.at, At::Between) {
            if !playing.book.is_empty() {
                return Err(StoreError::Changed);
            }
            playing.works.finish(&mut self.worked);
        }
        Ok(())
    }
}

impl Playing<'_> {
    /// Plays on; false when nothing is left.
    fn advance(&mut self, rows: &mut Rows<'_>) -> Result<bool, StoreError> {
        if self.is_over {
            return Ok(false);
        }
        let mut both = Both(&mut self.book, &mut self.works);
        if !self.playback.advance(rows, &mut both)? {
            self.book.finish();
            self.is_over = true;
        }
        Ok(true)
    }
}

impl Renewal {
    fn of(asked: &FlightRow, energy: QueryEnergy) -> Self {
        Self {
            energy,
            window: asked.window,
            tokens: (asked.input, asked.output),
            rate: asked.rate,
            flops: asked.flops,
        }
    }
}

impl From<Renewal> for Row {
    fn from(renewal: Renewal) -> Self {
        let nowhere = (Timestamp::ZERO, Timestamp::ZERO);
        let span = renewal
            .window
            .map_or(nowhere, |window| (window.start(), window.end()));
        Self::of_energy(
            renewal.energy,
            span,
            renewal.tokens,
            renewal.rate,
            renewal.flops,
        )
    }
}
