//! A small run, what is done with it, and what of it is on disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_json::LineDelimitedWriter;
use ipw_core::counter::Rollover;
use ipw_core::energy::{Meter, MeteredSource, QueryEnergy, Reason};
use ipw_core::event::{Event, Notice, Observer as _};
use ipw_core::hardware::SystemInfo;
use ipw_core::query::Query;
use ipw_core::reading::Reading;
use ipw_core::record::Record;
use ipw_core::reply::{Exchange, Failure, Outcome, Reply, ServiceTiming, Timing, TokenCounts};
use ipw_core::shape::Shape;
use ipw_core::sink::{ReadingSink as _, Sink as _};
use ipw_core::source::{Domain, Method, Quantity, Role, Source, SourceIndex};
use ipw_core::time::{Clock, Timestamp};
use ipw_core::verdict::{Grade, Verdict};
use ipw_store::attribute::{Asking, attribute};
use ipw_store::events::EventLog;
use ipw_store::output::Existing;
use ipw_store::resume::{self, Again};
use ipw_store::schema::RunSchema;
use ipw_store::summary::Part;
use ipw_store::verdicts::{score, sets, use_set};
use ipw_store::{
    CommitPolicy, NewRun, ReadingWriter, Run, RunWriter, Status, StoreError, Summary, readings,
};
use ipw_testkit::ManualClock;
use serde_json::{Map, Value, json};

const MS: u64 = 1_000_000;

/// Rows by the index of their query, each as JSON.
pub(crate) type Rows = BTreeMap<u64, String>;

fn schema() -> RunSchema {
    let metadata = Shape::of(&json!({"row": 1, "tags": ["x"]})).settled();
    RunSchema::new("m", &metadata, &SystemInfo::default(), &[])
}

pub(crate) fn summary(directory: &Path, parts: u32) -> Summary {
    let anchor = ManualClock::default().anchor();
    let parts = (0..parts).map(|part| Part { part, anchor });
    Summary {
        model: Some("m".to_owned()),
        parts: parts.collect(),
        ..Summary::begun(directory, anchor)
    }
}

/// The row of a query: each is 100 ms long, and begins 50 ms after the one before.
pub(crate) fn record(index: u64, part: u32, outcome: Outcome) -> Record {
    let Value::Object(metadata) = json!({"row": index, "tags": ["a", "b"]}) else {
        unreachable!()
    };
    let at = |milliseconds: u64| Timestamp::from_nanos((500 + index * 50 + milliseconds) * MS);
    Record {
        query: Query {
            index,
            id: format!("q{index}"),
            problem: format!("question {index}"),
            messages: Vec::new(),
            turn: None,
            answer: Some(format!("{}", index % 2)),
            subject: None,
            metadata,
            parameters: Map::new(),
        },
        part,
        due: at(0),
        reply: Reply {
            error: (!outcome.is_answered()).then(|| "it broke".to_owned()),
            outcome,
            answer: format!("part {part} says {index}, {}", "and so on ".repeat(20)),
            reasoning: None,
            tool_calls: None,
            finish_reason: Some("stop".to_owned()),
            tokens: TokenCounts {
                input: Some(7),
                output: Some(index + 1),
                ..TokenCounts::default()
            },
            token_source: None,
            token_note: None,
            timing: Timing {
                sent: Some(at(1)),
                first_token: Some(at(30)),
                chunks: vec![at(30), at(60)],
                end: at(100),
                ..Timing::begun(at(0))
            },
            exchange: Exchange::default(),
            service_timing: ServiceTiming::default(),
            compute: None,
        },
        energy: QueryEnergy::unknown(Reason::NoReading),
        grade: Grade::unscored(None, "no scorer"),
        kept: None,
    }
}

/// Every second query goes wrong, each in another way.
pub(crate) fn outcome(index: u64) -> Outcome {
    match index % 6 {
        1 => Outcome::Failed(Failure::Reset),
        3 => Outcome::TimedOut,
        5 => Outcome::Cancelled,
        _ => Outcome::Complete,
    }
}

/// Commits by number alone: the first row, and then every two.
const POLICY: CommitPolicy = CommitPolicy {
    interval: Duration::from_hours(1),
    rows: 2,
    bytes: usize::MAX,
};

/// Rows on disk after `commits` commits of a part with `rows` rows.
pub(crate) fn committed(commits: usize, rows: usize) -> usize {
    if commits == 0 {
        0
    } else {
        (2 * commits - 1).min(rows)
    }
}

pub(crate) fn create(
    directory: &Path,
    existing: Existing,
    durable: bool,
) -> Result<NewRun, StoreError> {
    let about = summary(directory, 1);
    ipw_store::create(directory, schema(), existing, "plan = 1\n", &about, durable)
}

pub(crate) fn reopen(
    directory: &Path,
    again: Option<Again>,
    durable: bool,
) -> Result<(NewRun, Vec<u64>, u32), StoreError> {
    let run = Run::open(directory)?;
    let left = resume::look(&run, again.unwrap_or(Again::Cancelled))?;
    let about = summary(directory, left.next_part + 1);
    let again = again.filter(|_| left.again > 0);
    let new = resume::reopen(directory, schema(), &about, again, durable)?;
    Ok((new, left.done, left.next_part))
}

/// Writes these rows, with readings and events beside them, and ends the part.
pub(crate) fn write(
    run: NewRun,
    part: u32,
    rows: impl IntoIterator<Item = Record>,
    durable: bool,
) -> Result<(), StoreError> {
    write_at(Arc::default(), run, part, rows, durable)
}

/// The same, by a clock that the caller sets.
pub(crate) fn write_at(
    clock: Arc<ManualClock>,
    run: NewRun,
    part: u32,
    rows: impl IntoIterator<Item = Record>,
    durable: bool,
) -> Result<(), StoreError> {
    let directory = run.directory().to_owned();
    let sources = [source()];
    let meter = Meter::of(&sources[0], Duration::from_millis(10));
    let metered = sources.iter().map(|about| MeteredSource {
        about,
        meter: &meter,
        role: Role::Service,
    });
    let mut log = EventLog::create(&directory)?;
    log.notice(&Notice {
        at: Timestamp::ZERO,
        event: Event::Note {
            message: "begun".to_owned(),
        },
    });
    let mut readings = ReadingWriter::create(&directory, metered, part, durable)?;
    let lost = |error: ipw_core::sink::SinkError| *error.0.downcast::<StoreError>().unwrap();
    readings.note_idle(&[None]).map_err(lost)?;
    for from in [0, 1000] {
        readings.append(&polled(from)).map_err(lost)?;
    }
    let about = summary(&directory, part + 1);
    let mut writer = RunWriter::start(run, about, POLICY, clock)?;
    for row in rows {
        if writer.append(row).is_err() {
            break;
        }
    }
    writer.finish(Status::Complete, |_, _, _| {}).map(|_| ())
}

fn source() -> Source {
    Source {
        name: "test/0".to_owned(),
        collector: "test".into(),
        host: None,
        device: None,
        quantity: Quantity::Energy {
            domain: Domain::CpuPackage,
            rollover: Rollover::Resets,
        },
        method: Method::Counter,
        period: Some(Duration::from_millis(1)),
        privilege: "none".into(),
        relative_sigma: None,
    }
}

/// A second of readings of a device that draws 50 W.
fn polled(from: u64) -> Vec<Reading> {
    let nanos = |milliseconds: u64| Timestamp::from_nanos(milliseconds * MS);
    (from..from + 1000)
        .step_by(20)
        .map(|now| Reading {
            source: SourceIndex(0),
            at: nanos(now),
            previous: now.checked_sub(20).map(nanos),
            value: f64::from(u32::try_from(now).unwrap()) * 0.05,
        })
        .collect()
}

/// The rows of a run.
pub(crate) fn rows(directory: &Path) -> Result<Rows, StoreError> {
    match rows_before_damage(directory) {
        (rows, None) => Ok(rows),
        (_, Some(error)) => Err(error),
    }
}

/// The rows of a run up to the first error, and the error.
pub(crate) fn rows_before_damage(directory: &Path) -> (Rows, Option<StoreError>) {
    let mut rows = Rows::new();
    let run = match Run::open(directory) {
        Ok(run) => run,
        Err(error) => return (rows, Some(error)),
    };
    for batch in run.batches() {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => return (rows, Some(error)),
        };
        let mut text = Vec::new();
        let mut writer = LineDelimitedWriter::new(&mut text);
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        for line in String::from_utf8(text).unwrap().lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let index = row["query_index"].as_u64();
            let index = index.unwrap_or_else(|| panic!("a row without a query: {line}"));
            let twice = rows.insert(index, line.to_owned());
            assert!(twice.is_none(), "query {index} has two rows");
        }
    }
    (rows, None)
}

/// Readings of a run, which are all sound; `None` where it has none yet.
pub(crate) fn readings_of(directory: &Path) -> Option<usize> {
    match readings::read(directory) {
        Ok((sources, all)) => {
            let is_sound = |reading: &Reading| usize::from(reading.source.0) < sources.len();
            assert!(all.iter().all(is_sound), "a reading of an unknown source");
            assert_eq!(all.len() % 50, 0, "a commit of readings was torn");
            Some(all.len())
        }
        Err(StoreError::NotARun { .. }) => None,
        Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => panic!("readings: {error:?}"),
    }
}

/// Files that no reader and no writer needs.
pub(crate) fn orphans(directory: &Path) -> Vec<String> {
    let state = fs::read_to_string(directory.join("state.json")).unwrap();
    let names = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    names
        .map(|name| name.into_string().unwrap())
        .filter(|name| name.contains(".new-") || (name.contains("data-") && !state.contains(name)))
        .collect()
}

/// What changes the rows of a run that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rewrite {
    Attribute,
    Score,
    UseSet,
}

impl Rewrite {
    pub(crate) fn apply(self, directory: &Path) -> Result<(), StoreError> {
        match self {
            Self::Attribute => {
                let asking = Asking::default();
                attribute(directory, &asking, |about, _, _| touch(about)).map(|_| ())
            }
            Self::Score => {
                let grade = |right: bool| Grade {
                    verdict: if right {
                        Verdict::Correct
                    } else {
                        Verdict::Wrong
                    },
                    scorer: Some("exact"),
                    extracted: None,
                    reason: "by its number".to_owned(),
                    judge: None,
                };
                let grade = |index: u64| grade(index.is_multiple_of(2));
                let graded = score(
                    directory,
                    |answer| answer.is_answered.then(|| grade(answer.index)),
                    |about, _, _| touch(about),
                );
                graded.map(|_| ())
            }
            Self::UseSet => use_set(directory, 1, |about, _, _| touch(about)).map(|_| ()),
        }
    }
}

fn touch(about: &mut Summary) {
    about.name = Some("touched".to_owned());
}

/// How many sets of verdicts a run has; all of them can be read.
pub(crate) fn verdict_sets(directory: &Path) -> usize {
    let sets = sets(&Run::open(directory).unwrap()).unwrap();
    assert!(sets.damaged.is_empty(), "{:?}", sets.damaged);
    sets.sets.len()
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A directory in memory where there is one: what is synced is counted, not waited for.
pub(crate) fn place() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}
