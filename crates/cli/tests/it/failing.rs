//! What a person sees of queries that failed, and when a run gives up.

use ipw_reference::{Fault, Script};

use crate::common::{Place, questions, rows, said, summary};

/// Every third query fails.
fn place() -> Place {
    Place::new(|received| Script {
        fault: received
            .number
            .is_multiple_of(3)
            .then(|| Fault::Status(500, "no".to_owned())),
        ..Script::words(3)
    })
}

#[test]
fn failures_are_shown_by_kind_with_an_example_and_advice() {
    let place = place();
    let dataset = place.jsonl("d", questions(9));
    let profile = |more: &[&str]| {
        let args = [
            &[
                "--dataset",
                dataset.to_str().unwrap(),
                "--warmup",
                "0",
                "--overwrite",
            ],
            more,
        ];
        said(&mut place.profile(&args.concat()))
    };
    let shown = profile(&[]);
    assert_eq!(shown.code, Some(4), "{}", shown.err);
    for words in [
        "3 of 9 queries have no answer",
        "3 × failed:http_500, first `",
        "check the service's log",
    ] {
        assert!(shown.out.contains(words), "{words}: {}", shown.out);
    }
    let again = said(crate::common::ipw().arg("show").arg(place.run_of("d")));
    assert!(again.out.contains("3 × failed:http_500"), "{}", again.out);
    // How many are too many is the user's to say.
    for (most, code) in [("34%", 0), ("33%", 4), ("3", 0), ("2", 4), ("0", 4)] {
        assert_eq!(profile(&["--max-failed", most]).code, Some(code), "{most}");
    }
    assert_eq!(profile(&["--max-failed", "lots"]).code, Some(2));
}

#[test]
fn only_an_error_rate_stops_a_run_early() {
    let place = place();
    let dataset = place.jsonl("d", questions(60));
    let dataset = dataset.to_str().unwrap();
    let args = [
        "--dataset",
        dataset,
        "--warmup",
        "0",
        "--overwrite",
        "--max-error-rate",
        "20%",
    ];
    let stopped = said(&mut place.profile(&args));
    assert_eq!(stopped.code, Some(4), "{}", stopped.err);
    // A share is looked at from the tenth query on.
    assert_eq!(rows(&place.run_of("d")).len(), 10);
    let summary = summary(&place.run_of("d"));
    assert_eq!(summary["status"], "failed");
    assert!(
        summary["reason"]
            .as_str()
            .unwrap()
            .contains("--max-error-rate"),
        "{summary}"
    );
    let enough = said(&mut place.profile(&[&args[..6], &["50%"]].concat()));
    assert_eq!(enough.code, Some(4), "a third failed: {}", enough.err);
    assert_eq!(rows(&place.run_of("d")).len(), 60);
}

#[test]
fn a_run_that_is_being_written_is_not_replaced() {
    let place = Place::new(|_| Script {
        first_token: std::time::Duration::from_millis(50),
        ..Script::words(3)
    });
    let mut first = crate::common::spawn(&mut place.profile(&["--warmup", "0", "--quiet"]));
    crate::common::wait_until("a query is done", || place.service.completed() >= 1);
    let second = said(&mut place.profile(&["--max-queries", "1", "--overwrite"]));
    assert_eq!(second.code, Some(6), "{}", second.err);
    assert!(
        second.err.contains("is being written by another process"),
        "{}",
        second.err
    );
    // However it ends, its lock ends with it.
    first.kill().unwrap();
    first.wait().unwrap();
    let third = said(&mut place.profile(&["--max-queries", "1", "--overwrite"]));
    assert_eq!(third.code, Some(0), "{}", third.err);
    assert_eq!(rows(&place.run()).len(), 1);
    assert!(
        !place.run().join(".lock").exists(),
        "nothing is left behind"
    );
}
