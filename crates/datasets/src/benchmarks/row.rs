//! Turns a published row into a row as our own files have it.

use serde_json::Value;

use super::choices::Options;
use super::prompt::Template;
use super::{Answer, Benchmark, Subject, Wording};
use crate::columns::{letter, listed};
use crate::fault::Fault;
use crate::object::describe;
use crate::reader::Object;

/// Why a row is rejected.
#[derive(Debug)]
pub(super) enum Rejection {
    /// The file is not what the benchmark published: the error holds for all of its rows.
    File(Fault),
    /// Only this row is bad.
    Row(Fault),
}

impl From<Fault> for Rejection {
    fn from(fault: Fault) -> Self {
        Self::Row(fault)
    }
}

/// Converts the rows of one benchmark.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shaper {
    pub(super) benchmark: &'static Benchmark,
    pub(super) template: Template,
    /// Seed of the order of shuffled options.
    pub(super) seed: u64,
}

impl Shaper {
    /// Converts the row at `place` of the source.
    pub(super) fn row(&self, place: u64, object: &Object) -> Result<Object, Rejection> {
        let benchmark = self.benchmark;
        let question = self.question(object)?;
        let mut options = None;
        let answer = match benchmark.answer {
            Answer::None => None,
            Answer::Column(name) => reference(required(name, object, benchmark)?),
            Answer::Behind { column, mark } => {
                Some(behind(column, required(column, object, benchmark)?, mark)?)
            }
            Answer::FirstTurn { column, role } => reply(required(column, object, benchmark)?, role),
            Answer::Choice(choices) => {
                let mut found = Options::of(choices, object, benchmark)?;
                if benchmark.mixes_options() {
                    found = found.mixed(&question, self.seed);
                }
                let right = letter(found.right).map(String::from);
                options = Some(found.texts);
                right
            }
        };
        let texts = options.as_deref().unwrap_or_default();
        let mut row = Object::new();
        // Every column with a meaning is set here, so that no kept column of that name is mistaken
        // for it.
        row.insert("id".to_owned(), self.id(place, object));
        let problem = self.template.prompt(&question, texts);
        row.insert("problem".to_owned(), problem.into());
        row.insert("answer".to_owned(), answer.into());
        row.insert("subject".to_owned(), self.subject(object).into());
        row.insert("scorer".to_owned(), benchmark.scorer.into());
        if let Some(texts) = options {
            row.insert("choices".to_owned(), texts.into());
        }
        for name in benchmark.keep {
            if let Some(value) = object.get(*name) {
                row.insert((*name).to_owned(), value.clone());
            }
        }
        Ok(row)
    }

    pub(super) fn subject(&self, object: &Object) -> Option<String> {
        match self.benchmark.subject {
            Subject::None => None,
            Subject::Column(name) => reference(object.get(name)?),
            Subject::Inside { column, key } => inside(object.get(column)?, key),
        }
    }

    fn question(&self, object: &Object) -> Result<String, Rejection> {
        let (name, text) = match self.benchmark.question {
            Wording::Column(name) => {
                let value = required(name, object, self.benchmark)?;
                let text = value.as_str().filter(|text| !text.trim().is_empty());
                (name, text.ok_or_else(|| describe(value)))
            }
            Wording::FirstTurn { column, role } => {
                let value = required(column, object, self.benchmark)?;
                let mut turns = turns(value).filter(|turn| turn["role"] == *role);
                let text = turns.next().and_then(|turn| turn["content"].as_str());
                let text = text.filter(|text| !text.trim().is_empty());
                (
                    column,
                    text.ok_or_else(|| format!("no message of a `{role}`")),
                )
            }
        };
        let text = text.map_err(|found| {
            Fault::new(format!("a question that is not blank in `{name}`"), found)
        })?;
        Ok(text.to_owned())
    }

    fn id(&self, place: u64, object: &Object) -> Value {
        let mut columns = self.benchmark.id_columns.iter();
        let found = columns.find_map(|name| match object.get(*name)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        });
        found.unwrap_or_else(|| place.to_string()).into()
    }
}

/// A column that every published row must have.
pub(super) fn required<'a>(
    name: &str,
    object: &'a Object,
    benchmark: &Benchmark,
) -> Result<&'a Value, Rejection> {
    object.get(name).ok_or_else(|| {
        Rejection::File(Fault::new(
            format!("the column `{name}`, as `{}` is published", benchmark.id),
            listed(object),
        ))
    })
}

/// A text or a number as text; `None` if it is blank.
fn reference(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

fn behind(name: &str, value: &Value, mark: &str) -> Result<String, Fault> {
    let text = value.as_str().and_then(|text| text.rsplit_once(mark));
    let text = text.map(|(_, rest)| rest.trim());
    let text = text.filter(|rest| !rest.is_empty()).ok_or_else(|| {
        let found = match value {
            Value::String(_) => "a text without it".to_owned(),
            other => describe(other),
        };
        Fault::new(format!("an answer behind `{mark}` in `{name}`"), found)
    })?;
    Ok(text.to_owned())
}

fn turns(conversation: &Value) -> impl Iterator<Item = &Value> {
    conversation.as_array().into_iter().flatten()
}

/// The first message of that role after the first message of another role.
fn reply(conversation: &Value, role: &str) -> Option<String> {
    let mut turns = turns(conversation).skip_while(|turn| turn["role"] == *role);
    let turn = turns.find(|turn| turn["role"] == *role)?;
    reference(&turn["content"])
}

/// The value of `key` in a struct, in JSON, or in a dictionary as Python prints it.
fn inside(value: &Value, key: &str) -> Option<String> {
    if let Some(value) = value.get(key) {
        return reference(value);
    }
    let text = value.as_str()?;
    if let Ok(parsed) = serde_json::from_str::<Value>(text) {
        return reference(parsed.get(key)?);
    }
    let (_, rest) = text.split_once(&format!("'{key}': "))?;
    let quote = rest.chars().next().filter(|quote| "'\"".contains(*quote))?;
    let (inner, _) = rest[1..].split_once(quote)?;
    Some(inner.to_owned()).filter(|inner| !inner.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_found_however_the_dictionary_is_written() {
        for (value, expected) in [
            (json!({"topic": "Art"}), Some("Art")),
            (json!("{\"topic\": \"Art\"}"), Some("Art")),
            (json!("{'topic': 'Art', 'urls': ['x']}"), Some("Art")),
            (json!("{'topic': \"Women's sport\"}"), Some("Women's sport")),
            (json!("{'urls': []}"), None),
            (json!("{'topic': ''}"), None),
            (json!(3), None),
        ] {
            assert_eq!(inside(&value, "topic").as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn a_reply_is_the_first_after_the_question() {
        let conversation = json!([
            {"role": "assistant", "content": "hello"}, {"role": "user", "content": "why?"},
            {"role": "assistant", "content": "because"}, {"role": "assistant", "content": "more"},
        ]);
        assert_eq!(
            reply(&conversation, "assistant").as_deref(),
            Some("because")
        );
        assert_eq!(
            reply(&json!([{"role": "user", "content": "x"}]), "assistant"),
            None
        );
    }
}
