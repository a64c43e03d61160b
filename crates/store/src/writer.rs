//! Writes rows on its own thread and commits them in batches.
//!
//! Encoding and writing happen on that thread, so that the measured path only hands rows over. The
//! channel is bounded: if the disk is too slow, the run waits. No row is dropped.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ipw_core::chat::Message;
use ipw_core::record::Record;
use ipw_core::sink::{Sink, SinkError};
use ipw_core::text::with_causes;
use ipw_core::time::{Clock, Timestamp};
use serde_json::Value;

use crate::compact::compact;
use crate::lock::Lock;
use crate::output::NewRun;
use crate::schema::{Row, RunSchema};
use crate::stream::StreamFile;
use crate::summary::{Status, Stored, Summary};
use crate::{Overview, Run, StoreError, disk};

/// Limit on rows in the channel. When it is full, the run waits.
const QUEUE: usize = 1024;
/// How long to wait for further rows before handling those that have arrived.
const LINGER: Duration = Duration::from_millis(1);
/// Maximum age of `summary.json` while rows arrive.
const SUMMARY_AGE: Duration = Duration::from_secs(5);
/// Rough size of a row besides its texts: some 180 columns in one commit.
const ROW_BYTES: usize = 2048;

/// When to commit rows: at once if the last commit is at least `interval` ago, otherwise when one
/// of the three limits is reached.
#[derive(Debug, Clone, Copy)]
pub struct CommitPolicy {
    /// Time between commits.
    pub interval: Duration,
    /// Rows in one commit.
    pub rows: usize,
    /// Bytes in one commit.
    pub bytes: usize,
}

impl CommitPolicy {
    /// Commits after at most a second, `rows` rows or 32 MiB. The interval is shorter than a
    /// second, because a row first waits for its readings.
    pub const fn every(rows: usize) -> Self {
        Self {
            interval: Duration::from_millis(850),
            rows,
            bytes: 32 << 20,
        }
    }
}

/// A run that is being written.
pub struct RunWriter {
    /// `None` once the run has ended.
    rail: Option<Rail>,
    directory: PathBuf,
    aside: Option<PathBuf>,
    _lock: Lock,
}

/// The channel to the writer thread.
struct Rail {
    sender: SyncSender<Record>,
    thread: JoinHandle<Result<Written, StoreError>>,
}

impl Rail {
    /// Waits until the last row is committed.
    fn close(self) -> Result<Written, StoreError> {
        drop(self.sender);
        self.thread.join().map_err(|_| StoreError::WriterGone)?
    }
}

/// A dropped writer, for example of a cancelled future, commits the rows it has before it releases
/// the lock.
impl Drop for RunWriter {
    fn drop(&mut self) {
        let _ = self.rail.take().map(Rail::close);
    }
}

/// What the thread returns.
struct Written {
    stored: Stored,
    summary: Summary,
}

/// Result of a finished run.
#[derive(Debug)]
pub struct Finished {
    /// Overview of all rows.
    pub overview: Overview,
    /// The final summary.
    pub summary: Box<Summary>,
    /// The previous run, if it was kept or could not be removed, with the reason.
    pub kept_aside: Option<PathBuf>,
    /// Failures that cost no row.
    pub warnings: Vec<String>,
}

impl RunWriter {
    /// Starts the writer thread.
    pub fn start(
        run: NewRun,
        summary: Summary,
        policy: CommitPolicy,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let (sender, receiver) = sync_channel(QUEUE);
        let directory = run.directory.clone();
        let NewRun {
            schema,
            stored,
            stream,
            lock,
            aside,
            ..
        } = run;
        let now = clock.now();
        let mut committer = Committer {
            directory: directory.clone(),
            schema,
            stream,
            stored,
            summary,
            policy,
            clock,
            pending: Vec::new(),
            pending_bytes: 0,
            committed: None,
            summarised: now,
        };
        let thread = std::thread::Builder::new()
            .name("ipw-store".to_owned())
            .spawn(move || {
                committer.follow(&receiver)?;
                Ok(Written {
                    stored: committer.stored,
                    summary: committer.summary,
                })
            })
            .map_err(StoreError::io("start the writer of", &directory))?;
        Ok(Self {
            rail: Some(Rail { sender, thread }),
            directory,
            aside,
            _lock: lock,
        })
    }

    /// The run directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Commits remaining rows, compacts the files, and writes the final summary. `change` may
    /// complete the summary, given the overview.
    pub fn finish(
        self,
        status: Status,
        change: impl FnOnce(&mut Summary, &Overview, &Run),
    ) -> Result<Finished, StoreError> {
        self.conclude(status, |summary, run| {
            let overview = Overview::of(run)?;
            change(summary, &overview, run);
            Ok(overview)
        })
    }

    /// Like `finish`, but `look` makes the overview, so that other consumers share its pass.
    pub fn conclude(
        mut self,
        status: Status,
        look: impl FnOnce(&mut Summary, &Run) -> Result<Overview, StoreError>,
    ) -> Result<Finished, StoreError> {
        let rail = self.rail.take().ok_or(StoreError::WriterGone)?;
        let Written {
            stored,
            mut summary,
        } = rail.close()?;
        let mut warnings = Vec::new();
        if let Err(error) = compact(&self.directory) {
            warnings.push(format!(
                "the run was left in its small commits: {}",
                with_causes(&error)
            ));
        }
        let run = Run::open(&self.directory)?;
        summary.status = Some(status);
        let overview = look(&mut summary, &run)?;
        summary.total_queries = Some(overview.rows);
        summary.overview = Some(overview.clone());
        stored.write(&summary, &self.directory, true)?;
        Lock::release(&self.directory);
        let kept_aside = match (self.aside.take(), status) {
            (Some(aside), Status::Complete) => remove(aside, &self.directory, &mut warnings),
            (aside, _) => aside,
        };
        Ok(Finished {
            overview,
            summary: Box::new(summary),
            kept_aside,
            warnings,
        })
    }
}

/// Removes the previous run, once `new` is durably in its place.
fn remove(aside: PathBuf, new: &Path, warnings: &mut Vec<String>) -> Option<PathBuf> {
    let removed = disk::sync_name(new).and_then(|()| {
        if aside.is_dir() && !aside.is_symlink() {
            disk::remove_all(&aside)
        } else {
            disk::remove_file(&aside)
        }
    });
    match removed {
        Ok(()) => None,
        Err(error) => {
            warnings.push(format!("the old run could not be removed: {error}"));
            Some(aside)
        }
    }
}

impl Sink for RunWriter {
    fn append(&mut self, record: Record) -> Result<(), SinkError> {
        let gone = || SinkError(Box::new(StoreError::WriterGone));
        let rail = self.rail.as_ref().ok_or_else(gone)?;
        rail.sender.send(record).map_err(|_| gone())
    }
}

struct Committer {
    directory: PathBuf,
    schema: RunSchema,
    stream: StreamFile,
    stored: Stored,
    summary: Summary,
    policy: CommitPolicy,
    clock: Arc<dyn Clock>,
    pending: Vec<Row>,
    pending_bytes: usize,
    /// The last commit; `None` before the first.
    committed: Option<Timestamp>,
    summarised: Timestamp,
}

impl Committer {
    /// Takes rows until the sender is gone.
    fn follow(&mut self, receiver: &Receiver<Record>) -> Result<(), StoreError> {
        loop {
            let next = if self.pending.is_empty() {
                receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                receiver.recv_timeout(self.until_due())
            };
            match next {
                Ok(record) => {
                    self.take(record)?;
                    // A receiver that waits must be woken for every row: more may come first.
                    std::thread::sleep(LINGER);
                    for record in receiver.try_iter() {
                        self.take(record)?;
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.commit()?,
                Err(RecvTimeoutError::Disconnected) => return self.commit(),
            }
        }
    }

    fn take(&mut self, record: Record) -> Result<(), StoreError> {
        self.pending_bytes += size_of_texts(&record);
        self.pending.push(record.into());
        if self.is_due() {
            self.commit()?;
        }
        Ok(())
    }

    fn until_due(&self) -> Duration {
        let since = self
            .committed
            .map(|committed| self.clock.now().since(committed));
        since.map_or(Duration::ZERO, |since| {
            self.policy.interval.saturating_sub(since)
        })
    }

    fn is_due(&self) -> bool {
        self.pending.len() >= self.policy.rows
            || self.pending_bytes >= self.policy.bytes
            || self.until_due().is_zero()
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let directory = &self.directory;
        let batch = self
            .schema
            .batch(&self.pending)
            .map_err(StoreError::arrow("encode rows of", directory))?;
        self.stream.append(&batch)?;
        *self.summary.total_queries.get_or_insert(0) += self.pending.len() as u64;
        self.pending.clear();
        self.pending_bytes = 0;
        let now = self.clock.now();
        self.committed = Some(now);
        if now.since(self.summarised) >= SUMMARY_AGE {
            self.summarised = now;
            self.summary.generated_at = Some(self.clock.anchor().unix_seconds(now));
            let durable = self.stream.is_durable();
            self.stored.write(&self.summary, directory, durable)?;
        }
        Ok(())
    }
}

/// About how long a message is in a row: images in it are texts too.
fn length(message: &Message) -> usize {
    match message.content() {
        Some(Value::String(text)) => text.len(),
        Some(parts) => parts.to_string().len(),
        None => 0,
    }
}

fn size_of_texts(record: &Record) -> usize {
    let reply = &record.reply;
    ROW_BYTES
        + record.query.problem.len()
        + record.query.messages.iter().map(length).sum::<usize>()
        + 2 * reply.answer.len()
        + reply.reasoning.as_ref().map_or(0, String::len)
        + 8 * reply.timing.chunks.len()
}
