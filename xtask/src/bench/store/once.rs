//! One run of many rows, written and read back, with what each phase took.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, ensure};
use ipw_core::energy::QueryEnergy;
use ipw_core::hardware::SystemInfo;
use ipw_core::query::Query;
use ipw_core::record::Record;
use ipw_core::reply::{Exchange, Outcome, Reply, ServiceTiming, Timing, TokenCounts, TokenSource};
use ipw_core::shape::Shape;
use ipw_core::sink::Sink;
use ipw_core::time::{Clock, Timestamp};
use ipw_core::verdict::Grade;
use ipw_runner::SystemClock;
use ipw_store::output::Existing;
use ipw_store::schema::RunSchema;
use ipw_store::{CommitPolicy, NewRun, Overview, Run, RunWriter, Status, Summary};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

const MODEL: &str = "reference";
const PROMPT_BYTES: usize = 300;
const REPLY_BYTES: usize = 400;
const CHUNKS: u64 = 64;
const ROWS_PER_COMMIT: usize = 100;
/// Longer than the writer needs for its queue.
const SETTLE: Duration = Duration::from_millis(1500);

/// Writes and reads a run of `rows` rows; what comes back is a report in JSON.
pub(crate) fn once(rows: u64) -> anyhow::Result<String> {
    let clock = SystemClock::start();
    let parent = tempfile::tempdir()?;
    let directory = parent.path().join("run");
    let shape = Shape::of(&json!({"row": 1})).settled();
    let run = create(&directory, &shape, &clock)?;
    let policy = CommitPolicy::every(ROWS_PER_COMMIT);
    let about = summary(&directory, &clock);
    let mut writer = RunWriter::start(run, about, policy, Arc::new(clock))?;

    let phase = Phase::begin(clock)?;
    let template = record();
    for index in 0..rows {
        writer.append(numbered(&template, index))?;
    }
    thread::sleep(SETTLE);
    let committed_bytes = data_bytes(&directory)?;
    let append = phase.end(last_commit(&directory, &clock)?)?;

    // It stays until the end: what it took of the page cache must not come back for the compaction.
    let phase = Phase::begin(clock)?;
    copy_data(&directory, &parent.path().join("copy"))?;
    let copy = phase.end(clock.now())?;

    let phase = Phase::begin(clock)?;
    let finished = writer.finish(Status::Complete, |_, _, _| {})?;
    let finish = phase.end(clock.now())?;
    ensure!(finished.warnings.is_empty(), "{:?}", finished.warnings);

    let phase = Phase::begin(clock)?;
    ensure!(
        Run::open(&directory)?.rows()? == rows,
        "rows are missing or too many"
    );
    let count = phase.end(clock.now())?;

    let phase = Phase::begin(clock)?;
    Overview::of(&Run::open(&directory)?)?;
    let overview = phase.end(clock.now())?;

    Ok(json!({
        "append": append, "copy": copy, "finish": finish, "count": count, "overview": overview,
        "committed_bytes": committed_bytes, "compacted_bytes": data_bytes(&directory)?,
    })
    .to_string())
}

/// A stretch of this process's life: time, processor time of all threads, peak memory.
pub(crate) struct Phase {
    clock: SystemClock,
    begun: Timestamp,
    processor: Duration,
}

impl Phase {
    pub(crate) fn begin(clock: SystemClock) -> anyhow::Result<Self> {
        // Sets the peak back to what is resident now.
        fs::write("/proc/self/clear_refs", "5").context("forgetting the peak of memory")?;
        Ok(Self {
            clock,
            begun: clock.now(),
            processor: processor_time()?,
        })
    }

    pub(crate) fn end(self, at: Timestamp) -> anyhow::Result<Value> {
        let processor = processor_time()?.saturating_sub(self.processor);
        ensure!(at <= self.clock.now(), "the wall clock was set back");
        Ok(json!({
            "wall_seconds": at.since(self.begun).as_secs_f64(),
            "processor_seconds": processor.as_secs_f64(),
            "peak_bytes": peak_memory()?,
        }))
    }
}

fn processor_time() -> anyhow::Result<Duration> {
    Ok(clock_gettime(ClockId::ProcessCPUTime).try_into()?)
}

fn peak_memory() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kibibytes: u64 = kibibytes.context("no VmHWM")?.trim().parse()?;
    Ok(kibibytes << 10)
}

/// When the data file was last written: the appends return before their rows are on disk.
fn last_commit(directory: &Path, clock: &SystemClock) -> anyhow::Result<Timestamp> {
    let mut latest = SystemTime::UNIX_EPOCH;
    for path in data_files(directory)? {
        latest = latest.max(fs::metadata(path)?.modified()?);
    }
    let unix = latest.duration_since(SystemTime::UNIX_EPOCH)?;
    let reference = Duration::from_nanos(clock.anchor().unix_nanos);
    Ok(Timestamp::ZERO.after(unix.saturating_sub(reference)))
}

pub(crate) fn data_bytes(directory: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for path in data_files(directory)? {
        bytes += fs::metadata(path)?.len();
    }
    Ok(bytes)
}

fn data_files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "arrow") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Reads and writes every byte, as a compaction must; the kernel's own copy would share blocks.
pub(crate) fn copy_data(directory: &Path, copy: &Path) -> anyhow::Result<()> {
    let mut to = File::create(copy)?;
    let mut bytes = vec![0; 64 << 10];
    for path in data_files(directory)? {
        let mut from = File::open(path)?;
        loop {
            match from.read(&mut bytes)? {
                0 => break,
                count => to.write_all(&bytes[..count])?,
            }
        }
    }
    Ok(())
}

pub(crate) fn create(
    directory: &Path,
    metadata: &Shape,
    clock: &SystemClock,
) -> anyhow::Result<NewRun> {
    let schema = RunSchema::new(MODEL, metadata, &SystemInfo::default(), &[]);
    let about = summary(directory, clock);
    let run = ipw_store::create(directory, schema, Existing::Keep, "", &about, false)?;
    Ok(run)
}

pub(crate) fn summary(directory: &Path, clock: &SystemClock) -> Summary {
    Summary {
        model: Some(MODEL.to_owned()),
        dataset: Some("bench".to_owned()),
        dataset_name: Some("bench".to_owned()),
        ..Summary::begun(directory, clock.anchor())
    }
}

pub(crate) fn numbered(template: &Record, index: u64) -> Record {
    let mut record = template.clone();
    record.query.index = index;
    record.query.id = index.to_string();
    record.query.metadata.insert("row".to_owned(), index.into());
    record
}

/// A row like a real one: a paragraph in, a paragraph out, one stamp per token.
pub(crate) fn record() -> Record {
    let at = |milliseconds: u64| Timestamp::from_nanos(milliseconds * 1_000_000);
    let chunks: Vec<_> = (0..CHUNKS).map(|chunk| at(100 + 11 * chunk)).collect();
    let timing = Timing {
        sent: Some(at(1)),
        first_byte: Some(at(99)),
        first_token: chunks.first().copied(),
        first_answer_token: chunks.first().copied(),
        chunks,
        end: at(900),
        ..Timing::begun(at(0))
    };
    Record {
        query: Query {
            answer: Some("42".to_owned()),
            subject: Some("maths".to_owned()),
            ..Query::asking("x".repeat(PROMPT_BYTES))
        },
        part: 0,
        due: at(0),
        reply: Reply {
            outcome: Outcome::Complete,
            error: None,
            answer: "y".repeat(REPLY_BYTES),
            reasoning: None,
            tool_calls: None,
            finish_reason: Some("stop".to_owned()),
            tokens: TokenCounts {
                input: Some(70),
                output: Some(CHUNKS),
                ..TokenCounts::default()
            },
            token_source: Some(TokenSource::Usage),
            token_note: None,
            timing,
            exchange: Exchange::default(),
            service_timing: ServiceTiming::default(),
            compute: None,
        },
        energy: QueryEnergy::default(),
        grade: Grade::unscored(None, "no scorer"),
        kept: None,
    }
}
