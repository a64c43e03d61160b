//! What goes wrong, line by line of the table in `docs/faults.md`: the row, the words, the exit
//! code, and no effect on the other rows.

mod table;
mod tls;

use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, mpsc};

use ipw_core::time::Clock;
use ipw_reference::{Fault, Options, Received, Script, Service, words};
use ipw_runner::SystemClock;
use ipw_testkit::docs::check_generated;
use serde_json::Value;

use crate::common::{Said, ipw, questions, rows, said, spawn, without_proxies};
use table::{Cause, HOSTILE, Line, Seen, TABLE};

const QUESTIONS: usize = 5;
/// The query that the fault strikes.
const STRUCK: usize = 2;
const WORDS: usize = 6;

fn is_struck(received: &Received) -> bool {
    let messages = received.body["messages"].as_array();
    let last = messages.and_then(|messages| messages.last());
    last.is_some_and(|message| message["content"] == format!("question number {STRUCK}"))
}

/// How the service answers under this cause.
fn script(cause: &Cause, received: &Received) -> Script {
    let script = Script::words(WORDS);
    if !is_struck(received) {
        return script;
    }
    match cause {
        Cause::Reply(fault) | Cause::Slow(fault, _) => Script {
            fault: Some(fault()),
            ..script
        },
        Cause::Text(text) => Script {
            tokens: Arc::from([(*text).to_owned()]),
            ..script
        },
        Cause::Finish(reason) => Script {
            finish_reason: reason,
            ..script
        },
        _ => script,
    }
}

fn service(cause: Cause) -> Service {
    let mut options = Options::default();
    if let Cause::Questions(status) = cause {
        options.question_status = Some(status);
    }
    if matches!(cause, Cause::Ipv6) {
        options.address = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    Service::start_with(options, clock, move |received| script(&cause, received)).unwrap()
}

/// An address where no process listens.
fn nowhere() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// One run under one fault.
struct Run {
    said: Said,
    directory: tempfile::TempDir,
}

impl Run {
    fn new(client: &str, line: &Line) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let service = service(line.cause);
        let mut command = command(client, directory.path());
        let url = match line.cause {
            Cause::Nowhere => format!("http://{}", nowhere()),
            Cause::Name => "http://nowhere.invalid:8080".to_owned(),
            Cause::Plain => service.url().replace("http://", "https://"),
            Cause::Certificate(wrong) => {
                let front = tls::front(wrong, directory.path());
                command.env("SSL_CERT_FILE", &front.roots);
                command.env_remove("SSL_CERT_DIR");
                front.url
            }
            Cause::ProxyElsewhere => "http://service.example:8080".to_owned(),
            Cause::OtherPath => format!("{}/elsewhere", service.url()),
            _ => service.url(),
        };
        command.args(["--client-base-url", &url]);
        match line.cause {
            Cause::Slow(_, args) => drop(command.args(args)),
            Cause::Http1 => drop(command.arg("--http2")),
            Cause::Proxy | Cause::ProxyElsewhere => {
                let dead = format!("http://{}", nowhere());
                for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
                    command.env(name, &dead);
                    command.env(name.to_lowercase(), &dead);
                }
            }
            _ => {}
        }
        Self {
            said: said(&mut command),
            directory,
        }
    }

    /// The directory that the run made, if it made one.
    fn made(&self) -> Option<PathBuf> {
        let runs = std::fs::read_dir(self.directory.path().join("runs")).ok()?;
        runs.flatten().map(|entry| entry.path()).next()
    }
}

fn command(client: &str, directory: &Path) -> Command {
    let dataset = directory.join("d.jsonl");
    let lines: Vec<_> = questions(QUESTIONS).iter().map(Value::to_string).collect();
    std::fs::write(&dataset, lines.join("\n")).unwrap();
    let mut command = ipw();
    without_proxies(&mut command)
        .args(["profile", "--client", client, "--model", "reference"])
        .arg("--dataset")
        .arg(dataset)
        .arg("--output-dir")
        .arg(directory.join("runs"));
    command
}

fn assert_nothing_raw(shown: &str, said: &Said) {
    for text in [&said.out, &said.err] {
        let raw = text
            .chars()
            .find(|&character| HOSTILE.contains(character) && is_obeyed(character));
        assert_eq!(raw, None, "{shown}: {text:?}");
    }
}

/// Whether a terminal would do something else than show it.
fn is_obeyed(character: char) -> bool {
    (character.is_control() && character != '\n') || character == '\u{202e}'
}

fn check(client: &str, line: &Line) {
    let shown = format!("{client}: {}", line.what);
    let run = Run::new(client, line);
    let said = &run.said;
    assert_nothing_raw(&shown, said);
    let (outcome, error) = match line.seen {
        Seen::NoRun(says) => {
            assert_eq!(said.code, Some(3), "{shown}: {}", said.err);
            assert!(said.err.contains(says), "{shown}: {}", said.err);
            assert_eq!(run.made(), None, "{shown}");
            return;
        }
        Seen::Row(outcome, says) => {
            assert_eq!(said.code, Some(4), "{shown}: {}", said.err);
            (outcome, Some(says))
        }
        Seen::Ended(outcome, says) => {
            assert_eq!(said.code, Some(0), "{shown}: {}", said.err);
            (outcome, says)
        }
        Seen::Reply => {
            assert_eq!(said.code, Some(0), "{shown}: {}", said.err);
            ("complete", None)
        }
    };
    let rows = rows(&run.made().unwrap());
    assert_eq!(rows.len(), QUESTIONS, "{shown}");
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(row["query_index"], index, "{shown}");
        if index == STRUCK {
            assert_eq!(row["outcome"], outcome, "{shown}: {}", row["error"]);
            let text = row["error"].as_str();
            let as_told = match error {
                Some(says) => text.is_some_and(|text| text.contains(says)),
                None => text.is_none(),
            };
            assert!(as_told, "{shown}: {text:?}");
        } else {
            assert_eq!(row["outcome"], "complete", "{shown}: {}", row["error"]);
            let answer = &row["model_answers"]["reference"];
            assert_eq!(*answer, words(WORDS).concat(), "{shown}");
        }
        if let (STRUCK, Cause::Text(text)) = (index, line.cause) {
            assert_eq!(row["model_answers"]["reference"], text, "{shown}");
        }
    }
}

fn check_all(client: &str, of: impl Fn(&Seen) -> bool) {
    let mut checked = 0;
    for line in TABLE.iter().filter(|line| of(&line.seen)) {
        if client != "ollama" && line.only_ollama() {
            continue;
        }
        if matches!(line.cause, Cause::Ipv6) && TcpListener::bind("[::1]:0").is_err() {
            // A machine without IPv6.
            continue;
        }
        check(client, line);
        checked += 1;
    }
    assert!(checked > 3);
}

#[test]
fn what_is_wrong_at_the_start_is_exit_3_and_no_run() {
    check_all("openai", |seen| matches!(seen, Seen::NoRun(_)));
}

#[test]
fn what_is_wrong_at_the_start_is_exit_3_and_no_run_with_ollama() {
    check_all("ollama", |seen| matches!(seen, Seen::NoRun(_)));
}

#[test]
fn a_key_that_is_refused_at_the_start_is_exit_3_and_is_not_shown() {
    for client in ["openai", "ollama"] {
        let directory = tempfile::tempdir().unwrap();
        let service = service(Cause::Questions(401));
        let key = directory.path().join("key");
        std::fs::write(&key, "very-secret\n").unwrap();
        let mut command = command(client, directory.path());
        command
            .args(["--client-base-url", &service.url()])
            .arg("--api-key-file")
            .arg(key);
        let said = said(&mut command);
        assert_eq!(said.code, Some(3), "{client}: {}", said.err);
        assert!(
            said.err.contains("refuses the key"),
            "{client}: {}",
            said.err
        );
        assert!(!said.err.contains("very-secret"), "{client}: {}", said.err);
        assert_eq!(service.requests(), 0, "{client}: no query was sent");
    }
}

#[test]
fn what_goes_wrong_later_is_a_row_and_the_others_are_none_the_worse() {
    check_all("openai", |seen| {
        matches!(seen, Seen::Row(..) | Seen::Ended(..))
    });
}

#[test]
fn what_goes_wrong_later_is_a_row_with_ollama() {
    check_all("ollama", |seen| {
        matches!(seen, Seen::Row(..) | Seen::Ended(..))
    });
}

#[test]
fn what_is_only_odd_is_a_reply() {
    check_all("openai", |seen| matches!(seen, Seen::Reply));
}

#[test]
fn what_is_only_odd_is_a_reply_with_ollama() {
    check_all("ollama", |seen| matches!(seen, Seen::Reply));
}

#[test]
fn a_service_that_goes_away_in_the_middle_is_rows_and_not_an_abort() {
    for client in ["openai", "ollama"] {
        let directory = tempfile::tempdir().unwrap();
        let (struck, is_struck_now) = mpsc::channel();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let service = Service::start(clock, move |received| {
            if is_struck(received) {
                struck.send(()).unwrap();
            }
            script(&Cause::Reply(|| Fault::HangBeforeHead), received)
        })
        .unwrap();
        let mut command = command(client, directory.path());
        command.args(["--client-base-url", &service.url()]);
        let child = spawn(&mut command);
        is_struck_now.recv().unwrap();
        drop(service);
        let run = Run {
            said: child.wait_with_output().unwrap().into(),
            directory,
        };
        assert_eq!(run.said.code, Some(4), "{client}: {}", run.said.err);
        let rows = rows(&run.made().unwrap());
        assert_eq!(rows.len(), QUESTIONS, "{client}");
        for (index, row) in rows.iter().enumerate() {
            let outcome = row["outcome"].as_str().unwrap();
            // A connection that the dying service has not accepted yet is reset, not refused.
            let as_told = match index {
                0..STRUCK => outcome == "complete",
                _ => matches!(outcome, "failed:connect" | "failed:reset"),
            };
            assert!(as_told, "{client}, query {index}: {outcome}");
        }
    }
}

/// Run with `IPW_UPDATE_DOCS=1` to write the table anew.
#[test]
fn the_documented_table_is_this_one() {
    check_generated("faults.md", "faults", &table::markdown());
}
