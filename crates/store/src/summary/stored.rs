//! The file as it was read, so that a rewrite changes only what has changed.
//!
//! Reading goes key by key: a key whose content is not understood costs that key alone. Writing keeps
//! the text of every key whose value is still the one that was read, in the order of the file, and
//! all keys that this version does not know.

use std::fmt;
use std::path::Path;

use serde::de::{DeserializeOwned, Error as _, IgnoredAny};
use serde_json::{Map, Value};

use super::{FILE, Summary, quality};
use crate::{StoreError, file};

/// A key of `summary.json` whose content is not understood: that part of the run is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The key.
    pub key: String,
    /// What is wrong with its content.
    pub reason: String,
}

impl fmt::Display for Unread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, reason } = self;
        write!(formatter, "`{key}` of `{FILE}` cannot be read: {reason}")
    }
}

/// `summary.json` as it was read; empty where there was none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stored {
    text: String,
    /// The text of each key, in the order of the file.
    keys: Vec<(String, String)>,
    /// What was understood, as it would be written.
    read: Map<String, Value>,
    unread: Vec<Unread>,
}

impl Stored {
    /// Reads the summary of the run in `directory`; an empty one without one.
    pub(crate) fn read(directory: &Path) -> Result<(Summary, Self), StoreError> {
        let path = directory.join(FILE);
        let Some(text) = file::read_if_there(&path)? else {
            return Ok((Summary::default(), Self::default()));
        };
        Self::parse(&text).map_err(|source| StoreError::Json { path, source })
    }

    pub(super) fn parse(text: &[u8]) -> Result<(Summary, Self), serde_json::Error> {
        serde_json::from_slice::<IgnoredAny>(text)?;
        let text = std::str::from_utf8(text).map_err(serde_json::Error::custom)?;
        let keys = split(text)?;
        let (mut summary, mut unread) = (Summary::default(), Vec::new());
        for (key, value) in &keys {
            if let Err(error) = summary.take(key, value) {
                unread.push(Unread {
                    key: key.clone(),
                    reason: error.to_string(),
                });
            }
        }
        let stored = Self {
            text: text.to_owned(),
            read: written(&summary),
            keys,
            unread,
        };
        Ok((summary, stored))
    }

    /// The keys that were not understood.
    pub(crate) fn unread(&self) -> &[Unread] {
        &self.unread
    }

    /// What the file says, whether it is understood or not; null where there was none.
    pub(crate) fn value(&self) -> Value {
        if self.text.is_empty() {
            return Value::Null;
        }
        let value = |text: &str| serde_json::from_str(text).unwrap_or_default();
        let values = self
            .keys
            .iter()
            .map(|(key, text)| (key.clone(), value(text)));
        Value::Object(values.collect())
    }

    /// Replaces the file by one that says what `now` does.
    pub(crate) fn write(
        &self,
        now: &Summary,
        directory: &Path,
        durable: bool,
    ) -> Result<(), StoreError> {
        file::replace(&directory.join(FILE), self.text(now).as_bytes(), durable)
    }

    /// The text of a file that says what `now` does.
    pub(super) fn text(&self, now: &Summary) -> String {
        let now = written(now);
        if now == self.read && !self.text.is_empty() {
            return self.text.clone();
        }
        let is_same = |key: &str| now.get(key) == self.read.get(key);
        let mut lines = Vec::new();
        for (key, text) in &self.keys {
            if is_same(key) {
                lines.push(line(key, text));
            } else if let Some(value) = now.get(key) {
                lines.push(line(key, &pretty(value)));
            }
        }
        let is_new = |key: &str| self.keys.iter().all(|(known, _)| known != key) && !is_same(key);
        let new = now.iter().filter(|(key, _)| is_new(key));
        lines.extend(new.map(|(key, value)| line(key, &pretty(value))));
        format!("{{\n{}\n}}\n", lines.join(",\n"))
    }
}

fn written(summary: &Summary) -> Map<String, Value> {
    match serde_json::to_value(summary) {
        Ok(Value::Object(written)) => written,
        _ => unreachable!("a summary serializes to an object"),
    }
}

fn line(key: &str, value: &str) -> String {
    format!("  {}: {value}", Value::from(key))
}

/// A value as it stands in an object: one step in.
fn pretty(value: &Value) -> String {
    format!("{value:#}").replace('\n', "\n  ")
}

impl Summary {
    /// Takes the content of a key. A key that this version does not know is passed over.
    fn take(&mut self, key: &str, text: &str) -> Result<(), serde_json::Error> {
        fn put<T: DeserializeOwned + Default>(
            field: &mut T,
            text: &str,
        ) -> Result<(), serde_json::Error> {
            *field = serde_json::from_str::<Option<T>>(text)?.unwrap_or_default();
            Ok(())
        }
        if key == "quality" {
            self.quality = quality::read(text)?;
            return Ok(());
        }
        macro_rules! fields {
            ($($field:ident)*) => {
                match key {
                    $(stringify!($field) => put(&mut self.$field, text),)*
                    _ => Ok(()),
                }
            };
        }
        fields! {
            model profiler_config dataset dataset_name hardware_label generated_at total_queries
            system_info gpu_info output_dir versions client_info format_version status reason parts
            basis metrics telemetry efficiency overview load calibration attribution marginal name
            tags server_metrics scoring
        }
    }
}

/// The keys of an object and the text of their values. Of a key that stands there twice, the last
/// counts. `text` is known to be JSON.
fn split(text: &str) -> Result<Vec<(String, String)>, serde_json::Error> {
    let Some(inner) = text.trim().strip_prefix('{') else {
        return Err(serde_json::Error::custom("it is no object"));
    };
    let mut keys: Vec<(String, String)> = Vec::new();
    let mut rest = inner.trim_start();
    while rest.starts_with('"') {
        let (key, after) = rest.split_at(length(rest));
        let key: String = serde_json::from_str(key)?;
        let value = after.trim_start().trim_start_matches(':').trim_start();
        let (value, after) = value.split_at(length(value));
        keys.retain(|(known, _)| *known != key);
        keys.push((key, value.trim_end().to_owned()));
        rest = after.trim_start().trim_start_matches(',').trim_start();
    }
    Ok(keys)
}

/// How many bytes the value takes that `text` begins with: up to the end of a string, a list or an
/// object, or to what ends a number or a word.
fn length(text: &str) -> usize {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for (place, byte) in text.bytes().enumerate() {
        if is_text {
            is_text = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
            if !is_text && depth == 0 {
                return place + 1;
            }
            continue;
        }
        match byte {
            b'"' => is_text = true,
            b'{' | b'[' => depth += 1,
            b',' | b'}' | b']' if depth == 0 => return place,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return place + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}
