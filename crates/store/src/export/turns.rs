//! Text out of batches, by two threads: each takes some rows, writes them into memory, and waits
//! for its turn to put them out. So the order is that of the rows, and of them all there is one
//! batch or two in memory, and a few megabytes of text.

use std::io::{self, Write as _};
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use arrow_array::RecordBatch;

use super::sheet::{Fault, Out};

/// Rows per turn.
const ROWS: usize = 128;
/// Most bytes of text gathered before their turn.
const GATHERED: usize = 2 << 20;

/// The batches of a table, in order.
pub(super) type Feed<'a> = Box<dyn Iterator<Item = Result<RecordBatch, Fault>> + Send + 'a>;

/// Makes text of rows.
pub(super) type Encode<'a> =
    &'a (dyn Fn(&RecordBatch, Range<usize>, &mut Text<'_, '_>) -> Result<(), Fault> + Sync);

/// Writes the text of all batches to `out`; how many rows there were.
pub(super) fn write(feed: Feed<'_>, out: Out, encode: Encode<'_>) -> Result<u64, Fault> {
    let turns = Turns {
        source: Mutex::new(Source {
            feed,
            batch: None,
            turn: 0,
        }),
        sink: Mutex::new(Sink {
            out,
            turn: 0,
            rows: 0,
            is_over: false,
        }),
        passed: Condvar::new(),
    };
    let (own, other) = thread::scope(|scope| {
        let other = scope.spawn(|| turns.work(encode));
        (turns.work(encode), other.join())
    });
    // A panic there is a panic here.
    let other = other.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    own.and(other)?;
    let mut sink = turns
        .sink
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    sink.out.flush()?;
    Ok(sink.rows)
}

struct Turns<'a> {
    source: Mutex<Source<'a>>,
    sink: Mutex<Sink>,
    /// Signals that the turn was passed on, or that writing has ended.
    passed: Condvar,
}

/// Supplies rows to the threads, batch by batch.
struct Source<'a> {
    feed: Feed<'a>,
    /// The current batch, and the first of its rows not yet handed out.
    batch: Option<(RecordBatch, usize)>,
    /// The turn of the next rows, which fixes their order in the output.
    turn: u64,
}

/// Where text goes.
struct Sink {
    out: Out,
    turn: u64,
    rows: u64,
    /// Whether writing has ended.
    is_over: bool,
}

/// Rows that one thread has taken.
struct RowSlice {
    turn: u64,
    rows: Result<(RecordBatch, Range<usize>), Fault>,
}

impl Source<'_> {
    fn take(&mut self) -> Option<RowSlice> {
        let (batch, from) = match self.batch.take() {
            Some(rest) => rest,
            None => match self.feed.next()? {
                Ok(batch) => (batch, 0),
                Err(fault) => return Some(self.taken(Err(fault))),
            },
        };
        let to = batch.num_rows().min(from + ROWS);
        if to < batch.num_rows() {
            self.batch = Some((batch.clone(), to));
        }
        Some(self.taken(Ok((batch, from..to))))
    }

    fn taken(&mut self, rows: Result<(RecordBatch, Range<usize>), Fault>) -> RowSlice {
        let turn = self.turn;
        self.turn += 1;
        RowSlice { turn, rows }
    }
}

impl Turns<'_> {
    /// Takes rows and puts out their text until there are no more, or something went wrong.
    fn work(&self, encode: Encode<'_>) -> Result<(), Fault> {
        let _end = End(self);
        let mut gathered = Vec::new();
        while let Some(taken) = self.take() {
            let mut text = Text {
                turns: self,
                turn: taken.turn,
                gathered,
                sink: None,
            };
            let done = taken.rows.and_then(|(batch, rows)| {
                let count = rows.len() as u64;
                encode(&batch, rows, &mut text)?;
                Ok(count)
            });
            let done = match done {
                Ok(count) => text.finish(count),
                Err(fault) => text.fail(fault),
            };
            match done? {
                Some(room) => gathered = room,
                None => break,
            }
        }
        Ok(())
    }

    fn take(&self) -> Option<RowSlice> {
        lock(&self.source).take()
    }

    /// Waits for a turn; `None` if it will not come.
    fn wait(&self, turn: u64) -> Option<MutexGuard<'_, Sink>> {
        let is_waiting = |sink: &mut Sink| sink.turn != turn && !sink.is_over;
        let sink = self.passed.wait_while(lock(&self.sink), is_waiting);
        let sink = sink.unwrap_or_else(PoisonError::into_inner);
        (!sink.is_over).then_some(sink)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread that panics does not leave the other waiting.
struct End<'a, 'b>(&'a Turns<'b>);

impl Drop for End<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.sink).is_over = true;
            self.0.passed.notify_all();
        }
    }
}

/// The text of some rows.
pub(super) struct Text<'a, 'b> {
    turns: &'a Turns<'b>,
    turn: u64,
    gathered: Vec<u8>,
    /// Once its turn has come.
    sink: Option<MutexGuard<'a, Sink>>,
}

impl Text<'_, '_> {
    /// Where the next row goes.
    pub(super) const fn text(&mut self) -> &mut Vec<u8> {
        &mut self.gathered
    }

    /// To be called after each row.
    pub(super) fn ease(&mut self) -> io::Result<()> {
        if self.gathered.len() < GATHERED {
            return Ok(());
        }
        if self.sink.is_none() {
            self.sink = self.turns.wait(self.turn);
        }
        if let Some(sink) = &mut self.sink {
            sink.out.write_all(&self.gathered)?;
        }
        self.gathered.clear();
        // One very long row shall not be remembered by its room.
        self.gathered.shrink_to(GATHERED);
        Ok(())
    }

    /// Puts out what is left and passes the turn on; the room for more text, `None` if there will
    /// not be more.
    fn finish(mut self, rows: u64) -> Result<Option<Vec<u8>>, Fault> {
        let Some(mut sink) = self.sink.take().or_else(|| self.turns.wait(self.turn)) else {
            return Ok(None);
        };
        if let Err(error) = sink.out.write_all(&self.gathered) {
            sink.is_over = true;
            self.turns.passed.notify_all();
            return Err(error.into());
        }
        sink.rows += rows;
        sink.turn += 1;
        self.turns.passed.notify_all();
        self.gathered.clear();
        Ok(Some(self.gathered))
    }

    /// Ends all, unless something before ended it.
    fn fail(mut self, fault: Fault) -> Result<Option<Vec<u8>>, Fault> {
        let Some(mut sink) = self.sink.take().or_else(|| self.turns.wait(self.turn)) else {
            return Ok(None);
        };
        sink.is_over = true;
        self.turns.passed.notify_all();
        Err(fault)
    }
}
