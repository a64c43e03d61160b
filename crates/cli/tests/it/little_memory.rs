//! Files, templates, pages and pipes that want our memory: the lines of "Hostile services, files and
//! plans" in `docs/faults.md` that need the binary. Each runs with little address space.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ipw_reference::Script;

use crate::common::{Place, Said, rows, said, spawn, summary};

/// For what would otherwise never end; no measure of speed.
const NEVER: Duration = Duration::from_mins(1);
/// Address space: far more than a run needs, far less than what is asked for.
const ROOM_KIB: u64 = 3 << 20;

fn in_little_room(command: &Command) -> Command {
    let mut bounded = Command::new("sh");
    bounded
        .arg("-c")
        .arg(format!("ulimit -v {ROOM_KIB}; exec \"$0\" \"$@\""))
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => bounded.env(name, value),
            None => bounded.env_remove(name),
        };
    }
    bounded.env("PATH", "/usr/bin:/bin");
    bounded
}

fn ended(mut child: Child) -> Said {
    for _ in 0..NEVER.as_millis() / 20 {
        if child.try_wait().unwrap().is_some() {
            return child.wait_with_output().unwrap().into();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    let said = Said::from(child.wait_with_output().unwrap());
    panic!("it did not end within {NEVER:?}: {said:?}");
}

/// The one run there.
fn run(runs: &Path) -> PathBuf {
    let runs = std::fs::read_dir(runs).unwrap();
    let mut runs = runs.map(|run| run.unwrap().path());
    runs.find(|path| path.join("state.json").exists()).unwrap()
}

#[cfg(feature = "engine")]
mod engine {
    use ipw_testkit::tiny_model::{GgufValue, TinyModel};

    use super::*;
    use crate::common::ipw;

    fn profiled(model: &[u8], questions: &str) -> (Said, tempfile::TempDir) {
        let place = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| -> PathBuf {
            let path = place.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        let mut command = ipw();
        command
            .args(["profile", "--warmup", "0", "--telemetry", "none", "--model"])
            .arg(file("tiny.gguf", model))
            .arg("--dataset")
            .arg(file("questions.jsonl", questions.as_bytes()))
            .arg("--output-dir")
            .arg(place.path().join("runs"));
        let told = ended(spawn(&mut in_little_room(&command)));
        (told, place)
    }

    #[test]
    fn a_cache_that_does_not_fit_is_a_row_and_the_next_query_is_answered() {
        let model = TinyModel {
            context: 4_194_304,
            layers: 16,
            ..TinyModel::default()
        };
        let questions = r#"{"problem":"a","parameters":{"max_tokens":4000000}}
{"problem":"b","parameters":{"max_tokens":2}}
"#;
        let (told, place) = profiled(&model.bytes(), questions);
        assert_eq!(told.code, Some(4), "{}", told.err);
        let rows = rows(&run(&place.path().join("runs")));
        assert_eq!(rows[0]["outcome"], "failed:engine", "{}", rows[0]["error"]);
        let error = rows[0]["error"].as_str().unwrap();
        assert!(error.contains("no memory for the cache"), "{error}");
        assert!(error.contains("max_tokens"), "{error}");
        assert!(rows[1]["error"].is_null(), "{}", rows[1]["error"]);
    }

    #[test]
    fn a_template_that_fills_the_memory_is_a_row() {
        let mut model = TinyModel::default().builder();
        let doubling = "{% set ns = namespace(s='x') %}\
            {% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s }}";
        model.set("tokenizer.chat_template", GgufValue::text(doubling));
        let (told, place) = profiled(&model.bytes(), "{\"problem\":\"a\"}\n");
        assert_eq!(told.code, Some(4), "{}", told.err);
        let rows = rows(&run(&place.path().join("runs")));
        assert_eq!(rows[0]["outcome"], "failed:template");
        let error = rows[0]["error"].as_str().unwrap();
        assert!(error.contains("a value is larger than 16 MiB"), "{error}");
    }
}

#[test]
fn series_beyond_the_limit_make_server_metrics_incomplete() {
    let place = Place::new(|_| Script::words(2));
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let series = (0..50_007).map(|series| format!("x{{n=\"{series}\"}} 1\n"));
        let body: String = series.collect();
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    let flags = ["--warmup", "0", "--max-queries", "1"];
    let ran = said(place.profile(&flags).args(["--server-metrics", &url]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err.contains("7 series more than the 50000"),
        "{}",
        ran.err
    );
    let told = &summary(&place.run())["server_metrics"];
    assert_eq!(told["is_complete"], false, "{told:#}");
    assert_eq!(told["dropped_series"], 7, "{told:#}");
}

/// The pipe stays open: a command that wants all of it waits for ever.
#[test]
fn a_pipe_without_end_is_read_only_as_far_as_the_limit_needs() {
    let place = Place::new(|_| Script::words(1));
    let flags = ["--warmup", "0", "--max-queries", "2", "--dataset", "-"];
    let mut command = place.profile(&flags);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::thread::spawn(move || {
        let lines = "{\"problem\":\"x\"}\n".repeat(1000);
        for _ in 0..4000 {
            if pipe.write_all(lines.as_bytes()).is_err() {
                return;
            }
        }
        std::thread::sleep(NEVER * 2);
    });
    let told = ended(child);
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert_eq!(rows(&run(&place.runs())).len(), 2);
}
