//! The client is closed on every path, the steps keep their order, and a failed close hides no
//! error.

use std::sync::{Arc, Mutex};

use ipw_core::client::{BoxFuture, CloseError, NotReady, Request};
use ipw_core::reply::{Failure, Outcome, Reply};
use ipw_core::time::Timestamp;
use serde_json::Value;

use super::*;

/// A client that records the calls it receives.
struct RecordingClient {
    calls: Arc<Mutex<Vec<&'static str>>>,
    healthy: bool,
    ready: bool,
}

impl RecordingClient {
    fn note(&self, call: &'static str) {
        self.calls.lock().unwrap().push(call);
    }

    fn when(good: bool) -> Result<(), NotReady> {
        if good {
            Ok(())
        } else {
            Err(NotReady {
                cause: "out to lunch".to_owned(),
                help: None,
            })
        }
    }
}

impl Client for RecordingClient {
    fn id(&self) -> &'static str {
        "noted"
    }

    fn name(&self) -> &'static str {
        "noted service"
    }

    fn base_url(&self) -> &'static str {
        "nowhere"
    }

    fn health(&self) -> BoxFuture<'_, Result<(), NotReady>> {
        self.note("health");
        Box::pin(async { Self::when(self.healthy) })
    }

    fn prepare<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<String>, NotReady>> {
        self.note("prepare");
        Box::pin(async { Self::when(self.ready).map(|()| Vec::new()) })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, NotReady>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn describe(&self) -> BoxFuture<'_, Value> {
        self.note("describe");
        Box::pin(async { Value::Null })
    }

    fn send<'a>(&'a self, _: Request<'a>) -> BoxFuture<'a, Reply> {
        self.note("send");
        let reply = Reply {
            outcome: Outcome::Complete,
            error: None,
            ..Reply::unsent(Timestamp::ZERO, Failure::Empty, String::new())
        };
        Box::pin(async { reply })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), CloseError>> {
        self.note("close");
        Box::pin(async { Err(CloseError("it sticks".to_owned())) })
    }
}

fn run(healthy: bool, ready: bool, output: &Path) -> (Result<Finished, Error>, Vec<&'static str>) {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let client = RecordingClient {
        calls: Arc::clone(&calls),
        healthy,
        ready,
    };
    let profile = Profile::new("m")
        .client(client)
        .dataset_named("starter")
        .max_queries(2)
        .output_dir(output)
        .with_plan(|plan| plan.load.warmup = 1);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let done = runtime.block_on(profile.run());
    let calls = calls.lock().unwrap().clone();
    (done, calls)
}

#[test]
fn a_run_goes_in_its_order_and_closes() {
    let directory = tempfile::tempdir().unwrap();
    let (done, calls) = run(true, true, directory.path());
    let done = done.unwrap();
    let sticks = done.close_warning.clone().unwrap();
    assert!(sticks.contains("it sticks"), "{sticks}");
    done.checked()
        .map(drop)
        .expect("an error in closing hides nothing");
    assert_eq!(
        calls,
        [
            "health", "prepare", "describe", "send", "send", "send", "close"
        ]
    );
}

#[test]
fn an_unhealthy_service_is_closed_and_its_error_stays() {
    let directory = tempfile::tempdir().unwrap();
    let (done, calls) = run(false, true, directory.path());
    let error = done.map(drop).unwrap_err();
    assert_eq!(error.kind(), Kind::Service);
    assert!(format!("{error:?}").contains("out to lunch"));
    assert_eq!(calls, ["health", "close"]);
}

#[test]
fn a_service_that_is_not_ready_is_closed_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let (done, calls) = run(true, false, directory.path());
    assert_eq!(done.map(drop).unwrap_err().kind(), Kind::Service);
    assert_eq!(calls, ["health", "prepare", "close"]);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn an_output_that_cannot_be_made_still_closes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let (done, calls) = run(true, true, &file);
    assert_eq!(done.map(drop).unwrap_err().kind(), Kind::Unexpected);
    assert_eq!(calls.last(), Some(&"close"));
    assert!(!calls.contains(&"send"));
}
