//! Chat templates: the model file's own program that formats a conversation as a prompt.
//!
//! They are written for Python's Jinja as configured by `transformers`, and come from an untrusted
//! file. Their length, steps, values and output are therefore limited (`template/meter`). The
//! caller provides the date: this crate reads no clock.

mod date;
mod guard;
mod json;
mod meter;
mod rewrite;
#[cfg(test)]
mod tests;

use std::io;

use ipw_core::chat;
use ipw_core::query::Query;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Kwargs;
use minijinja::{Environment, Error, ErrorKind, Value, context};

use crate::generate::CancelFlag;
use meter::{Stop, metered};

/// The default template for files without one: most recent models were trained on it.
pub const CHATML: &str = "{% for message in messages %}\
    {{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}\
    {% endfor %}\
    {% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

const LONGEST_TEMPLATE: usize = 256 << 10;
const LONGEST_PROMPT: usize = 16 << 20;
/// Maximum number of steps; a real template takes some hundred per message.
const FUEL: u64 = 10_000_000;
/// Maximum recursion: far more than templates use, and it fits a thread's stack in a debug build.
const RECURSION: usize = 80;
const NAME: &str = "chat_template";

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The speaker: `system`, `user` or `assistant`.
    pub role: String,
    /// The text.
    pub content: String,
}

impl Message {
    /// A message.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            role: role.into(),
            content: content.into(),
        }
    }
}

/// The messages of a query: the only place where a query becomes a conversation. The user's system
/// text overrides the dataset's. An error names what templates do not support.
pub fn conversation(system: Option<&str>, query: &Query) -> Result<Vec<Message>, String> {
    let told = system.map(|text| Message::new("system", text));
    let is_replaced = |message: &&chat::Message| system.is_some() && message.is_system();
    let mut turns: Vec<_> = told.into_iter().collect();
    if query.messages.is_empty() {
        turns.push(Message::new("user", query.problem.as_str()));
    }
    for message in query.messages.iter().skip_while(is_replaced) {
        turns.push(own_message(message)?);
    }
    Ok(turns)
}

/// Converts a message for templates. An error names what the engine does not support.
fn own_message(message: &chat::Message) -> Result<Message, String> {
    let role = match message.role() {
        "system" | "developer" => "system",
        role @ ("user" | "assistant") => role,
        other => {
            return Err(format!(
                "the embedded engine knows no messages of the role `{other}`"
            ));
        }
    };
    if !message.tool_calls().is_empty() {
        return Err("the embedded engine does not support tool calls".to_owned());
    }
    let parts = message.content().and_then(serde_json::Value::as_array);
    let other = parts
        .into_iter()
        .flatten()
        .find(|part| chat::part_text(part).is_none());
    match other {
        Some(part) => Err(format!(
            "the embedded engine reads texts only, and a message has a part of the type `{}`",
            part["type"].as_str().unwrap_or("none")
        )),
        None => Ok(Message::new(role, message.text())),
    }
}

/// Why a prompt cannot be formatted.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The template is too long.
    #[error("the chat template is {0} bytes long, more than {LONGEST_TEMPLATE}")]
    TooLong(usize),
    /// The template cannot be parsed.
    #[error("the chat template is not valid")]
    Syntax(#[source] Box<Error>),
    /// The template itself refuses the conversation, with this message.
    #[error("the chat template refuses the conversation: {0}")]
    Raised(String),
    /// The template exceeds its step limit.
    #[error("the chat template does not terminate: it exceeds its step limit")]
    Endless,
    /// The prompt is too long.
    #[error("the chat template writes more than {LONGEST_PROMPT} bytes")]
    TooMuch,
    /// The values of the template are too large.
    #[error("the chat template needs too much memory: {0}")]
    TooLarge(String),
    /// The rendering was cancelled.
    #[error("the chat template was cancelled")]
    Cancelled,
    /// The template fails on this conversation.
    #[error("the chat template fails")]
    Failed(#[source] Box<Error>),
}

/// A parsed chat template; it can be rendered any number of times.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    bos: String,
    eos: String,
}

impl ChatTemplate {
    /// Parses a template. `bos` and `eos` are the texts of the tokens that start and end a text.
    pub fn new(source: &str, bos: &str, eos: &str) -> Result<Self, TemplateError> {
        if source.len() > LONGEST_TEMPLATE {
            return Err(TemplateError::TooLong(source.len()));
        }
        let mut environment = Environment::new();
        environment.set_fuel(Some(FUEL));
        environment.set_recursion_limit(RECURSION);
        guard::install(&mut environment);
        environment.add_function("raise_exception", raise_exception);
        environment.add_filter("tojson", tojson);
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build();
        let parsed = syntax.and_then(|syntax| {
            let source = rewrite::metered(&without_generation_tags(source), NAME, &syntax)?;
            environment.set_syntax(syntax);
            environment.add_template_owned(NAME, source)
        });
        parsed.map_err(|error| TemplateError::Syntax(Box::new(error)))?;
        Ok(Self {
            environment,
            bos: bos.to_owned(),
            eos: eos.to_owned(),
        })
    }

    /// Sets the current date; without it, templates fall back to the date written in them.
    #[must_use]
    pub fn with_date(mut self, year: u16, month: u8, day: u8) -> Self {
        let strftime_now = move |format: &str| date::format(format, year, month, day);
        self.environment.add_function("strftime_now", strftime_now);
        self
    }

    /// Formats the conversation as a prompt, optionally with the start of the assistant's turn.
    pub fn render(
        &self,
        messages: &[Message],
        add_generation_prompt: bool,
    ) -> Result<String, TemplateError> {
        self.render_until(messages, add_generation_prompt, &CancelFlag::default())
    }

    /// The same; stops at the next step once cancelled.
    pub(crate) fn render_until(
        &self,
        messages: &[Message],
        add_generation_prompt: bool,
        cancelled: &CancelFlag,
    ) -> Result<String, TemplateError> {
        let turns = messages.iter().map(|message| {
            context! { role => &message.role, content => &message.content }
        });
        let context = context! {
            messages => turns.collect::<Vec<_>>(),
            add_generation_prompt,
            bos_token => &self.bos,
            eos_token => &self.eos,
            tools => (),
            documents => (),
        };
        let mut prompt = LimitedBuffer(Vec::new());
        let template = self.environment.get_template(NAME).map_err(explained)?;
        let (rendered, stop) = metered(cancelled, || {
            template.render_captured_to(context, &mut prompt).map(drop)
        });
        match stop {
            None => rendered.map_err(explained)?,
            Some(stop) => return Err(stop.into()),
        }
        // Jinja writes valid UTF-8 only, so nothing is ever lost here.
        Ok(String::from_utf8(prompt.0).unwrap_or_default())
    }
}

/// `transformers` marks training text with these tags; they do not affect a prompt.
fn without_generation_tags(source: &str) -> String {
    let mut source = source.to_owned();
    for (open, close) in [("", ""), ("-", ""), ("", "-"), ("-", "-")] {
        for (tag, instead) in [("generation", "if true"), ("endgeneration", "endif")] {
            let written = format!("{{%{open} {tag} {close}%}}");
            source = source.replace(&written, &format!("{{%{open} {instead} {close}%}}"));
        }
    }
    source
}

/// The message of a template that refused.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refusal(String);

fn raise_exception(text: String) -> Result<Value, Error> {
    let raised = Error::new(ErrorKind::InvalidOperation, "raise_exception");
    Err(raised.with_source(Refusal(text)))
}

/// Replaces minijinja's filter, which escapes for HTML.
#[expect(
    clippy::needless_pass_by_value,
    reason = "minijinja hands the options over"
)]
fn tojson(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let _: Option<bool> = options.get("ensure_ascii")?;
    options.assert_all_used()?;
    meter::size(value)?;
    json::as_python_does(value, indent.map(|indent| indent.min(16)))
}

impl From<Stop> for TemplateError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Read => Self::Endless,
            Stop::Cancelled => Self::Cancelled,
            Stop::Large | Stop::Made | Stop::Deep => Self::TooLarge(stop.to_string()),
        }
    }
}

fn explained(error: Error) -> TemplateError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(found) = cause {
        if let Some(Refusal(text)) = found.downcast_ref() {
            return TemplateError::Raised(text.clone());
        }
        if is_full(found) {
            return TemplateError::TooMuch;
        }
        let kind = found.downcast_ref().map(Error::kind);
        if kind == Some(ErrorKind::OutOfFuel) {
            return TemplateError::Endless;
        }
        cause = found.source();
    }
    TemplateError::Failed(Box::new(error))
}

/// The prompt has reached its limit.
#[derive(Debug, thiserror::Error)]
#[error("the prompt is full")]
struct PromptLimit;

fn is_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let written = error.downcast_ref::<io::Error>();
    let cause = written.and_then(io::Error::get_ref);
    cause
        .and_then(|cause| cause.downcast_ref::<PromptLimit>())
        .is_some()
}

struct LimitedBuffer(Vec<u8>);

impl io::Write for LimitedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > LONGEST_PROMPT {
            return Err(io::Error::other(PromptLimit));
        }
        self.0.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
