//! Ollama's chat: one JSON object per line, with counters in the last one.

use std::time::Duration;

use serde_json::{Value, json};

use crate::http::put;
use crate::plan::{Piece, PieceContent};
use crate::render::{Context, put_text, quoted};

const NANOS_PER_SECOND: u64 = 1_000_000_000;
const SECONDS_PER_DAY: u64 = 86_400;

/// The start of every line.
pub(crate) fn prefix(context: &Context<'_>) -> String {
    format!(r#"{{"model":{},"created_at":""#, quoted(context.model))
}

/// Appends one line.
pub(crate) fn line(context: &Context<'_>, piece: &Piece<'_>, out: &mut Vec<u8>) {
    let script = context.script;
    let begin = |out: &mut Vec<u8>| {
        let created_at = created_at(context, piece.due);
        let message = r#"","message":{"role":"assistant","content":"#;
        put(out, &[&context.prefix, &created_at, message]);
    };
    let open = r#"},"done":false}"#;
    match &piece.what {
        PieceContent::Content(range) => {
            begin(out);
            put_text(out, &script.tokens[range.clone()]);
            put(out, &[open]);
        }
        PieceContent::Reasoning(range) => {
            begin(out);
            put(out, &[r#""","thinking":"#]);
            put_text(out, &script.reasoning[range.clone()]);
            put(out, &[open]);
        }
        PieceContent::InvalidUtf8(_) => {
            begin(out);
            out.extend_from_slice(b"\"\xff\xfe\"");
            put(out, &[open]);
        }
        PieceContent::Huge(bytes) => {
            begin(out);
            put(out, &["\""]);
            out.resize(out.len() + bytes, b'x');
            put(out, &["\"", open]);
        }
        PieceContent::Done | PieceContent::Role | PieceContent::Finish | PieceContent::Usage => {
            begin(out);
            put(out, &[r#"""},"done":true,"done_reason":"#]);
            put(out, &[&quoted(script.finish_reason)]);
            for (name, value) in counters(context) {
                put(out, &[",\"", name, "\":", &value.to_string()]);
            }
            put(out, &["}"]);
        }
        PieceContent::Garbage => put(out, &["{\"model\": not json"]),
        PieceContent::Error(message) => put(out, &[&error(message).to_string()]),
    }
    put(out, &[script.line_ending.text()]);
}

/// The completion in one body.
pub(crate) fn whole(context: &Context<'_>) -> Value {
    let script = context.script;
    let mut message = json!({"role": "assistant", "content": script.tokens.concat()});
    if !script.reasoning.is_empty() {
        message["thinking"] = script.reasoning.concat().into();
    }
    let mut body = json!({
        "model": context.model,
        "created_at": created_at(context, script.duration()),
        "message": message,
        "done": true,
        "done_reason": script.finish_reason,
    });
    for (name, value) in counters(context) {
        body[name] = value.into();
    }
    body
}

/// An error in Ollama's form.
pub(crate) fn error(message: &str) -> Value {
    json!({"error": message})
}

/// The counters of the last object; durations are scripted, in nanoseconds.
fn counters(context: &Context<'_>) -> Vec<(&'static str, u64)> {
    if !context.has_usage() {
        return Vec::new();
    }
    let script = context.script;
    let total = nanos(script.duration());
    let prompt = nanos(script.first_token);
    vec![
        ("total_duration", total),
        ("load_duration", 0),
        ("prompt_eval_count", context.prompt_tokens),
        ("prompt_eval_duration", prompt),
        ("eval_count", script.output_tokens()),
        ("eval_duration", total - prompt),
    ]
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn created_at(context: &Context<'_>, due: Duration) -> String {
    rfc3339(context.arrived_unix.saturating_add(nanos(due)))
}

/// An instant in UTC. The date is Howard Hinnant's `civil_from_days`
/// (<https://howardhinnant.github.io/date_algorithms.html>) for days since 1970.
fn rfc3339(unix_nanos: u64) -> String {
    let seconds = unix_nanos / NANOS_PER_SECOND;
    let days = seconds / SECONDS_PER_DAY + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:09}Z",
        seconds % SECONDS_PER_DAY / 3_600,
        seconds % 3_600 / 60,
        seconds % 60,
        unix_nanos % NANOS_PER_SECOND,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_in_utc() {
        let cases = [
            (0, "1970-01-01T00:00:00.000000000Z"),
            (951_826_210_000_000_001, "2000-02-29T12:10:10.000000001Z"),
            (1_735_689_599_999_999_999, "2024-12-31T23:59:59.999999999Z"),
        ];
        for (nanos, text) in cases {
            assert_eq!(rfc3339(nanos), text);
        }
    }
}
