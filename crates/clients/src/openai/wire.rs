//! What goes over the wire in the chat completions API: only the fields that we read.

use serde::Deserialize;
use serde_json::Value;

/// One event of the stream.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Chunk {
    #[serde(default)]
    pub(super) choices: Option<Vec<Choice>>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
    #[serde(default)]
    pub(super) timings: Option<Timings>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub(super) delta: Option<Delta>,
    #[serde(default)]
    pub(super) finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta {
    #[serde(default)]
    pub(super) content: Option<String>,
    #[serde(default)]
    pub(super) reasoning_content: Option<String>,
    /// The other name for it (vLLM).
    #[serde(default)]
    pub(super) reasoning: Option<String>,
    #[serde(default)]
    pub(super) refusal: Option<String>,
    #[serde(default)]
    pub(super) tool_calls: Option<Vec<ToolCall>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolCall {
    #[serde(default)]
    pub(super) function: Option<Function>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Function {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) arguments: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Usage {
    #[serde(default)]
    pub(super) prompt_tokens: Option<u64>,
    #[serde(default)]
    pub(super) completion_tokens: Option<u64>,
    #[serde(default)]
    pub(super) prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    pub(super) completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct PromptDetails {
    #[serde(default)]
    pub(super) cached_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct CompletionDetails {
    #[serde(default)]
    pub(super) reasoning_tokens: Option<u64>,
}

/// llama.cpp's own counts and milliseconds.
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
}

/// `GET /v1/models`.
#[derive(Debug, Deserialize)]
pub(super) struct ModelList {
    pub(super) data: Vec<Model>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Model {
    pub(super) id: String,
}
