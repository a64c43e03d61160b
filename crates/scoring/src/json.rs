//! `json`: the answer's last JSON value equals the reference.
//!
//! Numbers are compared by value (`1` equals `1.0`), objects regardless of key order, arrays in
//! order. The value is the whole answer, else the last fenced JSON block. Without these it is the
//! last object or array, preferably of the reference's kind, else the text after "answer is" or the
//! last line.

use ipw_core::verdict::Grade;
use serde_json::{Deserializer, Value};

use crate::{Question, Scorer, both, correct, text, wrong};

/// The scorer's id in datasets and flags.
pub(crate) const ID: &str = "json";

pub(crate) struct Json;

impl Scorer for Json {
    fn id(&self) -> &'static str {
        ID
    }

    fn grade(&self, question: &Question<'_>) -> Grade {
        let reference = question.reference.map(str::trim).unwrap_or_default();
        if reference.is_empty() {
            return Grade::unscored(Some(ID), "no reference");
        }
        let Ok(wanted) = serde_json::from_str::<Value>(reference) else {
            return Grade::unscored(Some(ID), "the reference is not JSON");
        };
        let answer = match both(ID, question) {
            Ok((_, answer)) => answer,
            Err(grade) => return grade,
        };
        let Some((stated, place)) = stated(answer, &wanted) else {
            return wrong(ID, None, "no JSON");
        };
        let extracted = stated.to_string();
        if is_same(&wanted, &stated) {
            correct(ID, &extracted, format!("{place} equals the reference"))
        } else {
            let reason = format!(
                "{place} is not the reference{}",
                difference(&wanted, &stated)
            );
            wrong(ID, Some(&extracted), reason)
        }
    }
}

/// The answer's value, and where it was found.
fn stated(answer: &str, wanted: &Value) -> Option<(Value, &'static str)> {
    if let Ok(value) = serde_json::from_str(answer) {
        return Some((value, "the answer"));
    }
    if let Some(value) = fenced(answer) {
        return Some((value, "the last fenced block"));
    }
    let found = embedded(answer);
    let is_alike = |value: &&Value| value.is_object() == wanted.is_object();
    let last = found.iter().rev().find(is_alike).or(found.last());
    if let Some(value) = last {
        return Some((value.clone(), "the last JSON value"));
    }
    let said = text::answer_cues(answer).pop().map(|at| &answer[at..]);
    let line = |text: &str| {
        text.lines()
            .find(|line| !line.trim().is_empty())
            .map(str::to_owned)
    };
    let lines = [
        said.and_then(line),
        answer.lines().next_back().map(str::to_owned),
    ];
    lines.into_iter().flatten().find_map(|line| {
        let bare = line.trim().trim_matches(['*', '`', ' ']);
        let bare = bare.strip_suffix('.').unwrap_or(bare);
        Some((serde_json::from_str(bare).ok()?, "the last JSON value"))
    })
}

/// The last fenced JSON block.
fn fenced(answer: &str) -> Option<Value> {
    let blocks: Vec<&str> = answer.split("```").collect();
    // Every second part is inside a fence. An unclosed block may be cut off and is tried too.
    let inside = blocks.iter().skip(1).step_by(2).rev();
    inside.into_iter().find_map(|block| {
        let is_label = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let bare = block.trim_start_matches(is_label);
        serde_json::from_str(bare)
            .or_else(|_| serde_json::from_str(block))
            .ok()
    })
}

/// The outermost objects and arrays of a text, in order.
fn embedded(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(ahead) = text[at..].find(['{', '[']) {
        at += ahead;
        let mut values = Deserializer::from_str(&text[at..]).into_iter::<Value>();
        at += match values.next() {
            Some(Ok(value)) => {
                found.push(value);
                values.byte_offset()
            }
            _ => 1,
        };
    }
    found
}

fn is_same(wanted: &Value, stated: &Value) -> bool {
    match (wanted, stated) {
        (Value::Number(wanted), Value::Number(stated)) if wanted.is_f64() || stated.is_f64() => {
            wanted.as_f64() == stated.as_f64()
        }
        (Value::Array(wanted), Value::Array(stated)) => {
            wanted.len() == stated.len()
                && wanted
                    .iter()
                    .zip(stated)
                    .all(|(wanted, stated)| is_same(wanted, stated))
        }
        (Value::Object(wanted), Value::Object(stated)) => {
            wanted.len() == stated.len()
                && wanted.iter().all(|(key, wanted)| {
                    stated
                        .get(key)
                        .is_some_and(|stated| is_same(wanted, stated))
                })
        }
        _ => wanted == stated,
    }
}

/// The first difference between two objects.
fn difference(wanted: &Value, stated: &Value) -> String {
    let (Value::Object(wanted), Value::Object(stated)) = (wanted, stated) else {
        return String::new();
    };
    let missing = wanted.keys().find(|key| !stated.contains_key(*key));
    let extra = stated.keys().find(|key| !wanted.contains_key(*key));
    let other = || {
        let mut pairs = wanted
            .iter()
            .filter_map(|(key, value)| Some((key, value, stated.get(key)?)));
        pairs.find(|(_, wanted, stated)| !is_same(wanted, stated))
    };
    match (missing, extra) {
        (Some(key), _) => format!(": `{}` is missing", crate::shown(key)),
        (_, Some(key)) => format!(": `{}` is not in it", crate::shown(key)),
        _ => other().map_or_else(String::new, |(key, ..)| {
            format!(": `{}` differs", crate::shown(key))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_the_right_kind_is_found_in_prose() {
        let object = serde_json::json!({});
        let found = |text: &str| stated(text, &object).map(|(value, _)| value.to_string());
        assert_eq!(
            found(r#"First {"a":1}, then {"b": [1]} as in [1]."#).as_deref(),
            Some(r#"{"b":[1]}"#)
        );
        assert_eq!(
            found("```json\n{\"a\": 1}\n```\nSee {x}.").as_deref(),
            Some(r#"{"a":1}"#)
        );
        assert_eq!(found("The answer is 5.").as_deref(), Some("5"));
        assert_eq!(found("nothing"), None);
    }

    #[test]
    fn numbers_are_equal_by_value() {
        let same = |left: &str, right: &str| {
            is_same(
                &serde_json::from_str(left).unwrap(),
                &serde_json::from_str(right).unwrap(),
            )
        };
        assert!(same("[1, 2.50, 1e3]", "[1.0, 2.5, 1000]"));
        assert!(!same("9007199254740993", "9007199254740992"));
        assert!(!same("1", "\"1\""));
        assert!(!same("[1,2]", "[2,1]"));
        assert!(same(r#"{"a":1,"b":null}"#, r#"{"b":null,"a":1}"#));
        assert!(!same(r#"{"a":1}"#, r#"{"a":1,"b":2}"#));
    }
}
