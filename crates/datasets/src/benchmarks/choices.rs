//! The options of a question, and which of them is right.

use serde_json::Value;

use super::row::{Rejection, required};
use super::{Benchmark, Choices, Key};
use crate::fault::Fault;
use crate::object::describe;
use crate::order::shuffle;
use crate::reader::Object;

/// One option for each letter of the alphabet.
const MOST: usize = 26;

/// The options of one question.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// The texts, in the order of their letters.
    pub(super) texts: Vec<String>,
    /// Index of the right one.
    pub(super) right: usize,
}

impl Options {
    /// The options of a row, in the order of the row.
    pub(super) fn of(
        choices: Choices,
        object: &Object,
        benchmark: &Benchmark,
    ) -> Result<Self, Rejection> {
        let column = |name| required(name, object, benchmark);
        let (texts, right) = match choices {
            Choices::List {
                column: list,
                answer,
                key,
            } => {
                let texts = texts(list, column(list)?)?;
                let right = key.place(answer, column(answer)?)?;
                (texts, right)
            }
            Choices::Labelled {
                column: list,
                answer,
            } => {
                let (texts, labels) = pairs(list, column(list)?, ("text", "label"))?;
                let wanted = plain(column(answer)?);
                let right = labels.iter().position(|label| plain(label) == wanted);
                let right = right.ok_or_else(|| {
                    let found = describe(&object[answer]);
                    Fault::new(format!("one of the labels in `{answer}`"), found)
                })?;
                (texts, right)
            }
            Choices::Marked { column: list } => {
                let (texts, marks) = pairs(list, column(list)?, ("choices", "labels"))?;
                let right = marks.iter().position(|mark| plain(mark) == "1");
                let right = right.ok_or_else(|| {
                    Fault::new(format!("a right one in `{list}`"), "none with the mark 1")
                })?;
                (texts, right)
            }
            Choices::Columns { right, wrong } => {
                let mut texts = vec![text(right, column(right)?)?];
                for name in wrong {
                    texts.push(text(name, column(name)?)?);
                }
                (texts, 0)
            }
        };
        if !(2..=MOST).contains(&texts.len()) || right >= texts.len() {
            let expected = format!("2 to {MOST} options and the right one among them");
            let found = format!(
                "{} options and number {right} as the right one",
                texts.len()
            );
            return Err(Fault::new(expected, found).into());
        }
        Ok(Self { texts, right })
    }

    /// Shuffles the options. The order depends on seed and question only and must never change:
    /// results of older runs would no longer be comparable.
    pub(super) fn mixed(self, question: &str, seed: u64) -> Self {
        let mut hash = Fnv::new();
        hash.add(&seed.to_le_bytes());
        hash.add(question.as_bytes());
        for text in &self.texts {
            hash.add(text.as_bytes());
        }
        let mut order: Vec<_> = (0..self.texts.len()).collect();
        shuffle(&mut order, hash.0);
        let right = order.iter().position(|place| *place == self.right);
        Self {
            texts: order
                .iter()
                .map(|place| self.texts[*place].clone())
                .collect(),
            right: right.unwrap_or(self.right),
        }
    }
}

impl Key {
    fn place(self, name: &str, value: &Value) -> Result<usize, Fault> {
        let written = plain(value);
        let place = match self {
            Self::Index => written.parse().ok(),
            Self::Letter => match written.as_bytes() {
                [byte] => (b'A'..=b'Z').position(|letter| letter == byte.to_ascii_uppercase()),
                _ => None,
            },
        };
        let what = match self {
            Self::Index => "the number of the right option",
            Self::Letter => "the letter of the right option",
        };
        place.ok_or_else(|| Fault::new(format!("{what} in `{name}`"), describe(value)))
    }
}

/// A label, a mark or a key as text.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    }
}

fn text(name: &str, value: &Value) -> Result<String, Fault> {
    match value {
        Value::String(text) => Ok(text.trim().to_owned()),
        Value::Number(number) => Ok(number.to_string()),
        other => Err(Fault::new(format!("a text in `{name}`"), describe(other))),
    }
}

/// A list of texts. CSV cells hold such a list as JSON.
fn texts(name: &str, value: &Value) -> Result<Vec<String>, Fault> {
    let parsed = unpacked(value);
    let items = parsed.as_ref().unwrap_or(value).as_array();
    let items = items
        .ok_or_else(|| Fault::new(format!("a list of options in `{name}`"), describe(value)))?;
    items.iter().map(|item| text(name, item)).collect()
}

/// Two lists of the same length from one struct.
fn pairs(
    name: &str,
    value: &Value,
    (first, second): (&str, &str),
) -> Result<(Vec<String>, Vec<Value>), Fault> {
    let parsed = unpacked(value);
    let value = parsed.as_ref().unwrap_or(value);
    let seconds = value.get(second).and_then(Value::as_array);
    let firsts = value.get(first).map(|list| texts(name, list)).transpose()?;
    match (firsts, seconds) {
        (Some(firsts), Some(seconds)) if firsts.len() == seconds.len() => {
            Ok((firsts, seconds.clone()))
        }
        _ => Err(Fault::new(
            format!("as many of `{first}` as of `{second}` in `{name}`"),
            describe(value),
        )),
    }
}

fn unpacked(value: &Value) -> Option<Value> {
    serde_json::from_str(value.as_str()?).ok()
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo). Written out because its values must never change, which the
/// standard library does not promise for its hasher.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds bytes and a terminator, so that `ab`+`c` differs from `a`+`bc`.
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mixed_order_is_the_same_for_ever() {
        let options = || Options {
            texts: ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
            right: 0,
        };
        let seen: Vec<_> = (0..6)
            .map(|seed| options().mixed("why?", seed).texts.concat())
            .collect();
        assert_eq!(seen, ["bdac", "adbc", "bdca", "abdc", "cbad", "cbda"]);
        for seed in 0..50 {
            let mixed = options().mixed("why?", seed);
            assert_eq!(mixed.texts[mixed.right], "a");
        }
    }
}
