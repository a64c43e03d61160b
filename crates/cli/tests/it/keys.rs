//! Keys: where a stranger's plan may send them, and what becomes of them when they come back.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use ipw_reference::{Fault, Received, Script};

use crate::common::{Place, Said, ipw, rows, said, summary};

const SECRET: &str = "hunter2hunter2";
const MARK: &[u8] = b"hunter2";

fn with_key(command: &mut Command) -> Said {
    said(command.env("TEST_KEY", SECRET))
}

/// Asserts that no file below `directory` holds the secret.
pub(crate) fn assert_hidden(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            assert_hidden(&path);
            continue;
        }
        let content = std::fs::read(&path).unwrap();
        let is_there = content.windows(MARK.len()).any(|window| window == MARK);
        assert!(!is_there, "{} holds the secret", path.display());
    }
}

#[test]
fn a_stored_plan_sends_a_key_only_where_this_command_line_says_so() {
    let place = Place::new(|_| Script::words(2));
    let url = place.service.url();
    let headers = place.path().join("headers");
    std::fs::write(&headers, "X-Gateway: hunter2hunter2\n").unwrap();
    let headers = headers.to_str().unwrap();
    for (flags, from) in [
        (["--api-key-env", "TEST_KEY"], "variable `TEST_KEY`"),
        (["--header-file", headers], headers),
    ] {
        let mut first = place.profile(&["--max-queries", "2", "--overwrite", "--warmup", "0"]);
        let first = with_key(first.args(flags));
        assert_eq!(first.code, Some(0), "{}", first.err);
        let (run, plan) = (place.run(), place.run().join("plan.toml"));
        let again = |flag: &str, more: &[&str]| {
            let mut command = ipw();
            command.args(["profile", flag]);
            if flag == "--plan" {
                command.arg(&plan).arg("--output-dir");
                command.arg(place.path().join("again")).arg("--overwrite");
            } else {
                command.arg(&run);
            }
            with_key(command.args(more))
        };
        for flag in ["--plan", "--resume"] {
            let asked = place.service.requests();
            for more in [&[][..], &flags] {
                let refused = again(flag, more);
                assert_eq!(refused.code, Some(2), "{flag} {more:?}: {}", refused.err);
                for words in [from, &url, "plan.toml", "--allow-key"] {
                    assert!(refused.err.contains(words), "{words}: {}", refused.err);
                }
            }
            assert_eq!(place.service.requests(), asked, "nothing was sent");
            for more in [
                &["--allow-key"][..],
                &[flags[0], flags[1], "--client-base-url", &url],
            ] {
                let done = again(flag, more);
                assert_eq!(done.code, Some(0), "{flag} {more:?}: {}", done.err);
            }
        }
    }
}

#[test]
fn a_plan_without_a_key_needs_no_word() {
    let place = Place::new(|_| Script::words(2));
    let first = said(&mut place.profile(&["--max-queries", "1", "--warmup", "0"]));
    assert_eq!(first.code, Some(0), "{}", first.err);
    let resumed = said(ipw().args(["profile", "--resume"]).arg(place.run()));
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
}

/// A service that sends back the key that it was sent, in pieces; every second time as an error.
fn echo(received: &Received) -> Script {
    let key = received.header("authorization").unwrap_or("nothing");
    let pieces: Vec<String> = key
        .chars()
        .collect::<Vec<_>>()
        .chunks(5)
        .map(|piece| piece.iter().collect())
        .collect();
    let text = format!("you sent {key}. {}", "x".repeat(460));
    let fault = (received.number % 2 == 1).then_some(Fault::Status(400, text));
    Script {
        tokens: pieces.clone().into(),
        reasoning: pieces.into(),
        fault,
        ..Script::default()
    }
}

#[test]
fn a_key_that_a_service_sends_back_is_neither_stored_nor_shown() {
    let place = Place::new(echo);
    let flags = ["--api-key-env", "TEST_KEY", "--max-queries", "4"];
    let mut command = place.profile(&flags);
    let ran = with_key(command.args(["--warmup", "0", "--max-failed", "4", "--json"]));
    assert!(!ran.out.contains("hunter2") && !ran.err.contains("hunter2"));
    let run = place.run();
    assert_hidden(&run);
    let all = rows(&run);
    let answers = all.iter().map(|row| &row["model_answers"]["reference"]);
    let hidden = answers.filter(|answer| **answer == "Bearer [secret]");
    assert_eq!(hidden.count(), 2, "{all:#?}");
    let errors = all.iter().filter_map(|row| row["error"].as_str());
    let hidden = errors.filter(|error| error.contains("you sent Bearer [secret]."));
    assert_eq!(hidden.count(), 2, "{all:#?}");
    for command in ["show", "report"] {
        let shown = said(ipw().arg(command).arg(&run));
        assert!(!shown.out.contains("hunter2"), "{}", shown.out);
    }
    assert_hidden(&run);
    for json in [&[][..], &["--json"]] {
        let mut ping = ipw();
        ping.args(["ping", "--client-base-url", &place.service.url()])
            .args(["--model", "reference", "--api-key-env", "TEST_KEY"]);
        let pinged = with_key(ping.args(json));
        assert!(!pinged.out.contains(SECRET), "{}", pinged.out);
        assert!(!pinged.err.contains(SECRET), "{}", pinged.err);
    }
}

/// A page for Prometheus whose labels have a text.
fn metrics_page(label: &'static str) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 4096]);
            let body = format!("# TYPE x gauge\nx{{key=\"{label}\"}} 1\n");
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    url
}

#[test]
fn a_key_in_the_labels_of_a_metric_is_not_stored() {
    let place = Place::new(|_| Script::words(2));
    let url = metrics_page(SECRET);
    let flags = ["--api-key-env", "TEST_KEY", "--max-queries", "1"];
    let ran = with_key(place.profile(&flags).args(["--server-metrics", &url]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = &summary(&place.run())["server_metrics"];
    assert!(told["pages"].as_u64().unwrap() > 0, "{told:#}");
    assert_hidden(&place.run());
}

#[test]
fn a_secret_in_an_address_is_refused_and_never_shown() {
    let place = Place::new(|_| Script::words(2));
    for url in [
        "http://127.0.0.1:1/v1?api_key=hunter2hunter2",
        "http://me:hunter2@127.0.0.1:1/v1",
        "ftp://127.0.0.1/?token=hunter2hunter2",
    ] {
        let wrong = said(&mut place.profile_at(url, "m", &[]));
        assert_eq!(wrong.code, Some(2), "{url}: {}", wrong.err);
        assert!(!wrong.err.contains("hunter2"), "{}", wrong.err);
    }
    let url = "http://me:hunter2@127.0.0.1:1/x?token=hunter2hunter2";
    for flags in [
        &["--server-metrics", url][..],
        &["--launch", "--ready-url", url, "--", "true"],
    ] {
        let wrong = said(&mut place.profile(flags));
        assert_eq!(wrong.code, Some(2), "{flags:?}: {}", wrong.err);
        assert!(!wrong.err.contains("hunter2"), "{}", wrong.err);
        assert!(wrong.err.contains("[secret]@"), "{}", wrong.err);
    }
    assert!(!place.runs().exists() || std::fs::read_dir(place.runs()).unwrap().count() == 0);
}
