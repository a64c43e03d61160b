//! Locates the value of a source in a reply.

use std::fmt;

use ipw_core::text::{excerpt, printable};
use serde_json::Value;

use super::json::{Path, number};
use super::text::{Sample, Selector};

/// How many candidates an error names.
const NAMED: usize = 4;

/// A field of a JSON reply, or samples of a metrics page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Field(Path),
    Metric(Selector),
}

/// Which value to use where a place has several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Selection {
    /// There must be only one.
    One,
    /// Their sum.
    Sum,
    /// The first one with this key, built from these labels.
    Named(String, &'static [&'static str]),
}

/// A reply, parsed as far as its places need it.
pub(super) enum Reply {
    Json(Value),
    Page(String),
}

/// A value at a place.
pub(super) struct PlacedValue {
    /// The key that distinguishes it from others.
    pub(super) key: String,
    pub(super) value: Result<f64, String>,
    /// The sample, on a metrics page.
    pub(super) sample: Option<Sample>,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(path) => path.fmt(formatter),
            Self::Metric(selector) => selector.fmt(formatter),
        }
    }
}

impl Reply {
    /// Parses a reply for places like `place`.
    pub(super) fn new(text: String, place: &Place) -> Result<Self, String> {
        if let Place::Metric(_) = place {
            return Ok(Self::Page(text));
        }
        let json = serde_json::from_str(text.trim_start_matches('\u{feff}'));
        json.map(Self::Json).map_err(|error| {
            let head = excerpt(printable(&text).trim(), 40);
            match head.as_str() {
                "" => "the reply is empty".to_owned(),
                head => format!("the reply is not JSON ({error}): it starts with `{head}`"),
            }
        })
    }
}

impl Place {
    /// All values here, keyed by the labels `by`, or by what `*` matched.
    pub(super) fn all(&self, reply: &Reply, by: &[&str]) -> Result<Vec<PlacedValue>, String> {
        let found: Vec<PlacedValue> = match (self, reply) {
            (Self::Field(path), Reply::Json(reply)) => path
                .all(reply)
                .into_iter()
                .map(|(key, value)| PlacedValue {
                    key,
                    value: number(value),
                    sample: None,
                })
                .collect(),
            (Self::Metric(selector), Reply::Page(page)) => selector
                .all(page)?
                .into_iter()
                .map(|sample| PlacedValue {
                    key: key(&sample, by),
                    value: Ok(sample.value),
                    sample: Some(sample),
                })
                .collect(),
            _ => Vec::new(),
        };
        if found.is_empty() {
            return Err(match (self, reply) {
                (Self::Metric(selector), Reply::Page(page)) => selector.missing(page),
                _ => format!("there is no field `{self}`"),
            });
        }
        Ok(found)
    }

    /// The selected value.
    pub(super) fn value(&self, reply: &Reply, which: &Selection) -> Result<f64, String> {
        let by = match which {
            Selection::Named(_, by) => by,
            Selection::One | Selection::Sum => &[][..],
        };
        let found = self.all(reply, by)?;
        let told = |value: Result<f64, String>| value.map_err(|why| format!("`{self}` {why}"));
        match which {
            Selection::Named(name, _) => {
                let one = found.into_iter().find(|found| found.key == *name);
                let one = one.ok_or_else(|| format!("`{self}` has no `{name}` any more"))?;
                told(one.value)
            }
            Selection::Sum => told(found.into_iter().map(|found| found.value).sum()),
            Selection::One if found.len() > 1 => Err(self.too_many(&found)),
            Selection::One => found.into_iter().next().map_or_else(
                || Err(format!("there is no `{self}`")),
                |one| told(one.value),
            ),
        }
    }

    fn too_many(&self, found: &[PlacedValue]) -> String {
        let named: Vec<String> = found
            .iter()
            .take(NAMED)
            .map(|found| match &found.sample {
                Some(sample) => sample.shown(),
                None => printable(&found.key),
            })
            .collect();
        let more = if found.len() > NAMED { ", …" } else { "" };
        format!(
            "`{self}` matches {} values: {}{more} (help: name its labels, or set `sum=true`)",
            found.len(),
            named.join(", "),
        )
    }
}

fn key(sample: &Sample, by: &[&str]) -> String {
    let names = by.iter().filter_map(|label| sample.label(label));
    names.collect::<Vec<_>>().join("/")
}
