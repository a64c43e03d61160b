//! What surrounds the process: terminals of any kind, closed pipes, places that cannot be written,
//! odd names, a clock that is set.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ipw_reference::Script;
use rustix::termios::{Winsize, tcsetwinsize};

use crate::common::{Place, Said, ipw, questions, rows, said, summary};
use crate::stop::terminal;

fn place() -> Place {
    Place::new(|_| Script::words(3))
}

/// Runs a command whose every stream is a terminal of that width; what it showed.
fn on_a_terminal(command: &mut Command, columns: u16) -> (Option<i32>, String) {
    let (ours, theirs) = terminal();
    let size = Winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&theirs, size).unwrap();
    let mut child = command
        .stdin(theirs.try_clone().unwrap())
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs)
        .env("TERM", "xterm-256color")
        .spawn()
        .unwrap();
    // The command holds the terminal's other end as long as it lives; it must not be held here.
    *command = Command::new("true");
    let mut ours = std::fs::File::from(ours);
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = ours.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..read]);
    }
    let code = child.wait().unwrap().code();
    (code, String::from_utf8_lossy(&seen).into_owned())
}

/// Characters that a line of the progress bar takes on the screen.
fn shown(line: &str) -> usize {
    let mut rest = line;
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.trim_start_matches(|c: char| c == '[' || c == ';' || c.is_ascii_digit());
        rest = rest.get(1..).unwrap_or("");
    }
    plain.push_str(rest);
    plain.trim_end().chars().count()
}

#[test]
fn twenty_columns_are_enough() {
    let place = place();
    let (code, seen) = on_a_terminal(&mut place.profile(&["--max-queries", "3"]), 20);
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains("panicked"), "{seen}");
    let table: Vec<&str> = seen
        .lines()
        .filter(|line| line.starts_with("per query") || line.starts_with("whole query"))
        .collect();
    assert_eq!(table.len(), 2, "{seen}");
    assert!(table.iter().all(|line| shown(line) <= 20), "{table:?}");
    // Progress is drawn again and again in one line: it must not be longer than the line is.
    let drawn: Vec<&str> = seen
        .split(['\r', '\n'])
        .filter(|line| line.contains("profiling") || line.contains("warm-up"))
        // A note that is printed above it may run over several lines.
        .filter(|line| !line.contains("note:"))
        .collect();
    assert!(!drawn.is_empty(), "{seen:?}");
    for line in drawn {
        assert!(shown(line) <= 20, "{line:?}");
    }
}

#[test]
fn without_colour_there_is_none() {
    let place = place();
    let mut command = place.profile(&["--max-queries", "3"]);
    let (code, seen) = on_a_terminal(command.env("NO_COLOR", "1"), 100);
    assert_eq!(code, Some(0), "{seen}");
    let colours = seen.split("\u{1b}[").skip(1).filter(|rest| {
        let end = rest.find(|c: char| !(c == ';' || c.is_ascii_digit()));
        end.is_some_and(|end| rest[end..].starts_with('m'))
    });
    assert_eq!(colours.count(), 0, "{seen:?}");
}

#[test]
fn without_a_terminal_there_is_only_text() {
    let place = place();
    let said = said(&mut place.profile(&["--max-queries", "3"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    for text in [&said.out, &said.err] {
        let is_control = |c: char| c.is_control() && c != '\n';
        assert!(!text.contains(is_control), "{text:?}");
    }
}

#[test]
fn a_closed_pipe_costs_no_row_and_is_no_error() {
    let place = place();
    for more in [&[][..], &["--json"]] {
        let mut args = vec!["--max-queries", "5", "--overwrite"];
        args.extend_from_slice(more);
        let mut child = place
            .profile(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        drop(child.stderr.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{more:?}");
        assert_eq!(rows(&place.run()).len(), 5);
        assert_eq!(summary(&place.run())["status"], "complete");
    }
    let mut show = ipw()
        .arg("show")
        .arg(place.run())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(show.stdout.take());
    assert_eq!(show.wait().unwrap().code(), Some(0));
}

fn refused(place: &Place, directory: &OsStr) -> Said {
    let mut command = ipw();
    command
        .args(["profile", "--client", "openai", "--model", "m"])
        .args(["--client-base-url", &place.service.url()])
        .arg("--output-dir")
        .arg(directory);
    said(&mut command)
}

#[test]
fn a_place_that_cannot_be_written_is_named_before_the_first_query() {
    let place = place();
    let file = place.path().join("a-file");
    std::fs::write(&file, "x").unwrap();
    let long = place.path().join("x".repeat(300));
    for (directory, words) in [
        (file.as_path(), "Not a directory"),
        (&long, "File name too long"),
        (Path::new("/proc/ipw"), "cannot create"),
    ] {
        let said = refused(&place, directory.as_os_str());
        assert_eq!(said.code, Some(1), "{directory:?}: {}", said.err);
        assert!(said.err.contains(words), "{directory:?}: {}", said.err);
        assert!(said.err.contains("--output-dir DIR"), "{}", said.err);
    }
    let odd = place.path().join(OsStr::from_bytes(b"r\xff"));
    let said = refused(&place, odd.as_os_str());
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("not UTF-8"), "{}", said.err);
    assert_eq!(place.service.completed(), 0, "no query was sent");
}

#[test]
fn a_run_below_a_name_that_is_not_utf_8_can_be_shown() {
    let place = place();
    assert_eq!(
        said(&mut place.profile(&["--max-queries", "2"])).code,
        Some(0)
    );
    let odd = place.path().join(OsStr::from_bytes(b"moved\xfe"));
    std::fs::rename(place.run(), &odd).unwrap();
    let shown = said(ipw().arg("show").arg(&odd));
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    assert!(shown.out.contains("queries   2"), "{}", shown.out);
}

/// A library that sets the wall clock back by an hour, half a second after the process began.
const STEPPING_CLOCK: &str = r#"
use std::sync::atomic::{AtomicI64, Ordering};
#[repr(C)] pub struct Time { seconds: i64, nanos: i64 }
unsafe extern "C" { fn syscall(number: i64, ...) -> i64; }
static BEGAN: AtomicI64 = AtomicI64::new(0);
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: i32, time: *mut Time) -> i32 {
    let done = unsafe { syscall(SYSCALL, i64::from(clock), time) };
    if clock == 0 && done == 0 {
        let now = unsafe { (*time).seconds * 1000 + (*time).nanos / 1_000_000 };
        let began = match BEGAN.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => now,
            Err(began) => began,
        };
        if now - began > 500 { unsafe { (*time).seconds -= 3600; } }
    }
    done as i32
}
"#;

#[test]
#[cfg(target_os = "linux")]
fn a_clock_that_is_set_back_moves_no_instant() {
    let place = Place::new(|_| Script {
        first_token: Duration::from_millis(100),
        ..Script::words(3)
    });
    let number = match std::env::consts::ARCH {
        "x86_64" => "228",
        "aarch64" => "113",
        other => panic!("which system call reads the clock on {other}?"),
    };
    let source = place.path().join("clock.rs");
    std::fs::write(&source, STEPPING_CLOCK.replace("SYSCALL", number)).unwrap();
    let library = place.path().join("libclock.so");
    let built = Command::new("rustc")
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "cdylib",
            "-C",
            "panic=abort",
            "-o",
        ])
        .arg(&library)
        .arg(&source)
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let dataset = place.jsonl("d", questions(12));
    let mut command = place.profile(&["--dataset", dataset.to_str().unwrap(), "--warmup", "0"]);
    let said = said(command.env("LD_PRELOAD", &library));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let run = place.run_of("d");
    let rows = rows(&run);
    assert_eq!(rows.len(), 12);
    let mut last = 0.0;
    for row in &rows {
        let timing = &row["timing"];
        let (sent, end) = (
            timing["sent_seconds"].as_f64().unwrap(),
            timing["end_seconds"].as_f64().unwrap(),
        );
        assert!(last <= sent && sent < end && end < 600.0, "{timing}");
        last = end;
    }
    assert!(
        last > 1.0,
        "the clock was set while queries were under way: {last}"
    );
    let elapsed = summary(&run)["overview"]["elapsed_seconds"]
        .as_f64()
        .unwrap();
    assert!((1.0..600.0).contains(&elapsed), "{elapsed}");
}
