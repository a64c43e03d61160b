//! Wrong use is an error with a kind, and costs nothing that was measured.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ipw::own::{Domain, Meter, Prompts};
use ipw::{Kind, Observer, Profile, Sink};
use ipw_core::event::Notice;
use ipw_core::record::Record;
use ipw_core::sink::SinkError;

use crate::runtime;

const PERIOD: Duration = Duration::from_millis(5);

fn prompts(count: usize) -> Prompts {
    Prompts::new(
        "many",
        (0..count).map(|n| (format!("question {n}"), None::<String>)),
    )
}

/// A run that answers at once, `pause` for each query.
fn profile(place: &Path, queries: usize, pause: Duration) -> Profile {
    Profile::new("m")
        .answered_by("own", move |prompt: String| async move {
            tokio::time::sleep(pause).await;
            Ok::<_, String>(prompt)
        })
        .dataset(prompts(queries))
        .with_plan(|plan| {
            plan.load.warmup = 0;
            plan.telemetry.idle = Duration::ZERO;
        })
        .run_directory(place.join("run"))
}

fn rows(place: &Path) -> u64 {
    let run = ipw::run::open(&place.join("run")).unwrap();
    let mut rows = 0;
    run.for_each_query(|_| rows += 1).unwrap();
    rows
}

#[test]
fn a_profile_without_a_client_or_a_dataset_is_invalid() {
    let place = tempfile::tempdir().unwrap();
    let without_client = Profile::new("m")
        .dataset(prompts(1))
        .output_dir(place.path());
    let error = runtime()
        .block_on(without_client.run())
        .map(drop)
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(error.to_string().contains("no client"), "{error}");
    let without_dataset = Profile::new("m")
        .answered_by(
            "own",
            |prompt: String| async move { Ok::<_, String>(prompt) },
        )
        .output_dir(place.path());
    let error = runtime()
        .block_on(without_dataset.run())
        .map(drop)
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(error.help().unwrap().contains("dataset"), "{error:?}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn a_client_or_dataset_that_is_not_known_is_invalid() {
    let place = tempfile::tempdir().unwrap();
    let unknown = Profile::new("m")
        .service("opneai", "http://127.0.0.1:1")
        .dataset(prompts(1))
        .output_dir(place.path());
    let error = runtime().block_on(unknown.run()).map(drop).unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(error.to_string().contains("openai"), "{error}");
    let unknown = Profile::new("m")
        .answered_by(
            "own",
            |prompt: String| async move { Ok::<_, String>(prompt) },
        )
        .dataset_named("startr")
        .output_dir(place.path());
    let error = runtime().block_on(unknown.run()).map(drop).unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(error.to_string().contains("starter"), "{error}");
}

#[test]
fn a_directory_that_is_no_run_is_said_to_be_none() {
    let place = tempfile::tempdir().unwrap();
    let error = ipw::run::open(place.path()).map(drop).unwrap_err();
    assert_eq!(error.kind(), Kind::NotARun);
    let error = Profile::resume(place.path(), ipw::profile::Resend::Cancelled);
    assert!(error.is_err());
    let grading = ipw::score::Grading::default();
    let error = ipw::score::score(place.path(), &grading, None, &mut |_| {});
    assert_eq!(error.map(drop).unwrap_err().kind(), Kind::NotARun);
    let asking = ipw::attribute::Asking::default();
    let error = ipw::attribute::attribute(place.path(), &asking);
    assert_eq!(error.map(drop).unwrap_err().kind(), Kind::NotARun);
}

#[test]
fn an_output_that_exists_is_kept() {
    let place = tempfile::tempdir().unwrap();
    let run = || runtime().block_on(profile(place.path(), 2, Duration::ZERO).run());
    run().unwrap().checked().map(drop).unwrap();
    let error = run().map(drop).unwrap_err();
    assert_eq!(error.kind(), Kind::Exists);
    assert_eq!(rows(place.path()), 2);
}

#[test]
fn a_collector_that_panics_costs_its_readings_alone() {
    let place = tempfile::tempdir().unwrap();
    let reads = AtomicU64::new(0);
    let meter = Meter::power("wild", Domain::Gpu, PERIOD, move || {
        assert!(
            reads.fetch_add(1, Ordering::Relaxed) < 3,
            "the meter fell off the table"
        );
        Ok(10.0)
    });
    let profile = profile(place.path(), 3, Duration::from_millis(30)).collector(meter);
    let finished = runtime().block_on(profile.run()).unwrap();
    assert_eq!(finished.overview.rows, 3);
    let telemetry = finished.summary.telemetry.as_ref().unwrap();
    let faults = telemetry.faults.join("\n");
    assert!(faults.contains("wild"), "{faults}");
}

#[test]
fn a_collector_that_blocks_stops_neither_queries_nor_the_end() {
    let place = tempfile::tempdir().unwrap();
    let meter = Meter::power("stuck", Domain::Gpu, PERIOD, || {
        std::thread::sleep(Duration::from_hours(1));
        Ok(10.0)
    });
    let profile = profile(place.path(), 3, Duration::ZERO).collector(meter);
    let finished = runtime()
        .block_on(async { tokio::time::timeout(Duration::from_mins(1), profile.run()).await });
    let finished = finished.expect("it ends").unwrap();
    assert_eq!(finished.overview.rows, 3);
    assert_eq!(
        finished.overview.energy.rows, 0,
        "nothing was read, nothing is known"
    );
}

/// Waits long at each notice.
struct Slow(Arc<AtomicU64>);

impl Observer for Slow {
    fn notice(&mut self, _: &Notice) {
        self.0.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_observer_that_is_slow_costs_no_row() {
    let place = tempfile::tempdir().unwrap();
    let seen = Arc::new(AtomicU64::new(0));
    let slow = Slow(Arc::clone(&seen));
    let profile = profile(place.path(), 50, Duration::ZERO).observer(slow);
    let finished = runtime().block_on(profile.run()).unwrap();
    assert_eq!(finished.overview.rows, 50);
    assert!(seen.load(Ordering::Relaxed) > 0);
}

/// Takes rows, and fails from a certain one on.
struct Limited {
    taken: Arc<Mutex<Vec<String>>>,
    most: usize,
}

impl Sink for Limited {
    fn append(&mut self, record: Record) -> Result<(), SinkError> {
        let mut taken = self.taken.lock().unwrap();
        if taken.len() == self.most {
            return Err(SinkError("no room in here".into()));
        }
        taken.push(record.query.id);
        Ok(())
    }
}

#[test]
fn a_sink_of_ones_own_gets_every_row_after_the_store() {
    let place = tempfile::tempdir().unwrap();
    let taken = Arc::new(Mutex::new(Vec::new()));
    let sink = Limited {
        taken: Arc::clone(&taken),
        most: usize::MAX,
    };
    let profile = profile(place.path(), 4, Duration::ZERO).sink(sink);
    runtime()
        .block_on(profile.run())
        .unwrap()
        .checked()
        .map(drop)
        .unwrap();
    assert_eq!(*taken.lock().unwrap(), ["0", "1", "2", "3"]);
}

#[test]
fn a_sink_that_fails_ends_the_run_and_costs_no_stored_row() {
    let place = tempfile::tempdir().unwrap();
    let taken = Arc::new(Mutex::new(Vec::new()));
    let sink = Limited {
        taken: Arc::clone(&taken),
        most: 2,
    };
    let profile = profile(place.path(), 1000, Duration::from_millis(1)).sink(sink);
    let finished = runtime().block_on(profile.run()).unwrap();
    let stored = finished.overview.rows;
    let error = finished.checked().map(drop).unwrap_err();
    assert!(
        format!("{error:?}").contains("no room in here"),
        "{error:?}"
    );
    assert!((3..1000).contains(&stored), "{stored}");
    assert_eq!(rows(place.path()), stored);
}

#[test]
fn a_run_that_is_dropped_half_way_keeps_its_rows_and_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let queries = 40;
    let pause = Duration::from_millis(20);
    let seen = Arc::new(AtomicU64::new(0));
    let began = profile(place.path(), queries, pause).observer(Slow(Arc::clone(&seen)));
    runtime().block_on(async {
        let run = std::pin::pin!(began.run());
        let cut = tokio::time::timeout(Duration::from_millis(400), run).await;
        assert!(cut.is_err(), "it was cut off");
    });
    let kept = rows(place.path());
    assert!(kept > 0 && kept < queries as u64, "{kept}");
    let again = profile(place.path(), queries, Duration::ZERO)
        .resuming(place.path().join("run"), ipw::profile::Resend::Cancelled)
        .unwrap();
    let finished = runtime().block_on(again.run()).unwrap();
    assert_eq!(finished.overview.rows, queries as u64);
}
