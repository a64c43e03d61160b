//! HTTP/2 through the whole binary, against an independent server.

use std::path::PathBuf;

use ipw_reference::Script;
use ipw_testkit::proxy::{Manner, Proxy};
use ipw_testkit::{Hypercorn, or_skip};
use serde_json::{Value, json};

use crate::common::{Place, ipw, metrics, rows, said, summary, without_proxies};
use crate::tls::front;

/// A certificate of `localhost` and its key, as files.
fn certificate(place: &Place) -> (PathBuf, PathBuf) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (place.path().join("cert.pem"), place.path().join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (certificate, key)
}

fn reused(rows: &[Value]) -> bool {
    let is_reused = |row: &Value| row["http"]["connection_reused"] == true;
    let is_whole = |row: &Value| row["http"]["connections_replaced"] == 0;
    rows.iter().all(|row| is_reused(row) && is_whole(row))
}

#[test]
fn a_run_over_http_2_shares_one_connection() {
    let place = Place::new(|_| Script::words(1));
    let Some(server) = or_skip(Hypercorn::start(None)) else {
        return;
    };
    let more = ["--http2", "--concurrency", "8", "--max-queries", "40"];
    let told = said(&mut place.profile_at(&server.url(), "reference", &more));
    assert_eq!(told.code, Some(0), "{}", told.err);
    let run = place.run();
    let rows = rows(&run);
    assert_eq!(rows.len(), 40);
    for row in &rows {
        assert_eq!(row["outcome"], "complete");
        assert_eq!(row["model_answers"]["reference"], "one two three four");
        assert_eq!(row["timing"]["connected_seconds"], Value::Null);
        let chunks = row["timing"]["chunk_seconds"].as_array().unwrap();
        assert_eq!(chunks.len(), 4);
        let sent = row["timing"]["sent_seconds"].as_f64();
        assert!(sent <= row["timing"]["first_byte_seconds"].as_f64());
        assert!(metrics(row)["latency_metrics"]["time_to_first_token_seconds"].is_number());
    }
    assert!(reused(&rows), "{rows:?}");
    let seen = server.seen().unwrap();
    // With those of the warm-up.
    assert_eq!(
        seen,
        json!({"connections": 1, "requests": 43, "versions": ["2"]})
    );
    assert_eq!(summary(&run)["client_info"]["protocol"], "HTTP/2");
    let plan = std::fs::read_to_string(run.join("plan.toml")).unwrap();
    assert!(plan.contains("http2 = true"), "{plan}");
}

#[test]
fn a_service_behind_tls_agrees_on_http_2() {
    let place = Place::new(|_| Script::words(1));
    let (certificate, key) = certificate(&place);
    let Some(server) = or_skip(Hypercorn::start(Some((&certificate, &key)))) else {
        return;
    };
    let more = ["--http2", "--concurrency", "4", "--max-queries", "12"];
    let mut command = place.profile_at(&server.tls_url().unwrap(), "reference", &more);
    let told = said(command.arg("--ca-file").arg(&certificate));
    assert_eq!(told.code, Some(0), "{}", told.err);
    let rows = rows(&place.run());
    assert!(rows.iter().all(|row| row["outcome"] == "complete"));
    assert!(reused(&rows), "{rows:?}");
    assert_eq!(server.seen().unwrap()["versions"], json!(["2"]));
    // Without the flag it is HTTP/1.1, as ever.
    let mut command = place.profile_at(&server.tls_url().unwrap(), "reference", &["--overwrite"]);
    command.args(["--max-queries", "1"]);
    let told = said(command.arg("--ca-file").arg(&certificate));
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert_eq!(server.seen().unwrap()["versions"], json!(["1.1", "2"]));
    ping_shows(&server, &certificate);
}

/// What `ipw ping` shows of such a connection.
fn ping_shows(server: &Hypercorn, certificate: &PathBuf) {
    let url = server.tls_url().unwrap();
    let ping = |more: &[&str]| {
        let mut command = ipw();
        command.args(["ping", "--http2", "--client-base-url", &url, "--ca-file"]);
        let told = said(command.arg(certificate).args(more));
        assert_eq!(told.code, Some(0), "{}", told.err);
        told.out
    };
    let told = ping(&[]);
    for says in [
        "ALPN h2",
        "new connection, up to 100 requests at a time",
        "  :method: POST\n  :scheme: https\n  :authority: localhost:",
        "  :path: /v1/chat/completions\n  user-agent: ipw/",
        "\nreply\n  200\n  content-type: text/event-stream\n",
        "complete (`stop`)",
    ] {
        assert!(told.contains(says), "{says}: {told}");
    }
    let told: Value = serde_json::from_str(&ping(&["--json"])).unwrap();
    let connection = &told["connection"];
    assert_eq!(connection["protocol"], "HTTP/2");
    assert_eq!(connection["reused"], false);
    assert_eq!(connection["streams_at_most"], 100);
    let phases = [
        "tcp_seconds",
        "tls_seconds",
        "connected_seconds",
        "sent_seconds",
    ];
    let phases = phases.map(|name| connection[name].as_f64());
    assert!(
        phases.iter().all(Option::is_some) && phases.is_sorted(),
        "{phases:?}"
    );
}

#[test]
fn who_does_not_speak_http_2_ends_with_3_and_what_to_do() {
    let place = Place::new(|_| Script::words(4));
    let front = front(&place, &["localhost"]);
    let secure = format!("https://localhost:{}", front.port);
    for url in [place.service.url(), secure] {
        let network = ["--http2", "--ca-file", front.roots.to_str().unwrap()];
        let mut profile = place.profile_at(&url, "reference", &network);
        let mut ping = ipw();
        ping.args(["ping", "--model", "m", "--client-base-url", &url])
            .args(network);
        let mut unnamed = ipw();
        unnamed
            .args(["ping", "--client-base-url", &url])
            .args(network);
        for command in [&mut profile, &mut ping, &mut unnamed] {
            let told = said(command);
            assert_eq!(told.code, Some(3), "{}", told.err);
            assert!(told.err.contains("does not speak HTTP/2"), "{}", told.err);
            assert!(told.err.contains("remove `--http2`"), "{}", told.err);
        }
    }
    assert!(!place.runs().exists());
    assert_eq!(place.service.requests(), 0);
}

#[test]
fn a_proxy_that_forwards_http_1_is_refused_with_2() {
    let place = Place::new(|_| Script::words(4));
    let proxy = Proxy::start(Manner::PassesTo(place.service.address()));
    let mut command = place.profile_at("http://service.example", "m", &["--http2"]);
    let told = said(without_proxies(&mut command).env("HTTP_PROXY", proxy.place()));
    assert_eq!(told.code, Some(2), "{}", told.err);
    assert!(told.err.contains(&proxy.place()), "{}", told.err);
    assert!(told.err.contains("remove `--http2`"), "{}", told.err);
    assert!(proxy.heads().is_empty());
}

#[test]
fn a_stored_plan_says_which_protocol() {
    let place = Place::new(|_| Script::words(4));
    let told = said(&mut place.profile(&["--max-queries", "1"]));
    assert_eq!(told.code, Some(0), "{}", told.err);
    let plan = place.run().join("plan.toml");
    let told = said(ipw().args(["profile", "--http2", "--plan"]).arg(&plan));
    assert_eq!(told.code, Some(2), "{}", told.err);
    assert!(told.err.contains("client.network.http2"), "{}", told.err);
}
