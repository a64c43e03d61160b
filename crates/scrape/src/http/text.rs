//! Parses the text format of Prometheus and `OpenMetrics`.

use std::fmt;
use std::str::FromStr;

use ipw_core::nearest::nearest;
use ipw_core::text::{excerpt, printable};

/// `NAME{label="x",other!="y"}`: selects samples. `;` separates labels too, for command lines where
/// commas separate sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Selector {
    text: String,
    name: String,
    matchers: Vec<Matcher>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Matcher {
    label: String,
    value: String,
    is_equal: bool,
}

/// One sample.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) value: f64,
}

impl fmt::Display for Selector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for Selector {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (name, rest) = name(text);
        let (matchers, rest) = match rest.strip_prefix('{') {
            None => (Vec::new(), rest),
            Some(inside) => matchers(inside).ok_or(())?,
        };
        if name.is_empty() || !rest.trim().is_empty() {
            return Err(());
        }
        Ok(Self {
            text: text.to_owned(),
            name: name.to_owned(),
            matchers,
        })
    }
}

impl Selector {
    /// All selected samples, in order.
    pub(super) fn all(&self, page: &str) -> Result<Vec<Sample>, String> {
        let mut samples = Vec::new();
        for line in page.lines() {
            let (found, rest) = name(line);
            if found != self.name {
                continue;
            }
            let sample = sample(rest).ok_or_else(|| {
                let line = excerpt(&printable(line), 80);
                format!("`{line}` is not a sample of a metric")
            })?;
            if self.matchers.iter().all(|matcher| matcher.takes(&sample)) {
                samples.push(sample);
            }
        }
        Ok(samples)
    }

    /// The error when nothing was found.
    pub(super) fn missing(&self, page: &str) -> String {
        let names = page
            .lines()
            .map(|line| name(line).0)
            .filter(|name| !name.is_empty());
        if names.clone().any(|name| name == self.name) {
            return format!("no sample of `{}` has the labels of `{self}`", self.name);
        }
        match nearest(&self.name, names) {
            Some(near) => format!("there is no metric `{}`; did you mean `{near}`?", self.name),
            None => format!("there is no metric `{}`", self.name),
        }
    }
}

impl Matcher {
    fn takes(&self, sample: &Sample) -> bool {
        let value = sample.label(&self.label).unwrap_or_default();
        (value == self.value) == self.is_equal
    }
}

impl Sample {
    /// The value of a label.
    pub(super) fn label(&self, name: &str) -> Option<&str> {
        let found = self.labels.iter().find(|(label, _)| label == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The sample as on the page, without its value.
    pub(super) fn shown(&self) -> String {
        let labels = self.labels.iter();
        let labels: Vec<String> = labels
            .map(|(name, value)| format!("{name}={value:?}"))
            .collect();
        format!("{{{}}}", excerpt(&printable(&labels.join(",")), 120))
    }
}

/// All samples of a page with their names; other lines are skipped.
pub(crate) fn samples(page: &str) -> impl Iterator<Item = (&str, Sample)> {
    page.lines().filter_map(|line| {
        let (name, rest) = name(line);
        (!name.is_empty()).then_some(())?;
        Some((name, sample(rest)?))
    })
}

/// The name at the start of a line, and the rest.
fn name(line: &str) -> (&str, &str) {
    let is_name = |character: char| character.is_ascii_alphanumeric() || "_:".contains(character);
    let end = line.find(|character| !is_name(character));
    line.split_at(end.unwrap_or(line.len()))
}

/// Parses what follows the name: labels, a value, optionally a time and an exemplar.
fn sample(rest: &str) -> Option<Sample> {
    let (labels, rest) = match rest.strip_prefix('{') {
        None => (Vec::new(), rest),
        Some(inside) => matchers(inside)?,
    };
    let value = rest.split_whitespace().next()?.parse().ok()?;
    let mut names = Vec::new();
    for matcher in labels {
        if !matcher.is_equal {
            return None;
        }
        names.push((matcher.label, matcher.value));
    }
    Some(Sample {
        labels: names,
        value,
    })
}

/// Splits the content of braces from what follows.
fn matchers(inside: &str) -> Option<(Vec<Matcher>, &str)> {
    let mut rest = inside.trim_start();
    let mut matchers = Vec::new();
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Some((matchers, after));
        }
        let (label, after) = name(rest);
        let after = after.trim_start();
        let (is_equal, after) = match after.strip_prefix("!=") {
            Some(after) => (false, after),
            None => (true, after.strip_prefix('=')?),
        };
        let (value, after) = quoted(after.trim_start())?;
        if label.is_empty() {
            return None;
        }
        matchers.push(Matcher {
            label: label.to_owned(),
            value,
            is_equal,
        });
        let after = after.trim_start();
        rest = match after.strip_prefix([',', ';']) {
            Some(after) => after.trim_start(),
            None if after.starts_with('}') => after,
            None => return None,
        };
    }
}

/// Splits a quoted text from what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix('"')?;
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[place + 1..])),
            '\\' => value.push(match characters.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            character => value.push(character),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGE: &str = "\
# HELP node_rapl_package_joules_total Current RAPL package value in joules
# TYPE node_rapl_package_joules_total counter
node_rapl_package_joules_total{index=\"0\",path=\"/sys/class/powercap/intel-rapl:0\"} 118951.54
node_rapl_package_joules_total{index=\"1\", path=\"a \\\"b\\\" \\\\ c\\nd, }\" ,} 2.5e3 1700000000
node_rapl_package_joules_total_extra 9
plain 7 # {trace_id=\"x\"} 0.5
odd{a=\"x\"} NaN
broken{a=\"x} 1
";

    fn values(selector: &str) -> Vec<f64> {
        let selector: Selector = selector.parse().unwrap();
        let samples = selector.all(PAGE).unwrap();
        samples.iter().map(|sample| sample.value).collect()
    }

    #[test]
    fn samples_are_found_by_name_and_labels() {
        assert_eq!(
            values("node_rapl_package_joules_total"),
            [118_951.54, 2500.0]
        );
        assert_eq!(
            values(r#"node_rapl_package_joules_total{index="0"}"#),
            [118_951.54]
        );
        assert_eq!(
            values(r#"node_rapl_package_joules_total{index!="0"}"#),
            [2500.0]
        );
        let both = r#"node_rapl_package_joules_total{index!="1";path!="x"}"#;
        assert_eq!(values(both), [118_951.54]);
        assert_eq!(values("plain"), [7.0]);
        assert_eq!(values("plain{}"), [7.0]);
        assert!(values("plain{a=\"x\"}").is_empty());
        assert!(values("odd")[0].is_nan());
        let selector: Selector = "node_rapl_package_joules_total{index=\"1\"}"
            .parse()
            .unwrap();
        let samples = selector.all(PAGE).unwrap();
        assert_eq!(samples[0].label("path"), Some("a \"b\" \\ c\nd, }"));
    }

    #[test]
    fn a_broken_line_is_an_error_only_to_who_wants_it() {
        let broken: Selector = "broken".parse().unwrap();
        assert!(broken.all(PAGE).unwrap_err().contains("broken"));
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for wrong in [
            "",
            "{a=\"x\"}",
            "m{a}",
            "m{a=x}",
            "m{a=\"x\"",
            "m x",
            "m{=\"x\"}",
        ] {
            assert!(wrong.parse::<Selector>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(selector in ".{0,40}", page in "(m|[{}=\",;\\\\ ]|.|\n){0,60}") {
            if let Ok(selector) = selector.parse::<Selector>() {
                let _ = selector.all(&page);
            }
            let metric: Selector = "m".parse().unwrap();
            if let Ok(samples) = metric.all(&page) {
                prop_assert!(samples.len() <= page.lines().count());
            }
            let _ = (metric.missing(&page), page.parse::<Selector>());
        }
    }

    #[test]
    fn a_slip_is_told() {
        let slip: Selector = "node_rapl_packge_joules_total".parse().unwrap();
        assert!(
            slip.missing(PAGE)
                .contains("did you mean `node_rapl_package_joules_total`")
        );
        let labels: Selector = "plain{a=\"x\"}".parse().unwrap();
        assert!(labels.missing(PAGE).contains("labels"));
    }
}
