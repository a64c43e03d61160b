//! Being told to stop, and being asked.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::common::{Place, Said, events, ipw, questions, rows, said, spawn, summary, wait_until};
use ipw_reference::{Fault, Script};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn finished(child: Child) -> Said {
    child.wait_with_output().unwrap().into()
}

#[test]
fn one_signal_drains_and_saves() {
    for kind in [Signal::INT, Signal::TERM, Signal::HUP] {
        let place = Place::new(|_| Script {
            first_token: Duration::from_millis(60),
            ..Script::words(3)
        });
        let child = spawn(&mut place.profile(&["--warmup", "0"]));
        wait_until("a few queries are done", || place.service.completed() >= 3);
        signal(&child, kind);
        let said = finished(child);
        assert_eq!(said.code, Some(130), "{}", said.err);
        assert!(
            said.out.contains("interrupted"),
            "the summary is shown: {}",
            said.out
        );
        let rows = rows(&place.run());
        assert!(rows.len() >= 3 && rows.len() < 40, "{}", rows.len());
        assert_eq!(
            rows.len() as u64,
            place.service.completed(),
            "what was in flight came home"
        );
        assert!(rows.iter().all(|row| row["outcome"] == "complete"));
        assert_eq!(summary(&place.run())["status"], "interrupted");
        let stopping = events(&place.run())
            .iter()
            .any(|event| event["event"] == "stopping");
        assert!(stopping, "the log says so too");
    }
}

#[test]
fn a_second_signal_ends_at_once_and_keeps_what_came() {
    let place = Place::new(|received| Script {
        fault: (received.number == 2).then_some(Fault::HangAfter(2)),
        ..Script::words(3)
    });
    let child = spawn(&mut place.profile(&["--warmup", "0"]));
    wait_until("the third query hangs", || place.service.requests() == 3);
    std::thread::sleep(Duration::from_millis(100));
    signal(&child, Signal::INT);
    std::thread::sleep(Duration::from_millis(100));
    signal(&child, Signal::INT);
    let said = finished(child);
    assert_eq!(said.code, Some(130), "{}", said.err);
    let rows = rows(&place.run());
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[2]["outcome"], "cancelled");
    assert_eq!(rows[2]["model_answers"]["reference"], "word0 word1");
}

#[test]
fn a_query_that_the_interrupt_cut_off_is_sent_again_by_a_plain_resume() {
    let place = Place::new(|received| Script {
        fault: (received.number == 2).then_some(Fault::HangAfter(2)),
        ..Script::words(3)
    });
    let dataset = place.jsonl("d", questions(5));
    let args = ["--warmup", "0", "--dataset", dataset.to_str().unwrap()];
    let child = spawn(&mut place.profile(&args));
    wait_until("the third query hangs", || place.service.requests() == 3);
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(100));
        signal(&child, Signal::INT);
    }
    assert_eq!(finished(child).code, Some(130));
    let run = place.run_of("d");
    let resumed = said(ipw().args(["profile", "--resume"]).arg(&run));
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    assert!(resumed.err.contains("sent again"), "{}", resumed.err);
    let rows = rows(&run);
    let mut indices: Vec<_> = rows.iter().map(|row| row["query_index"].as_u64()).collect();
    indices.sort_unstable();
    assert_eq!(
        indices,
        (0..5).map(Some).collect::<Vec<_>>(),
        "none lost, none doubled"
    );
    assert!(
        rows.iter().all(|row| row["outcome"] == "complete"),
        "{rows:?}"
    );
}

#[test]
fn more_streams_than_files_may_be_open_are_refused_before_the_first_query() {
    let place = Place::new(|_| Script::words(3));
    let profile = place.profile(&["--concurrency", "500", "--max-queries", "600"]);
    let program = profile.get_program().to_owned();
    let args: Vec<_> = profile.get_args().map(std::ffi::OsStr::to_owned).collect();
    let mut limited = std::process::Command::new("sh");
    limited
        .args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
        .arg(program)
        .args(args);
    for (name, value) in profile.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let told = said(&mut limited);
    assert_eq!(told.code, Some(2), "{}", told.err);
    assert!(
        told.err.contains("548 open files, but the limit is 64"),
        "{}",
        told.err
    );
    assert_eq!(place.service.requests(), 0, "nothing was asked");
}

#[test]
fn interrupted_before_the_service_answers_nothing_is_written() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let mut command = ipw();
    command
        .args([
            "profile",
            "--client",
            "openai",
            "--model",
            "m",
            "--client-base-url",
            &url,
        ])
        .arg("--output-dir")
        .arg(directory.path().join("runs"));
    let child = spawn(&mut command);
    let _connection = listener.accept().unwrap();
    signal(&child, Signal::INT);
    assert_eq!(finished(child).code, Some(130));
    assert!(!directory.path().join("runs").exists());
}

#[test]
fn an_old_run_stays_aside_when_the_new_one_is_interrupted() {
    let place = Place::new(|_| Script {
        first_token: Duration::from_millis(50),
        ..Script::words(3)
    });
    assert_eq!(
        said(&mut place.profile(&["--warmup", "0", "--max-queries", "1"])).code,
        Some(0)
    );
    let child = spawn(&mut place.profile(&["--warmup", "0", "--overwrite"]));
    wait_until("the new run goes on", || place.service.completed() >= 3);
    signal(&child, Signal::INT);
    let said = finished(child);
    assert_eq!(said.code, Some(130));
    assert!(said.err.contains("kept at"), "{}", said.err);
    let aside = std::fs::read_dir(place.runs()).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        path.file_name()?.to_str()?.starts_with('.').then_some(path)
    });
    assert_eq!(rows(&aside.expect("the old run")).len(), 1);
}

/// A terminal: what the program sees, and what we type and read.
pub(crate) fn terminal() -> (OwnedFd, std::fs::File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    (ours, theirs)
}

#[test]
fn on_a_terminal_an_existing_output_is_a_question_whose_default_is_no() {
    let place = Place::new(|_| Script::words(3));
    assert_eq!(
        said(&mut place.profile(&["--max-queries", "2"])).code,
        Some(0)
    );
    for (typed, code, expected) in [("\n", 6, 2), ("n\n", 6, 2), ("y\n", 0, 1)] {
        let (ours, theirs) = terminal();
        let mut ours = std::fs::File::from(ours);
        let mut child = place
            .profile(&["--max-queries", "1"])
            .stdin(theirs.try_clone().unwrap())
            .stderr(theirs)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut seen = String::new();
        let mut buffer = [0; 1024];
        while !seen.contains("[y/N]") {
            let read = ours.read(&mut buffer).unwrap();
            seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
        assert!(seen.contains("exists"), "{seen}");
        ours.write_all(typed.as_bytes()).unwrap();
        // The terminal must be read, or the progress bar fills it and waits.
        let reader = std::thread::spawn(
            move || {
                while ours.read(&mut buffer).is_ok_and(|read| read > 0) {}
            },
        );
        assert_eq!(child.wait().unwrap().code(), Some(code), "{typed:?}");
        reader.join().unwrap();
        assert_eq!(rows(&place.run()).len(), expected, "{typed:?}");
    }
}
