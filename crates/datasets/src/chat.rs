//! Prompts of several messages: lists with roles, and conversations of several turns.
//!
//! Three shapes are in use: objects with `role` and `content`, objects with `from` and `value`, and
//! plain texts (a user's turns without the replies).
//!
//! - A list that ends with a question is one query, sent as it is.
//! - A list that ends with a reply is a recorded conversation. Each reply is the reference answer
//!   of
//!   one query, which is sent with all messages before it.
//! - Turns without replies are sent one after the other, with the service's own replies in between.

use std::str::FromStr;

use ipw_core::chat::Message;
use ipw_core::params::ParamReader;
use serde_json::{Map, Value};

use crate::error::DatasetError;
use crate::fault::Fault;
use crate::object::{describe, is_small};

/// The parameter `turns` and its meaning.
pub(crate) const TURNS: (&str, &str) = (
    "turns",
    "of a conversation, ask `each` turn or only the `last` \
     (default: each of a recorded one, the last of one that ends with a question)",
);
/// The parameter `history` and its meaning.
pub(crate) const HISTORY: (&str, &str) = (
    "history",
    "what a turn sees of those before it: the `recorded` replies (default where there are some) \
     or the `live` ones, as the service gives them in this run",
);

/// Usual names of columns that hold a list of messages.
pub(crate) const USUAL: &[&str] = &["messages", "conversations", "conversation", "turns"];
/// The column with the id of a conversation.
pub(crate) const CONVERSATION: &str = "conversation_id";

/// Which turns of a conversation become queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turns {
    Each,
    Last,
}

/// Which replies a turn sees of the turns before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum History {
    Recorded,
    Live,
}

impl FromStr for Turns {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "each" => Ok(Self::Each),
            "last" => Ok(Self::Last),
            _ => Err(()),
        }
    }
}

impl FromStr for History {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "recorded" => Ok(Self::Recorded),
            "live" => Ok(Self::Live),
            _ => Err(()),
        }
    }
}

/// Options of conversations; `None` leaves the choice to the content of each row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ChatOptions {
    turns: Option<Turns>,
    history: Option<History>,
}

/// One query of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    /// The text of the last message of the user.
    pub(crate) problem: String,
    /// The reply that the dataset records for it.
    pub(crate) recorded: Option<String>,
    /// All messages that are sent.
    pub(crate) messages: Vec<Message>,
    /// The turn's number in the conversation, from 1.
    pub(crate) number: u32,
    /// Indices of the messages before which replies of the run are inserted; `None` if the recorded
    /// replies are sent.
    pub(crate) replies_before: Option<Vec<usize>>,
}

impl ChatOptions {
    /// Reads the parameters `turns` and `history`.
    pub(crate) fn read(reader: &mut ParamReader<'_>) -> Result<Self, DatasetError> {
        Ok(Self {
            turns: reader.parsed(TURNS.0, "`each` or `last`")?,
            history: reader.parsed(HISTORY.0, "`recorded` or `live`")?,
        })
    }

    /// The questions, one or more, of the list in the column `name`.
    pub(crate) fn questions(self, name: &str, list: &Value) -> Result<Vec<Question>, Fault> {
        let list = RowMessages::of(name, list)?;
        let has_replies = list.messages.iter().any(Message::is_reply);
        let is_recorded = list.messages.last().is_some_and(Message::is_reply);
        let each = match self.turns {
            Some(turns) => turns == Turns::Each,
            None => is_recorded || list.is_bare,
        };
        // Several user messages in a row are separate turns only with `turns=each`.
        let is_bare = list.is_bare || (!has_replies && self.turns == Some(Turns::Each));
        let ends = ends(&list.messages, is_bare);
        let Some(last) = ends.last() else {
            return Err(Fault::new(
                format!("a message to reply to in `{name}`"),
                "none of a user",
            ));
        };
        let is_live = each && ends.len() > 1 && (is_bare || self.history == Some(History::Live));
        if is_bare && self.history == Some(History::Recorded) && ends.len() > 1 {
            return Err(Fault::new(
                format!("replies between the turns in `{name}`"),
                "none",
            )
            .help("leave `history=recorded` out: the turns are asked with the service's own replies"));
        }
        if is_bare && !each && ends.len() > 1 {
            return Err(Fault::new(
                format!("replies between the turns in `{name}`, as only the last is to be asked"),
                "none",
            )
            .help("leave `turns=last` out"));
        }
        if is_live {
            live(name, &list.messages, &ends)
        } else if each {
            let all = (1..).zip(&ends);
            all.map(|(number, end)| recorded(name, &list.messages, number, *end))
                .collect()
        } else {
            let number = u32::try_from(ends.len()).unwrap_or(u32::MAX);
            Ok(vec![recorded(name, &list.messages, number, *last)?])
        }
    }
}

/// The value as a list. Tables and texts may hold a list as JSON.
pub(crate) fn list(value: &Value) -> Option<std::borrow::Cow<'_, Value>> {
    use std::borrow::Cow;
    match value {
        Value::Array(_) => Some(Cow::Borrowed(value)),
        Value::String(text) if text.trim_start().starts_with('[') && is_small(text) => {
            let parsed: Value = serde_json::from_str(text).ok()?;
            let is_messages = |items: &Vec<Value>| items.iter().all(Value::is_object);
            let found = parsed.as_array().is_some_and(is_messages);
            found.then_some(Cow::Owned(parsed))
        }
        _ => None,
    }
}

/// The messages of one row.
struct RowMessages {
    messages: Vec<Message>,
    /// Whether all of them are turns of a user, without replies.
    is_bare: bool,
}

impl RowMessages {
    fn of(name: &str, list: &Value) -> Result<Self, Fault> {
        let items = list.as_array().map_or(&[][..], Vec::as_slice);
        if items.is_empty() {
            return Err(Fault::new(format!("messages in `{name}`"), "an empty list")
                .help("the parameter `problem` can name another column"));
        }
        let is_bare = items.iter().all(Value::is_string);
        let messages = (1..).zip(items).map(|(number, item)| {
            let place = format!("message {number} of `{name}`");
            match item {
                Value::String(text) if is_bare => Ok(Message::of("user", text)),
                Value::Object(fields) => message(fields, &place),
                other => Err(Fault::new(
                    format!("an object with `role` and `content` as {place}"),
                    describe(other),
                )),
            }
        });
        Ok(Self {
            messages: messages.collect::<Result<_, _>>()?,
            is_bare,
        })
    }
}

/// One message, in either of the two shapes.
fn message(fields: &Map<String, Value>, place: &str) -> Result<Message, Fault> {
    if !fields.contains_key("role")
        && let (Some(from), Some(value)) = (fields.get("from"), fields.get("value"))
    {
        let role = from.as_str().and_then(role_of).ok_or_else(|| {
            let expected = format!("`human`, `gpt`, `system` or `tool` in `from` of {place}");
            Fault::new(expected, described(from))
        })?;
        let text = value
            .as_str()
            .ok_or_else(|| Fault::new(format!("a text in `value` of {place}"), describe(value)))?;
        return Ok(Message::of(role, text));
    }
    let fields = without_nulls(fields);
    Message::written(fields.clone()).map_err(|flaw| {
        let expected = format!("{} in `{}` of {place}", flaw.expected, flaw.field);
        let found = fields.get(flaw.field);
        Fault::new(expected, found.map_or("nothing".to_owned(), describe))
    })
}

fn described(value: &Value) -> String {
    value.as_str().map_or_else(
        || describe(value),
        |text| format!("`{}`", crate::columns::shown(text)),
    )
}

/// The role for a `from` of `ShareGPT` and related datasets.
fn role_of(from: &str) -> Option<&'static str> {
    Some(match from {
        "human" | "user" => "user",
        "gpt" | "assistant" | "model" | "chatgpt" | "bing" | "bard" => "assistant",
        "system" => "system",
        "tool" | "observation" | "function_response" => "tool",
        _ => return None,
    })
}

/// Removes nulls at any depth: tables store null for every field that only other messages have.
pub(crate) fn without_nulls(fields: &Map<String, Value>) -> Map<String, Value> {
    let kept = fields.iter().filter(|(_, value)| !value.is_null());
    kept.map(|(name, value)| (name.clone(), pruned(value)))
        .collect()
}

fn pruned(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(without_nulls(fields)),
        Value::Array(items) => items.iter().map(pruned).collect(),
        other => other.clone(),
    }
}

/// Indices behind the last message of each question. Consecutive messages of a user are one
/// question, except bare turns, which are one each.
fn ends(messages: &[Message], is_bare: bool) -> Vec<usize> {
    let asks = |message: &Message| !message.is_reply() && !message.is_system();
    let is_end = |place: usize| {
        asks(&messages[place]) && (is_bare || messages.get(place + 1).is_none_or(Message::is_reply))
    };
    (0..messages.len())
        .filter(|place| is_end(*place))
        .map(|place| place + 1)
        .collect()
}

/// The question of the messages before `end`, sent with the recorded replies.
fn recorded(name: &str, messages: &[Message], number: u32, end: usize) -> Result<Question, Fault> {
    let sent = &messages[..end];
    let reply = messages.get(end).filter(|message| message.is_reply());
    Ok(Question {
        problem: problem(name, sent)?,
        recorded: reply.map(Message::text).filter(|text| !text.is_empty()),
        messages: sent.to_vec(),
        number,
        replies_before: None,
    })
}

/// The question of each turn, sent with the replies of the run.
fn live(name: &str, messages: &[Message], ends: &[usize]) -> Result<Vec<Question>, Fault> {
    if messages.iter().any(|message| message.role() == "tool") {
        return Err(Fault::new(
            format!("no results of tools in `{name}`, as the service's own replies go in between"),
            "some",
        )
        .help("leave `history=live` out, or ask only the `turns=last`"));
    }
    let mut sent: Vec<Message> = Vec::new();
    let mut replies_before = Vec::new();
    let mut from = 0;
    (1..)
        .zip(ends)
        .map(|(number, end)| {
            let own = messages[from..*end].iter();
            sent.extend(own.filter(|message| !message.is_reply()).cloned());
            let asked = Question {
                replies_before: Some(replies_before.clone()),
                ..recorded(name, messages, number, *end)?
            };
            let asked = Question {
                messages: sent.clone(),
                ..asked
            };
            replies_before.push(sent.len());
            from = *end;
            Ok(asked)
        })
        .collect()
}

/// The text of the question: the last message of a user.
fn problem(name: &str, sent: &[Message]) -> Result<String, Fault> {
    let by_user = sent.iter().rfind(|message| message.role() == "user");
    let Some(asked) = by_user.or(sent.last()) else {
        return Ok(String::new());
    };
    if asked.is_blank() {
        let found = "a blank question";
        return Err(Fault::new(
            format!("something to reply to in `{name}`"),
            found,
        ));
    }
    Ok(asked.text())
}

/// A field of a chat request that a row with messages may carry: its name, its expected form in
/// words, and the check of it.
type RequestField = (&'static str, &'static str, fn(&Value) -> bool);

const ALONG: [RequestField; 4] = [
    ("tools", "a list of objects", |value| {
        let items = value.as_array();
        items.is_some_and(|items| items.iter().all(Value::is_object))
    }),
    ("tool_choice", "a text or an object", |value| {
        value.is_string() || value.is_object()
    }),
    (
        "parallel_tool_calls",
        "`true` or `false`",
        Value::is_boolean,
    ),
    ("response_format", "an object", Value::is_object),
];

/// Moves request fields from `rest` into the parameters; fields in `parameters` win.
pub(crate) fn along(
    rest: &mut Map<String, Value>,
    parameters: &mut Map<String, Value>,
) -> Result<(), Fault> {
    for (name, expected, is_good) in ALONG {
        let Some(value) = rest.shift_remove(name) else {
            continue;
        };
        let value = match &value {
            Value::Null => continue,
            Value::String(text) => serde_json::from_str(text).unwrap_or(value),
            other => pruned(other),
        };
        if !is_good(&value) {
            let expected = format!("{expected} in `{name}`, as the row has messages");
            return Err(Fault::new(expected, describe(&value)));
        }
        if value.as_array().is_none_or(|items| !items.is_empty()) {
            parameters.entry(name).or_insert(value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
