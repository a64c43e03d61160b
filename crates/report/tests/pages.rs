//! Pages of runs as they come: whole, killed, empty, failed, without energy, without grades, large.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helper fails loudly"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ipw_analysis::metric::{self, Tally, Values};
use ipw_core::counter::Rollover;
use ipw_core::energy::{QueryEnergy, Reason, Share, WindowEnergy};
use ipw_core::hardware::{Device, SystemInfo};
use ipw_core::query::Query;
use ipw_core::record::Record;
use ipw_core::reply::{
    Exchange, Failure, Outcome, Reply, ServiceTiming, Timing, TokenCounts, TokenSource,
};
use ipw_core::rollup::Use;
use ipw_core::shape::Shape;
use ipw_core::sink::Sink;
use ipw_core::source::{Domain, Method, Quantity, Source};
use ipw_core::telemetry::{Absent, Telemetry};
use ipw_core::time::{Clock, Timestamp};
use ipw_core::units::Joules;
use ipw_core::verdict::{Grade, Verdict};
use ipw_core::warning::{RunKind, Severity, Warning};
use ipw_report::{Options, Page, csv, html, json, markdown};
use ipw_store::output::Existing;
use ipw_store::schema::RunSchema;
use ipw_store::summary::{ClientInfo, GivenParameters, ProfilerConfig};
use ipw_store::{CommitPolicy, Overview, Run, RunWriter, Status, Summary};
use ipw_testkit::ManualClock;
use serde_json::{Map, Value, json};

const MODEL: &str = "/home/alice/models/tiny";
const HOST: &str = "alices-laptop";
const HOSTILE: &str =
    "</script><script>window.hacked=1</script><img src=x onerror=alert(1)>\u{202e}\0";

fn map(value: &Value) -> Option<GivenParameters> {
    value.as_object().cloned().map(GivenParameters::from)
}

fn absent(collector: &str, reason: &str) -> Absent {
    Absent {
        collector: collector.to_owned().into(),
        is_here: true,
        reason: reason.to_owned(),
        fix: None,
        risk: None,
    }
}

/// A run in a directory that vanishes with it.
struct Made {
    directory: tempfile::TempDir,
    summary: Summary,
}

impl Made {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let summary = Summary {
            model: Some(MODEL.to_owned()),
            profiler_config: Some(ProfilerConfig {
                model: Some(MODEL.to_owned()),
                client_id: Some("openai".to_owned()),
                client_base_url: Some("http://secret.example:8080/v1".to_owned()),
                additional_parameters: map(&json!({"temperature": 0.5, "stop": "STOPWORD"})),
                dataset_params: map(&json!({"path": "/home/alice/questions.jsonl"})),
                warmup_queries: Some(3),
                ..ProfilerConfig::default()
            }),
            dataset: Some("jsonl".to_owned()),
            dataset_name: Some("questions".to_owned()),
            hardware_label: Some("EPYC".to_owned()),
            system_info: Some(SystemInfo {
                host_name: Some(HOST.to_owned()),
                cpu_brand: Some("AMD EPYC".to_owned()),
                cpu_count: Some(2),
                ..SystemInfo::default()
            }),
            client_info: ClientInfo::of(
                json!({"base_url": "http://secret.example:8080/v1", "models": [MODEL]}),
            ),
            ..Summary::begun(
                &directory.path().join("run"),
                ManualClock::default().anchor(),
            )
        };
        Self { directory, summary }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("run")
    }

    fn start(&self) -> RunWriter {
        let shape = Shape::of(&json!({"row": 1})).settled();
        let schema = RunSchema::new(MODEL, &shape, &SystemInfo::default(), &[]);
        let plan = format!(
            "model = \"{MODEL}\"\n[dataset]\nid = \"jsonl\"\n[dataset.params]\npath = \"/home/alice/questions.jsonl\"\n[client]\nid = \"openai\"\nbase_url = \"http://secret.example:8080/v1\"\n[generation]\nsystem = \"SYSTEMTEXT\"\n[load]\nwarmup = 3\n"
        );
        let run = ipw_store::create(
            &self.path(),
            schema,
            Existing::Keep,
            &plan,
            &self.summary,
            false,
        )
        .unwrap();
        let clock = Arc::new(ManualClock::default()) as Arc<dyn Clock>;
        RunWriter::start(run, self.summary.clone(), CommitPolicy::every(1000), clock).unwrap()
    }

    /// A finished run of these rows.
    fn finished(
        self,
        status: Status,
        rows: impl IntoIterator<Item = Record>,
        change: impl FnOnce(&mut Summary),
    ) -> Self {
        let mut writer = self.start();
        for row in rows {
            writer.append(row).unwrap();
        }
        writer
            .finish(status, |summary, _, _| change(summary))
            .unwrap();
        self
    }

    fn page(&self, options: &Options) -> Page {
        page(&self.path(), options)
    }
}

fn page(path: &Path, options: &Options) -> Page {
    let run = Run::open(path).unwrap();
    let overview = Overview::of(&run).unwrap();
    let options = Options {
        values: values(&run),
        ..options.clone()
    };
    Page::of(&run, &overview, options).unwrap()
}

/// The metrics of queries that were sent one after the other.
fn values(run: &Run) -> Values {
    let mut tally = Tally::default();
    run.for_each_query(|row| {
        let row = metric::Row {
            joules: row.energy.joules,
            seconds: row.seconds(),
            is_answered: row.is_answered,
            is_correct: row.is_correct,
            ..metric::Row::default()
        };
        tally.push(&row.alone());
    })
    .unwrap();
    tally.finish()
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

/// A row that was answered, in 100 ms and a bit.
fn row(index: u64) -> Record {
    let start = index * 200;
    let metadata = Map::from_iter([("row".to_owned(), json!(index))]);
    Record {
        query: Query {
            index,
            id: format!("q{index}"),
            problem: format!("PROMPTTEXT number {index}"),
            messages: Vec::new(),
            turn: None,
            answer: Some("EXPECTEDTEXT".to_owned()),
            subject: Some(
                if index.is_multiple_of(2) {
                    "even"
                } else {
                    "odd"
                }
                .to_owned(),
            ),
            metadata,
            parameters: Map::new(),
        },
        part: 0,
        due: at(start),
        reply: Reply {
            error: None,
            outcome: Outcome::Complete,
            answer: "ANSWERTEXT".to_owned(),
            reasoning: Some("REASONINGTEXT".to_owned()),
            tool_calls: None,
            finish_reason: None,
            tokens: TokenCounts {
                input: Some(7),
                output: Some(2),
                ..TokenCounts::default()
            },
            token_source: Some(TokenSource::Usage),
            token_note: None,
            timing: Timing {
                sent: Some(at(start)),
                first_token: Some(at(start + 20)),
                chunks: vec![at(start + 20), at(start + 60)],
                end: at(start + 100 + index % 7),
                ..Timing::begun(at(start))
            },
            exchange: Exchange::default(),
            service_timing: ServiceTiming::default(),
            compute: None,
        },
        energy: QueryEnergy::unknown(Reason::NoSource),
        grade: Grade::unscored(None, "no scorer"),
        kept: None,
    }
}

fn failed(index: u64) -> Record {
    let mut record = row(index);
    record.reply.outcome = Outcome::Failed(Failure::Http(500));
    record.reply.error = Some("ERRORTEXT at /srv/private/log".to_owned());
    record
}

fn graded(mut record: Record, verdict: Verdict) -> Record {
    record.grade.verdict = verdict;
    record
}

fn package(method: Method) -> Source {
    Source {
        name: "rapl/package-0".to_owned(),
        collector: "rapl".into(),
        host: None,
        device: None,
        quantity: Quantity::Energy {
            domain: Domain::CpuPackage,
            rollover: Rollover::Resets,
        },
        method,
        period: None,
        privilege: "none".into(),
        relative_sigma: None,
    }
}

fn with_energy(mut record: Record, method: Method, joules: f64) -> Record {
    record.energy = QueryEnergy {
        shares: vec![Share {
            source: Arc::new(package(method)),
            domain: Domain::CpuPackage,
            used: Use::Headline,
            energy: WindowEnergy {
                energy: Some(Joules::from_joules(joules)),
                above_idle: None,
                power: None,
                reason: None,
                sigma: Some(Joules::from_joules(joules / 10.0)),
                coverage: 1.0,
            },
        }],
        ..QueryEnergy::default()
    };
    record
}

fn value<'a>(page: &'a Page, id: &str) -> Option<&'a str> {
    let found = page.headline.iter().find(|one| one.id == id);
    found.unwrap_or_else(|| panic!("no {id}")).value.as_deref()
}

/// Everything that a page can be written as holds together.
fn writes(page: &Page) -> String {
    let text = html(page);
    assert!(text.starts_with("<!doctype html>") && text.ends_with("</html>\n"));
    assert_eq!(
        text.matches("<script").count(),
        2,
        "data, and our own script"
    );
    let data = text.split("id=\"ipw-data\">").nth(1).unwrap();
    let data = data.split("</script>").next().unwrap();
    serde_json::from_str::<Value>(data).unwrap();
    assert!(
        !data.contains("NaN") && !data.contains("inf"),
        "every number is finite"
    );
    assert!(markdown(page).starts_with("# "));
    let back: Value = serde_json::from_str(&json(page)).unwrap();
    let lines = back["queries"]["lines"].as_array().unwrap();
    assert_eq!(lines.len(), page.queries.lines.len());
    assert_eq!(csv(page).lines().next().unwrap().split(',').count(), 19);
    text
}

#[test]
fn a_whole_run_says_its_figures_with_intervals_and_how() {
    let rows = (0..100).map(|n| {
        let verdict = if n % 4 == 0 {
            Verdict::Wrong
        } else {
            Verdict::Correct
        };
        with_energy(graded(row(n), verdict), Method::Counter, 2.0)
    });
    let made = Made::new().finished(Status::Complete, rows, |_| {});
    let page = made.page(&Options::default());
    assert_eq!(value(&page, "accuracy"), Some("75.0 %"));
    assert_eq!(value(&page, "joules_per_query"), Some("2.00 J"));
    assert_eq!(value(&page, "sent_latency_p50"), Some("103 ms"));
    // 2 J in 103 ms: 19.4 W; 0.75 of it.
    assert_eq!(value(&page, "ipw"), Some("0.0386 /W"));
    let how: Vec<_> = page
        .headline
        .iter()
        .filter_map(|one| one.how)
        .map(ipw_report::How::label)
        .collect();
    assert!(how.contains(&"measured by counter"), "{how:?}");
    assert!(page.headline.iter().all(|one| one.detail.is_some()));
    let ids: Vec<_> = page.tables.iter().map(|table| table.id.as_str()).collect();
    assert_eq!(ids, ["latency", "sources", "subjects", "outcomes"]);
    for table in &page.tables {
        assert!(
            table
                .rows
                .iter()
                .all(|row| row.len() == table.columns.len()),
            "{}",
            table.id
        );
    }
    let latency = &page.tables[0].rows[1];
    assert_eq!(latency[6].text, "n/a");
    assert_eq!(latency[6].detail.as_deref(), Some("needs ≥ 368"));
    assert_eq!(page.queries.lines.len(), 100);
    assert!(page.timeline.seconds > 19.0);
    assert!(page.warnings.is_empty(), "{:?}", page.warnings);
    let text = writes(&page);
    assert!(text.contains("Nothing in the data gives reason for doubt"));
    assert!(!text.contains("estimated, not measured"));
}

#[test]
fn an_estimate_is_called_one_wherever_it_stands() {
    let rows =
        (0..40).map(|n| with_energy(graded(row(n), Verdict::Correct), Method::Estimated, 2.0));
    let made = Made::new().finished(Status::Complete, rows, |_| {});
    let page = made.page(&Options::default());
    for id in ["ipw", "ipj", "joules_per_query"] {
        let one = page.headline.iter().find(|one| one.id == id).unwrap();
        assert_eq!(one.how, Some(ipw_report::How::Estimated), "{id}");
    }
    assert!(page.lede.contains("estimated"), "{}", page.lede);
    assert!(
        page.warnings
            .iter()
            .any(|note| note.text.starts_with("Energy is estimated"))
    );
    assert!(
        page.tables[0]
            .rows
            .iter()
            .any(|row| row[0].text == "energy (estimated)" && row[1].is_estimated)
    );
    assert!(page.queries.lines.iter().all(|line| line.is_estimated));
    assert_eq!(
        writes(&page)
            .matches("<p class=\"how\">estimated, not measured</p>")
            .count(),
        3
    );
}

#[test]
fn a_killed_run_has_a_page_of_its_rows_so_far() {
    let made = Made::new();
    let mut writer = made.start();
    for n in 0..5 {
        writer.append(row(n)).unwrap();
    }
    // As after `kill -9`: committed, never finished.
    std::mem::forget(writer);
    let rows = || Run::open(&made.path()).unwrap().rows().unwrap();
    for _ in 0..1000 {
        if rows() > 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let page = made.page(&Options::default());
    assert_eq!(page.about.status, "running");
    assert!(page.about.rows > 0);
    assert!(
        page.warnings
            .iter()
            .any(|note| note.text.contains("not finished"))
    );
    assert!(writes(&page).contains("not finished"));
}

#[test]
fn a_run_without_rows_says_so() {
    let made = Made::new().finished(Status::Complete, [], |_| {});
    let page = made.page(&Options::default());
    assert!(
        page.headline
            .iter()
            .all(|one| one.value.is_none() && one.detail.is_some())
    );
    assert!(page.lede.contains("no rows"), "{}", page.lede);
    let text = writes(&page);
    assert!(text.contains("This run has no rows.") && text.contains("nothing to draw"));
}

#[test]
fn a_run_of_failures_has_no_latency_and_no_zero() {
    let made = Made::new().finished(Status::Failed, (0..30).map(failed), |summary| {
        summary.reason = Some("too many failed".to_owned());
    });
    let page = made.page(&Options::default());
    assert_eq!(value(&page, "sent_latency_p50"), None);
    assert!(
        page.lede.contains("answered none of 30 queries"),
        "{}",
        page.lede
    );
    assert_eq!(page.warnings[0].severity, Severity::Problem);
    assert!(page.warnings[0].text.contains("too many failed"));
    let written: Value = serde_json::from_str(&json(&page)).unwrap();
    assert_eq!(
        written["notes"][0].to_string(),
        r#"{"level":"problem","finding":"This run failed: too many failed","advice":"`ipw profile resume=RUN` goes on with it"}"#
    );
    let redacted = made.page(&Options {
        redact: true,
        ..Options::default()
    });
    assert_eq!(redacted.warnings[0].text, "This run failed");
    assert!(
        page.queries
            .lines
            .iter()
            .all(|line| line.seconds.is_none() && line.start.is_some())
    );
    assert!(writes(&page).contains("failed:http_500"));
}

#[test]
fn without_energy_or_grades_the_page_says_why() {
    let made = Made::new().finished(Status::Complete, (0..40).map(row), |_| {});
    let page = made.page(&Options::default());
    let detail = |id: &str| {
        let one = page.headline.iter().find(|one| one.id == id).unwrap();
        one.detail.clone().unwrap()
    };
    assert!(detail("joules_per_query").contains("no source here reports energy"));
    assert!(detail("accuracy").contains("no scorer"));
    assert!(value(&page, "sent_latency_p50").is_some());
    let text = writes(&page);
    assert!(text.contains("n/a") && !text.contains("0 J<"));
}

#[test]
fn hostile_texts_are_data() {
    let mut record = failed(0);
    for text in [
        &mut record.query.problem,
        &mut record.reply.answer,
        record.reply.error.as_mut().unwrap(),
        record.query.subject.as_mut().unwrap(),
        record.query.answer.as_mut().unwrap(),
    ] {
        HOSTILE.clone_into(text);
    }
    let made = Made::new().finished(Status::Complete, [record], |summary| {
        summary.hardware_label = Some(HOSTILE.to_owned());
        summary.dataset_name = Some(HOSTILE.to_owned());
        summary.reason = Some(HOSTILE.to_owned());
        summary.client_info = ClientInfo::of(json!({"name": HOSTILE, HOSTILE: 1}));
        summary.telemetry = Some(Telemetry {
            estimate: Some(HOSTILE.to_owned()),
            absent: vec![absent(HOSTILE, HOSTILE)],
            ..Telemetry::default()
        });
    });
    let page = made.page(&Options::default());
    let text = writes(&page);
    assert!(!text.contains("<img") && !text.contains("<script>window"));
    assert!(!text.contains('\0'));
    let markup = text.split("id=\"ipw-data\"").next().unwrap();
    assert!(!markup.contains('\u{202e}'), "nothing turns the writing");
    assert_eq!(page.queries.lines[0].prompt.as_ref().unwrap().text, HOSTILE);
    for line in markdown(&page).lines() {
        assert!(
            !line.contains("<img") && !line.contains("<script"),
            "{line}"
        );
    }
}

#[test]
fn a_redacted_page_knows_nothing_of_people_places_and_words() {
    let rows = (0..40).map(|n| if n % 5 == 0 { failed(n) } else { row(n) });
    let made = Made::new().finished(Status::Interrupted, rows, |summary| {
        summary.reason = Some(format!("REASONTEXT on {HOST} in /home/alice"));
        summary.telemetry = Some(Telemetry {
            devices: vec![Device {
                id: "nvml/0".to_owned(),
                name: Some("H100".to_owned()),
                uuid: Some("GPU-1234-5678".to_owned()),
                pci: Some("0000:3b:00.0".to_owned()),
                ..Device::default()
            }],
            faults: vec!["cannot read /sys/private/energy".to_owned()],
            absent: vec![absent("rapl", "no right to read /sys/class/powercap")],
            ..Telemetry::default()
        });
    });
    let secrets = [
        "PROMPTTEXT",
        "ANSWERTEXT",
        "EXPECTEDTEXT",
        "REASONINGTEXT",
        "ERRORTEXT",
        "SYSTEMTEXT",
        "STOPWORD",
        "REASONTEXT",
        HOST,
        "alice",
        "/home",
        "/srv",
        "/sys",
        "secret.example",
        "questions.jsonl",
        "GPU-1234",
        "3b:00",
        &made.path().display().to_string(),
    ];
    let open = made.page(&Options::default());
    assert!(
        html(&open).contains("PROMPTTEXT"),
        "the test sees what it looks for"
    );
    let warnings = vec![Warning::new(
        RunKind::Fault,
        format!("a reading failed on {HOST}: /home/alice/x, http://secret.example/a"),
    )];
    let page = made.page(&Options {
        redact: true,
        warnings,
        ..Options::default()
    });
    for text in [writes(&page), markdown(&page), json(&page), csv(&page)] {
        for secret in secrets {
            let place = text.find(secret);
            let around = place.map(|place| {
                let from = text[..place]
                    .char_indices()
                    .rev()
                    .nth(60)
                    .map_or(0, |(at, _)| at);
                &text[from..place + secret.len()]
            });
            assert_eq!(around, None, "{secret}");
        }
    }
    assert_eq!(page.about.model, "tiny");
    assert!(
        page.queries
            .lines
            .iter()
            .any(|line| line.outcome == "failed:http_500")
    );
    assert!(json(&page).contains("temperature"));
    assert!(
        page.manifest
            .iter()
            .any(|section| section.facts.iter().any(|(name, _)| name == "CPU"))
    );
}

#[test]
fn ten_thousand_queries_are_all_there_and_small_enough_to_send() {
    let long = "word ".repeat(200);
    let rows = (0..10_000).map(|n| {
        let mut record = with_energy(graded(row(n), Verdict::Correct), Method::Counter, 2.345_678);
        record.query.problem = format!("{n}: {long}");
        record.reply.answer = format!("<b>{long}</b>");
        record
    });
    let made = Made::new().finished(Status::Complete, rows, |_| {});
    let page = made.page(&Options::default());
    assert_eq!(page.queries.lines.len(), 10_000);
    let text = writes(&page);
    assert!(text.len() < 3_000_000, "{}", text.len());
    assert!(
        page.queries
            .lines
            .iter()
            .all(|line| line.prompt.as_ref().unwrap().is_cut)
    );
    assert!(
        page.queries.lines[17]
            .prompt
            .as_ref()
            .unwrap()
            .text
            .starts_with("17: word")
    );
}

#[test]
fn of_more_queries_failures_and_the_worst_are_kept() {
    let rows = (0..25_000).map(|n| match n {
        // These two lie between the evenly spaced ones.
        12_345 => failed(n),
        17_777 => {
            let mut slow = row(n);
            slow.reply.timing.end = at(n * 200 + 60_000);
            slow
        }
        _ => row(n),
    });
    let made = Made::new().finished(Status::Complete, rows, |_| {});
    let page = made.page(&Options::default());
    assert_eq!(page.queries.in_all, 25_000);
    let shown = page.queries.lines.len();
    assert!((5_000..=10_000).contains(&shown), "{shown}");
    let has = |index: u64| page.queries.lines.iter().any(|line| line.index == index);
    assert!(has(12_345) && has(17_777));
    assert!(
        page.queries
            .lines
            .is_sorted_by(|one, two| one.index < two.index)
    );
    assert!(
        page.warnings
            .iter()
            .any(|note| note.text.contains("even sample"))
    );
    assert!(writes(&page).len() < 3_000_000);
}

#[test]
fn the_policy_names_exactly_the_style_and_the_script_that_are_there() {
    let made = Made::new().finished(Status::Complete, [row(0)], |_| {});
    let text = html(&made.page(&Options::default()));
    let policy = text.split("content=\"default-src 'none'; ").nth(1).unwrap();
    let policy = policy.split('"').next().unwrap();
    assert!(
        !policy.contains("unsafe") && !policy.contains("http"),
        "{policy}"
    );
    assert_eq!(policy.matches("'sha256-").count(), 2, "{policy}");
    assert!(
        !text.contains(" style=") && !text.contains(" onclick="),
        "nothing inline"
    );
    assert_eq!(text.matches("<style>").count(), 1);
}
