//! Generates one reply: prompt in, tokens out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ipw_core::reply::{Compute, Failure};
use ipw_core::setting::Setting;
use ipw_core::time::{Clock, Timestamp};
use tokio::sync::mpsc::UnboundedSender;

use crate::forward::{Scratch, Sequence};
use crate::model::Model;
use crate::sampler::Sampler;
use crate::settings::Settings;
use crate::stops::Stops;
use crate::template::{ChatTemplate, Message, TemplateError};
use crate::tokenizer::{Tokenizer, Utf8Joiner};

/// Number of prompt tokens per forward pass: large enough to be fast, small enough that a cancelled
/// query ends soon.
const BATCH: usize = 512;

/// A conversation to continue.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// How to generate the reply.
    pub settings: Settings,
}

/// A flag that cancels a reply after the current token.
#[derive(Debug, Clone, Default)]
pub(crate) struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Cancels the reply.
    pub(crate) fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A part of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Whole characters of text, and the time at which they were generated.
    Text(String, Timestamp),
    /// The last part.
    Ended(Ending),
}

/// How a reply ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// The reason.
    pub finish: Finish,
    /// Number of prompt tokens; `None` if the prompt was never tokenized.
    pub prompt_tokens: Option<u64>,
    /// Number of generated tokens. The end token counts: it took a pass, too.
    pub reply_tokens: u64,
    /// Operations and memory traffic.
    pub compute: Compute,
    /// When its turn in the queue came.
    pub begun: Timestamp,
    /// When the prompt was processed and the first token generated.
    pub first_token: Option<Timestamp>,
    /// When the reply ended.
    pub at: Timestamp,
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// The model or a stop text ended it.
    Stop,
    /// The token limit or the context length was reached.
    Length,
    /// The caller cancelled it or dropped its receiver.
    Cancelled,
    /// Generation failed.
    Failed(Failure, String),
}

/// The model, and the buffers that all replies share.
pub(crate) struct Generator {
    pub(crate) model: Model,
    pub(crate) tokenizer: Tokenizer,
    pub(crate) template: ChatTemplate,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) sequence: Sequence,
    pub(crate) scratch: Scratch,
}

/// A reply in progress.
struct Draft<'a> {
    out: &'a UnboundedSender<Part>,
    cancelled: &'a CancelFlag,
    prompt_tokens: Option<u64>,
    reply_tokens: u64,
    compute: Compute,
    first_token: Option<Timestamp>,
}

impl Draft<'_> {
    /// Whether to continue: false if the reply was cancelled or its receiver dropped.
    fn is_wanted(&self) -> bool {
        !self.cancelled.is_set() && !self.out.is_closed()
    }

    fn send(&self, text: String, at: Timestamp) {
        if !text.is_empty() {
            // A dropped receiver is noticed before the next token.
            let _ = self.out.send(Part::Text(text, at));
        }
    }
}

impl Generator {
    /// Generates one reply into `out`; the last part always follows.
    pub(crate) fn reply(
        &mut self,
        prompt: &Prompt,
        cancelled: &CancelFlag,
        out: &UnboundedSender<Part>,
    ) {
        let begun = self.clock.now();
        let mut draft = Draft {
            first_token: None,
            out,
            cancelled,
            prompt_tokens: None,
            reply_tokens: 0,
            compute: Compute {
                flops: 0.0,
                bytes: 0.0,
            },
        };
        let finish = match self.tokens(prompt, cancelled) {
            Ok(tokens) => {
                draft.prompt_tokens = Some(tokens.len() as u64);
                self.generate(&tokens, &prompt.settings, &mut draft)
            }
            Err(finish) => finish,
        };
        let ended = Ending {
            finish,
            prompt_tokens: draft.prompt_tokens,
            reply_tokens: draft.reply_tokens,
            compute: draft.compute,
            begun,
            first_token: draft.first_token,
            at: self.clock.now(),
        };
        let _ = out.send(Part::Ended(ended));
    }

    /// Formats and tokenizes the conversation.
    fn tokens(&self, prompt: &Prompt, cancelled: &CancelFlag) -> Result<Vec<u32>, Finish> {
        let text = self
            .template
            .render_until(&prompt.messages, true, cancelled)
            .map_err(|error| match error {
                TemplateError::Cancelled => Finish::Cancelled,
                error => Finish::Failed(Failure::Template, ipw_core::text::with_causes(&error)),
            })?;
        let context = self.model.shape.context;
        // Refuse a text that cannot fit before spending time on its tokens.
        let least = self.tokenizer.at_least(&text);
        if least >= context {
            let text = format!(
                "the prompt has at least {least} tokens, but the model's context is {context}"
            );
            return Err(Finish::Failed(Failure::Context, text));
        }
        let tokens = self.tokenizer.encode_rendered(&text);
        if tokens.is_empty() {
            let text = "the prompt is empty".to_owned();
            return Err(Finish::Failed(Failure::Template, text));
        }
        if tokens.len() >= context {
            let text = format!(
                "the prompt has {} tokens, but the model's context is {context}",
                tokens.len()
            );
            return Err(Finish::Failed(Failure::Context, text));
        }
        Ok(tokens)
    }

    fn generate(&mut self, prompt: &[u32], settings: &Settings, draft: &mut Draft<'_>) -> Finish {
        let room = self.model.shape.context - prompt.len();
        let most = settings.max_tokens.min(room);
        let positions = prompt.len() + most;
        if let Err(bytes) = self.sequence.start(&self.model, positions) {
            let text = format!(
                "no memory for the cache of {positions} tokens ({} MiB); set a smaller `max_tokens`, \
                 or `{}`",
                bytes.div_ceil(1 << 20),
                Setting::ClientParam.to("context=…")
            );
            return Finish::Failed(Failure::Engine, text);
        }
        let mut sampler = Sampler::new(settings.sampling);
        let mut stops = Stops::new(settings.stop.clone());
        let mut joiner = Utf8Joiner::new();
        let (mut batches, mut last) = (prompt.chunks(BATCH), [0]);
        let Some(mut next) = batches.next() else {
            return Finish::Failed(Failure::Template, "the prompt is empty".to_owned());
        };
        let finish = loop {
            if !draft.is_wanted() {
                break Finish::Cancelled;
            }
            draft.compute = self.model.work(&self.sequence, next.len(), draft.compute);
            let scores = self
                .model
                .forward(next, &mut self.sequence, &mut self.scratch);
            if let Some(batch) = batches.next() {
                next = batch;
                continue;
            }
            let Some(token) = sampler.pick(scores) else {
                let text = "the model's scores are not numbers".to_owned();
                break Finish::Failed(Failure::Engine, text);
            };
            let at = self.clock.now();
            draft.reply_tokens += 1;
            draft.first_token.get_or_insert(at);
            if self.tokenizer.is_end(token) && !settings.ignore_end {
                break Finish::Stop;
            }
            let passed = stops.push(&joiner.push(self.tokenizer.bytes(token)));
            draft.send(passed.text, at);
            if passed.stopped {
                return Finish::Stop;
            }
            if draft.reply_tokens >= most as u64 {
                break Finish::Length;
            }
            last[0] = token;
            next = &last;
        };
        let rest = stops.push(&joiner.finish());
        draft.send(rest.text, self.clock.now());
        if !rest.stopped {
            draft.send(stops.finish(), self.clock.now());
        }
        finish
    }
}
