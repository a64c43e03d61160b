//! Wire types of the responses API: only the events and fields that `ipw` reads.

use serde::Deserialize;
use serde_json::Value;

use crate::openai::wire::{self, Timings};

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub(super) enum Event {
    #[serde(rename = "response.created", alias = "response.in_progress")]
    Created {},
    #[serde(rename = "response.output_text.delta")]
    Text { delta: String },
    #[serde(rename = "response.refusal.delta")]
    Refusal { delta: String },
    #[serde(
        rename = "response.reasoning_text.delta",
        alias = "response.reasoning_summary_text.delta"
    )]
    Reasoning { delta: String },
    #[serde(rename = "response.output_item.added")]
    Item {
        /// llama.cpp omits it.
        #[serde(default)]
        output_index: Option<u64>,
        item: Item,
    },
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments {
        #[serde(default)]
        output_index: Option<u64>,
        #[serde(default)]
        item_id: Option<String>,
        delta: String,
    },
    #[serde(rename = "response.completed")]
    Completed {
        response: Response,
        /// llama.cpp's own field.
        #[serde(default)]
        timings: Option<Timings>,
    },
    #[serde(rename = "response.incomplete")]
    Incomplete { response: Response },
    #[serde(rename = "response.failed")]
    Failed { response: Response },
    /// `code` and `message` are fields of the event itself.
    #[serde(rename = "error")]
    Error(Value),
    #[serde(other)]
    Other,
}

/// An item of the output.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item {
    FunctionCall {
        #[serde(default)]
        id: Option<String>,
        #[serde(default)]
        call_id: Option<String>,
        name: String,
        #[serde(default)]
        arguments: Option<String>,
    },
    Message {
        #[serde(default)]
        content: Vec<Part>,
    },
    #[serde(other)]
    Other,
}

impl Item {
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let parts = match self {
            Self::Message { content } => content.as_slice(),
            _ => &[],
        };
        parts.iter().filter_map(|part| part.text.as_deref())
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Part {
    #[serde(default)]
    text: Option<String>,
}

/// The whole response, in the stream's last event.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Response {
    #[serde(default)]
    pub(super) status: Option<String>,
    #[serde(default)]
    pub(super) error: Value,
    #[serde(default)]
    pub(super) incomplete_details: Option<Incomplete>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
    #[serde(default)]
    pub(super) output: Vec<Item>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Incomplete {
    #[serde(default)]
    pub(super) reason: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Usage {
    #[serde(default)]
    pub(super) input_tokens: Option<u64>,
    #[serde(default)]
    pub(super) input_tokens_details: Option<InputDetails>,
    #[serde(default)]
    pub(super) output_tokens: Option<u64>,
    #[serde(default)]
    pub(super) output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct InputDetails {
    #[serde(default)]
    pub(super) cached_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct OutputDetails {
    #[serde(default)]
    pub(super) reasoning_tokens: Option<u64>,
}

impl From<Usage> for wire::Usage {
    fn from(usage: Usage) -> Self {
        let cached = usage.input_tokens_details.map(|of| wire::PromptDetails {
            cached_tokens: of.cached_tokens,
        });
        let reasoning = usage
            .output_tokens_details
            .map(|of| wire::CompletionDetails {
                reasoning_tokens: of.reasoning_tokens,
                ..wire::CompletionDetails::default()
            });
        Self {
            prompt_tokens: usage.input_tokens,
            completion_tokens: usage.output_tokens,
            prompt_tokens_details: cached,
            completion_tokens_details: reasoning,
            ..Self::default()
        }
    }
}
