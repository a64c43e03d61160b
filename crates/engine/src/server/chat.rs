//! Replies in the format of OpenAI's API.

use std::collections::VecDeque;

use bytes::Bytes;
use ipw_core::reply::Failure;
use serde_json::{Value, json};

use super::problem::Problem;
use crate::generate::{Ending, Finish, Part};

const BROKEN: &str = "the engine ended without a reply";

/// The fields that all parts of a reply share.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) id: String,
    pub(super) created: u64,
    pub(super) model: String,
}

impl Head {
    fn object(&self, kind: &str, choices: &Value) -> Value {
        json!({
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": concat!("ipw-", env!("CARGO_PKG_VERSION")),
            "choices": choices,
        })
    }

    /// The whole reply as one object.
    pub(super) fn completion(&self, text: &str, ended: &Ending) -> Result<Value, Problem> {
        let reason = finish_reason(&ended.finish)?;
        let choice = json!({
            "index": 0,
            "message": { "role": "assistant", "content": text, "refusal": null },
            "logprobs": null,
            "finish_reason": reason,
        });
        let mut object = self.object("chat.completion", &json!([choice]));
        object["usage"] = usage(ended);
        Ok(object)
    }
}

/// The problem when the engine ends without a result.
pub(super) fn broken() -> Problem {
    Problem::engine(Failure::Engine, BROKEN)
}

/// The finish reason, or the problem.
fn finish_reason(finish: &Finish) -> Result<&'static str, Problem> {
    match finish {
        Finish::Stop => Ok("stop"),
        Finish::Length => Ok("length"),
        // Only this server cancels, and only after the client has left.
        Finish::Cancelled => Err(Problem::engine(Failure::Engine, "the reply was cancelled")),
        Finish::Failed(failure, text) => Err(Problem::engine(*failure, text)),
    }
}

fn usage(ended: &Ending) -> Value {
    let prompt = ended.prompt_tokens.unwrap_or(0);
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": ended.reply_tokens,
        "total_tokens": prompt + ended.reply_tokens,
        // There is no prompt cache.
        "prompt_tokens_details": { "cached_tokens": 0 },
    })
}

/// A reply as a stream of events.
#[derive(Debug)]
pub(super) struct Chunks {
    pub(super) head: Head,
    pub(super) include_usage: bool,
}

impl Chunks {
    /// The first event, which carries the role.
    pub(super) fn role(&self) -> Bytes {
        self.chunk(&json!({ "role": "assistant", "content": "" }), None)
    }

    /// Appends the events of one part of the reply. Returns true after the last one.
    pub(super) fn part(&self, part: Part, out: &mut VecDeque<Bytes>) -> bool {
        match part {
            Part::Text(text, _) => {
                out.push_back(self.chunk(&json!({ "content": text }), None));
                false
            }
            Part::Ended(ended) => {
                self.end(&ended, out);
                true
            }
        }
    }

    /// The events for a reply that stops without an end.
    #[expect(clippy::unused_self, reason = "beside `part`, and used like it")]
    pub(super) fn broken(&self, out: &mut VecDeque<Bytes>) -> bool {
        out.push_back(event(&broken().to_json()));
        true
    }

    fn end(&self, ended: &Ending, out: &mut VecDeque<Bytes>) {
        let reason = match finish_reason(&ended.finish) {
            Ok(reason) => reason,
            Err(problem) => {
                // No `[DONE]`: a client must not take a broken reply for a complete one.
                out.push_back(event(&problem.to_json()));
                return;
            }
        };
        out.push_back(self.chunk(&json!({}), Some(reason)));
        if self.include_usage {
            let mut last = self.head.object("chat.completion.chunk", &json!([]));
            last["usage"] = usage(ended);
            out.push_back(event(&last));
        }
        out.push_back(Bytes::from_static(b"data: [DONE]\n\n"));
    }

    fn chunk(&self, delta: &Value, finish_reason: Option<&str>) -> Bytes {
        let choice = json!({
            "index": 0,
            "delta": delta,
            "logprobs": null,
            "finish_reason": finish_reason,
        });
        let mut chunk = self.head.object("chat.completion.chunk", &json!([choice]));
        if self.include_usage {
            chunk["usage"] = Value::Null;
        }
        event(&chunk)
    }
}

fn event(value: &Value) -> Bytes {
    Bytes::from(format!("data: {value}\n\n"))
}

#[cfg(test)]
mod tests {
    use ipw_core::reply::Compute;
    use ipw_core::time::Timestamp;

    use super::*;

    fn events(parts: Vec<Part>) -> Vec<String> {
        let head = Head {
            id: "chatcmpl-1".to_owned(),
            created: 1,
            model: "m".to_owned(),
        };
        let chunks = Chunks {
            head,
            include_usage: true,
        };
        let mut out = VecDeque::new();
        for part in parts {
            chunks.part(part, &mut out);
        }
        let text = |event: Bytes| String::from_utf8(event.to_vec()).unwrap();
        out.into_iter().map(text).collect()
    }

    fn ended(finish: Finish) -> Part {
        Part::Ended(Ending {
            finish,
            prompt_tokens: Some(3),
            reply_tokens: 2,
            compute: Compute {
                flops: 0.0,
                bytes: 0.0,
            },
            begun: Timestamp::ZERO,
            first_token: None,
            at: Timestamp::ZERO,
        })
    }

    #[test]
    fn a_reply_that_breaks_ends_in_an_error_and_is_never_done() {
        let text = Part::Text("so far\nso good".to_owned(), Timestamp::ZERO);
        let failed = Finish::Failed(Failure::Engine, "it broke".to_owned());
        let events = events(vec![text, ended(failed)]);
        assert_eq!(events.len(), 2, "{events:?}");
        assert!(events[0].contains(r#""content":"so far\nso good""#));
        let error =
            r#"{"error":{"message":"it broke","type":"server_error","param":null,"code":null}}"#;
        assert_eq!(events[1], format!("data: {error}\n\n"));
    }

    #[test]
    fn the_usage_comes_after_the_reason_and_before_the_end() {
        let events = events(vec![ended(Finish::Stop)]);
        assert!(events[0].contains(r#""finish_reason":"stop""#));
        assert!(events[1].contains(r#""choices":[]"#) && events[1].contains(r#""total_tokens":5"#));
        assert_eq!(events[2..], ["data: [DONE]\n\n"]);
    }
}
