//! Sections of `ipw ping`: connection, request, reply, stream and row.

use std::fmt::Write as _;
use std::time::Duration;

use ipw_core::reply::{ServiceTiming, Stamp, StampSource, TokenCounts, TokenSource};
use ipw_core::text::{excerpt, printable};
use ipw_core::time::Timestamp;

use ipw::ping::{Connection, EventPart, Exchange, Piece, Ping};

/// Most characters of the request's body, and of a text or an event in the stream.
const BODY: usize = 600;
const TEXT: usize = 100;

pub(super) fn text(ping: &Ping<'_>) -> String {
    let mut out = format!(
        "{}, model `{}`\n",
        printable(&ping.client.place()),
        printable(&ping.ask.model)
    );
    connection(&mut out, ping);
    request(&mut out, &ping.exchange);
    reply(&mut out, &ping.exchange);
    stream(&mut out, ping);
    row(&mut out, ping);
    out
}

fn line(out: &mut String, name: &str, text: &str) {
    let _ = writeln!(out, "  {name:<12} {}", printable(text));
}

/// All times here are in milliseconds.
fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// Each phase with its duration, counted from the end of the one before.
fn connection(out: &mut String, ping: &Ping<'_>) {
    if ping.client.in_process() {
        out.push_str("\nconnection\n  none: the model runs in this process\n");
        return;
    }
    let (timing, exchange) = (&ping.row.reply.timing, &ping.exchange);
    let proxied = |what: &str| match &exchange.proxy {
        Some(proxy) => format!("{what}, the proxy `{proxy}`"),
        None => what.to_owned(),
    };
    let peer = exchange.peer.as_deref().unwrap_or_default();
    // HTTP/1.1 has no settings to negotiate.
    let shared = exchange.connection.as_ref();
    let shared = shared.filter(|carried| carried.by == "HTTP/2");
    let phases = [
        ("name", timing.dns, exchange.addresses.join(", ")),
        ("socket", timing.tcp, proxied(peer)),
        ("tunnel", timing.proxy, "opened by the proxy".to_owned()),
        ("TLS", timing.tls, exchange.tls.clone().unwrap_or_default()),
        ("HTTP/2", shared.and(timing.connected), agreed(shared)),
        ("sent", timing.sent, "first byte of the request".to_owned()),
        (
            "reply",
            timing.first_byte,
            "first byte of the reply".to_owned(),
        ),
    ];
    out.push_str("\nconnection (each phase, and since the start)\n");
    let mut before = timing.start;
    for (name, at, what) in phases {
        let Some(at) = at else { continue };
        let (took, since) = (ms(at.since(before)), ms(at.since(timing.start)));
        let _ = writeln!(
            out,
            "  {name:<8} {took:>12} {since:>12}   {}",
            printable(&what)
        );
        before = at;
    }
    if shared.is_some_and(|carried| !carried.is_new) {
        out.push_str("  HTTP/2 on an existing connection\n");
    } else if timing.tcp.is_none() {
        out.push_str("  no connection\n");
    }
}

/// The settings of a new HTTP/2 connection.
fn agreed(carried: Option<&Connection>) -> String {
    match carried.and_then(|carried| carried.streams) {
        Some(most) => format!("new connection, up to {most} requests at a time"),
        None => "new connection".to_owned(),
    }
}

fn request(out: &mut String, exchange: &Exchange) {
    let Some(asked) = &exchange.request else {
        return;
    };
    out.push_str("\nrequest\n");
    for header in asked.head.lines() {
        let _ = writeln!(out, "  {}", printable(header));
    }
    let _ = writeln!(out, "  {}", excerpt(&printable(&asked.body), BODY));
}

fn reply(out: &mut String, exchange: &Exchange) {
    let Some(answered) = &exchange.response else {
        return;
    };
    let _ = writeln!(out, "\nreply\n  {}", printable(&answered.status));
    for (name, value) in &answered.headers {
        let _ = writeln!(out, "  {}: {}", printable(name), printable(value));
    }
}

/// Each event with its arrival; one read may bring several.
fn stream(out: &mut String, ping: &Ping<'_>) {
    let timing = &ping.row.reply.timing;
    let sent = timing.sent.unwrap_or(timing.start);
    if ping.exchange.pieces.is_empty() && timing.chunks.is_empty() {
        return;
    }
    out.push_str("\nstream (ms since sent, ms since the event before, bytes read, µs from arrival to read)\n");
    let mut before = None;
    let mut arrival = |at: Timestamp| {
        let gap = before.replace(at).map(|before: Timestamp| at.since(before));
        let gap = gap.map_or_else(String::new, |gap| format!("{:.2}", gap.as_secs_f64() * 1e3));
        format!("{:>10.2} {gap:>9}", at.since(sent).as_secs_f64() * 1e3)
    };
    if ping.exchange.pieces.is_empty() {
        for at in &timing.chunks {
            let _ = writeln!(out, "{} {:>15}   text", arrival(*at), "");
        }
        return;
    }
    let mut read = None;
    for piece in &ping.exchange.pieces {
        match piece {
            Piece::Read { stamp, bytes } => {
                partial(out, read, sent);
                read = Some((*stamp, *bytes));
            }
            Piece::Event { at, data, said } => {
                let bytes = read
                    .take()
                    .map_or_else(String::new, |(stamp, bytes)| amount(stamp, bytes));
                let words: Vec<_> = said.iter().map(|said| words(said, data)).collect();
                let _ = writeln!(out, "{} {bytes:>15}   {}", arrival(*at), words.join(" · "));
            }
        }
    }
    partial(out, read, sent);
}

/// A read that completed no event.
fn partial(out: &mut String, read: Option<(Stamp, usize)>, sent: Timestamp) {
    if let Some((stamp, bytes)) = read {
        let since = stamp.at.since(sent).as_secs_f64() * 1e3;
        let amount = amount(stamp, bytes);
        let _ = writeln!(out, "{since:>10.2} {:>9} {amount:>15}   no whole event", "");
    }
}

fn stamped(source: StampSource) -> String {
    match source {
        StampSource::Kernel => "the kernel, when packets arrived",
        StampSource::Read => "this process, after each read",
        StampSource::Mixed => "the kernel for some reads, this process for others",
    }
    .to_owned()
}

/// How much a read brought, and how long after the kernel had it; no delay without its stamp.
fn amount(stamp: Stamp, bytes: usize) -> String {
    match stamp.source {
        StampSource::Kernel => {
            let delay = stamp.read.since(stamp.at).as_secs_f64() * 1e6;
            format!("{bytes} {delay:>7.0}")
        }
        _ => format!("{bytes} {:>7}", ""),
    }
}

fn words(said: &EventPart, data: &str) -> String {
    let quoted = |text: &str| {
        let text = serde_json::Value::from(text).to_string();
        excerpt(&printable(&text), TEXT)
    };
    let kind = said.kind();
    match said {
        EventPart::Text(text) | EventPart::Reasoning(text) => format!("{kind} {}", quoted(text)),
        EventPart::Finish(reason) => format!("{kind} `{}`", printable(reason)),
        EventPart::Tokens(tokens, _) => format!("{kind} {}", counts(tokens)),
        EventPart::Timings(timings) => format!("{kind} {}", durations(timings)),
        EventPart::End | EventPart::Fault | EventPart::Nothing => {
            format!("{kind} {}", excerpt(&printable(data), TEXT))
        }
        EventPart::Call | EventPart::Role => kind.to_owned(),
    }
}

fn counts(tokens: &TokenCounts) -> String {
    let named = [
        ("input", tokens.input),
        ("output", tokens.output),
        ("reasoning", tokens.reasoning),
        ("cached", tokens.cached),
        ("tool calls", tokens.tool_call),
    ];
    let known = named
        .iter()
        .filter_map(|(name, count)| Some(format!("{name} {}", (*count)?)));
    known.collect::<Vec<_>>().join(", ")
}

fn durations(timings: &ServiceTiming) -> String {
    let named = [
        ("load", timings.load),
        ("prompt", timings.prompt),
        ("decode", timings.decode),
        ("total", timings.total),
    ];
    let known = named
        .iter()
        .filter_map(|(name, time)| Some(format!("{name} {}", ms((*time)?))));
    known.collect::<Vec<_>>().join(", ")
}

/// The row that a run would store.
fn row(out: &mut String, ping: &Ping<'_>) {
    let reply = &ping.row.reply;
    let latency = ping.row.latency();
    out.push_str("\nthe row\n");
    let finish = reply.finish_reason.as_deref();
    let finish = finish.map_or_else(String::new, |reason| format!(" (`{reason}`)"));
    line(
        out,
        "outcome",
        &format!("{}{finish}", reply.outcome.label()),
    );
    if let Some(error) = &reply.error {
        line(out, "error", &excerpt(error, BODY));
    }
    let gaps = latency.gaps.map(|gaps| {
        let (median, p90) = (gaps.median_ms, gaps.p90_ms);
        format!("{median:.2} ms between chunks (median), {p90:.2} ms (p90)")
    });
    let rate = latency.tokens_per_second.map(|rate| format!("{rate:.2}"));
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    for (name, value) in [
        ("first token", latency.first_token.map(ms)),
        ("gaps", gaps),
        ("whole query", latency.total.map(ms)),
        ("tokens/s", rate),
        ("tokens", some(counts(&reply.tokens))),
        ("counted by", reply.token_source.map(counted)),
        ("service says", some(durations(&reply.service_timing))),
        ("stamped by", reply.timing.stamp_source.map(stamped)),
    ] {
        match value {
            Some(value) => line(out, name, &value),
            // A failed reply has no such figures.
            None if reply.outcome.is_answered() => line(out, name, "unknown"),
            None => {}
        }
    }
    if let Some(counted) = &ping.counted {
        line(out, "tokenizer", &counts(counted));
    }
    if let Some(note) = &reply.token_note {
        line(out, "note", note);
    }
}

/// Which part counted the tokens, and what that means.
fn counted(source: TokenSource) -> String {
    let meaning = match source.label() {
        "usage" => "the service's own count",
        "timings" => "the service's own timings",
        "tokenizer" => "the text of the reply, by the tokenizer",
        "chunks" => "chunks with content; a chunk is not always one token",
        _ => "our own count",
    };
    format!("{}: {meaning}", source.label())
}
