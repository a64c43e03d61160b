//! `ipw serve`: the real binary with a tiny model, asked by the official Python package and by
//! `ipw profile` itself.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use ipw_testkit::tap::Tap;
use ipw_testkit::tiny_model::TinyModel;
use ipw_testkit::{Venv, or_skip};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::common::{all_cores, ipw, rows, said};
use crate::wire::{assert_counts, prompts, stream_of};

/// A directory with a model.
struct Place(tempfile::TempDir);

impl Place {
    fn new(model: &TinyModel) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        model.write(place.model()).unwrap();
        place
    }

    fn model(&self) -> PathBuf {
        self.path("tiny.gguf")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = ipw();
        command
            .args(["serve", "--threads", "1", "--model"])
            .arg(self.model())
            .args(more)
            .env("IPW_CACHE", self.path("cache"));
        command
    }

    fn serve(&self) -> Serving {
        let mut child = self
            .command(&["--port", "0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut ready)
            .unwrap();
        let talk = BufReader::new(child.stderr.take().unwrap());
        let serving = Serving { child, ready, talk };
        assert!(
            serving.ready.starts_with("listening on http://127.0.0.1:"),
            "{}",
            serving.ready
        );
        serving
    }

    /// `ipw profile` of the dataset, and the rows that come of it.
    fn profile(&self, output: &str, args: &[&str]) -> Vec<Value> {
        let output = self.path(output);
        let mut command = ipw();
        command
            .args(["profile", "--quiet", "--warmup", "1", "--dataset"])
            .arg(self.path("questions.jsonl"))
            .arg("--output-dir")
            .arg(&output)
            .args(args)
            .env("IPW_CACHE", self.path("cache"));
        let said = said(&mut command);
        assert_eq!(said.code, Some(0), "{}", said.err);
        let runs: Vec<_> = output.read_dir().unwrap().flatten().collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        rows(&runs[0].path())
    }
}

/// A server that runs until it is dropped.
struct Serving {
    child: Child,
    ready: String,
    talk: BufReader<ChildStderr>,
}

impl Serving {
    fn url(&self) -> &str {
        let url = self.ready.strip_prefix("listening on ").unwrap();
        url.split_once("/v1 ").unwrap().0
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// The next line on standard error.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.talk.read_line(&mut line).unwrap();
        line
    }

    fn exit_code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_says_where_it_listens_and_how_to_measure_it() {
    let place = Place::new(&TinyModel::default());
    let mut serving = place.serve();
    let url = serving.url().to_owned();
    assert_eq!(
        serving.ready,
        format!("listening on {url}/v1 (model tiny)\n")
    );
    let hint = serving.line();
    let command = format!("ipw profile --client openai --client-base-url {url}\n");
    assert!(hint.ends_with(&command), "{hint}");
}

const SCRIPT: &str = include_str!("serve/ask.py");

#[test]
fn the_official_python_package_talks_to_it() {
    let _busy = all_cores();
    let Some(python) = or_skip(Venv::ensure("openai", &["openai==3.49.0"])) else {
        return;
    };
    let place = Place::new(&TinyModel::default());
    let serving = place.serve();
    let seen: Value = serde_json::from_str(&python.run(SCRIPT, &[serving.url()]).unwrap()).unwrap();
    assert_eq!(
        (&seen["models"], &seen["model"]),
        (&json!(["tiny"]), &json!("tiny"))
    );
    assert!(!seen["text"].as_str().unwrap().is_empty());
    assert_eq!(seen["text"], seen["streamed"]);
    assert_eq!(seen["reason"], "length");
    assert_eq!(seen["reasons"], json!([null, "length"]));
    assert_eq!(seen["role"], "assistant");
    assert_eq!(seen["usage"][1], 16);
    assert_eq!(seen["stream_usage"], json!([seen["usage"]]));
    let message = |what: &str| seen[what]["message"].as_str().unwrap().to_owned();
    assert!(message("bad").contains("`temperature` is -1"), "{seen}");
    assert_eq!(seen["bad"]["param"], "temperature");
    for long in ["long", "long_stream"] {
        assert_eq!(seen[long]["code"], "context_length_exceeded", "{seen}");
    }
    assert!(
        message("missing").contains("this server has `tiny`"),
        "{seen}"
    );
    assert_eq!(seen["missing"]["code"], "model_not_found");
}

#[test]
fn profile_counts_the_same_by_the_server_and_in_process() {
    let _busy = all_cores();
    let place = Place::new(&TinyModel::default());
    let questions = [
        "What is 2 + 2?",
        "Say »äöü«.",
        "世界 🌍",
        "fn main() {\n\t()\n}",
        "x",
    ];
    let row = |(index, problem): (usize, &&str)| {
        let parameters = json!({ "temperature": 0, "max_tokens": 8 + 6 * index });
        json!({ "problem": problem, "parameters": parameters }).to_string() + "\n"
    };
    let lines: String = questions.iter().enumerate().map(row).collect();
    std::fs::write(place.path("questions.jsonl"), lines).unwrap();
    let model = place.model();
    let here = ["--client", "embedded", "--model", model.to_str().unwrap()];
    let here = place.profile("here", &here);
    let serving = place.serve();
    // The service has exactly one model, so that it need not be named.
    let there = ["--client", "openai", "--client-base-url", serving.url()];
    let there = place.profile("there", &there);
    assert_eq!(
        (here.len(), there.len()),
        (questions.len(), questions.len())
    );
    for (here, there) in here.iter().zip(&there) {
        for same in ["problem", "outcome", "model_answers", "token_source"] {
            assert_eq!(here[same], there[same], "{same}");
        }
        let tokens = |row: &Value| row["model_metrics"]["tiny"]["token_metrics"].clone();
        assert_eq!(tokens(here), tokens(there));
        assert!(tokens(here)["output"].as_u64().unwrap() > 0, "{here}");
    }
}

#[test]
fn every_count_of_a_row_is_what_the_server_says_on_the_wire() {
    let _busy = all_cores();
    let place = Place::new(&TinyModel::default());
    let lines = prompts(20).into_iter().enumerate().map(|(index, mut row)| {
        row["parameters"] = json!({ "temperature": 0, "max_tokens": 4 + index });
        row.to_string() + "\n"
    });
    std::fs::write(place.path("questions.jsonl"), lines.collect::<String>()).unwrap();
    let serving = place.serve();
    let tap = Tap::start(serving.url());
    let url = tap.url();
    let args = ["--client", "openai", "--client-base-url", &url];
    let rows = place.profile("tapped", &[&args[..], &["--concurrency", "8"]].concat());
    assert_eq!(rows.len(), 20);
    let exchanges = tap.exchanges();
    for row in &rows {
        assert_counts(row, "tiny", &stream_of(&exchanges, row));
    }
}

#[test]
fn a_signal_ends_it_well() {
    let place = Place::new(&TinyModel::default());
    for signal in [Signal::INT, Signal::TERM] {
        let mut serving = place.serve();
        serving.signal(signal);
        assert_eq!(serving.exit_code(), Some(0));
    }
}

#[test]
fn a_second_signal_does_not_wait_for_replies() {
    let _busy = all_cores();
    let place = Place::new(&TinyModel {
        context: 64_000,
        ..TinyModel::default()
    });
    let mut serving = place.serve();
    let address = serving.url().strip_prefix("http://").unwrap().to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    let body = json!({
        "messages": [{ "role": "user", "content": "go on" }],
        "max_tokens": 60_000, "ignore_eos": true, "stream": true,
    })
    .to_string();
    let length = body.len();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream.read_exact(&mut [0; 12]).unwrap();
    serving.line();
    serving.signal(Signal::INT);
    let told = serving.line();
    assert!(told.contains("interrupt again to stop at once"), "{told}");
    serving.signal(Signal::INT);
    assert_eq!(serving.line(), "stopping at once\n");
    assert_eq!(serving.exit_code(), Some(0));
}

#[test]
fn a_port_in_use_is_named_with_the_way_out() {
    let place = Place::new(&TinyModel::default());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = said(&mut place.command(&["--port", &port]));
    assert_eq!((said.code, &*said.out), (Some(1), ""), "{}", said.err);
    let expected =
        format!("error: port {port} is in use at 127.0.0.1\nhelp: `--port 0` picks a free port\n");
    assert_eq!(said.err, expected);
}

#[test]
fn a_host_that_is_not_here_is_a_usage_error() {
    let place = Place::new(&TinyModel::default());
    for (host, says) in [
        (
            "203.0.113.1",
            "`203.0.113.1` is not an address of this machine",
        ),
        (
            "no-such-host.invalid",
            "cannot resolve the host `no-such-host.invalid`",
        ),
        ("http://localhost", "is not a host name or address"),
        ("localhost:80", "is not a host name or address"),
    ] {
        let said = said(&mut place.command(&["--port", "0", "--host", host]));
        assert_eq!((said.code, &*said.out), (Some(2), ""), "{}", said.err);
        assert!(said.err.contains(says), "{}", said.err);
    }
}

#[test]
fn a_model_that_cannot_be_used_is_an_error_before_the_first_request() {
    let place = Place::new(&TinyModel::default());
    let serve = |model: &Path| {
        let mut command = ipw();
        command.args(["serve", "--port", "0", "--model"]).arg(model);
        said(command.env("IPW_CACHE", place.path("cache")))
    };
    std::fs::write(place.path("broken.gguf"), b"GGUF, or so it says").unwrap();
    let broken = serve(&place.path("broken.gguf"));
    assert_eq!((broken.code, &*broken.out), (Some(3), ""), "{}", broken.err);
    assert!(
        broken.err.starts_with("error: cannot load `"),
        "{}",
        broken.err
    );
    assert!(broken.err.contains("\nhelp: "), "{}", broken.err);
    let absent = serve(&place.path("absent.gguf"));
    assert_eq!((absent.code, &*absent.out), (Some(2), ""), "{}", absent.err);
    assert!(absent.err.contains("absent.gguf"), "{}", absent.err);
    let unknown = serve(Path::new("smolm2-135m"));
    assert_eq!(unknown.code, Some(2), "{}", unknown.err);
}
