//! A ping as one JSON object, for programs. Times are seconds since the start, null if it did not
//! happen.

use std::time::Duration;

use ipw_core::reply::{ServiceTiming, TokenCounts, TokenSource};
use ipw_core::time::Timestamp;
use serde_json::{Value, json};

use super::Ping;
use super::exchange::{EventPart, Piece};

pub(super) fn of(ping: &Ping<'_>) -> Value {
    let (reply, exchange) = (&ping.row.reply, &ping.exchange);
    let latency = ping.row.latency();
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    json!({
        "client": ping.client.id(),
        "base_url": (!ping.client.in_process()).then(|| ping.client.base_url()),
        "model": ping.ask.model,
        "connection": connection(ping),
        "request": exchange.request.as_ref().map(|asked| json!({
            "head": asked.head.lines().collect::<Vec<_>>(),
            "body": serde_json::from_str::<Value>(&asked.body).unwrap_or(Value::Null),
        })),
        "reply": exchange.response.as_ref().map(|answered| json!({
            "status": answered.status,
            "headers": answered.headers,
        })),
        "reads": reads(ping),
        "events": events(ping),
        "tokenizer": ping.counted.as_ref().map(counts),
        "row": {
            "outcome": reply.outcome.label(),
            "error": reply.error,
            "finish_reason": reply.finish_reason,
            "answer": reply.answer,
            "reasoning": reply.reasoning,
            "tokens": counts(&reply.tokens),
            "token_source": reply.token_source.map(TokenSource::label),
            "token_note": reply.token_note,
            "time_to_first_token_seconds": seconds(latency.first_token),
            "total_query_seconds": seconds(latency.total),
            "throughput_tokens_per_sec": latency.tokens_per_second,
            "inter_chunk_median_ms": latency.gaps.map(|gaps| gaps.median_ms),
            "inter_chunk_p90_ms": latency.gaps.map(|gaps| gaps.p90_ms),
            "service_timing": durations(&reply.service_timing),
        },
    })
}

fn since(ping: &Ping<'_>, at: Timestamp) -> f64 {
    at.since(ping.row.reply.timing.start).as_secs_f64()
}

fn connection(ping: &Ping<'_>) -> Value {
    if ping.client.in_process() {
        return Value::Null;
    }
    let (timing, exchange) = (&ping.row.reply.timing, &ping.exchange);
    let at = |at: Option<Timestamp>| at.map(|at| since(ping, at));
    json!({
        "addresses": exchange.addresses,
        "peer": exchange.peer,
        "proxy": exchange.proxy,
        "tls": exchange.tls,
        "protocol": exchange.connection.as_ref().map(|carried| carried.by),
        "reused": exchange.connection.as_ref().map(|carried| !carried.is_new),
        "streams_at_most": exchange.connection.as_ref().and_then(|carried| carried.streams),
        "dns_seconds": at(timing.dns),
        "tcp_seconds": at(timing.tcp),
        "proxy_seconds": at(timing.proxy),
        "tls_seconds": at(timing.tls),
        "connected_seconds": at(timing.connected),
        "sent_seconds": at(timing.sent),
        "first_byte_seconds": at(timing.first_byte),
        "first_token_seconds": at(timing.first_token),
        "end_seconds": since(ping, timing.end),
    })
}

fn reads(ping: &Ping<'_>) -> Vec<Value> {
    let pieces = ping.exchange.pieces.iter();
    pieces
        .filter_map(|piece| match piece {
            Piece::Read { stamp, bytes } => Some(json!({
                "seconds": since(ping, stamp.at),
                "read_seconds": since(ping, stamp.read),
                "stamp_source": stamp.source.label(),
                "bytes": bytes,
            })),
            Piece::Event { .. } => None,
        })
        .collect()
}

fn events(ping: &Ping<'_>) -> Vec<Value> {
    let pieces = ping.exchange.pieces.iter();
    pieces
        .filter_map(|piece| match piece {
            Piece::Event { at, data, said } => Some(json!({
                "seconds": since(ping, *at),
                "data": data,
                "said": said.iter().map(one).collect::<Vec<_>>(),
            })),
            Piece::Read { .. } => None,
        })
        .collect()
}

fn one(said: &EventPart) -> Value {
    let kind = said.kind();
    match said {
        EventPart::Text(text) | EventPart::Reasoning(text) => json!({"kind": kind, "text": text}),
        EventPart::Finish(reason) => json!({"kind": kind, "reason": reason}),
        EventPart::Tokens(tokens, _) => json!({"kind": kind, "tokens": counts(tokens)}),
        EventPart::Timings(timings) => json!({"kind": kind, "timings": durations(timings)}),
        EventPart::Call
        | EventPart::Role
        | EventPart::End
        | EventPart::Fault
        | EventPart::Nothing => json!({"kind": kind}),
    }
}

fn counts(tokens: &TokenCounts) -> Value {
    json!({
        "input": tokens.input,
        "output": tokens.output,
        "reasoning": tokens.reasoning,
        "cached": tokens.cached,
        "tool_call": tokens.tool_call,
    })
}

fn durations(timings: &ServiceTiming) -> Value {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    json!({
        "load_seconds": seconds(timings.load),
        "prompt_seconds": seconds(timings.prompt),
        "decode_seconds": seconds(timings.decode),
        "total_seconds": seconds(timings.total),
    })
}
