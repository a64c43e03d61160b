//! `ipw profile --launch`: the service is started, waited for, measured and stopped, with all that it
//! started.

mod real;

use std::ffi::OsStr;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ipw_testkit::tiny_model::TinyModel;

use crate::common::{Said, all_cores, ipw, rows, said, summary, wait_until};
use crate::energy::paced;

/// A directory with a tiny model, and a port that is free.
struct Place {
    directory: tempfile::TempDir,
    port: u16,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        TinyModel::default()
            .write(directory.path().join("tiny.gguf"))
            .unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        Self { directory, port }
    }

    fn profile(&self, more: &[&str]) -> Command {
        let mut command = ipw();
        command
            .args(["profile", "--warmup", "1", "--dataset"])
            .arg(self.questions())
            .args(["--param", "max_tokens=4", "--output-dir"])
            .arg(self.directory.path().join("runs"))
            .args(more);
        command
    }

    fn questions(&self) -> PathBuf {
        let path = self.directory.path().join("questions.jsonl");
        let lines: Vec<String> = crate::common::questions(3)
            .iter()
            .map(ToString::to_string)
            .collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        path
    }

    /// `ipw serve` as typed, with `mark` in its arguments to find it by.
    fn serve(&self) -> Vec<String> {
        let model = self.directory.path().join("tiny.gguf");
        let words = [
            env!("CARGO_BIN_EXE_ipw"),
            "serve",
            "--threads",
            "1",
            "--model",
            model.to_str().unwrap(),
            "--port",
            &self.port.to_string(),
        ];
        words.map(str::to_owned).to_vec()
    }

    fn run(&self) -> PathBuf {
        let runs = std::fs::read_dir(self.directory.path().join("runs")).unwrap();
        let mut runs = runs.flatten().map(|entry| entry.path());
        let is_run = |path: &PathBuf| path.join("summary.json").exists();
        runs.find(is_run).unwrap()
    }

    /// Processes that have this place in their arguments.
    fn processes(&self) -> Vec<String> {
        with_argument(self.directory.path().to_str().unwrap())
    }
}

fn with_argument(mark: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| {
        let _: u32 = entry.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|line| line.contains(mark)).collect()
}

fn launch<S: AsRef<OsStr>>(command: &mut Command, launched: &[S]) -> Said {
    said(command.arg("--launch").arg("--").args(launched))
}

#[test]
#[cfg(feature = "engine")]
fn a_service_is_started_measured_and_stopped() {
    let _cores = all_cores();
    let place = Place::new();
    let done = launch(&mut place.profile(&[]), &place.serve());
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.err.contains("ready after"), "{}", done.err);
    assert_eq!(rows(&place.run()).len(), 3);
    let info = &summary(&place.run())["client_info"];
    assert!(
        info["launch"]["load_seconds"].as_f64().unwrap() > 0.0,
        "{info:#}"
    );
    assert_eq!(info["launch"]["command"][1], "serve");
    #[cfg(target_os = "linux")]
    {
        let cpu = &summary(&place.run())["telemetry"]["cpu"];
        assert!(cpu["service_processes"].as_u64().unwrap() >= 1, "{cpu}");
        // Three short replies may take less than a tick.
        assert!(cpu["service_seconds"].is_f64(), "{cpu}");
    }
    assert_eq!(place.processes(), Vec::<String>::new());
    // The plan says what was started, and starts it again only when told.
    let plan = place.run().join("plan.toml");
    let elsewhere = place.directory.path().join("again");
    let again = |more: &[&str]| {
        let mut command = ipw();
        command.args(["profile", "--plan"]).arg(&plan);
        said(command.arg("--output-dir").arg(&elsewhere).args(more))
    };
    let refused = again(&[]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("--allow-launch"), "{}", refused.err);
    let allowed = again(&["--allow-launch"]);
    assert_eq!(allowed.code, Some(0), "{}", allowed.err);
    assert_eq!(place.processes(), Vec::<String>::new());
}

#[test]
#[cfg(feature = "engine")]
fn what_the_service_left_behind_is_stopped_with_it() {
    let _cores = all_cores();
    let place = Place::new();
    let mark = place.directory.path().join("orphan");
    // A grandchild in a session of its own, whose parent has ended, and one that does not listen.
    let script = format!(
        "(setsid sh -c 'sleep 600; : {0}' &) ; sh -c 'trap \"\" TERM; while :; do sleep 0.2; done; : {0}' & exec {1}",
        mark.display(),
        place.serve().join(" ")
    );
    let url = format!("http://127.0.0.1:{}", place.port);
    let ready = format!("{url}/health");
    let mut command = place.profile(&["--client-base-url", &url, "--ready-url", &ready]);
    let done = launch(&mut command, &["sh", "-c", &script].map(str::to_owned));
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.err.contains("were killed"), "{}", done.err);
    assert_eq!(place.processes(), Vec::<String>::new());
}

#[test]
#[cfg(feature = "engine")]
fn a_killed_ipw_takes_its_service_along() {
    let _cores = all_cores();
    let place = Place::new();
    let mut command = place.profile(&["--repeat", "100000"]);
    command.arg("--launch").arg("--").args(place.serve());
    let mut running = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("queries come in", || {
        place
            .directory
            .path()
            .join("runs")
            .read_dir()
            .is_ok_and(|runs| {
                runs.flatten()
                    .any(|entry| entry.path().join("summary.json").exists())
            })
    });
    running.kill().unwrap();
    running.wait().unwrap();
    wait_until("the service is gone", || place.processes().is_empty());
}

#[test]
fn a_service_that_fails_or_never_comes_is_told_with_its_last_words() {
    let place = Place::new();
    let url = format!("http://127.0.0.1:{}", place.port);
    let flags = [
        "--client-base-url",
        &url,
        "--model",
        "m",
        "--ready-url",
        &url,
    ];
    let failing = [
        "sh",
        "-c",
        "echo loading; echo 'no such model: x' >&2; exit 7",
    ];
    let failed = launch(&mut place.profile(&flags), &failing.map(str::to_owned));
    assert_eq!(failed.code, Some(3), "{}", failed.err);
    for words in ["exit code 7", "no such model: x", "loading", ".log"] {
        assert!(failed.err.contains(words), "{words}: {}", failed.err);
    }
    let mark = place.directory.path().join("sleeper");
    let never = format!("echo still loading; sleep 600; : {}", mark.display());
    let mut command = place.profile(&flags);
    command.args(["--ready-timeout", "1s"]);
    let never = launch(&mut command, &["sh", "-c", &never].map(str::to_owned));
    assert_eq!(never.code, Some(3), "{}", never.err);
    assert!(
        never.err.contains("not ready within 1s") && never.err.contains("still loading"),
        "{}",
        never.err
    );
    assert_eq!(place.processes(), Vec::<String>::new());
    let nothing = launch(&mut place.profile(&flags), &["/no/such/program".to_owned()]);
    assert_eq!(nothing.code, Some(3), "{}", nothing.err);
    assert!(nothing.err.contains("/no/such/program"), "{}", nothing.err);
}

#[test]
fn a_command_that_leaves_only_a_daemon_is_told_and_the_daemon_is_stopped() {
    let place = Place::new();
    let mark = place.directory.path().join("daemon");
    // Forked twice, in a session of its own, and its parents are gone.
    let daemon = format!(
        "(setsid sh -c 'sleep 600; : {}' &); echo gone to the background",
        mark.display()
    );
    let url = format!("http://127.0.0.1:{}", place.port);
    let mut command = place.profile(&["--client-base-url", &url, "--model", "m"]);
    let done = launch(&mut command, &["sh", "-c", &daemon].map(str::to_owned));
    assert_eq!(done.code, Some(3), "{}", done.err);
    for words in [
        "exited before it was ready (exit code 0)",
        "gone to the background",
    ] {
        assert!(done.err.contains(words), "{words}: {}", done.err);
    }
    assert_eq!(place.processes(), Vec::<String>::new());
}

#[test]
fn a_port_that_is_taken_and_a_command_that_is_missing_are_said_at_once() {
    let place = Place::new();
    let other = paced(10);
    let url = other.service.url();
    let elsewhere = format!("http://127.0.0.1:{}/health", place.port);
    let mark = place.directory.path().join("never");
    let command = format!("touch {}", mark.display());
    // Whether it is asked for readiness or for replies: who is there was not started by us.
    for ready in [Some(&url), None, Some(&elsewhere)] {
        let mut profile = place.profile(&["--client-base-url", &url, "--model", "m"]);
        if let Some(ready) = ready {
            profile.args(["--ready-url", ready]);
        }
        let taken = launch(&mut profile, &["sh", "-c", &command].map(str::to_owned));
        assert_eq!(taken.code, Some(3), "{ready:?}: {}", taken.err);
        assert!(
            taken.err.contains("answers at") && taken.err.contains("another port"),
            "{ready:?}: {}",
            taken.err
        );
        assert!(!mark.exists(), "{ready:?}: nothing was started");
    }
    assert_eq!(other.service.requests(), 0, "no query was sent");
    for (more, words) in [
        (&["--launch"][..], "after `--`"),
        (&["--", "sh"], "needs `--launch`"),
        (
            &["--scorer", "nonsense", "--launch", "--", "sh"],
            "nonsense",
        ),
    ] {
        let wrong = said(place.profile(&[]).args(more));
        assert_eq!(wrong.code, Some(2), "{}", wrong.err);
        assert!(wrong.err.contains(words), "{words}: {}", wrong.err);
    }
}

#[test]
#[cfg(feature = "engine")]
fn a_secret_in_the_command_is_neither_stored_nor_shown() {
    let _cores = all_cores();
    let place = Place::new();
    let mut command = vec!["env".to_owned(), "MY_API_KEY=hunter2hunter2".to_owned()];
    command.extend(place.serve());
    let url = format!("http://127.0.0.1:{}", place.port);
    let ready = format!("{url}/health");
    let flags = ["--client-base-url", &url, "--ready-url", &ready];
    let done = launch(&mut place.profile(&flags), &command);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(!done.err.contains("hunter2"), "{}", done.err);
    let run = place.run();
    crate::keys::assert_hidden(&run);
    let told = &summary(&run)["client_info"]["launch"]["command"];
    assert_eq!(told[1], "MY_API_KEY=[secret]");
    // It is not in the plan: the command is given again, and then it needs no other word.
    let elsewhere = place.directory.path().join("again");
    let mut again = ipw();
    again.args(["profile", "--allow-launch", "--plan"]);
    again.arg(run.join("plan.toml"));
    let refused = said(again.arg("--output-dir").arg(&elsewhere));
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    for words in ["MY_API_KEY=[secret]", "not stored", "--launch -- COMMAND"] {
        assert!(refused.err.contains(words), "{words}: {}", refused.err);
    }
    let given = |command: &[String]| {
        let mut again = ipw();
        again.args(["profile", "--plan"]).arg(run.join("plan.toml"));
        launch(again.arg("--output-dir").arg(&elsewhere), command)
    };
    let other = given(&["true".to_owned()]);
    assert_eq!(other.code, Some(2), "{}", other.err);
    let done = given(&command);
    assert_eq!(done.code, Some(0), "{}", done.err);
    crate::keys::assert_hidden(&elsewhere);
    // One that fails shows its command and its last words.
    let words = ["sh", "-c", "echo key $2; exit 7", "sh", "--api-key"];
    let mut failing = words.map(str::to_owned).to_vec();
    failing.push("hunter2hunter2".to_owned());
    let place = Place::new();
    let url = format!("http://127.0.0.1:{}", place.port);
    let flags = [
        "--client-base-url",
        &url,
        "--model",
        "m",
        "--ready-url",
        &url,
    ];
    let failed = launch(&mut place.profile(&flags), &failing);
    assert_eq!(failed.code, Some(3), "{}", failed.err);
    assert!(!failed.err.contains("hunter2"), "{}", failed.err);
    assert!(failed.err.contains("key [secret]"), "{}", failed.err);
}
