//! A run from its first row to its last, and what is on disk in between.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helper fails loudly"
)]

mod damaged;
mod stranger;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{Array, Int64Array, StringArray};
use ipw_core::energy::{QueryEnergy, Reason};
use ipw_core::hardware::SystemInfo;
use ipw_core::query::Query;
use ipw_core::record::Record;
use ipw_core::reply::{
    Exchange, Failure, Outcome, Reply, ServiceTiming, Timing, TokenCounts, TokenSource,
};
use ipw_core::shape::Shape;
use ipw_core::sink::Sink;
use ipw_core::time::{Clock, Timestamp};
use ipw_core::verdict::Grade;
use ipw_store::output::Existing;
use ipw_store::reader::column;
use ipw_store::schema::RunSchema;
use ipw_store::summary::ProfilerConfig;
use ipw_store::{CommitPolicy, NewRun, Overview, Run, RunWriter, Status, StoreError, Summary};
use ipw_testkit::ManualClock;
use serde_json::{Map, Value, json};

fn metadata() -> Shape {
    let row = Shape::of(&json!({"row": 1, "tags": ["x"], "level": 0.5})).settled();
    assert!(matches!(row, Shape::Struct(_)));
    row
}

fn record(index: u64, outcome: Outcome) -> Record {
    let Value::Object(metadata) = json!({"row": index, "tags": ["a", "b"], "level": null}) else {
        unreachable!()
    };
    let timing = Timing {
        sent: Some(Timestamp::from_nanos(10)),
        first_token: Some(Timestamp::from_nanos(1_000_010)),
        chunks: vec![
            Timestamp::from_nanos(1_000_010),
            Timestamp::from_nanos(3_000_010),
        ],
        end: Timestamp::from_nanos(4_000_010),
        ..Timing::begun(Timestamp::from_nanos(5))
    };
    Record {
        query: Query {
            index,
            id: format!("q{index}"),
            problem: format!("question {index}"),
            messages: Vec::new(),
            turn: None,
            answer: None,
            subject: Some("maths".to_owned()),
            metadata,
            parameters: Map::new(),
        },
        part: 0,
        due: Timestamp::ZERO,
        reply: Reply {
            error: (!outcome.is_answered()).then(|| "it broke".to_owned()),
            outcome,
            answer: "42".to_owned(),
            reasoning: None,
            tool_calls: None,
            finish_reason: Some("stop".to_owned()),
            tokens: TokenCounts {
                input: Some(7),
                output: Some(2),
                ..TokenCounts::default()
            },
            token_source: Some(TokenSource::Usage),
            token_note: None,
            timing,
            exchange: Exchange::default(),
            service_timing: ServiceTiming::default(),
            compute: None,
        },
        energy: QueryEnergy::unknown(Reason::NoSource),
        grade: Grade::unscored(None, "no scorer"),
        kept: None,
    }
}

fn summary(directory: &Path) -> Summary {
    Summary {
        model: Some("m/1.5:b".to_owned()),
        profiler_config: Some(ProfilerConfig::default()),
        dataset: Some("d".to_owned()),
        dataset_name: Some("d".to_owned()),
        hardware_label: Some("UNKNOWN_HW".to_owned()),
        ..Summary::begun(directory, ManualClock::default().anchor())
    }
}

fn create(directory: &Path, existing: Existing) -> Result<NewRun, StoreError> {
    let schema = RunSchema::new("m/1.5:b", &metadata(), &SystemInfo::default(), &[]);
    ipw_store::create(
        directory,
        schema,
        existing,
        "plan = 1\n",
        &summary(directory),
        false,
    )
}

fn start(directory: &Path, policy: CommitPolicy, clock: &Arc<ManualClock>) -> RunWriter {
    let run = create(directory, Existing::Replace).unwrap();
    RunWriter::start(
        run,
        summary(directory),
        policy,
        Arc::clone(clock) as Arc<dyn Clock>,
    )
    .unwrap()
}

fn rows(directory: &Path) -> u64 {
    Run::open(directory).unwrap().rows().unwrap()
}

/// Waits for the writer's thread; the bound is for a broken test, not a measurement.
fn wait_for_rows(directory: &Path, expected: u64) {
    for _ in 0..2000 {
        if rows(directory) == expected {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{} rows, expected {expected}", rows(directory));
}

/// A finished run with `rows` rows.
fn finished_run(directory: &Path, rows: u64) {
    let clock = Arc::new(ManualClock::default());
    let mut writer = start(directory, CommitPolicy::every(10), &clock);
    for index in 0..rows {
        writer.append(record(index, Outcome::Complete)).unwrap();
    }
    writer.finish(Status::Complete, |_, _, _| {}).unwrap();
}

fn temporary() -> (tempfile::TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    (parent, directory)
}

#[test]
fn a_new_run_opens_and_has_no_rows() {
    let (_parent, directory) = temporary();
    create(&directory, Existing::Keep).unwrap();
    let run = Run::open(&directory).unwrap();
    assert_eq!((run.rows().unwrap(), run.model()), (0, "m/1.5:b"));
    assert_eq!(run.summary().status, Some(Status::Running));
    for file in [
        "state.json",
        "dataset_info.json",
        "summary.json",
        "plan.toml",
    ] {
        assert!(directory.join(file).exists(), "{file}");
    }
}

#[test]
fn the_first_row_is_on_disk_at_once_and_the_next_within_the_interval() {
    let (_parent, directory) = temporary();
    let clock = Arc::new(ManualClock::default());
    let policy = CommitPolicy {
        interval: Duration::from_millis(50),
        rows: 100,
        bytes: 1 << 20,
    };
    let mut writer = start(&directory, policy, &clock);
    writer.append(record(0, Outcome::Complete)).unwrap();
    wait_for_rows(&directory, 1);
    writer.append(record(1, Outcome::Complete)).unwrap();
    wait_for_rows(&directory, 2);
}

#[test]
fn rows_are_committed_by_number_and_by_size_before_the_interval_is_over() {
    for policy in [
        CommitPolicy {
            interval: Duration::from_hours(1),
            rows: 3,
            bytes: usize::MAX,
        },
        CommitPolicy {
            interval: Duration::from_hours(1),
            rows: usize::MAX,
            bytes: 5000,
        },
    ] {
        let (_parent, directory) = temporary();
        let clock = Arc::new(ManualClock::default());
        let mut writer = start(&directory, policy, &clock);
        writer.append(record(0, Outcome::Complete)).unwrap();
        wait_for_rows(&directory, 1);
        for index in 1..=2 {
            writer.append(record(index, Outcome::Complete)).unwrap();
        }
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(rows(&directory), 1, "two rows wait");
        writer.append(record(3, Outcome::Complete)).unwrap();
        wait_for_rows(&directory, 4);
    }
}

#[test]
fn a_finished_run_has_every_row_in_order_with_its_values() {
    let (_parent, directory) = temporary();
    let clock = Arc::new(ManualClock::default());
    let mut writer = start(&directory, CommitPolicy::every(7), &clock);
    for index in 0..2500 {
        let failed = index % 100 == 99;
        let outcome = if failed {
            Outcome::Failed(Failure::Reset)
        } else {
            Outcome::Complete
        };
        writer.append(record(index, outcome)).unwrap();
    }
    let finished = writer.finish(Status::Complete, |_, _, _| {}).unwrap();
    assert!(finished.warnings.is_empty(), "{:?}", finished.warnings);

    let run = Run::open(&directory).unwrap();
    let batches: Vec<_> = run.batches().collect::<Result<_, _>>().unwrap();
    assert!(
        batches.len() <= 4,
        "compacted into {} batches",
        batches.len()
    );
    let mut expected = 0;
    for batch in &batches {
        let indices = column::<Int64Array>(batch, "query_index").unwrap();
        let answers = column::<StringArray>(batch, "answer").unwrap();
        let tags = column::<arrow_array::ListArray>(batch, "dataset_metadata.tags").unwrap();
        for row in 0..batch.num_rows() {
            assert_eq!(indices.value(row), expected);
            assert!(answers.is_null(row));
            assert_eq!(tags.value(row).len(), 2);
            expected += 1;
        }
    }
    assert_eq!(expected, 2500);
    let overview = finished.overview;
    assert_eq!((overview.rows, overview.failed()), (2500, 25));
    assert_eq!(overview.outcomes["failed:reset"], 25);
    assert_eq!(
        (overview.tokens.input, overview.tokens.output),
        (Some(17_500), Some(5000))
    );
    let total = overview.total_query_seconds.unwrap();
    assert_eq!(total.count, 2475, "failed rows have no latency");
    assert!((total.p50 - 0.004).abs() < 1e-9);
    let summary: Value =
        serde_json::from_slice(&std::fs::read(directory.join("summary.json")).unwrap()).unwrap();
    assert_eq!(
        (&summary["status"], &summary["total_queries"]),
        (&json!("complete"), &json!(2500))
    );
    let data_files = std::fs::read_dir(&directory).unwrap().filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with("data-")
    });
    assert_eq!(data_files.count(), 1, "the commits' file is gone");
}

#[test]
fn rows_are_read_one_by_one_with_what_was_asked_said_and_measured() {
    let (_parent, directory) = temporary();
    finished_run(&directory, 3);
    let run = Run::open(&directory).unwrap();
    let mut seen = 0;
    run.for_each_query(|row| {
        assert_eq!((row.index, row.id), (seen, &*format!("q{seen}")));
        assert_eq!(row.texts.problem, format!("question {seen}"));
        assert_eq!((row.subject, row.texts.expected), (Some("maths"), None));
        assert_eq!((row.texts.answer, row.is_answered), (Some("42"), true));
        assert_eq!((row.input_tokens, row.output_tokens), (Some(7), Some(2)));
        assert_eq!((row.is_correct, row.is_slo_met), (None, None));
        assert_eq!(
            (row.energy.joules, row.energy.reason),
            (None, Some("no_source"))
        );
        assert_eq!(row.shares.len(), 0);
        assert!((row.total.unwrap() - 0.004).abs() < 1e-9);
        assert!((row.time_to_first_token.unwrap() - 0.001).abs() < 1e-9);
        assert!((row.end.unwrap() - 0.004_000_010).abs() < 1e-12);
        seen += 1;
    })
    .unwrap();
    assert_eq!(seen, 3);
}

#[test]
fn the_summary_has_the_originals_keys_first() {
    let (_parent, directory) = temporary();
    create(&directory, Existing::Keep).unwrap();
    let text = std::fs::read(directory.join("summary.json")).unwrap();
    let Value::Object(summary) = serde_json::from_slice(&text).unwrap() else {
        panic!()
    };
    let keys: Vec<_> = summary.keys().map(String::as_str).collect();
    assert_eq!(
        keys[..12],
        [
            "model",
            "profiler_config",
            "dataset",
            "dataset_name",
            "hardware_label",
            "generated_at",
            "total_queries",
            "system_info",
            "gpu_info",
            "output_dir",
            "versions",
            "client_info",
        ]
    );
}

#[test]
fn what_is_in_the_way_stays_unless_it_may_be_replaced() {
    let (parent, directory) = temporary();
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("precious"), "x").unwrap();
    assert!(matches!(
        create(&directory, Existing::Keep),
        Err(StoreError::Exists { .. })
    ));
    assert!(directory.join("precious").exists());
    assert_eq!(
        std::fs::read_dir(parent.path()).unwrap().count(),
        1,
        "nothing is left behind"
    );
}

#[test]
fn the_old_run_is_kept_aside_until_the_new_one_is_complete() {
    for (status, expect_old) in [(Status::Complete, false), (Status::Interrupted, true)] {
        let (_parent, directory) = temporary();
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("precious"), "x").unwrap();
        let run = create(&directory, Existing::Replace).unwrap();
        let aside = run.aside().unwrap().to_owned();
        assert!(
            aside
                .file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with('.')
        );
        assert!(aside.join("precious").exists());
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::default());
        let writer =
            RunWriter::start(run, summary(&directory), CommitPolicy::every(1), clock).unwrap();
        writer.finish(status, |_, _, _| {}).unwrap();
        assert_eq!(aside.join("precious").exists(), expect_old);
    }
}

#[test]
fn a_directory_that_is_no_run_says_what_is_missing() {
    let parent = tempfile::tempdir().unwrap();
    for (path, says) in [
        (parent.path().to_owned(), "no `state.json`"),
        (parent.path().join("absent"), "does not exist"),
    ] {
        let error = Run::open(&path).err().unwrap().to_string();
        assert!(
            error.contains("not a run directory") && error.contains(says),
            "{error}"
        );
    }
    std::fs::write(parent.path().join("state.json"), "{").unwrap();
    assert!(matches!(
        Run::open(parent.path()),
        Err(StoreError::Json { .. })
    ));
}

#[test]
fn a_run_without_rows_has_an_overview() {
    let (_parent, directory) = temporary();
    let clock = Arc::new(ManualClock::default());
    let writer = start(&directory, CommitPolicy::every(1), &clock);
    let finished = writer.finish(Status::Complete, |_, _, _| {}).unwrap();
    assert_eq!(finished.overview.rows, 0);
    assert_eq!(finished.overview.total_query_seconds, None);
    let again = Overview::of(&Run::open(&directory).unwrap()).unwrap();
    assert_eq!(again, finished.overview);
}
