//! Which runs are wanted: `model=llama,hardware=H100`.

use ipw_core::nearest::nearest;

use crate::compared::Facts;

const KEYS: [&str; 4] = ["model", "dataset", "hardware", "load"];

/// Texts that must be in what a run says of itself; all of them must.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Filter(Vec<(&'static str, String)>);

impl Filter {
    pub(super) fn parse(parts: &[String]) -> Result<Self, String> {
        let one = |part: &String| {
            let (key, wanted) = part.split_once('=').ok_or_else(|| {
                format!("`{part}` is no filter\nhelp: write e.g. `model=llama,hardware=H100`")
            })?;
            let key = key.trim();
            let known = KEYS
                .into_iter()
                .find(|known| known.eq_ignore_ascii_case(key));
            let known = known.ok_or_else(|| {
                let meant = nearest(key, KEYS)
                    .map_or(String::new(), |name| format!("did you mean `{name}`? "));
                format!(
                    "`{key}` is nothing that runs are told apart by\nhelp: {meant}known are `{}`",
                    KEYS.join("`, `")
                )
            })?;
            Ok((known, wanted.trim().to_lowercase()))
        };
        parts.iter().map(one).collect::<Result<_, _>>().map(Self)
    }

    /// Whether the run is wanted. What it does not know, it does not match.
    pub(super) fn takes(&self, facts: &Facts) -> bool {
        self.0.iter().all(|(key, wanted)| {
            let texts = match *key {
                "model" => vec![Some(&facts.model)],
                "dataset" => vec![facts.dataset.as_ref(), facts.dataset_name.as_ref()],
                "hardware" => vec![facts.hardware.as_ref()],
                _ => vec![facts.load.as_ref()],
            };
            let has = |text: &String| text.to_lowercase().contains(wanted);
            texts.into_iter().flatten().any(has)
        })
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
    fn what_is_no_filter_is_told_with_what_would_be() {
        assert!(filter(&["llama"]).unwrap_err().contains("model=llama"));
        let wrong = filter(&["modle=x"]).unwrap_err();
        assert!(wrong.contains("did you mean `model`?"), "{wrong}");
    }
}
