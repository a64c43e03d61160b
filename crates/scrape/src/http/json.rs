//! Paths in a JSON reply: `a.b[0].c`, or a JSON pointer `/a/b/0/c`.

use std::fmt;
use std::str::FromStr;

use ipw_core::text::{excerpt, printable};
use serde_json::Value;

/// A path into a JSON value. `*` matches every member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    text: String,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// A member of an object, or of an array if it is a number.
    Member(String),
    /// An index of an array.
    Place(usize),
    /// Every member.
    Any,
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for Path {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let steps = match text.strip_prefix('/') {
            Some(pointer) => pointer
                .split('/')
                .map(|step| Step::Member(step.replace("~1", "/").replace("~0", "~")))
                .collect(),
            None => dotted(text).ok_or(())?,
        };
        let text = text.to_owned();
        Ok(Self { text, steps })
    }
}

fn dotted(text: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    for part in text.split('.') {
        let (name, mut places) = part.split_at(part.find('[').unwrap_or(part.len()));
        match name {
            "" if places.is_empty() || !steps.is_empty() => return None,
            "" => {}
            "*" => steps.push(Step::Any),
            name => steps.push(Step::Member(name.to_owned())),
        }
        while !places.is_empty() {
            let (place, rest) = places.strip_prefix('[')?.split_once(']')?;
            steps.push(match place {
                "*" => Step::Any,
                place => Step::Place(place.parse().ok()?),
            });
            places = rest;
        }
    }
    Some(steps)
}

impl Path {
    /// All values at this path, each with the names that `*` matched.
    pub(super) fn all<'a>(&self, reply: &'a Value) -> Vec<(String, &'a Value)> {
        let mut found = vec![(String::new(), reply)];
        for step in &self.steps {
            found = found
                .into_iter()
                .flat_map(|(key, value)| step.take(&key, value))
                .collect();
        }
        found
    }
}

impl Step {
    fn take<'a>(&self, key: &str, value: &'a Value) -> Vec<(String, &'a Value)> {
        let one = match (self, value) {
            (Self::Any, value) => return members(key, value),
            (Self::Member(name), Value::Object(members)) => members.get(name),
            (Self::Member(name), Value::Array(items)) => {
                name.parse().ok().and_then(|place: usize| items.get(place))
            }
            (Self::Place(place), Value::Array(items)) => items.get(*place),
            _ => None,
        };
        one.map(|one| (key.to_owned(), one)).into_iter().collect()
    }
}

fn members<'a>(key: &str, value: &'a Value) -> Vec<(String, &'a Value)> {
    let join = |name: &str| match key {
        "" => name.to_owned(),
        key => format!("{key}/{name}"),
    };
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (join(name), value))
            .collect(),
        Value::Array(items) => (0..)
            .zip(items)
            .map(|(place, value): (usize, _)| (join(&place.to_string()), value))
            .collect(),
        _ => Vec::new(),
    }
}

/// A number, or a text that contains one.
pub(super) fn number(value: &Value) -> Result<f64, String> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let shown = || excerpt(&printable(&value.to_string()), 40);
    number.ok_or_else(|| format!("is `{}`, not a number", shown()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(path: &str, reply: &Value) -> Vec<(String, String)> {
        let path: Path = path.parse().unwrap();
        let all = path.all(reply);
        all.into_iter()
            .map(|(key, value)| (key, value.to_string()))
            .collect()
    }

    #[test]
    fn both_ways_of_writing_lead_to_the_same_place() {
        let reply = json!({"a": {"b": [{"c": 1}, {"c": 2}], "x.y": 3, "p/q": 4}, "0": {"e": 5}});
        for (path, expected) in [
            ("a.b[1].c", "2"),
            ("/a/b/1/c", "2"),
            ("/a/x.y", "3"),
            ("/a/p~1q", "4"),
            ("0.e", "5"),
        ] {
            let found = found(path, &reply);
            assert_eq!(found.len(), 1, "{path}");
            assert_eq!(found[0].1, expected, "{path}");
        }
        assert_eq!(
            found("a.b[*].c", &reply)[1],
            ("1".to_owned(), "2".to_owned())
        );
        assert_eq!(found("*.e", &reply), [("0".to_owned(), "5".to_owned())]);
        for nowhere in ["a.z", "a.b[7]", "a.b.c", "/a/b/x", "a.b[0].c.d"] {
            assert!(found(nowhere, &reply).is_empty(), "{nowhere}");
        }
        assert_eq!(found("[1]", &json!([1, 2]))[0].1, "2");
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for wrong in ["", "a..b", "a[", "a[x]", "a[0", "a.[0]", ".a"] {
            assert!(wrong.parse::<Path>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_numeric_text_is_a_number_and_others_are_not() {
        assert_eq!(number(&json!(" 3.5 ")), Ok(3.5));
        assert_eq!(number(&json!(7)), Ok(7.0));
        for wrong in [
            json!("n/a"),
            json!(null),
            json!(true),
            json!([1]),
            json!(""),
        ] {
            assert!(number(&wrong).is_err(), "{wrong}");
        }
    }
}
