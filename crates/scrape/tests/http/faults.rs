//! What devices do wrong, and that it is a gap and never a number.

use std::io::{BufReader, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ipw_telemetry::PollError;
use ipw_testkit::peer::Peer;
use ipw_testkit::web::{Asked, Reply, Served, Server, redirect};

use super::{Options, at_once, body, poll};

const POWER: Options<'static> = &[("field", "power"), ("unit", "W")];
const METRIC: Options<'static> = &[("metric", "m"), ("unit", "W")];
const ENERGY: Options<'static> = &[("field", "power"), ("unit", "J")];

/// Good to be connected with (two questions), then `wrong` once, then good again.
fn faulty(good: &'static str, wrong: Reply) -> Server {
    Server::start(move |_, nth| match nth {
        2 => wrong.clone(),
        _ => body(good),
    })
}

#[test]
fn whatever_is_no_value_is_a_gap_that_names_url_and_field() {
    let good = r#"{"power": 5}"#;
    let cases: Vec<(Options<'_>, &str, Reply, &str)> = vec![
        (POWER, good, body(r#"{"power": "n/a"}"#), "`power` is"),
        (POWER, good, body(r#"{"power": "NaN"}"#), "is impossible"),
        (POWER, good, body(r#"{"power": "inf"}"#), "is impossible"),
        (POWER, good, body(r#"{"power": -3}"#), "is impossible"),
        (POWER, good, body(r#"{"power": 20001}"#), "is impossible"),
        (
            POWER,
            good,
            body(r#"{"power": null}"#),
            "`null`, not a number",
        ),
        (POWER, good, body(r#"{"power": {"a": 1}}"#), "not a number"),
        (POWER, good, body("{}"), "no field `power`"),
        (POWER, good, body(r#"{"power": 5"#), "not JSON"),
        (
            POWER,
            good,
            body("<!DOCTYPE html><title>Log in</title>"),
            "<!DOCTYPE html>",
        ),
        (POWER, good, Reply::Status(500, Vec::new()), "500"),
        (POWER, good, Reply::Status(404, Vec::new()), "404"),
        (POWER, good, Reply::Status(401, Vec::new()), "401"),
        (
            POWER,
            good,
            Reply::File(Served::of(good.as_bytes()).cut_after(4)),
            "",
        ),
        (
            POWER,
            good,
            redirect("http://elsewhere.example/"),
            "elsewhere.example",
        ),
        (ENERGY, good, body(r#"{"power": -1}"#), "is impossible"),
        (METRIC, "m 5\n", body("m NaN\n"), "is impossible"),
        (METRIC, "m 5\n", body("m +Inf\n"), "is impossible"),
        (METRIC, "m 5\n", body("n 5\n"), "no metric `m`"),
        (METRIC, "m 5\n", body("m 1\nm{a=\"b\"} 2\n"), "2 values"),
        (METRIC, "m 5\n", body("m \n"), "not a sample"),
        (METRIC, "m 5\n", body("<html>m 5</html>"), "no metric"),
    ];
    for (options, good, wrong, words) in cases {
        let shown = format!("{wrong:?}");
        let server = faulty(good, wrong);
        let mut collector = at_once(&server.url(), options).unwrap();
        let (taken, ended) = poll(&mut *collector);
        assert!(taken.is_empty(), "{shown}: {taken:?}");
        let error = ended.unwrap_err().to_string();
        assert!(
            error.contains(words) && error.contains(&server.url()),
            "{shown}: {error}"
        );
        let (taken, ended) = poll(&mut *collector);
        assert_eq!((taken[0].1, ended), (5.0, Ok(())), "{shown}");
    }
}

#[test]
fn one_wrong_value_does_not_take_the_others_with_it() {
    let good = r#"{"apower": 5, "aenergy": {"total": 1}}"#;
    let server = faulty(good, body(r#"{"apower": -5, "aenergy": {"total": 2}}"#));
    let mut collector = at_once(&server.url(), &[("preset", "shelly-gen2")]).unwrap();
    let (taken, ended) = poll(&mut *collector);
    assert_eq!((taken.len(), taken[0].1), (1, 7200.0));
    assert!(ended.unwrap_err().to_string().contains("apower"));
}

#[test]
fn a_device_that_goes_away_is_gone_until_it_is_back() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let is_there = Arc::new(AtomicBool::new(true));
    let there = Arc::clone(&is_there);
    let serving = std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            if !there.load(Ordering::SeqCst) {
                return;
            }
            Asked::read(&mut BufReader::new(&stream)).unwrap();
            let reply = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"power\":5}";
            stream.write_all(reply.as_bytes()).unwrap();
        }
    });
    let mut collector = at_once(&format!("http://{address}/"), POWER).unwrap();
    assert!(poll(&mut *collector).1.is_ok());
    is_there.store(false, Ordering::SeqCst);
    assert!(poll(&mut *collector).1.is_err());
    serving.join().unwrap();
    let (taken, ended) = poll(&mut *collector);
    assert!(
        taken.is_empty() && matches!(ended, Err(PollError::Gone(_))),
        "{ended:?}"
    );
    assert!(
        ended
            .unwrap_err()
            .to_string()
            .contains(&address.to_string())
    );
}

#[test]
fn a_reply_without_end_is_cut_off() {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let peer = Peer::listen(move |mut stream| {
        Asked::read(&mut BufReader::new(&stream))?;
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n{\"power\": [")?;
        loop {
            stream.write_all(&[b'1'; 4096])?;
            count.fetch_add(4096, Ordering::SeqCst);
        }
    });
    let error = at_once(peer.unwrap().url(), POWER).err().unwrap();
    assert!(error.contains("longer than 4 MiB"), "{error}");
    // And what was on its way.
    let mebibytes = sent.load(Ordering::SeqCst) >> 20;
    assert!((4..64).contains(&mebibytes), "{mebibytes}");
}

#[test]
fn a_reply_that_drips_is_given_up() {
    let peer = Peer::listen(|mut stream| {
        Asked::read(&mut BufReader::new(&stream))?;
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        loop {
            stream.write_all(b" ")?;
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let error = at_once(peer.unwrap().url(), POWER).err().unwrap();
    assert!(error.contains("no complete reply within"), "{error}");
}

#[test]
fn who_is_not_there_at_the_start_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let error = at_once(&url, POWER).err().unwrap();
    assert!(error.contains(&url), "{error}");
}

#[test]
fn a_redirect_is_followed_on_the_same_host_only() {
    let server = Server::start(|asked, _| match asked.path.as_str() {
        "/old" => redirect("/new"),
        "/loop" => redirect("/loop"),
        _ => body(r#"{"power": 5}"#),
    });
    assert!(at_once(&(server.url() + "/old"), POWER).is_ok());
    let error = at_once(&(server.url() + "/loop"), POWER).err().unwrap();
    assert!(error.contains("redirects"), "{error}");
}
