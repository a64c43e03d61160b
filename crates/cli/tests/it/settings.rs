//! Where settings come from, and what may not be one.

use crate::common::{Place, ipw, rows, said, summary};
use ipw_reference::Script;
use serde_json::json;

#[test]
fn flags_go_over_the_environment_which_goes_over_the_file() {
    let place = Place::new(|_| Script::words(2));
    let file = place.path().join("ipw.toml");
    std::fs::write(
        &file,
        "[profile]\nmax_queries = 3\nwarmup = 2\nflush_every = 5\nrequest_timeout = \"7s\"\n\
         [profile.param]\ntemperature = 0.25\nseed = \"5\"\n",
    )
    .unwrap();
    let said = said(
        place
            .profile(&["--max-queries", "1", "--param", "temperature=0.5"])
            .arg("--config")
            .arg(&file)
            .env("IPW_MAX_QUERIES", "2")
            .env("IPW_WARMUP", "1"),
    );
    assert_eq!(said.code, Some(0), "{}", said.err);
    let plan = std::fs::read_to_string(place.run().join("plan.toml")).unwrap();
    for line in [
        "warmup = 1",
        "after = 1",
        "flush_every = 5",
        "request_timeout_seconds = 7.0",
    ] {
        assert!(plan.contains(line), "{line}: {plan}");
    }
    let parameters = &summary(&place.run())["profiler_config"]["additional_parameters"];
    assert_eq!(*parameters, json!({"temperature": 0.5, "seed": "5"}));
}

#[test]
fn the_users_own_file_is_found_and_no_other() {
    let place = Place::new(|_| Script::words(2));
    let config = place.path().join("config/ipw");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("ipw.toml"), "[profile]\nmax_queries = 2\n").unwrap();
    std::fs::write(place.path().join("ipw.toml"), "nonsense").unwrap();
    let said = said(
        place
            .profile(&[])
            .env("XDG_CONFIG_HOME", place.path().join("config"))
            .current_dir(place.path()),
    );
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(rows(&place.run()).len(), 2);
}

#[test]
fn an_unknown_key_in_the_file_is_an_error_that_names_it() {
    let place = Place::new(|_| Script::words(2));
    let file = place.path().join("ipw.toml");
    for (text, names) in [
        ("[profile]\nmax_querys = 3\n", "max_querys"),
        ("[profil]\n", "profil"),
        ("[profile]\nmax_queries = 0\n", "max_queries"),
        ("[profile]\nrequest_timeout = \"soon\"\n", "request_timeout"),
    ] {
        std::fs::write(&file, text).unwrap();
        let said = said(place.profile(&[]).arg("--config").arg(&file));
        assert_eq!(said.code, Some(2), "{text}");
        assert!(
            said.err.contains(names) && said.err.contains("ipw.toml"),
            "{}",
            said.err
        );
    }
}

#[test]
fn a_stored_plan_runs_again_and_makes_the_same_plan() {
    let place = Place::new(|_| Script::words(2));
    let first = said(&mut place.profile(&["--max-queries", "2", "--param", "top_p=0.5"]));
    assert_eq!(first.code, Some(0), "{}", first.err);
    let plan = std::fs::read_to_string(place.run().join("plan.toml")).unwrap();
    let stored = place.path().join("plan.toml");
    std::fs::write(&stored, &plan).unwrap();
    let again = said(
        ipw()
            .arg("profile")
            .arg("--plan")
            .arg(&stored)
            .arg("--overwrite"),
    );
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert_eq!(rows(&place.run()).len(), 2);
    assert_eq!(
        std::fs::read_to_string(place.run().join("plan.toml")).unwrap(),
        plan
    );
    let both = said(
        ipw()
            .args(["profile", "--model", "m", "--plan"])
            .arg(&stored),
    );
    assert_eq!(
        both.code,
        Some(2),
        "a plan and flags that make one exclude each other"
    );
    std::fs::write(&stored, format!("{plan}\n[surprise]\n")).unwrap();
    let odd = said(ipw().arg("profile").arg("--plan").arg(&stored));
    assert_eq!(odd.code, Some(2));
    assert!(odd.err.contains("surprise"), "{}", odd.err);
}

#[test]
fn a_secret_in_a_flag_is_refused_and_not_repeated() {
    let place = Place::new(|_| Script::words(2));
    for flags in [
        ["--client-param", "api_key=hunter2hunter2"],
        ["--param", "authorization=hunter2hunter2"],
        ["--param", "extra=sk-hunter2hunter2"],
        ["--dataset-param", "token=hunter2hunter2"],
        ["--api-key-env", "sk-hunter2hunter2"],
    ] {
        let said = said(&mut place.profile(&flags));
        assert_eq!(said.code, Some(2), "{flags:?}");
        assert!(!said.err.contains("hunter2"), "{}", said.err);
        assert!(said.err.contains("help:"), "{}", said.err);
    }
    let url = "http://me:hunter2@127.0.0.1:1";
    let said = said(ipw().args([
        "profile",
        "--client",
        "openai",
        "--model",
        "m",
        "--client-base-url",
        url,
    ]));
    assert_eq!(said.code, Some(2));
    assert!(!said.err.contains("hunter2"), "{}", said.err);
}

#[test]
fn a_key_reaches_the_service_and_no_file_and_no_screen() {
    let place = Place::new(|_| Script::words(2));
    let said = said(
        place
            .profile(&["--api-key-env", "TEST_KEY", "--max-queries", "1", "--json"])
            .env("TEST_KEY", "hunter2hunter2"),
    );
    assert_eq!(said.code, Some(0), "{}", said.err);
    let sent = place.service.log()[0]
        .received
        .header("authorization")
        .map(str::to_owned);
    assert_eq!(sent.as_deref(), Some("Bearer hunter2hunter2"));
    assert!(!said.out.contains("hunter2") && !said.err.contains("hunter2"));
    for path in [place.run(), place.run().join("readings")] {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            let content = if path.is_file() {
                std::fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            let found = content.windows(7).any(|window| window == b"hunter2");
            assert!(!found, "{} holds the key", path.display());
        }
    }
}

#[test]
fn the_openai_key_goes_to_openai_only() {
    let place = Place::new(|_| Script::words(2));
    let said = said(
        place
            .profile(&["--max-queries", "1"])
            .env("OPENAI_API_KEY", "hunter2hunter2"),
    );
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(
        place.service.log()[0].received.header("authorization"),
        None
    );
}

#[test]
fn what_is_missing_is_asked_for() {
    for (args, says) in [
        (&["profile", "--model", ""][..], "`--model` is empty"),
        (&["profile", "--model", "m"], "smollm2-135m"),
        (
            &[
                "profile",
                "--model",
                "m",
                "--client",
                "openai",
                "--client-base-url",
                "h:1",
            ],
            "http://",
        ),
        (
            &[
                "profile",
                "--model",
                "m",
                "--client",
                "openai",
                "--request-timeout",
                "soon",
            ],
            "90s",
        ),
        (&["show", "/nonexistent"], "not a run directory"),
    ] {
        let said = said(ipw().args(args));
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.err);
        assert!(said.err.contains(says), "{args:?}: {}", said.err);
    }
}

#[test]
fn lists_help_and_completions_print_something_useful() {
    for (args, says) in [
        (&["list"][..], "starter"),
        (&["list", "clients"], "openai"),
        (&["list", "datasets"], "jsonl"),
        (&["list", "scorers"], "instructions"),
        (&["profile", "--help"], "Examples:"),
        (&["completions", "bash"], "_ipw"),
        (&["completions", "zsh"], "#compdef ipw"),
    ] {
        let said = said(ipw().args(args));
        assert_eq!(said.code, Some(0), "{args:?}: {}", said.err);
        assert!(said.out.contains(says), "{args:?}: {}", said.out);
    }
    let clients = said(ipw().args(["list", "clients"]));
    assert!(!clients.out.contains("starter"));
}

#[test]
fn json_output_is_json_line_by_line() {
    let place = Place::new(|_| Script::words(2));
    let said = said(&mut place.profile(&["--max-queries", "2", "--json"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let lines: Vec<serde_json::Value> = said
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.first().unwrap()["event"], "run_started");
    assert_eq!(lines.last().unwrap()["event"], "overview");
    assert_eq!(lines.last().unwrap()["overview"]["rows"], 2);
    let quiet =
        crate::common::said(&mut place.profile(&["--max-queries", "2", "--quiet", "--overwrite"]));
    assert_eq!(
        (quiet.code, quiet.out.as_str(), quiet.err.as_str()),
        (Some(0), "", "")
    );
}
