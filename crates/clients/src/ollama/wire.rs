//! Wire types of Ollama's chat API: only the fields that `ipw` reads.

use serde::Deserialize;
use serde_json::Value;

/// One line of the stream. The last line has counters and durations (in nanoseconds); Ollama omits
/// those that are zero.
#[derive(Debug, Default, Deserialize)]
pub(super) struct StreamLine {
    #[serde(default)]
    pub(super) message: Option<Message>,
    #[serde(default)]
    pub(super) done: Option<bool>,
    #[serde(default)]
    pub(super) done_reason: Option<String>,
    #[serde(default)]
    pub(super) error: Option<Value>,
    #[serde(flatten)]
    pub(super) counters: Counters,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Message {
    #[serde(default)]
    pub(super) content: Option<String>,
    #[serde(default)]
    pub(super) thinking: Option<String>,
    #[serde(default)]
    pub(super) tool_calls: Option<Vec<ToolCall>>,
}

/// A complete tool call; Ollama does not split calls.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ToolCall {
    /// Newer versions only.
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) function: Option<Function>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Function {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) arguments: Value,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
pub(super) struct Counters {
    #[serde(default)]
    pub(super) prompt_eval_count: Option<u64>,
    /// Newer versions only.
    #[serde(default)]
    pub(super) prompt_eval_cached_count: Option<u64>,
    #[serde(default)]
    pub(super) eval_count: Option<u64>,
    #[serde(default)]
    pub(super) total_duration: Option<u64>,
    #[serde(default)]
    pub(super) load_duration: Option<u64>,
    #[serde(default)]
    pub(super) prompt_eval_duration: Option<u64>,
    #[serde(default)]
    pub(super) eval_duration: Option<u64>,
}

/// The answer to `GET /api/tags`.
#[derive(Debug, Deserialize)]
pub(super) struct ModelList {
    pub(super) models: Vec<Model>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Model {
    pub(super) name: String,
}

/// The answer to `GET /api/version`.
#[derive(Debug, Deserialize)]
pub(super) struct Version {
    pub(super) version: String,
}
