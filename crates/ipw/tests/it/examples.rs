//! Every example runs and says what it should.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use ipw_core::time::Clock;
use ipw_reference::{Script, Service};
use ipw_runner::SystemClock;

/// An example that was built with the tests.
fn example(name: &str) -> Command {
    let own = std::env::current_exe().unwrap();
    let built = own.parent().and_then(Path::parent).unwrap();
    let path: PathBuf = built.join("examples").join(name);
    assert!(
        path.is_file(),
        "`cargo test` builds examples: {}",
        path.display()
    );
    Command::new(path)
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{talk}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_endpoint_is_profiled_and_its_run_is_read() {
    let runs = tempfile::tempdir().unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let service = Service::start(clock, |_| Script::words(8)).unwrap();
    let command = &mut example("profile_endpoint");
    let command = command.args([&service.url(), "reference"]).arg(runs.path());
    let text = said(command);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("5 rows"));
    let directory = lines.next_back().unwrap();
    let read = said(example("read_run").arg(directory));
    assert!(
        read.contains("J per output token") || read.contains("no row has both"),
        "{read}"
    );
}

#[test]
fn a_closure_answers_and_is_graded() {
    let runs = tempfile::tempdir().unwrap();
    assert_eq!(
        said(example("own_client").arg(runs.path())),
        "1 right, 1 wrong\n"
    );
}

#[test]
fn a_meter_of_ones_own_measures() {
    let runs = tempfile::tempdir().unwrap();
    assert_eq!(said(example("own_collector").arg(runs.path())), "37.5 W\n");
}

#[test]
fn a_dataset_of_ones_own_is_asked_and_graded() {
    let runs = tempfile::tempdir().unwrap();
    assert_eq!(
        said(example("own_dataset").arg(runs.path())),
        "2 of 9 right\n"
    );
}
