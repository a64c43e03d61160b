//! `K=V` parameters of a dataset or a client.
//!
//! The owner reads its parameters by name and type, then calls [`ParamReader::finish`]. A parameter
//! left over is an error that lists the known names and the nearest.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::nearest::{did_you_mean, nearest};

/// Parameters as given: names and values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Params(BTreeMap<String, String>);

/// Later values replace earlier ones.
impl Extend<(String, String)> for Params {
    fn extend<I: IntoIterator<Item = (String, String)>>(&mut self, more: I) {
        self.0.extend(more);
    }
}

impl IntoIterator for Params {
    type Item = (String, String);
    type IntoIter = std::collections::btree_map::IntoIter<String, String>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// An invalid parameter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// The owner has no parameter of this name.
    #[error("unknown parameter `{name}` for `{owner}`{}", suggestion(.nearest.as_deref(), .known))]
    Unknown {
        /// The dataset or client that the parameters belong to.
        owner: String,
        /// The name as given.
        name: String,
        /// The nearest known name.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// Its value has the wrong type.
    #[error("parameter `{name}` of `{owner}` is `{value}`, expected {expected}")]
    IllTyped {
        /// The dataset or client that the parameter belongs to.
        owner: String,
        /// Its name.
        name: String,
        /// The value as given.
        value: String,
        /// The expected type.
        expected: String,
    },
    /// A required parameter is missing.
    #[error("`{owner}` needs the parameter `{name}`: {meaning}")]
    Missing {
        /// The dataset or client that the parameter belongs to.
        owner: String,
        /// Its name.
        name: String,
        /// What the parameter sets.
        meaning: String,
    },
}

fn suggestion(nearest: Option<&str>, known: &[String]) -> String {
    let known = if known.is_empty() {
        "none".to_owned()
    } else {
        known.join(", ")
    };
    format!("{} (known: {known})", did_you_mean(nearest))
}

impl Params {
    /// Whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a parameter of that name was given.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Adds or replaces one parameter.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    /// Names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A reader of these parameters for `owner`.
    pub fn reader<'a>(&self, owner: &'a str) -> ParamReader<'a> {
        ParamReader {
            owner,
            left: self.0.clone(),
            known: Vec::new(),
        }
    }
}

impl FromIterator<(String, String)> for Params {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

/// Reads parameters one by one; those left over at the end are unknown.
#[derive(Debug)]
pub struct ParamReader<'a> {
    owner: &'a str,
    left: BTreeMap<String, String>,
    known: Vec<String>,
}

impl ParamReader<'_> {
    /// Reads `name` as text.
    pub fn text(&mut self, name: &str) -> Option<String> {
        self.known.push(name.to_owned());
        self.left.remove(name)
    }

    /// Reads `name` as text; it is required.
    pub fn required(&mut self, name: &str, meaning: &str) -> Result<String, ParamError> {
        let owner = self.owner.to_owned();
        self.text(name).ok_or_else(|| ParamError::Missing {
            owner,
            name: name.to_owned(),
            meaning: meaning.to_owned(),
        })
    }

    /// Reads `name` as a `T`; `expected` describes the type in errors.
    pub fn parsed<T: FromStr>(
        &mut self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>, ParamError> {
        let Some(value) = self.text(name) else {
            return Ok(None);
        };
        value.parse().map(Some).map_err(|_| ParamError::IllTyped {
            owner: self.owner.to_owned(),
            name: name.to_owned(),
            value,
            expected: expected.to_owned(),
        })
    }

    /// Fails if a parameter is left over.
    pub fn finish(self) -> Result<(), ParamError> {
        let Some(name) = self.left.into_keys().next() else {
            return Ok(());
        };
        let nearest = nearest(&name, self.known.iter().map(String::as_str)).map(str::to_owned);
        Err(ParamError::Unknown {
            owner: self.owner.to_owned(),
            name,
            nearest,
            known: self.known,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(pairs: &[(&str, &str)]) -> Params {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn an_unknown_parameter_is_named_with_the_nearest() {
        let given = params(&[("limt", "3")]);
        let mut reader = given.reader("jsonl");
        assert_eq!(reader.parsed::<u64>("limit", "a whole number"), Ok(None));
        let error = reader.finish().unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown parameter `limt` for `jsonl`; did you mean `limit`? (known: limit)"
        );
    }

    #[test]
    fn an_ill_typed_parameter_says_what_was_expected() {
        let given = params(&[("limit", "many")]);
        let error = given
            .reader("jsonl")
            .parsed::<u64>("limit", "a whole number")
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "parameter `limit` of `jsonl` is `many`, expected a whole number"
        );
    }

    #[test]
    fn a_missing_parameter_says_what_it_means() {
        let error = Params::default()
            .reader("jsonl")
            .required("path", "the file")
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "`jsonl` needs the parameter `path`: the file"
        );
    }
}
