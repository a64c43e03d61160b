//! `summary.json` as other versions, or an accident, leave it: what is not understood is told, and
//! nothing is lost when it is written again.

use std::path::Path;

use ipw_reference::{Fault, Script};
use serde_json::{Value, json};

use crate::common::{Place, ipw, questions, said, summary};

fn change(run: &Path, change: impl FnOnce(&mut Value)) {
    let mut told = summary(run);
    change(&mut told);
    let text = serde_json::to_string_pretty(&told).unwrap();
    std::fs::write(run.join("summary.json"), text).unwrap();
}

fn measured(place: &Place) -> std::path::PathBuf {
    let dataset = place.jsonl("d", questions(6));
    let args = ["--dataset", dataset.to_str().unwrap(), "--warmup", "0"];
    let told = said(&mut place.profile(&args));
    assert!(told.code.is_some_and(|code| code != 2), "{}", told.err);
    place.run_of("d")
}

#[test]
fn a_part_that_is_not_understood_is_named_and_the_rest_is_used() {
    let place = Place::new(|_| Script::words(3));
    let run = measured(&place);
    change(&run, |told| {
        told["load"] = json!(5);
        told["telemetry"]["sources"] = json!("none");
        told["later"] = json!({"than": "us"});
    });
    let shown = said(ipw().arg("show").arg(&run));
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    for key in ["load", "telemetry"] {
        let words = format!("`{key}` of `summary.json` cannot be read");
        assert!(shown.out.contains(&words), "{}", shown.out);
    }
    assert!(shown.out.contains("status    complete"), "{}", shown.out);
    let report = said(ipw().args(["report", "--format", "json"]).arg(&run));
    assert_eq!(report.code, Some(0), "{}", report.err);
    assert!(
        report
            .out
            .contains("`load` of `summary.json` cannot be read"),
        "{}",
        report.out
    );
    let stored: Value =
        serde_json::from_str(&said(ipw().args(["show", "--json"]).arg(&run)).out).unwrap();
    assert_eq!(stored["summary"], summary(&run), "programs get it as it is");
    // What cannot be read is left as it is by a command that writes the file again.
    let scored = said(ipw().args(["score", "--scorer", "exact"]).arg(&run));
    assert_eq!(scored.code, Some(0), "{}", scored.err);
    let after = summary(&run);
    assert_eq!(after["load"], 5);
    assert_eq!(after["later"], json!({"than": "us"}));
    assert_eq!(after["telemetry"]["sources"], "none");
    // One that is no JSON is an error that names it.
    std::fs::write(run.join("summary.json"), "{\"model\": ").unwrap();
    let shown = said(ipw().arg("show").arg(&run));
    assert_ne!(shown.code, Some(0));
    assert!(shown.err.contains("summary.json"), "{}", shown.err);
}

#[test]
fn a_resumed_run_keeps_what_it_does_not_know() {
    let place = Place::new(|received| Script {
        fault: (received.number < 2).then(|| Fault::Status(503, "busy".to_owned())),
        ..Script::words(3)
    });
    let run = measured(&place);
    change(&run, |told| told["later"] = json!({"than": "us"}));
    let resumed = said(
        ipw()
            .args(["profile", "--resume"])
            .arg(&run)
            .arg("--retry-failed"),
    );
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    let after = summary(&run);
    assert_eq!(after["later"], json!({"than": "us"}));
    assert_eq!(after["status"], "complete");
    assert_eq!(after["parts"].as_array().unwrap().len(), 2);
}
