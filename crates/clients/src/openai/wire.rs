//! Wire types of the chat completions and completions APIs: only the fields that `ipw` reads.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A text, borrowed from the event unless it has escapes.
#[derive(Debug, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// The text, unless it is missing or empty.
pub(super) fn some<'a>(text: Option<&'a Text<'_>>) -> Option<&'a str> {
    let text = text.map(|Text(text)| text.as_ref());
    text.filter(|text| !text.is_empty())
}

/// Deserializes a field of one service; other services may use the same name differently.
fn lenient<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = Value::deserialize(deserializer)?;
    // serde would also accept a list as a struct's fields in order.
    let object = Some(value).filter(Value::is_object);
    Ok(object.and_then(|object| serde_json::from_value(object).ok()))
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(default, borrow)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
    #[serde(default)]
    pub(super) timings: Option<Timings>,
    /// Groq's place for usage in a stream.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) x_groq: Option<Groq>,
    /// Cerebras' times, in seconds.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) time_info: Option<Seconds>,
    /// LM Studio's times, in seconds.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) stats: Option<Stats>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Groq {
    #[serde(default)]
    pub(super) usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default, borrow)]
    pub(super) delta: Option<Delta<'a>>,
    /// The text in the completions API.
    #[serde(default, borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(super) finish_reason: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(default, borrow)]
    pub(super) content: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(super) reasoning_content: Option<Text<'a>>,
    /// vLLM's name for the same field.
    #[serde(default, borrow)]
    pub(super) reasoning: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(super) refusal: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(super) tool_calls: Option<Vec<ToolCall<'a>>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolCall<'a> {
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(default, borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(super) function: Option<Function<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Function<'a> {
    #[serde(default, borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(super) arguments: Option<Text<'a>>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
pub(super) struct Usage {
    #[serde(default)]
    pub(super) prompt_tokens: Option<u64>,
    #[serde(default)]
    pub(super) completion_tokens: Option<u64>,
    #[serde(default)]
    pub(super) prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    pub(super) completion_tokens_details: Option<CompletionDetails>,
    /// `SGLang`'s place for the count.
    #[serde(default)]
    pub(super) reasoning_tokens: Option<u64>,
    /// Groq's times, in seconds.
    #[serde(default)]
    pub(super) queue_time: Option<f64>,
    #[serde(default)]
    pub(super) prompt_time: Option<f64>,
    #[serde(default)]
    pub(super) completion_time: Option<f64>,
    #[serde(default)]
    pub(super) total_time: Option<f64>,
}

/// Durations in seconds.
#[expect(clippy::struct_field_names, reason = "these are the API's names")]
#[derive(Debug, Default, Clone, Copy, Deserialize)]
pub(super) struct Seconds {
    #[serde(default)]
    pub(super) queue_time: Option<f64>,
    #[serde(default)]
    pub(super) prompt_time: Option<f64>,
    #[serde(default)]
    pub(super) completion_time: Option<f64>,
    #[serde(default)]
    pub(super) total_time: Option<f64>,
}

impl Usage {
    pub(super) fn seconds(&self) -> Seconds {
        Seconds {
            queue_time: self.queue_time,
            prompt_time: self.prompt_time,
            completion_time: self.completion_time,
            total_time: self.total_time,
        }
    }
}

/// LM Studio's durations, in seconds. Its time to the first token may include queueing, so it is
/// not used as the prefill time.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Stats {
    #[serde(default)]
    pub(super) generation_time: Option<f64>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
pub(super) struct PromptDetails {
    #[serde(default)]
    pub(super) cached_tokens: Option<u64>,
}

#[expect(clippy::struct_field_names, reason = "these are the API's names")]
#[derive(Debug, Default, Clone, Copy, Deserialize)]
pub(super) struct CompletionDetails {
    #[serde(default)]
    pub(super) reasoning_tokens: Option<u64>,
    #[serde(default)]
    pub(super) accepted_prediction_tokens: Option<u64>,
    #[serde(default)]
    pub(super) rejected_prediction_tokens: Option<u64>,
}

/// llama.cpp's counts and durations (in milliseconds).
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Timings {
    #[serde(default)]
    pub(super) cache_n: Option<u64>,
    #[serde(default)]
    pub(super) prompt_n: Option<u64>,
    #[serde(default)]
    pub(super) predicted_n: Option<u64>,
    #[serde(default)]
    pub(super) prompt_ms: Option<f64>,
    #[serde(default)]
    pub(super) predicted_ms: Option<f64>,
    /// Drafted and accepted tokens of speculative decoding.
    #[serde(default)]
    pub(super) draft_n: Option<u64>,
    #[serde(default)]
    pub(super) draft_n_accepted: Option<u64>,
}

/// The answer to `GET /v1/models`.
#[derive(Debug, Deserialize)]
pub(super) struct ModelList {
    pub(super) data: Vec<Model>,
}

impl ModelList {
    pub(super) fn ids(self) -> Vec<String> {
        self.data.into_iter().map(|model| model.id).collect()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Model {
    pub(super) id: String,
}
