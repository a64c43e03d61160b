//! `K=V` parameters of a dataset or a client.
//!
//! A member takes what it knows by name and type, then calls [`ParamReader::finish`]: what is left is
//! an error that names the parameter, the known ones and the nearest.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::nearest::{did_you_mean, nearest};

/// Parameters as they were given: names and texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Params(BTreeMap<String, String>);

/// Later ones win.
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

/// A parameter that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// Nobody knows it.
    #[error("unknown parameter `{name}` for `{owner}`{}", suggestion(.nearest.as_deref(), .known))]
    Unknown {
        /// Whose parameters these are.
        owner: String,
        /// The name as given.
        name: String,
        /// The known name that it resembles.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// Its text is not of the type that it should be.
    #[error("parameter `{name}` of `{owner}` is `{value}`, expected {expected}")]
    IllTyped {
        /// Whose parameter it is.
        owner: String,
        /// Its name.
        name: String,
        /// The text as given.
        value: String,
        /// What it should have been.
        expected: String,
    },
    /// It must be given and was not.
    #[error("`{owner}` needs the parameter `{name}`: {meaning}")]
    Missing {
        /// Whose parameter it is.
        owner: String,
        /// Its name.
        name: String,
        /// What it says.
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
    /// Whether none was given.
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

    /// Names and texts, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Starts taking parameters on behalf of `owner`.
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

/// Takes parameters one by one; what is left in the end is unknown.
#[derive(Debug)]
pub struct ParamReader<'a> {
    owner: &'a str,
    left: BTreeMap<String, String>,
    known: Vec<String>,
}

impl ParamReader<'_> {
    /// Takes `name` as text.
    pub fn text(&mut self, name: &str) -> Option<String> {
        self.known.push(name.to_owned());
        self.left.remove(name)
    }

    /// Takes `name` as text, which must be there.
    pub fn required(&mut self, name: &str, meaning: &str) -> Result<String, ParamError> {
        let owner = self.owner.to_owned();
        self.text(name).ok_or_else(|| ParamError::Missing {
            owner,
            name: name.to_owned(),
            meaning: meaning.to_owned(),
        })
    }

    /// Takes `name` as a `T`; `expected` is what to call it when it is not one.
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

    /// Nothing may be left.
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
