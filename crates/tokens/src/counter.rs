//! Counts the tokens of queries and replies.

use ipw_core::query::Query;
use ipw_core::reply::{Reply, TokenCounts};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::about::About;
use crate::encoder::{Encoder, Role};
use crate::settle::settle;
#[cfg(feature = "engine")]
pub(crate) use crate::template::Template;

/// Without the engine there are no templates.
#[cfg(not(feature = "engine"))]
pub(crate) enum Template {}

#[cfg(not(feature = "engine"))]
impl Template {
    fn render(&self, _system: Option<&str>, _query: &Query) -> Option<String> {
        match *self {}
    }
}

/// Parameters that change what the model reads in unknown ways: the input is then not counted.
const CHANGE_THE_PROMPT: [&str; 12] = [
    "add_generation_prompt",
    "add_special_tokens",
    "chat_template",
    "chat_template_kwargs",
    "continue_final_message",
    "documents",
    "echo",
    "functions",
    "reasoning_effort",
    "suffix",
    "think",
    "tools",
];

/// A query as it was sent.
#[derive(Debug, Clone, Copy)]
pub struct SentQuery<'a> {
    /// The query as it was sent.
    pub query: &'a Query,
    /// Text of the system role.
    pub system: Option<&'a str>,
    /// Generation parameters of the request.
    pub parameters: &'a Map<String, Value>,
    /// Whether the prompt was sent as plain text, not as a chat.
    pub is_raw: bool,
}

/// Counts tokens with one tokenizer.
pub struct TokenCounter {
    encoder: Box<dyn Encoder>,
    template: Option<Template>,
    about: About,
    note: Option<String>,
}

/// A tool call, as the row stores it.
#[derive(Deserialize)]
struct Call {
    #[serde(default)]
    name: String,
    #[serde(default)]
    arguments: String,
}

impl TokenCounter {
    pub(crate) fn new(
        encoder: Box<dyn Encoder>,
        template: Option<Template>,
        about: About,
        note: Option<String>,
    ) -> Self {
        Self {
            encoder,
            template,
            about,
            note,
        }
    }

    /// Describes the tokenizer.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// A warning for the user if the chat template exists but cannot be used.
    pub fn note(&self) -> Option<String> {
        let why = self.note.as_ref()?;
        Some(format!(
            "cannot use the chat template of the tokenizer `{}`, so input tokens are not counted: \
             {why}",
            self.about.from
        ))
    }

    /// Counts a reply; `None` if it is empty. Includes the input where that is known.
    pub fn count(&self, asked: &SentQuery<'_>, reply: &Reply) -> Option<TokenCounts> {
        let answer = self.text(Some(&reply.answer))?;
        let reasoning = self.text(reply.reasoning.as_deref())?;
        let calls = self.calls(reply.tool_calls.as_deref())?;
        if reply.answer.is_empty() && reasoning.is_none() && calls.is_none() {
            return None;
        }
        let parts = [answer, reasoning, calls];
        Some(TokenCounts {
            input: self.input(asked),
            output: Some(parts.iter().flatten().sum()),
            reasoning,
            tool_call: calls,
            ..TokenCounts::default()
        })
    }

    /// Counts a reply, and sets the counts where the only other source is the number of chunks.
    /// Where the service counted, the row notes the difference. Returns the counts.
    pub fn settle(&self, asked: &SentQuery<'_>, reply: &mut Reply) -> Option<TokenCounts> {
        let counted = self.count(asked, reply)?;
        settle(reply, &counted);
        Some(counted)
    }

    /// The tokens of a part of a reply. The inner `None`: the part is missing; the outer: it cannot
    /// be counted.
    #[expect(clippy::option_option, reason = "absent is not unknown")]
    fn text(&self, text: Option<&str>) -> Option<Option<u64>> {
        match text.filter(|text| !text.is_empty()) {
            None => Some(None),
            Some(text) => self.encoder.count(text, Role::Reply).map(Some),
        }
    }

    /// The tokens of tool calls: their names and arguments, as the model wrote them.
    #[expect(clippy::option_option, reason = "absent is not unknown")]
    fn calls(&self, calls: Option<&str>) -> Option<Option<u64>> {
        let Some(calls) = calls else {
            return Some(None);
        };
        let calls: Vec<Call> = serde_json::from_str(calls).ok()?;
        let mut sum = 0;
        for call in &calls {
            sum += self.encoder.count(&call.name, Role::Reply)?;
            sum += self.encoder.count(&call.arguments, Role::Reply)?;
        }
        Some(Some(sum))
    }

    /// The tokens of the prompt, only where the model's exact input is known: never a guess.
    fn input(&self, asked: &SentQuery<'_>) -> Option<u64> {
        let mut changes = CHANGE_THE_PROMPT.iter();
        if changes.any(|name| asked.parameters.contains_key(*name)) {
            return None;
        }
        if asked.is_raw {
            return self.encoder.count(&asked.query.problem, Role::Prompt);
        }
        let template = self.template.as_ref()?;
        let text = template.render(asked.system, asked.query)?;
        self.encoder.count(&text, Role::Rendered)
    }
}
