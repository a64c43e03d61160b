//! Renders replies: the parts that both dialects share, and the choice between them.

use ipw_core::time::{Clock, Timestamp};
use serde_json::Value;

use crate::ledger::Received;
use crate::plan::{Dialect, Piece, ReplyOptions};
use crate::script::{Fault, Script};
use crate::{ollama, openai};

/// Everything needed to render one reply.
pub(crate) struct Context<'a> {
    pub(crate) script: &'a Script,
    pub(crate) dialect: Dialect,
    pub(crate) wishes: ReplyOptions,
    pub(crate) number: u64,
    pub(crate) model: &'a str,
    pub(crate) prompt_tokens: u64,
    /// Wall-clock time of the arrival, in nanoseconds since the Unix epoch.
    pub(crate) arrived_unix: u64,
    /// The start of every chunk, rendered once.
    pub(crate) prefix: String,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        script: &'a Script,
        dialect: Dialect,
        received: &'a Received,
        default_model: &'a str,
        (clock, arrived): (&dyn Clock, Timestamp),
    ) -> Self {
        let model = received.body.get("model").and_then(Value::as_str);
        let mut context = Self {
            script,
            dialect,
            wishes: ReplyOptions::of(&received.body, dialect),
            number: received.number,
            model: model.unwrap_or(default_model),
            prompt_tokens: prompt_tokens(&received.body),
            arrived_unix: clock.anchor().unix_nanos.saturating_add(arrived.nanos()),
            prefix: String::new(),
        };
        context.prefix = match dialect {
            Dialect::OpenAi => openai::prefix(&context),
            Dialect::Ollama => ollama::prefix(&context),
        };
        context
    }

    /// Whether the stream includes usage or counters.
    pub(crate) fn has_usage(&self) -> bool {
        self.script.usage && self.wishes.usage && self.script.fault != Some(Fault::Empty)
    }

    /// Appends one piece of the stream.
    pub(crate) fn piece(&self, piece: &Piece<'_>, out: &mut Vec<u8>) {
        match self.dialect {
            Dialect::OpenAi => openai::event(self, piece, out),
            Dialect::Ollama => ollama::line(self, piece, out),
        }
    }

    /// The completion in one body.
    pub(crate) fn whole(&self) -> Vec<u8> {
        let value = match self.dialect {
            Dialect::OpenAi => openai::whole(self),
            Dialect::Ollama => ollama::whole(self),
        };
        value.to_string().into_bytes()
    }

    pub(crate) fn content_type(&self) -> &'static str {
        match self.dialect {
            Dialect::OpenAi => "text/event-stream",
            Dialect::Ollama => "application/x-ndjson",
        }
    }
}

/// The reference's tokenizer: whitespace-separated words of all message texts, so that
/// `prompt_tokens` can be checked by hand.
fn prompt_tokens(body: &Value) -> u64 {
    let words = |text: &str| text.split_whitespace().count() as u64;
    let messages = body.get("messages").and_then(Value::as_array);
    let contents = messages
        .into_iter()
        .flatten()
        .filter_map(|message| message.get("content"));
    contents
        .map(|content| match content {
            Value::String(text) => words(text),
            Value::Array(parts) => parts
                .iter()
                .filter_map(|part| part.get("text").and_then(Value::as_str))
                .map(words)
                .sum(),
            _ => 0,
        })
        .sum()
}

/// Appends `tokens` as one JSON string.
pub(crate) fn put_text(out: &mut Vec<u8>, tokens: &[String]) {
    let text = match tokens {
        [token] => serde_json::to_writer(&mut *out, token),
        _ => serde_json::to_writer(&mut *out, &tokens.concat()),
    };
    text.expect("a string is JSON and memory takes every byte");
}

/// `text` as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_tokens_are_the_words_of_all_messages() {
        let body = serde_json::json!({"messages": [
            {"role": "system", "content": "be  brief"},
            {"role": "user", "content": [{"type": "text", "text": "what is\nthis"}, {"type": "image_url"}]},
            {"role": "assistant", "content": null},
        ]});
        assert_eq!(prompt_tokens(&body), 5);
    }

    #[test]
    fn several_tokens_make_one_string() {
        let mut out = Vec::new();
        put_text(&mut out, &["a\"".to_owned(), "\nb".to_owned()]);
        assert_eq!(out, br#""a\"\nb""#);
    }
}
