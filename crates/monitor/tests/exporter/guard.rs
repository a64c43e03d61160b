//! Who gets the page, and what a crowd, a slow client and garbage do to it.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use ipw_monitor::Token;
use ipw_monitor::exporter::{Exporter, ExporterError};
use ipw_runner::SystemClock;
use ipw_telemetry::Session;

use super::client::{Asked, get, read, said};
use super::setup;

const TOKEN: &str = "a-token-of-some-length";

/// In real time: patience is a matter of it.
fn start(address: &str, token: Option<Token>) -> Result<Exporter, ExporterError> {
    let clock = Arc::new(SystemClock::start());
    let (session, _) = Session::new(setup(Vec::new()), clock.clone());
    Exporter::start(Arc::new(session), clock, address.parse().unwrap(), token)
}

fn open() -> Exporter {
    start("127.0.0.1:0", None).unwrap()
}

#[test]
fn only_the_page_is_served_and_only_to_be_read() {
    let exporter = open();
    let asked = |method, path| {
        let asked = Asked {
            method: Some(method),
            ..Asked::default()
        };
        get(exporter.address(), path, asked)
    };
    assert_eq!(asked("GET", "/metrics?a=b").status, 200);
    assert_eq!(asked("GET", "/").status, 404);
    assert_eq!(asked("GET", "/metrics/../etc/passwd").status, 404);
    let answer = asked("POST", "/metrics");
    assert_eq!(answer.status, 405);
    assert!(answer.head.contains("Allow: GET"), "{answer:?}");
}

#[test]
fn beyond_loopback_there_is_a_token_or_nothing() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let error = start(address, None).err().unwrap().to_string();
        assert!(
            error.contains("token_file=PATH") && error.contains(address),
            "{error}"
        );
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), TOKEN).unwrap();
    let token = Token::read(file.path()).unwrap();
    let exporter = start("0.0.0.0:0", Some(token)).unwrap();
    let loopback = SocketAddr::new([127, 0, 0, 1].into(), exporter.address().port());
    let asked = |headers| {
        let asked = Asked {
            headers,
            host: Some("some.machine.example"),
            ..Asked::default()
        };
        get(loopback, "/metrics", asked)
    };
    let answer = asked("");
    assert_eq!(answer.status, 401);
    assert!(
        answer.head.contains("WWW-Authenticate: Bearer"),
        "{answer:?}"
    );
    assert_eq!(asked("Authorization: Bearer wrong\r\n").status, 401);
    assert_eq!(
        asked("Authorization: Bearer a-token-of-some-lengtX\r\n").status,
        401
    );
    assert_eq!(
        asked("authorization: bearer a-token-of-some-length\r\n").status,
        200
    );
}

#[test]
fn a_foreign_name_that_leads_here_gets_nothing() {
    let exporter = open();
    let status = |host| {
        let asked = Asked {
            host: Some(host),
            ..Asked::default()
        };
        get(exporter.address(), "/metrics", asked).status
    };
    assert_eq!(status("rebound.example:80"), 403);
    assert_eq!(status("localhost:1"), 200);
}

#[test]
fn garbage_is_refused_and_the_next_one_is_served() {
    let exporter = open();
    let huge = format!(
        "GET /metrics HTTP/1.1\r\nA: {}\r\n\r\n",
        "x".repeat(100_000)
    );
    for (bytes, status) in [
        (
            &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"[..],
            400,
        ),
        (b"\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (huge.as_bytes(), 431),
    ] {
        assert_eq!(said(exporter.address(), bytes).status, status, "{bytes:?}");
    }
    assert_eq!(
        get(exporter.address(), "/metrics", Asked::default()).status,
        200
    );
}

#[test]
fn a_crowd_is_bounded_and_passes() {
    let exporter = open();
    let address = exporter.address();
    let silent: Vec<TcpStream> = (0..200)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    let mut turned_away = 0;
    for mut stream in silent {
        stream
            .set_read_timeout(Some(Duration::from_mins(1)))
            .unwrap();
        // A silent client is refused at once or dropped later; none keeps its slot.
        let answer = read(&mut stream);
        assert!([0, 503].contains(&answer.status), "{answer:?}");
        turned_away += u32::from(answer.status == 503);
    }
    assert!(turned_away >= 200 - 2 * 32, "{turned_away}");
    assert_eq!(get(address, "/metrics", Asked::default()).status, 200);
}

#[test]
fn a_slow_client_delays_no_other_client_and_is_dropped() {
    let exporter = open();
    let mut slow = TcpStream::connect(exporter.address()).unwrap();
    let mut dripping = slow.try_clone().unwrap();
    let dripped = std::thread::spawn(move || {
        for byte in "GET /metrics HTTP/1.1\r\n".bytes().cycle() {
            if dripping.write_all(&[byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    assert_eq!(
        get(exporter.address(), "/metrics", Asked::default()).status,
        200
    );
    slow.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    assert_eq!(read(&mut slow).status, 0);
    dripped.join().unwrap();
}

#[test]
fn it_ends_with_its_value_and_a_taken_port_is_told() {
    let exporter = open();
    let address = exporter.address();
    let error = start(&address.to_string(), None).err().unwrap();
    assert!(error.to_string().contains(&address.to_string()), "{error}");
    drop(exporter);
    assert!(TcpStream::connect(address).is_err());
}
