//! A query's messages in OpenAI's form, and their parts for APIs with other forms.

use std::borrow::Cow;

use ipw_core::chat::Message;
use ipw_core::client::Request;
use serde::Serialize;
use serde_json::Value;

/// A message of a chat request.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum ChatMessage<'a> {
    /// A text made by `ipw`.
    Plain {
        role: &'static str,
        content: &'a str,
    },
    /// A message of the dataset, unchanged.
    Written(&'a Message),
}

/// The query's own messages, or its prompt; the system text, if any, comes first.
pub(crate) fn messages<'a>(request: &Request<'a>) -> Vec<ChatMessage<'a>> {
    let written = written(request);
    let mut messages = Vec::with_capacity(1 + written.len().max(1));
    messages.extend(request.system.map(|content| ChatMessage::Plain {
        role: "system",
        content,
    }));
    if request.query.messages.is_empty() {
        messages.push(ChatMessage::Plain {
            role: "user",
            content: &request.query.problem,
        });
    }
    messages.extend(written.iter().map(ChatMessage::Written));
    messages
}

/// The query's own messages. The user's system text replaces the dataset's.
pub(crate) fn written<'a>(request: &Request<'a>) -> &'a [Message] {
    let all = request.query.messages.as_slice();
    let is_replaced = |message: &&Message| request.system.is_some() && message.is_system();
    let replaced = all.iter().take_while(is_replaced).count();
    &all[replaced..]
}

/// The system text and the other messages, for APIs that keep the two apart.
pub(crate) fn apart<'a>(request: &Request<'a>) -> (Option<Cow<'a, str>>, Cow<'a, [Message]>) {
    if request.query.messages.is_empty() {
        let asked = Message::of("user", request.query.problem.as_str());
        return (request.system.map(Cow::Borrowed), Cow::Owned(vec![asked]));
    }
    let written = written(request);
    let leading = written.iter().take_while(|message| message.is_system());
    let texts: Vec<_> = leading.map(Message::text).collect();
    let rest = &written[texts.len()..];
    let system = match request.system {
        Some(system) => Some(Cow::Borrowed(system)),
        None => (!texts.is_empty()).then(|| Cow::Owned(texts.join("\n\n"))),
    };
    (system, Cow::Borrowed(rest))
}

/// A tool call of a message, in parts.
pub(crate) struct Call<'a> {
    pub(crate) id: Option<&'a str>,
    pub(crate) name: &'a str,
    /// A JSON text, as models write it, or an object.
    arguments: &'a Value,
}

impl<'a> Call<'a> {
    /// The tool calls of a message; an error for one without the needed fields.
    pub(crate) fn all(message: &'a Message) -> impl Iterator<Item = Result<Self, String>> {
        message.tool_calls().iter().map(|call| {
            let function = call.get("function").unwrap_or(call);
            let name = function.get("name").and_then(Value::as_str);
            let name = name.ok_or("a tool call of a message has no `name`")?;
            Ok(Self {
                id: call.get("id").and_then(Value::as_str),
                name,
                arguments: function.get("arguments").unwrap_or(&Value::Null),
            })
        })
    }

    /// The arguments as an object.
    pub(crate) fn object(&self) -> Result<Value, String> {
        let found = match self.arguments {
            Value::String(text) if text.trim().is_empty() => Value::Null,
            Value::String(text) => serde_json::from_str(text).unwrap_or(Value::Null),
            other => other.clone(),
        };
        match found {
            Value::Object(_) => Ok(found),
            Value::Null if is_nothing(self.arguments) => Ok(Value::Object(serde_json::Map::new())),
            _ => Err(format!(
                "the arguments of the tool call `{}` are not a JSON object",
                self.name
            )),
        }
    }

    /// The arguments as a text.
    pub(crate) fn text(&self) -> String {
        match self.arguments {
            Value::String(text) => text.clone(),
            Value::Null => "{}".to_owned(),
            other => other.to_string(),
        }
    }
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty())
}

/// An image in a message's content.
pub(crate) enum Image<'a> {
    /// Data in the message itself.
    Inline { media: &'a str, base64: &'a str },
    /// A URL.
    Linked(&'a str),
}

impl<'a> Image<'a> {
    /// The image of a content part; `None` for other parts.
    pub(crate) fn of(part: &'a Value) -> Option<Self> {
        let image = part.get("image_url")?;
        let url = image.as_str().or_else(|| image.get("url")?.as_str())?;
        let inline = url
            .strip_prefix("data:")
            .and_then(|rest| rest.split_once(";base64,"));
        Some(match inline {
            Some((media, base64)) => Self::Inline { media, base64 },
            None => Self::Linked(url),
        })
    }
}

/// The error for a content part that an API does not support.
pub(crate) fn no_place(part: &Value) -> String {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or("none");
    format!("this API does not accept a message part of the type `{kind}`")
}

#[cfg(test)]
mod tests {
    use ipw_core::query::Query;
    use serde_json::{Map, json};

    use super::*;
    use ipw_core::client::Canceller;

    fn with<T>(
        messages: Vec<Message>,
        system: Option<&str>,
        look: impl Fn(&Request<'_>) -> T,
    ) -> T {
        let query = Query {
            messages,
            ..Query::asking("why?".to_owned())
        };
        let (_canceller, cancel) = Canceller::new();
        let parameters = Map::new();
        look(&Request {
            query: &query,
            model: "m",
            system,
            parameters: &parameters,
            timeout: std::time::Duration::from_secs(1),
            first_token_timeout: None,
            idle_timeout: None,
            max_reply: ipw_core::client::MAX_REPLY,
            cancel,
            witness: None,
        })
    }

    fn sent(written: Vec<Message>, system: Option<&str>) -> Value {
        with(written, system, |request| {
            serde_json::to_value(messages(request)).unwrap()
        })
    }

    fn said(role: &str, content: &str) -> Value {
        json!({"role": role, "content": content})
    }

    #[test]
    fn the_users_system_text_goes_over_the_datasets() {
        let own = || vec![Message::of("developer", "D"), Message::of("user", "a")];
        assert_eq!(
            sent(own(), None),
            json!([said("developer", "D"), said("user", "a")])
        );
        assert_eq!(
            sent(own(), Some("S")),
            json!([said("system", "S"), said("user", "a")])
        );
        assert_eq!(sent(Vec::new(), None), json!([said("user", "why?")]));
        assert_eq!(
            sent(Vec::new(), Some("S")),
            json!([said("system", "S"), said("user", "why?")])
        );
    }

    #[test]
    fn the_system_is_kept_apart_where_an_api_wants_it() {
        let told = |written, system| {
            with(written, system, |request| {
                let (system, rest) = apart(request);
                let rest: Vec<_> = rest.iter().map(Message::text).collect();
                (system.map(Cow::into_owned), rest.join(" "))
            })
        };
        let own = || {
            let texts = [
                ("system", "S"),
                ("system", "T"),
                ("user", "a"),
                ("assistant", "A"),
            ];
            texts.map(|(role, text)| Message::of(role, text)).to_vec()
        };
        assert_eq!(
            told(own(), None),
            (Some("S\n\nT".to_owned()), "a A".to_owned())
        );
        assert_eq!(
            told(own(), Some("X")),
            (Some("X".to_owned()), "a A".to_owned())
        );
        assert_eq!(told(Vec::new(), None), (None, "why?".to_owned()));
    }

    #[test]
    fn arguments_are_an_object_or_an_error() {
        let call = |arguments: Value| {
            let call = json!({"id": "c", "function": {"name": "f", "arguments": arguments}});
            let fields = json!({"role": "assistant", "tool_calls": [call]});
            let message = Message::written(fields.as_object().cloned().unwrap()).unwrap();
            let call = Call::all(&message).next().unwrap().unwrap();
            (call.object(), call.text())
        };
        assert_eq!(
            call(json!("{\"a\":1}")),
            (Ok(json!({"a": 1})), "{\"a\":1}".to_owned())
        );
        assert_eq!(
            call(json!({"a": 1})),
            (Ok(json!({"a": 1})), "{\"a\":1}".to_owned())
        );
        assert_eq!(call(json!("")).0, Ok(json!({})));
        assert_eq!(call(Value::Null), (Ok(json!({})), "{}".to_owned()));
        assert!(call(json!("{")).0.unwrap_err().contains("`f`"));
        assert!(call(json!("3")).0.is_err());
    }

    #[test]
    fn images_are_in_the_message_or_elsewhere() {
        let inline =
            json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}});
        assert!(matches!(
            Image::of(&inline),
            Some(Image::Inline {
                media: "image/png",
                base64: "AA=="
            })
        ));
        let linked = json!({"type": "image_url", "image_url": "https://a/b.png"});
        assert!(matches!(
            Image::of(&linked),
            Some(Image::Linked("https://a/b.png"))
        ));
        assert!(Image::of(&json!({"type": "text", "text": "x"})).is_none());
    }
}
