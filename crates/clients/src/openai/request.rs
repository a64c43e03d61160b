//! Request bodies of OpenAI's three APIs.

use std::str::FromStr;

use ipw_core::client::Request;
use ipw_core::setting::Setting;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{RESERVED, items};
use crate::message::{ChatMessage, messages, written};

/// One of OpenAI's APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Api {
    /// Chat completions.
    #[default]
    Chat,
    /// The prompt unchanged, without a chat template.
    Completions,
    /// The responses API.
    Responses,
}

impl Api {
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Completions => "completions",
            Self::Responses => "responses",
        }
    }

    pub(super) const fn endpoint(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
            Self::Responses => "/v1/responses",
        }
    }
}

impl FromStr for Api {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Chat, Self::Completions, Self::Responses]
            .into_iter()
            .find(|api| api.label() == text)
            .ok_or(())
    }
}

/// Additions to every request from client parameters.
#[derive(Debug, Default)]
pub(super) struct Extras {
    pub(super) body: Map<String, Value>,
    pub(super) stream_options: Map<String, Value>,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(flatten)]
    prompt: Prompt<'a>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<&'a Map<String, Value>>,
    #[serde(flatten)]
    parameters: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Prompt<'a> {
    Chat {
        messages: Vec<ChatMessage<'a>>,
    },
    Completions {
        prompt: &'a str,
    },
    Responses {
        #[serde(skip_serializing_if = "Option::is_none")]
        instructions: Option<&'a str>,
        input: Input<'a>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Input<'a> {
    Text(&'a str),
    Items(Value),
}

/// The request as JSON, with only the fields that were asked for.
pub(super) fn body(api: Api, request: &Request<'_>, extras: &Extras) -> Result<Vec<u8>, String> {
    let mut parameters = request.parameters.clone();
    parameters.retain(|name, _| !RESERVED.contains(&name.as_str()));
    for (name, value) in &extras.body {
        parameters.entry(name).or_insert_with(|| value.clone());
    }
    let prompt = match api {
        Api::Chat => Prompt::Chat {
            messages: messages(request),
        },
        Api::Completions => Prompt::Completions {
            prompt: one_text(request)?,
        },
        Api::Responses => {
            own_length_limit(&mut parameters);
            items::own_words(&mut parameters);
            Prompt::Responses {
                instructions: request.system,
                input: input(request)?,
            }
        }
    };
    // The responses API always sends usage and rejects unknown options.
    let stream_options =
        Some(&extras.stream_options).filter(|options| !options.is_empty() && api != Api::Responses);
    let body = Body {
        model: request.model,
        prompt,
        stream: true,
        stream_options,
        parameters,
    };
    Ok(serde_json::to_vec(&body).expect("texts and JSON values serialize"))
}

/// The prompt, for APIs that take only one text.
fn one_text<'a>(request: &Request<'a>) -> Result<&'a str, String> {
    if request.system.is_some() {
        return Err(crate::ClientError::NoSystem.to_string());
    }
    match request.query.messages.as_slice() {
        [] => Ok(&request.query.problem),
        _ => Err(format!(
            "the completions API takes one text, and the row has messages\nhelp: use `{}`, \
             or name a column of texts with `{}`",
            Setting::Api.to("chat"),
            Setting::DatasetParam.to("problem=…")
        )),
    }
}

/// The input of the responses API.
fn input<'a>(request: &Request<'a>) -> Result<Input<'a>, String> {
    match request.query.messages.as_slice() {
        [] => Ok(Input::Text(&request.query.problem)),
        _ => items::items(written(request)).map(Input::Items),
    }
}

/// Converts length limits to the responses API's name; its own name wins.
fn own_length_limit(parameters: &mut Map<String, Value>) {
    const OWN: &str = "max_output_tokens";
    let other = ["max_tokens", "max_completion_tokens"]
        .into_iter()
        .filter_map(|name| parameters.remove(name))
        .next_back();
    if let Some(limit) = other {
        parameters.entry(OWN).or_insert(limit);
    }
}
