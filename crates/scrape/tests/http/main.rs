//! Sources behind a URL: real requests to servers that answer by a script.

#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

mod faults;
mod presets;
mod secrets;
mod tls;
mod truth;

use std::io::{BufReader, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ipw_core::time::{Anchor, Clock, Timestamp};
use ipw_scrape::http::{HttpSpec, connect};
use ipw_telemetry::{Collector, PollError};
use ipw_testkit::ManualClock;
use ipw_testkit::peer::Peer;
use ipw_testkit::web::{Asked, Reply, Served, Server};

type Options<'a> = &'a [(&'a str, &'a str)];

fn spec(url: &str, options: Options<'_>) -> Result<HttpSpec, String> {
    let options = options
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    HttpSpec::parse(url, &options).map_err(|error| error.to_string())
}

fn connected(
    url: &str,
    options: Options<'_>,
    clock: &dyn Clock,
) -> Result<Box<dyn Collector>, String> {
    connect(&spec(url, options)?, clock).map_err(|error| error.to_string())
}

/// Without looking for the period, and at no time in particular.
fn at_once(url: &str, options: Options<'_>) -> Result<Box<dyn Collector>, String> {
    let options: Vec<(&str, &str)> = options.iter().copied().chain([("period", "1s")]).collect();
    connected(url, &options, &ManualClock::default())
}

/// What one poll brings: names and values, and how it ended.
fn poll(collector: &mut dyn Collector) -> (Vec<(String, f64)>, Result<(), PollError>) {
    let mut taken = Vec::new();
    let ended = collector.poll(&ManualClock::default(), &mut |place, _, value| {
        taken.push((place, value));
    });
    let names = collector.sources();
    let taken = taken
        .into_iter()
        .map(|(place, value)| (names[place].name.clone(), value))
        .collect();
    (taken, ended)
}

fn body(text: &str) -> Reply {
    Reply::File(Served::of(text.as_bytes()))
}

/// Always the same text.
fn serving(text: &str) -> Server {
    Server::of(Served::of(text.as_bytes()))
}

#[test]
fn one_connection_serves_all_requests_where_the_device_keeps_it() {
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    let peer = Peer::listen(move |mut stream| {
        count.fetch_add(1, Ordering::SeqCst);
        let mut reader = BufReader::new(stream.try_clone()?);
        while Asked::read(&mut reader).is_ok() {
            let reply = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":1}";
            stream.write_all(reply.as_bytes())?;
        }
        Ok(())
    });
    let mut collector = at_once(peer.unwrap().url(), &[("field", "a"), ("unit", "W")]).unwrap();
    for _ in 0..20 {
        assert!(poll(&mut *collector).1.is_ok());
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[test]
fn a_source_says_what_it_is_and_how_sure_its_instants_are() {
    let server = serving(r#"{"a": "12.5"}"#);
    let options = [
        ("field", "a"),
        ("unit", "W"),
        ("host", "node1"),
        ("name", "plug"),
        ("role", "client"),
        ("sigma", "0.02"),
        ("averaging", "2s"),
    ];
    let mut collector = at_once(&server.url(), &options).unwrap();
    assert_eq!(
        poll(&mut *collector).0,
        [("node1/http/plug/power".to_owned(), 12.5)]
    );
    let source = serde_json::to_value(&collector.sources()[0]).unwrap();
    for (key, expected) in [
        ("collector", "http"),
        ("host", "node1"),
        ("device", "node1/http/plug"),
        ("method", "integrated"),
        ("privilege", "network"),
    ] {
        assert_eq!(source[key], expected, "{source}");
    }
    assert_eq!(source["quantity"]["domain"], "platform");
    assert_eq!(source["quantity"]["averaging_seconds"], 2.0);
    assert_eq!(source["relative_sigma"], 0.02);
    assert_eq!(collector.role(), Some(ipw_core::source::Role::Client));
    let aligned = collector.aligned().unwrap();
    assert_eq!(
        (aligned.how.label(), aligned.shift_nanos),
        ("round_trip", 0)
    );
}

/// Ten milliseconds pass whenever it is looked at.
#[derive(Default)]
struct Ticks(AtomicUsize);

impl Clock for Ticks {
    fn now(&self) -> Timestamp {
        let looks = self.0.fetch_add(1, Ordering::SeqCst) as u64;
        Timestamp::from_nanos(looks * 10_000_000)
    }

    fn anchor(&self) -> Anchor {
        ManualClock::default().anchor()
    }
}

#[test]
fn a_reading_is_of_the_middle_of_its_request() {
    let server = serving(r#"{"a": 1}"#);
    let clock = Ticks::default();
    let options = [("field", "a"), ("unit", "W"), ("period", "1s")];
    let mut collector = connected(&server.url(), &options, &clock).unwrap();
    let asked = clock.now().nanos() + 10_000_000;
    let mut taken = Vec::new();
    collector
        .poll(&clock, &mut |_, at, _| taken.push(at.nanos()))
        .unwrap();
    assert_eq!(taken, [asked + 5_000_000]);
    let bound = collector.aligned().unwrap().bound;
    assert_eq!((bound.as_millis(), collector.delay().as_millis()), (5, 10));
}

#[test]
fn it_is_asked_twice_a_period_and_no_more_often_than_ten_times_a_second() {
    let server = serving(r#"{"a": 1}"#);
    let asked = |options: Options<'_>, wanted: u64| {
        let mut all = vec![("field", "a"), ("unit", "W")];
        all.extend(options);
        let collector = connected(&server.url(), &all, &ManualClock::default()).unwrap();
        collector
            .interval(std::time::Duration::from_millis(wanted))
            .as_millis()
    };
    assert_eq!(asked(&[("period", "3s")], 10), 1500);
    assert_eq!(asked(&[("period", "20ms")], 10), 100);
    assert_eq!(asked(&[("period", "1s")], 5000), 5000);
    assert_eq!(asked(&[("period", "1s"), ("interval", "30ms")], 5000), 30);
}

#[test]
fn a_selector_takes_one_sample_or_says_what_it_found() {
    let page = "m{a=\"x\",b=\"1\"} 3\nm{a=\"y\",b=\"2\"} 4\nother 5\n";
    let server = serving(page);
    let found = |metric: &str, sum: &str| {
        let options = [("metric", metric), ("unit", "J"), ("sum", sum)];
        at_once(&server.url(), &options).map(|mut collector| poll(&mut *collector).0[0].1)
    };
    assert_eq!(found("m{a=\"y\"}", "false"), Ok(4.0));
    assert_eq!(found("m", "true"), Ok(7.0));
    let error = found("m", "false").unwrap_err();
    assert!(
        error.contains("2 values") && error.contains("a=\"x\",b=\"1\""),
        "{error}"
    );
    let error = found("othr", "false").unwrap_err();
    assert!(error.contains("did you mean `other`"), "{error}");
    let error = found("m{a=\"z\"}", "false").unwrap_err();
    assert!(error.contains("has the labels"), "{error}");
}
