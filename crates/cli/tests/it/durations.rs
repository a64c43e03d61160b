//! A duration has a unit, wherever it is written.

use crate::common::{Place, Said, ipw, said};
use ipw_reference::Script;

const WHAT: &str = "`500` has no unit; write 500ms or 500s";

fn assert_refused(said: &Said, place: &str) {
    assert_eq!(said.code, Some(2), "{place}: {}", said.err);
    assert!(said.err.contains(WHAT), "{place}: {}", said.err);
}

#[test]
fn every_flag_refuses_a_number_without_a_unit() {
    for (command, flag) in [
        ("profile", "--request-timeout"),
        ("profile", "--first-token-timeout"),
        ("profile", "--idle-timeout"),
        ("profile", "--ready-timeout"),
        ("profile", "--duration"),
        ("profile", "--ramp"),
        ("profile", "--idle"),
        ("profile", "--sample-interval"),
        ("ping", "--request-timeout"),
        ("watch", "--interval"),
        ("monitor", "--interval"),
    ] {
        let told = said(ipw().args([command, flag, "500"]));
        assert_refused(&told, &format!("{command} {flag}"));
    }
    for wrong in [
        ["profile", "--slo", "ttft=500"],
        ["profile", "--slo", "e2e=5s,ttft=500@sent"],
        [
            "profile",
            "--telemetry",
            "http://127.0.0.1:1,field=a,unit=W,interval=500",
        ],
    ] {
        let told = said(ipw().args(wrong));
        assert_refused(&told, &wrong.join(" "));
    }
}

#[test]
fn every_variable_refuses_a_number_without_a_unit() {
    for name in [
        "IPW_REQUEST_TIMEOUT",
        "IPW_FIRST_TOKEN_TIMEOUT",
        "IPW_IDLE_TIMEOUT",
        "IPW_DURATION",
        "IPW_RAMP",
        "IPW_IDLE",
        "IPW_SAMPLE_INTERVAL",
    ] {
        assert_refused(&said(ipw().arg("profile").env(name, "500")), name);
    }
    let told = said(ipw().arg("profile").env("IPW_SLO", "ttft=500"));
    assert_refused(&told, "IPW_SLO");
}

#[test]
fn every_key_of_the_file_refuses_a_number_without_a_unit() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ipw.toml");
    for key in [
        "request_timeout",
        "first_token_timeout",
        "idle_timeout",
        "duration",
        "ramp",
        "idle",
        "sample_interval",
    ] {
        for value in ["500", "\"500\""] {
            std::fs::write(&file, format!("[profile]\n{key} = {value}\n")).unwrap();
            let told = said(ipw().args(["profile", "--config"]).arg(&file));
            assert_refused(&told, &format!("{key} = {value}"));
        }
    }
    std::fs::write(&file, "[profile]\nslo = \"ttft=500\"\n").unwrap();
    let told = said(ipw().args(["profile", "--config"]).arg(&file));
    assert_refused(&told, "slo");
}

#[test]
fn zero_needs_no_unit_where_it_means_off_and_is_refused_elsewhere() {
    let place = Place::new(|_| Script::words(2));
    let off = ["--max-queries", "1", "--idle", "0", "--ramp", "0"];
    let told = said(&mut place.profile(&off));
    assert_eq!(told.code, Some(0), "{}", told.err);
    for flag in ["--duration", "--request-timeout", "--sample-interval"] {
        let told = said(ipw().args(["profile", flag, "0"]));
        assert_eq!(told.code, Some(2), "{flag}: {}", told.err);
        let reason = "must be longer than zero";
        assert!(told.err.contains(reason), "{flag}: {}", told.err);
    }
}

#[test]
fn fractions_and_sums_are_durations_too() {
    let place = Place::new(|_| Script::words(2));
    let flags = ["--max-queries", "1", "--request-timeout", "1.5s"];
    let mut command = place.profile(&flags);
    let told = said(command.args(["--first-token-timeout", "1m 30s"]));
    assert_eq!(told.code, Some(0), "{}", told.err);
    let plan = std::fs::read_to_string(place.run().join("plan.toml")).unwrap();
    assert!(plan.contains("request_timeout_seconds = 1.5"), "{plan}");
    assert!(
        plan.contains("first_token_timeout_seconds = 90.0"),
        "{plan}"
    );
}
