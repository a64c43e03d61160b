//! `quality`: warnings about the run's numbers.

use std::borrow::Cow;

use ipw_core::warning::{Kind, RunKind, Warning};
use serde::{Deserialize, Serialize, Serializer};

/// A warning about a run as files have it, with the kind as `K` reads or writes it.
#[derive(Debug, Serialize, Deserialize)]
pub struct QualityEntry<'a, K> {
    id: K,
    source: Option<Cow<'a, str>>,
    finding: Cow<'a, str>,
    advice: Cow<'a, str>,
}

impl<'a> From<&'a Warning> for QualityEntry<'a, Kind> {
    fn from(warning: &'a Warning) -> Self {
        Self {
            id: warning.kind,
            source: warning.source.as_deref().map(Cow::from),
            finding: warning.text.as_str().into(),
            advice: warning.advice().into(),
        }
    }
}

impl From<QualityEntry<'_, RunKind>> for Warning {
    fn from(entry: QualityEntry<'_, RunKind>) -> Self {
        Self {
            source: entry.source.map(Cow::into_owned),
            ..Self::new(entry.id, entry.finding).advise(entry.advice)
        }
    }
}

#[expect(clippy::ref_option, reason = "serde hands over the field")]
pub(super) fn serialize<S: Serializer>(
    quality: &Option<Vec<Warning>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match quality {
        Some(warnings) => to.collect_seq(warnings.iter().map(QualityEntry::from)),
        None => to.serialize_none(),
    }
}

pub(super) fn read(text: &str) -> Result<Option<Vec<Warning>>, serde_json::Error> {
    let entries: Option<Vec<QualityEntry<'_, RunKind>>> = serde_json::from_str(text)?;
    Ok(entries.map(|entries| entries.into_iter().map(Warning::from).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Summary;

    #[test]
    fn a_warning_keeps_its_keys_and_comes_back() {
        let text = r#"[{"id":"gaps","source":"nvml/0","finding":"silent","advice":"look"},{"id":"original","source":null,"finding":"f","advice":""}]"#;
        let quality = read(text).unwrap();
        let warnings = quality.as_ref().unwrap();
        assert_eq!(warnings[0].kind, Kind::Run(RunKind::Gaps));
        assert_eq!(warnings[0].to_string(), "silent: look");
        let summary = Summary {
            quality,
            ..Summary::default()
        };
        let written = serde_json::to_value(&summary).unwrap();
        assert_eq!(written["quality"].to_string(), text);
        assert_eq!(read("null").unwrap(), None);
        let error = read(r#"[{"id":"other_basis"}]"#).unwrap_err().to_string();
        assert!(
            error.starts_with("unknown variant `other_basis`"),
            "{error}"
        );
    }
}
