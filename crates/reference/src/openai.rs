//! OpenAI's chat completions: server-sent events as llama-server and vLLM write them.

use serde_json::{Value, json};

use crate::http::put;
use crate::plan::{Piece, PieceContent};
use crate::render::{Context, put_text, quoted};
use crate::script::RoleChunk;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The start of every chunk.
pub(crate) fn prefix(context: &Context<'_>) -> String {
    format!(
        r#"data: {{"id":"chatcmpl-{}","object":"chat.completion.chunk","created":{},"model":{},"choices":["#,
        context.number,
        context.arrived_unix / NANOS_PER_SECOND,
        quoted(context.model),
    )
}

pub(crate) fn event(context: &Context<'_>, piece: &Piece<'_>, out: &mut Vec<u8>) {
    let script = context.script;
    let line_ending = script.line_ending.text();
    if script.comments {
        put(out, &[": ping", line_ending, line_ending]);
    }
    match &piece.what {
        PieceContent::Role => delta(context, out, |out| {
            put(out, &[role(script.role_chunk)]);
        }),
        PieceContent::Reasoning(range) => delta(context, out, |out| {
            put(out, &[r#""reasoning_content":"#]);
            put_text(out, &script.reasoning[range.clone()]);
        }),
        PieceContent::Content(range) => delta(context, out, |out| {
            put(out, &[r#""content":"#]);
            put_text(out, &script.tokens[range.clone()]);
        }),
        PieceContent::InvalidUtf8(_) => delta(context, out, |out| {
            out.extend_from_slice(b"\"content\":\"\xff\xfe\"");
        }),
        PieceContent::Huge(bytes) => delta(context, out, |out| {
            put(out, &[r#""content":""#]);
            out.resize(out.len() + bytes, b'x');
            put(out, &["\""]);
        }),
        PieceContent::Finish => {
            let reason = quoted(script.finish_reason);
            let choice = [r#"{"index":0,"delta":{},"finish_reason":"#, &reason, "}]"];
            put(out, &[&context.prefix]);
            put(out, &choice);
            if script.timings && !context.has_usage() {
                put(out, &[r#","timings":"#, &timings(context).to_string()]);
            }
            put(out, &["}"]);
        }
        PieceContent::Usage => {
            put(out, &[&context.prefix, "],\"usage\":"]);
            put(out, &[&usage(context).to_string()]);
            if script.timings {
                put(out, &[r#","timings":"#, &timings(context).to_string()]);
            }
            put(out, &["}"]);
        }
        PieceContent::Done => put(out, &["data: [DONE]"]),
        PieceContent::Garbage => put(out, &["data: {\"choices\":[{\"delta\": not json"]),
        PieceContent::Error(message) => put(out, &["data: ", &error(500, message).to_string()]),
    }
    put(out, &[line_ending, line_ending]);
}

fn delta(context: &Context<'_>, out: &mut Vec<u8>, fields: impl FnOnce(&mut Vec<u8>)) {
    put(out, &[&context.prefix, r#"{"index":0,"delta":{"#]);
    fields(out);
    put(out, &[r#"},"finish_reason":null}]}"#]);
}

fn role(chunk: RoleChunk) -> &'static str {
    match chunk {
        RoleChunk::None | RoleChunk::RoleOnly => r#""role":"assistant""#,
        RoleChunk::ContentNull => r#""role":"assistant","content":null"#,
        RoleChunk::EmptyContent => r#""role":"assistant","content":"""#,
    }
}

/// The completion in one body.
pub(crate) fn whole(context: &Context<'_>) -> Value {
    let script = context.script;
    let mut message = json!({"role": "assistant", "content": script.tokens.concat()});
    if !script.reasoning.is_empty() {
        message["reasoning_content"] = script.reasoning.concat().into();
    }
    let mut body = json!({
        "id": format!("chatcmpl-{}", context.number),
        "object": "chat.completion",
        "created": context.arrived_unix / NANOS_PER_SECOND,
        "model": context.model,
        "choices": [{"index": 0, "message": message, "finish_reason": script.finish_reason}],
    });
    if script.usage {
        body["usage"] = usage(context);
    }
    if script.timings {
        body["timings"] = timings(context);
    }
    body
}

fn usage(context: &Context<'_>) -> Value {
    let script = context.script;
    let output_tokens = script.output_tokens();
    let mut usage = json!({
        "prompt_tokens": context.prompt_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": context.prompt_tokens + output_tokens,
        "prompt_tokens_details": {"cached_tokens": script.cached_tokens},
    });
    if !script.reasoning.is_empty() {
        usage["completion_tokens_details"] = json!({"reasoning_tokens": script.reasoning.len()});
    }
    usage
}

/// llama.cpp's `timings`, with the scripted durations.
fn timings(context: &Context<'_>) -> Value {
    let script = context.script;
    let milliseconds = |duration: std::time::Duration| duration.as_secs_f64() * 1e3;
    json!({
        "cache_n": script.cached_tokens,
        "prompt_n": context.prompt_tokens.saturating_sub(script.cached_tokens),
        "prompt_ms": milliseconds(script.first_token),
        "predicted_n": script.output_tokens(),
        "predicted_ms": milliseconds(script.duration().saturating_sub(script.first_token)),
    })
}

/// An error in OpenAI's form.
pub(crate) fn error(code: u16, message: &str) -> Value {
    json!({"error": {"message": message, "type": "server_error", "code": code}})
}
