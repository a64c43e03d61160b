//! Services that want our time, our memory or our signals: the lines of "Hostile services" in
//! `docs/faults.md`. What must end is ended by the test where it does not.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ipw_reference::Script;
use ipw_testkit::peer::{MODELS, Peer, STREAM, chunk, without_end};
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Place, Said, ipw, rows, said, spawn, summary, wait_until};

/// For what would otherwise never end; no measure of speed.
const NEVER: Duration = Duration::from_mins(1);
/// Address space in which a run must find room: far more than it needs, far less than a flood.
const ROOM_KIB: u64 = 3 << 20;

/// An event that says nothing: quickly written, slowly read, so that there is always more to read.
const NOTHING: &[u8] = b"data: {\"choices\":[]}\n\n";

/// What a command said, if it ended in time.
fn ended(mut child: Child) -> Said {
    let pauses = NEVER.as_millis() / 20;
    for _ in 0..pauses {
        if child.try_wait().unwrap().is_some() {
            return child.wait_with_output().unwrap().into();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    let said = Said::from(child.wait_with_output().unwrap());
    panic!("it did not end within {NEVER:?}: {said:?}");
}

/// The same command with so little room for memory that a flood does not fit.
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
    bounded
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn place() -> Place {
    Place::new(|_| Script::words(1))
}

fn flooding(flood: &'static [u8]) -> Peer {
    Peer::start(move |_, stream| {
        stream.write_all(STREAM)?;
        without_end(stream, flood)
    })
    .unwrap()
}

#[test]
fn a_flood_is_timed_out_and_the_run_goes_on() {
    let (place, peer) = (place(), flooding(NOTHING));
    let more = ["--warmup", "0", "--max-queries", "8", "--concurrency", "8"];
    let mut command = place.profile_at(peer.url(), "reference", &more);
    command.args(["--request-timeout", "1s", "--max-reply", "1TiB"]);
    let told = ended(spawn(&mut command));
    assert_eq!(told.code, Some(4), "{}", told.err);
    let rows = rows(&place.run());
    assert_eq!(rows.len(), 8);
    for row in rows {
        assert_eq!(row["outcome"], "timed_out", "{}", row["error"]);
        let instant = |name: &str| row["timing"][name].as_f64().unwrap();
        let took = instant("end_seconds") - instant("start_seconds");
        assert!(
            (1.0..20.0).contains(&took),
            "the limit is one second: {took}"
        );
    }
}

#[test]
fn signals_are_heard_whatever_streams_do() {
    for kind in [Signal::INT, Signal::TERM] {
        let (place, peer) = (place(), flooding(NOTHING));
        let more = ["--warmup", "0", "--max-queries", "8", "--concurrency", "8"];
        let mut command = place.profile_at(peer.url(), "reference", &more);
        let child = spawn(command.args(["--max-reply", "1TiB"]));
        wait_until("the run is there", || {
            place.run().join("events.jsonl").exists()
        });
        std::thread::sleep(Duration::from_millis(300));
        signal(&child, kind);
        std::thread::sleep(Duration::from_millis(300));
        signal(&child, kind);
        let told = ended(child);
        assert_eq!(told.code, Some(130), "{}", told.err);
        for row in rows(&place.run()) {
            assert_eq!(row["outcome"], "cancelled", "{}", row["error"]);
        }
    }
}

#[test]
fn a_reply_without_end_is_a_row_that_keeps_what_fits() {
    let text: &[u8] =
        b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"xxxxxxxx\"}}]}\n\n";
    let (place, peer) = (place(), flooding(text));
    let more = ["--warmup", "0", "--max-queries", "1", "--max-reply", "4MiB"];
    let command = place.profile_at(peer.url(), "reference", &more);
    let told = ended(spawn(&mut in_little_room(&command)));
    assert_eq!(told.code, Some(4), "{}", told.err);
    let rows = rows(&place.run());
    assert_eq!(rows[0]["outcome"], "failed:too_large");
    assert_eq!(rows[0]["error"], "the reply is larger than 4 MiB");
    let answer = rows[0]["model_answers"]["reference"].as_str().unwrap();
    assert!(
        answer.len() > (4 << 20) / text.len() * 7,
        "{}",
        answer.len()
    );
    let plan = std::fs::read_to_string(place.run().join("plan.toml")).unwrap();
    assert!(plan.contains("max_reply_bytes = 4194304"), "{plan}");
}

#[test]
fn interim_heads_without_end_are_a_row() {
    let place = place();
    let peer = Peer::start(|_, stream| {
        without_end(stream, b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n")
    })
    .unwrap();
    let more = ["--warmup", "0", "--max-queries", "1"];
    let command = place.profile_at(peer.url(), "reference", &more);
    let told = ended(spawn(&mut in_little_room(&command)));
    assert_eq!(told.code, Some(4), "{}", told.err);
    assert_eq!(rows(&place.run())[0]["outcome"], "failed:not_a_stream");
}

/// Before the run there is no row yet to put the blame in.
#[test]
fn a_model_list_without_end_ends_before_the_run() {
    let place = place();
    let peer = Peer::listen(|mut stream| {
        stream.read_exact(&mut [0; 16])?;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")?;
        without_end(&mut stream, b"{\"data\":[")
    })
    .unwrap();
    let more = [
        "--warmup",
        "0",
        "--max-queries",
        "1",
        "--request-timeout",
        "1s",
    ];
    let command = place.profile_at(peer.url(), "reference", &more);
    let told = ended(spawn(&mut in_little_room(&command)));
    assert!(matches!(told.code, Some(3 | 4)), "{told:?}");
}

#[test]
fn bytes_behind_the_last_event_leave_a_reply_complete() {
    let place = place();
    let peer = Peer::start(|_, stream| {
        stream.write_all(STREAM)?;
        stream.write_all(&chunk("hello"))?;
        stream.write_all(b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")?;
        loop {
            stream.write_all(b"\n")?;
            std::thread::sleep(Duration::from_millis(20));
        }
    })
    .unwrap();
    let more = [
        "--warmup",
        "0",
        "--max-queries",
        "2",
        "--request-timeout",
        "2s",
    ];
    let told = ended(spawn(&mut place.profile_at(peer.url(), "reference", &more)));
    assert_eq!(told.code, Some(0), "{}", told.err);
    for row in rows(&place.run()) {
        assert_eq!(row["outcome"], "complete", "{}", row["error"]);
    }
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [length[1], length[2], length[3], kind, flags];
    [&head, &stream[..], payload].concat()
}

/// Answers every request with the list of models, one at a time.
fn models_over_http2(mut stream: &TcpStream) -> io::Result<()> {
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut payload)?;
        let id = [head[5], head[6], head[7], head[8]];
        match (head[3], head[4] & 1) {
            // SETTINGS, and HEADERS of a request.
            (4, 0) => stream.write_all(&frame(4, 1, [0; 4], &[]))?,
            (1, _) => {
                stream.write_all(&frame(1, 4, id, &[0x88]))?;
                stream.write_all(&frame(0, 1, id, MODELS.as_bytes()))?;
            }
            _ => {}
        }
    }
}

#[test]
fn http_2_connections_that_end_at_once_end_the_run() {
    let (place, count) = (place(), AtomicU64::new(0));
    let peer = Peer::listen(move |mut stream| {
        stream.read_exact(&mut [0; 24])?;
        // Room for one stream at a time.
        stream.write_all(&frame(4, 0, [0; 4], &[0, 3, 0, 0, 0, 1]))?;
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            return models_over_http2(&stream);
        }
        stream.shutdown(Shutdown::Write)?;
        stream.read_to_end(&mut Vec::new()).map(drop)
    })
    .unwrap();
    let more = ["--warmup", "0", "--http2", "--concurrency", "8"];
    let told = ended(spawn(&mut place.profile_at(peer.url(), "reference", &more)));
    assert_eq!(told.code, Some(3), "{}", told.err);
    assert!(told.err.contains("right after they opened"), "{}", told.err);
}

#[test]
fn a_row_and_the_verdict_say_when_we_ourselves_were_stopped() {
    let place = Place::new(|received| Script {
        first_token: Duration::from_millis(if received.number == 1 { 1500 } else { 20 }),
        ..Script::words(3)
    });
    let child = spawn(&mut place.profile(&["--warmup", "0", "--max-queries", "3"]));
    wait_until("the second query is there", || {
        place.service.requests() == 2
    });
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, Signal::STOP);
    std::thread::sleep(Duration::from_secs(3));
    signal(&child, Signal::CONT);
    let told = ended(child);
    assert_eq!(told.code, Some(0), "{}", told.err);
    let rows = rows(&place.run());
    let delays: Vec<_> = rows
        .iter()
        .map(|row| row["timing"]["own_delay_seconds"].as_f64().unwrap())
        .collect();
    assert!(delays[1] > 2.5, "{delays:?}");
    assert!(delays[0] < 1.0 && delays[2] < 1.0, "{delays:?}");
    let summary = summary(&place.run());
    let doubts = summary["quality"].as_array().unwrap();
    let doubt = doubts.iter().find(|doubt| doubt["id"] == "own_delay");
    assert!(doubt.is_some(), "{doubts:?}");
    assert!(told.out.contains("`ipw` itself"), "{}", told.out);
}

#[test]
fn a_size_that_is_none_is_refused_by_name() {
    for (size, says) in [("0", "larger than zero"), ("lots", "is not a size")] {
        let told = said(ipw().args(["profile", "--max-reply", size]));
        assert_eq!(told.code, Some(2), "{}", told.err);
        assert!(told.err.contains("--max-reply"), "{}", told.err);
        assert!(told.err.contains(says), "{}", told.err);
    }
}
