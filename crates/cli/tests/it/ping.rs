//! `ipw ping`: everything that was seen, for people and for programs.

use std::time::Duration;

use ipw_reference::{Fault, RoleChunk, Script, words};
use serde_json::Value;

use crate::common::{Place, Said, ipw, said};

const SECRET: &str = "sk-very-secret-0123456789";

const TOLD: &str = r#"openai at http://ADDRESS/v1, model `reference`

connection (each phase, and since the start)
socket # ms # ms ADDRESS
sent # ms # ms first byte of the request
reply # ms # ms first byte of the reply

request
POST /v1/chat/completions HTTP/1.1
host: ADDRESS
user-agent: ipw/VERSION
content-type: application/json
accept: text/event-stream
content-length: 137
{"model":"reference","messages":[{"role":"user","content":"hello"}],"stream":true,"stream_options":{"include_usage":true},"max_tokens":9}

reply
200 OK
Content-Type: text/event-stream
Transfer-Encoding: chunked

stream (ms since sent, ms since the event before, bytes read, µs from arrival to read)
role only
reasoning "word0"
text "word0"
text " word1"
finish `stop`
usage input 1, output 3, reasoning 1, cached 0 · timings prompt # ms, decode # ms
end [DONE]

the row
outcome complete (`stop`)
first token # ms
gaps # ms between chunks (median), # ms (p90)
whole query # ms
tokens/s #
tokens input 1, output 3, reasoning 1, cached 0
counted by usage: the service's own count
service says prompt # ms, decode # ms
stamped by the kernel, when packets arrived"#;

fn ping(place: &Place, more: &[&str]) -> Said {
    let mut command = ipw();
    command
        .args(["ping", "--client-base-url", &place.service.url()])
        .args(more);
    said(&mut command)
}

/// The text with what differs from run to run masked, and one space for many. How many bytes came
/// with which event is the network's affair.
fn masked(text: &str, place: &Place) -> String {
    let text = text.replace(&place.service.address().to_string(), "ADDRESS");
    let version = format!("ipw/{}", env!("CARGO_PKG_VERSION"));
    let text = text.replace(&version, "ipw/VERSION");
    let is_time = |word: &str| word.contains('.') && word.parse::<f64>().is_ok();
    let line = |line: &str| {
        let is_event = line.trim_start().split(' ').next().is_some_and(is_time);
        let skipped = |word: &&str| is_event && word.parse::<f64>().is_ok();
        let words: Vec<_> = line.split_whitespace().skip_while(skipped).collect();
        let words = words
            .iter()
            .map(|word| if is_time(word) { "#" } else { *word });
        words.collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// One event in a read, so that it is the same each time.
fn slow() -> Script {
    Script {
        first_token: Duration::from_millis(30),
        gap: Duration::from_millis(30),
        role_chunk: RoleChunk::RoleOnly,
        reasoning: words(1),
        timings: true,
        ..Script::words(2)
    }
}

#[test]
fn everything_that_was_seen_is_told() {
    let place = Place::new(|_| slow());
    let said = ping(&place, &["--prompt", "hello", "--param", "max_tokens=9"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(masked(&said.out, &place), TOLD);
    // One question to find the model, and one query.
    assert_eq!(place.service.requests(), 1);
}

#[test]
fn programs_get_the_same_as_json() {
    let place = Place::new(|_| slow());
    let said = ping(&place, &["--model", "reference", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let ping: Value = serde_json::from_str(&said.out).unwrap();
    let phase = |name: &str| ping["connection"][name].as_f64();
    let phases = [
        "tcp_seconds",
        "connected_seconds",
        "sent_seconds",
        "first_byte_seconds",
        "first_token_seconds",
        "end_seconds",
    ]
    .map(phase);
    assert!(
        phases.iter().all(Option::is_some) && phases.is_sorted(),
        "{phases:?}"
    );
    assert_eq!(ping["connection"]["dns_seconds"], Value::Null);
    assert_eq!(ping["reply"]["status"], "200 OK");
    let kinds: Vec<_> = ping["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["said"][0]["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds[..5],
        ["role only", "reasoning", "text", "text", "finish"]
    );
    assert_eq!(*kinds.last().unwrap(), "end");
    let row = &ping["row"];
    assert_eq!(
        (&row["outcome"], &row["answer"]),
        (&"complete".into(), &"word0 word1".into())
    );
    assert_eq!(
        (&row["tokens"]["output"], &row["token_source"]),
        (&3.into(), &"usage".into())
    );
    assert_eq!(row["tokens"]["cached"], Value::from(0));
    assert!(row["time_to_first_token_seconds"].as_f64().unwrap() > 0.0);
}

#[test]
fn what_failed_is_told_and_has_its_exit_code() {
    for (fault, code, says) in [
        (
            Fault::Status(500, "out of memory".to_owned()),
            4,
            "failed:http_500",
        ),
        (Fault::Status(401, "no".to_owned()), 3, "failed:http_401"),
        (
            Fault::Status(503, "loading".to_owned()),
            3,
            "failed:http_503",
        ),
        (Fault::ResetBeforeHead, 4, "failed:reset"),
        (Fault::CloseAfter(1), 4, "failed:closed"),
        (Fault::Garbage, 4, "failed:bad_event"),
    ] {
        let place = Place::new(move |_| Script {
            fault: Some(fault.clone()),
            ..Script::words(4)
        });
        for more in [
            &["--model", "reference"][..],
            &["--model", "reference", "--json"],
        ] {
            let said = ping(&place, more);
            assert_eq!(said.code, Some(code), "{says}: {}", said.err);
            assert!(said.out.contains(says), "{says}: {}", said.out);
            assert!(
                said.err.contains(says) && said.err.contains("help:"),
                "{}",
                said.err
            );
        }
    }
}

#[test]
fn a_service_that_is_not_there_and_a_wrong_flag_have_their_own_codes() {
    let place = Place::new(|_| Script::default());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let at = |more: &[&str]| {
        let mut command = ipw();
        said(command.args(["ping", "--client-base-url", &url]).args(more))
    };
    let gone = at(&["--model", "m"]);
    assert_eq!(gone.code, Some(3), "{}", gone.err);
    assert!(
        gone.out.contains("no connection") && gone.out.contains("failed:connect"),
        "{}",
        gone.out
    );
    assert!(
        !gone.out.contains("\nrequest"),
        "nothing was sent: {}",
        gone.out
    );
    // Without a model, the service is asked for it first.
    assert_eq!(at(&[]).code, Some(3));
    assert_eq!(ping(&place, &["--client", "opena"]).code, Some(2));
    assert_eq!(ping(&place, &["--param", "stream=false"]).code, Some(2));
    assert_eq!(ping(&place, &["--timeout", "3"]).code, Some(2));
    assert_eq!(place.service.requests(), 0);
}

#[test]
fn a_ping_that_takes_too_long_ends() {
    let place = Place::new(|_| Script {
        fault: Some(Fault::HangAfter(2)),
        ..Script::words(4)
    });
    let said = ping(
        &place,
        &["--model", "reference", "--request-timeout", "300ms"],
    );
    assert_eq!(said.code, Some(4), "{}", said.err);
    assert!(
        said.out.contains("timed_out") && said.out.contains("word1"),
        "{}",
        said.out
    );
}

#[test]
fn no_secret_is_shown() {
    let place = Place::new(|_| Script::words(2));
    let headers = place.path().join("headers");
    std::fs::write(&headers, format!("X-Gateway: {SECRET}\n")).unwrap();
    let key = place.path().join("key");
    std::fs::write(&key, SECRET).unwrap();
    for json in [&[][..], &["--json"]] {
        let mut command = ipw();
        command
            .args([
                "ping",
                "--model",
                "reference",
                "--client-base-url",
                &place.service.url(),
            ])
            .arg("--api-key-file")
            .arg(&key)
            .arg("--header-file")
            .arg(&headers)
            .args(["--header-env", "TEAM_HEADER"])
            .args(json)
            .env("TEAM_HEADER", format!("X-Team: {SECRET}"));
        let said = said(&mut command);
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert!(
            !said.out.contains(SECRET) && !said.err.contains(SECRET),
            "{}",
            said.out
        );
        for name in ["authorization: …", "x-gateway: …", "x-team: …"] {
            assert!(said.out.contains(name), "{name}: {}", said.out);
        }
    }
    let asked = place.service.log();
    let received = &asked[0].received;
    assert_eq!(
        received.header("authorization"),
        Some(format!("Bearer {SECRET}").as_str())
    );
    assert_eq!(received.header("x-gateway"), Some(SECRET));
    assert_eq!(received.header("x-team"), Some(SECRET));
}

#[test]
fn ollama_is_pinged_too() {
    let place = Place::new(|_| Script::words(2));
    let said = ping(&place, &["--client", "ollama", "--model", "reference"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("POST /api/chat HTTP/1.1"), "{}", said.out);
    assert!(
        said.out
            .contains("finish `stop` · usage input 10, output 2 · timings load"),
        "{}",
        said.out
    );
}

#[cfg(feature = "engine")]
#[test]
fn the_engine_has_no_wire_and_still_a_row() {
    let place = Place::new(|_| Script::default());
    let model = place.path().join("tiny.gguf");
    ipw_testkit::tiny_model::TinyModel::default()
        .write(&model)
        .unwrap();
    let _cores = crate::common::all_cores();
    let mut command = ipw();
    command.args(["ping", "--param", "max_tokens=4", "--model"]);
    let said = said(command.arg(&model));
    assert_eq!(said.code, Some(0), "{}", said.err);
    for words in [
        "the model runs in this process",
        "\nstream",
        "\nthe row\n  outcome",
        "first token",
    ] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    assert!(!said.out.contains("\nrequest"), "{}", said.out);
}
