//! Datasets of every kind, through the binary.

use std::io::Write as _;
use std::process::Stdio;

use ipw_reference::Script;

use crate::common::{Place, Said, rows, said, spawn};

#[test]
fn bad_rows_may_be_left_out_and_are_counted_aloud() {
    let place = Place::new(|_| Script::words(2));
    let path = place.path().join("d.csv");
    std::fs::write(
        &path,
        "problem,answer\nfirst,1\nsecond,2,3\n\"third\none\",3\n",
    )
    .unwrap();
    let dataset = path.to_str().unwrap();
    let refused = said(&mut place.profile(&["--dataset", dataset]));
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("line 3"), "{}", refused.err);
    let skipped =
        said(&mut place.profile(&["--dataset", dataset, "--dataset-param", "on_error=skip"]));
    assert_eq!(skipped.code, Some(0), "{}", skipped.err);
    assert!(skipped.err.contains("skipped 1 bad row"), "{}", skipped.err);
    let problems: Vec<_> = rows(&place.run_of("d"))
        .iter()
        .map(|row| row["problem"].clone())
        .collect();
    assert_eq!(problems, ["first", "third\none"]);
}

#[test]
fn questions_may_come_through_a_pipe() {
    let place = Place::new(|_| Script::words(2));
    let mut command = place.profile(&["--dataset", "-", "--quiet"]);
    let mut child = spawn(command.stdin(Stdio::piped()));
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(b"{\"problem\": \"one\"}\n{\"problem\": \"two\"}\n")
        .unwrap();
    drop(input);
    let said: Said = child.wait_with_output().unwrap().into();
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(rows(&place.run_of("stdin")).len(), 2);
}

#[test]
fn a_run_can_be_asked_again() {
    let place = Place::new(|_| Script::words(2));
    let first = said(&mut place.profile(&["--max-queries", "3"]));
    assert_eq!(first.code, Some(0), "{}", first.err);
    let run = place.run();
    let problems = |run| {
        rows(run)
            .iter()
            .map(|row| row["problem"].clone())
            .collect::<Vec<_>>()
    };
    let asked = problems(&run);
    let again = said(&mut place.profile(&["--dataset", run.to_str().unwrap()]));
    assert_eq!(again.code, Some(0), "{}", again.err);
    let name = run.file_name().unwrap().to_string_lossy().replace('.', "_");
    assert_eq!(problems(&place.run_of(&name)), asked);
}
