//! The table of faults: what the tests drive from and `docs/faults.md` shows.

use std::fmt::Write as _;
use std::time::Duration;

use ipw_reference::Fault;

use super::tls::Wrong;

/// What a terminal would obey.
pub(super) const HOSTILE: &str = "a\0b\u{1b}[31mred\u{1b}]0;title\u{7}\u{202e}c\u{9b}d";

/// One fault.
pub(super) struct Line {
    /// What goes wrong, in words.
    pub(super) what: &'static str,
    /// How it is brought about.
    pub(super) cause: Cause,
    /// What is seen of it.
    pub(super) seen: Seen,
    /// What to do.
    pub(super) advice: &'static str,
}

/// How a fault is brought about.
#[derive(Clone, Copy)]
pub(super) enum Cause {
    /// One reply goes wrong.
    Reply(fn() -> Fault),
    /// One reply goes wrong, and these flags are given.
    Slow(fn() -> Fault, &'static [&'static str]),
    /// One reply has this text.
    Text(&'static str),
    /// One reply ends for this reason.
    Finish(&'static str),
    /// Every question before the run gets this status.
    Questions(u16),
    /// No process listens.
    Nowhere,
    /// The host has no address.
    Name,
    /// http behind an https URL.
    Plain,
    /// HTTP/1.1 where HTTP/2 is asked for.
    Http1,
    /// A certificate that is no good.
    Certificate(Wrong),
    /// Something answers that is not Ollama.
    OtherPath,
    /// The service has an IPv6 address only.
    Ipv6,
    /// The environment names a proxy that is dead, and the service is on this machine.
    Proxy,
    /// The same, and the service is elsewhere.
    ProxyElsewhere,
}

/// What is seen of a fault.
pub(super) enum Seen {
    /// The run does not start; standard error says so.
    NoRun(&'static str),
    /// A row with this outcome, and these words in its error.
    Row(&'static str, &'static str),
    /// A row that counts as answered, with this outcome, and these words in its error.
    Ended(&'static str, Option<&'static str>),
    /// A reply like any other.
    Reply,
}

impl Line {
    /// Whether it exists with the client `ollama` only.
    pub(super) fn only_ollama(&self) -> bool {
        matches!(self.cause, Cause::OtherPath)
    }
}

const fn line(what: &'static str, cause: Cause, seen: Seen, advice: &'static str) -> Line {
    Line {
        what,
        cause,
        seen,
        advice,
    }
}

const fn status<const STATUS: u16>() -> Cause {
    Cause::Reply(|| {
        Fault::Status(
            STATUS,
            r#"{"error": {"message": "its own words"}}"#.to_owned(),
        )
    })
}

const LATE: &[&str] = &["--request-timeout", "2s"];
const OWN_LOG: &str = "Read the service's own log.";
const NET: &str = "Check the service, and proxies and load balancers in between.";

pub(super) const TABLE: &[Line] = &[
    line(
        "No process listens at the address",
        Cause::Nowhere,
        Seen::NoRun("cannot connect"),
        "Start the service, or name another with `--client-base-url`.",
    ),
    line(
        "The host's name has no address",
        Cause::Name,
        Seen::NoRun("cannot resolve the host"),
        "Check the spelling of `--client-base-url`, and the machine's DNS.",
    ),
    line(
        "The certificate is for another name",
        Cause::Certificate(Wrong::Name),
        Seen::NoRun("certificate not valid for name"),
        "Use the name that the certificate has.",
    ),
    line(
        "The certificate has expired",
        Cause::Certificate(Wrong::Date),
        Seen::NoRun("certificate expired"),
        "Renew it. Check this machine's date.",
    ),
    line(
        "The service speaks http, the URL says https",
        Cause::Plain,
        Seen::NoRun("no TLS"),
        "Write `http://` in `--client-base-url`.",
    ),
    line(
        "The service speaks HTTP/1.1, and `--http2` is given",
        Cause::Http1,
        Seen::NoRun("does not speak HTTP/2"),
        "Leave `--http2` out.",
    ),
    line(
        "The service asks for a key (401) before the run",
        Cause::Questions(401),
        Seen::NoRun("asks for a key"),
        "Give it by `--api-key-env NAME` or `--api-key-file PATH`.",
    ),
    line(
        "The service refuses us (403) before the run",
        Cause::Questions(403),
        Seen::NoRun("asks for a key"),
        "Check that the key is for this service.",
    ),
    line(
        "The service fails (500) before the run",
        Cause::Questions(500),
        Seen::NoRun("the service is broken"),
        OWN_LOG,
    ),
    line(
        "The service is not ready (503) before the run",
        Cause::Questions(503),
        Seen::NoRun("the service is not ready"),
        "Wait until the model is loaded.",
    ),
    line(
        "What answers is not Ollama (client `ollama`)",
        Cause::OtherPath,
        Seen::NoRun("does not speak Ollama's API"),
        "`--client openai` speaks to OpenAI-compatible services.",
    ),
    line(
        "The connection is reset before a reply",
        Cause::Reply(|| Fault::ResetBeforeHead),
        Seen::Row("failed:reset", "connection lost before a reply"),
        NET,
    ),
    line(
        "400, the request is refused",
        status::<400>(),
        Seen::Row("failed:http_400", "400 Bad Request: its own words"),
        "Check `--param`: the service's text names what it refuses.",
    ),
    line(
        "401, the key is refused in the middle of a run",
        status::<401>(),
        Seen::Row("failed:http_401", "401 Unauthorized: its own words"),
        "Check whether the key has expired.",
    ),
    line(
        "403, the query is forbidden",
        status::<403>(),
        Seen::Row("failed:http_403", "403 Forbidden: its own words"),
        "Check what the key may do.",
    ),
    line(
        "404, there is no such model",
        status::<404>(),
        Seen::Row("failed:http_404", "404 Not Found: its own words"),
        "Check `--model`. With Ollama: `ollama pull NAME`.",
    ),
    line(
        "The service has no such model, and says so",
        Cause::Reply(|| {
            let body = r#"{"error":{"message":"The model `reference` does not exist.","type":"NotFoundError","param":"model","code":404}}"#;
            Fault::Status(404, body.to_owned())
        }),
        Seen::Row(
            "failed:http_404",
            "the service has no model `reference`, which `--model` names",
        ),
        "Check `--model`: a warning before the run named the nearest model.",
    ),
    line(
        "Another API answers",
        Cause::Reply(|| Fault::Status(404, r#"{"detail":"Not Found"}"#.to_owned())),
        Seen::Row(
            "failed:http_404",
            "a FastAPI server, such as vLLM or SGLang",
        ),
        "Check the URL's path, `--client` and `--api`: the message names the server that answered.",
    ),
    line(
        "The prompt does not fit the context",
        Cause::Reply(|| {
            let body = r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#;
            Fault::Status(400, body.to_owned())
        }),
        Seen::Row("failed:context", "maximum context length is 8192 tokens"),
        "Shorten the prompt, or use a model with a longer context.",
    ),
    line(
        "The quota is used up (429)",
        Cause::Reply(|| {
            let body = r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#;
            Fault::Status(429, body.to_owned())
        }),
        Seen::Row("failed:http_429", "You exceeded your current quota"),
        "Check the account. With `--retries N` the query is sent at most N times more.",
    ),
    line(
        "A content filter refuses the prompt (400)",
        Cause::Reply(|| {
            let body = r#"{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400}}"#;
            Fault::Status(400, body.to_owned())
        }),
        Seen::Ended("refused", Some("content management policy")),
        "Nothing. Refusals are counted apart.",
    ),
    line(
        "The reply is cut at a length limit",
        Cause::Finish("length"),
        Seen::Ended("truncated", None),
        "Raise `--param max_tokens=N` if the answer matters.",
    ),
    line(
        "408, the service stopped waiting",
        status::<408>(),
        Seen::Row("failed:http_408", "408 Request Timeout: its own words"),
        NET,
    ),
    line(
        "429, too many requests",
        status::<429>(),
        Seen::Row("failed:http_429", "429 Too Many Requests: its own words"),
        "Reduce the load, or raise the limit. Queries are sent again only with `--retries`.",
    ),
    line(
        "500, the service failed",
        status::<500>(),
        Seen::Row(
            "failed:http_500",
            "500 Internal Server Error: its own words",
        ),
        OWN_LOG,
    ),
    line(
        "503, the service is overloaded",
        status::<503>(),
        Seen::Row("failed:http_503", "503 Service Unavailable: its own words"),
        "Reduce the load, or wait until it is ready.",
    ),
    line(
        "Nothing ever comes",
        Cause::Slow(|| Fault::HangBeforeHead, LATE),
        Seen::Row("timed_out", "the reply did not finish within 2s"),
        "Raise `--request-timeout` if the service is only slow.",
    ),
    line(
        "The reply stops in the middle, the connection stays open",
        Cause::Slow(|| Fault::HangAfter(2), LATE),
        Seen::Row("timed_out", "the reply did not finish within 2s"),
        "`--idle-timeout` ends such a query sooner. Read the service's own log.",
    ),
    line(
        "The first token does not come within `--first-token-timeout`",
        Cause::Slow(|| Fault::HangAfter(0), &["--first-token-timeout", "2s"]),
        Seen::Row("timed_out", "no token came within 2s"),
        "Raise the limit if long prompts need more time.",
    ),
    line(
        "Nothing comes for as long as `--idle-timeout` in the middle of a reply",
        Cause::Slow(|| Fault::HangAfter(2), &["--idle-timeout", "2s"]),
        Seen::Row(
            "timed_out",
            "nothing came for 2s in the middle of the reply",
        ),
        OWN_LOG,
    ),
    line(
        "The connection is closed in the middle of the reply",
        Cause::Reply(|| Fault::CloseAfter(2)),
        Seen::Row("failed:closed", "mid-reply"),
        NET,
    ),
    line(
        "The connection is reset in the middle of the reply",
        Cause::Reply(|| Fault::ResetAfter(2)),
        Seen::Row("failed:closed", "mid-reply"),
        NET,
    ),
    line(
        "The stream contains garbage",
        Cause::Reply(|| Fault::Garbage),
        Seen::Row("failed:bad_event", "not json"),
        "Check that the service speaks the client's API.",
    ),
    line(
        "The stream is not UTF-8",
        Cause::Reply(|| Fault::InvalidUtf8),
        Seen::Row("failed:bad_event", "invalid utf-8"),
        OWN_LOG,
    ),
    line(
        "The reply is not a stream",
        Cause::Reply(|| Fault::NotAStream),
        Seen::Row("failed:not_a_stream", "the reply is `application/json`"),
        "Use a service that streams; otherwise there is no time to first token.",
    ),
    line(
        "An error comes in the stream",
        Cause::Reply(|| Fault::ErrorEventAfter(2, "out of memory".to_owned())),
        Seen::Row("failed:service", "the service sent an error: out of memory"),
        OWN_LOG,
    ),
    line(
        "The stream ends without a reply",
        Cause::Reply(|| Fault::Empty),
        Seen::Row("failed:empty", "without a reply"),
        OWN_LOG,
    ),
    line(
        "One event is larger than 64 MiB",
        Cause::Reply(|| Fault::HugeEvent(65 << 20)),
        Seen::Row("failed:too_large", "larger than 64 MiB"),
        "Limit the reply: `--param max_tokens=N`.",
    ),
    line(
        "An error's text contains control characters",
        Cause::Reply(|| Fault::Status(500, HOSTILE.to_owned())),
        Seen::Row("failed:http_500", HOSTILE),
        "Nothing. The row keeps the text as received; a terminal never gets it raw.",
    ),
    line(
        "A reply contains NUL, escape sequences or direction marks",
        Cause::Text(HOSTILE),
        Seen::Reply,
        "Nothing. The row keeps the text as received; a terminal never gets it raw.",
    ),
    line(
        "The reply trickles in, byte by byte",
        Cause::Reply(|| Fault::Trickle(Duration::from_micros(20))),
        Seen::Reply,
        "Nothing. The time stamps show it.",
    ),
    line(
        "One event has 10 MB",
        Cause::Reply(|| Fault::HugeEvent(10_000_000)),
        Seen::Reply,
        "Nothing.",
    ),
    line(
        "The service has an IPv6 address only",
        Cause::Ipv6,
        Seen::Reply,
        "Nothing. Write it in brackets: `http://[::1]:8080`.",
    ),
    line(
        "`HTTP_PROXY` or `HTTPS_PROXY` names a dead proxy, and the service is on this machine",
        Cause::Proxy,
        Seen::Reply,
        "Nothing. Queries go to the service directly.",
    ),
    line(
        "`HTTP_PROXY` or `HTTPS_PROXY` names a dead proxy, and the service is elsewhere",
        Cause::ProxyElsewhere,
        Seen::NoRun("cannot connect to the proxy"),
        "Correct the variable, or exempt the service with `NO_PROXY`.",
    ),
];

/// The table as the documentation has it.
pub(super) fn markdown() -> String {
    let mut table = String::from(
        "| what goes wrong | what happens | `outcome` | the words | exit code | what to do |\n|---|---|---|---|---|---|\n",
    );
    for line in TABLE {
        let (happens, outcome, says, exit) = match line.seen {
            Seen::NoRun(says) => ("no run is made", "", says, "3"),
            Seen::Row(outcome, says) => ("a row; the run goes on", outcome, says, "0 or 4"),
            Seen::Ended(outcome, says) => {
                ("a row that is answered", outcome, says.unwrap_or(""), "0")
            }
            Seen::Reply => ("a reply like any other", "complete", "", "0"),
        };
        let _ = writeln!(
            table,
            "| {} | {happens} | {} | {} | {exit} | {} |",
            line.what,
            code(outcome),
            code(says),
            line.advice
        );
    }
    table
}

fn code(text: &str) -> String {
    match text {
        "" => String::new(),
        text if text.contains('`') => format!("`` {text} ``"),
        text if text == HOSTILE => "what the service said".to_owned(),
        text => format!("`{text}`"),
    }
}
