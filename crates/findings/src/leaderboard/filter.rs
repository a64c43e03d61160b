//! Which runs are wanted: `model=llama,hardware=H100`.

use ipw_core::nearest::nearest;

use crate::comparison::Facts;

const KEYS: [&str; 7] = [
    "name", "model", "dataset", "hardware", "client", "load", "status",
];
/// Before the key of a tag.
const TAG: &str = "tag.";

/// What is looked at.
#[derive(Debug, PartialEq, Eq)]
enum Key {
    Known(&'static str),
    Tag(String),
}

/// Texts that must be in what a run says of itself; all of them must.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Filter(Vec<(Key, String)>);

impl Filter {
    /// From parts like `model=llama`.
    pub fn parse(parts: &[String]) -> Result<Self, String> {
        let one = |part: &String| {
            let (key, wanted) = part.split_once('=').ok_or_else(|| {
                format!(
                    "`{part}` is not a filter\nhelp: write for example `model=llama,hardware=H100`"
                )
            })?;
            Ok((Key::parse(key.trim())?, wanted.trim().to_lowercase()))
        };
        parts.iter().map(one).collect::<Result<_, _>>().map(Self)
    }

    /// Whether the run is wanted. What it does not know, it does not match.
    pub fn takes(&self, facts: &Facts) -> bool {
        self.0.iter().all(|(key, wanted)| key.is_met(wanted, facts))
    }
}

impl Key {
    fn parse(key: &str) -> Result<Self, String> {
        if let Some(tag) = key.strip_prefix(TAG).filter(|tag| !tag.is_empty()) {
            return Ok(Self::Tag(tag.to_owned()));
        }
        let known = KEYS
            .into_iter()
            .find(|known| known.eq_ignore_ascii_case(key));
        known.map(Self::Known).ok_or_else(|| {
            let meant =
                nearest(key, KEYS).map_or(String::new(), |name| format!("did you mean `{name}`? "));
            format!(
                "cannot filter runs by `{key}`\nhelp: {meant}use `{}` or `tag.KEY`",
                KEYS.join("`, `")
            )
        })
    }

    fn is_met(&self, wanted: &str, facts: &Facts) -> bool {
        let texts = match self {
            // A tag is a value and not a text: 5 is not 50. Without a value, any will do.
            Self::Tag(tag) => {
                let value = facts.tags.get(tag).map(|value| value.to_lowercase());
                return value.is_some_and(|value| wanted.is_empty() || value == wanted);
            }
            Self::Known("name") => vec![facts.name.as_ref()],
            Self::Known("model") => vec![Some(&facts.model)],
            Self::Known("dataset") => vec![facts.dataset.as_ref(), facts.dataset_name.as_ref()],
            Self::Known("hardware") => vec![facts.hardware.as_ref()],
            Self::Known("client") => vec![facts.client.as_ref()],
            Self::Known("status") => vec![facts.status.as_ref()],
            Self::Known(_) => vec![facts.load.as_ref()],
        };
        let has = |text: &String| text.to_lowercase().contains(wanted);
        texts.into_iter().flatten().any(has)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(parts: &[&str]) -> Result<Filter, String> {
        let parts: Vec<String> = parts.iter().map(|&part| part.to_owned()).collect();
        Filter::parse(&parts)
    }

    #[test]
    fn all_parts_must_match_in_any_case() {
        let facts = Facts {
            model: "Llama-3.2-1B".to_owned(),
            hardware: Some("H100".to_owned()),
            ..Facts::default()
        };
        assert!(filter(&[]).unwrap().takes(&facts));
        assert!(
            filter(&["model=llama", "hardware=h100"])
                .unwrap()
                .takes(&facts)
        );
        assert!(
            !filter(&["model=llama", "hardware=a100"])
                .unwrap()
                .takes(&facts)
        );
        assert!(!filter(&["dataset=starter"]).unwrap().takes(&facts));
    }

    #[test]
    fn a_name_has_the_text_in_it_and_a_tag_is_the_value() {
        let facts = Facts {
            name: Some("Baseline, 4 GPUs".to_owned()),
            tags: [("driver".to_owned(), "550".to_owned())].into(),
            ..Facts::default()
        };
        for (part, is_taken) in [
            ("name=baseline", true),
            ("name=other", false),
            ("tag.driver=550", true),
            ("tag.driver=55", false),
            ("tag.driver=", true),
            ("tag.host=", false),
            ("status=", false),
        ] {
            assert_eq!(filter(&[part]).unwrap().takes(&facts), is_taken, "{part}");
        }
        assert!(filter(&["tag.=x"]).unwrap_err().contains("`tag.KEY`"));
    }

    #[test]
    fn what_is_no_filter_is_told_with_what_would_be() {
        assert!(filter(&["llama"]).unwrap_err().contains("model=llama"));
        let wrong = filter(&["modle=x"]).unwrap_err();
        assert!(wrong.contains("did you mean `model`?"), "{wrong}");
    }
}
