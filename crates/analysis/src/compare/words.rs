//! Comparisons in words.

use super::{Comparison, Verdict};
use crate::interval::Estimate;
use crate::metric::{Metric, Unit};

/// Wording for a metric.
struct Phrase {
    /// "B uses … less energy per query"; `None` for "B's accuracy is … lower".
    verb: Option<&'static str>,
    noun: &'static str,
    lower: &'static str,
    higher: &'static str,
}

fn phrase(metric: Metric) -> Phrase {
    let definition = metric.definition();
    let (verb, noun) = (definition.verb, definition.noun);
    let (lower, higher) = match (metric.unit(), verb) {
        (Unit::PerSecond, _) => ("fewer", "more"),
        (Unit::Seconds, _) => ("shorter", "longer"),
        (_, Some(_)) => ("less", "more"),
        (_, None) => ("lower", "higher"),
    };
    Phrase {
        verb,
        noun,
        lower,
        higher,
    }
}

impl Comparison {
    /// The verdict in a sentence with the names of the runs: `B uses 18 % less energy per query (95
    /// %: 14 to 22 % less)`.
    pub fn sentence(&self, a: &str, b: &str) -> String {
        let phrase = phrase(self.metric);
        let noun = phrase.noun;
        let unit = if self.unit == Unit::Share { "pp" } else { "%" };
        let Some(found) = self
            .difference()
            .and_then(|found| found.map(|end| 100.0 * end))
        else {
            return format!("{noun}: cannot be compared{}", self.why(a, b));
        };
        let signed = format!(
            "{} {unit}, 95 %: {} to {} {unit}",
            with_sign(found.value),
            with_sign(found.low),
            with_sign(found.high)
        );
        match self.verdict {
            Verdict::Unchanged => format!("{noun}: unchanged ({signed})"),
            Verdict::CannotTell => format!("{noun}: no difference found ({signed})"),
            Verdict::Lower => phrase.sentence(b, &ends(found, true), phrase.lower, unit),
            Verdict::Higher => phrase.sentence(b, &ends(found, false), phrase.higher, unit),
        }
    }

    fn why(&self, a: &str, b: &str) -> String {
        use super::{NotCompared, Side};
        match self.reason {
            Some(NotCompared::Unknown { run }) => {
                let run = if run == Side::A { a } else { b };
                format!(", as {run} has no value for it")
            }
            Some(few) => format!(", as {few}"),
            None => String::new(),
        }
    }
}

/// Value and ends without a sign, the smaller end first.
fn ends(found: Estimate, is_lower: bool) -> [String; 3] {
    if is_lower {
        [-found.value, -found.high, -found.low].map(number)
    } else {
        [found.value, found.low, found.high].map(number)
    }
}

impl Phrase {
    fn sentence(&self, run: &str, ends: &[String; 3], word: &str, unit: &str) -> String {
        let [value, low, high] = ends;
        let interval = format!("(95 %: {low} to {high} {unit} {word})");
        let noun = self.noun;
        match self.verb {
            Some(verb) => format!("{run} {verb} {value} {unit} {word} {noun} {interval}"),
            None => format!("{run}'s {noun} is {value} {unit} {word} {interval}"),
        }
    }
}

/// About two significant digits, as the intervals warrant.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 9.95 => 0,
        size if size >= 0.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    };
    let is_nothing = text.trim_start_matches('-') == "0";
    if is_nothing {
        "0".to_owned()
    } else {
        text.replace('-', "−")
    }
}

fn with_sign(value: f64) -> String {
    let text = number(value);
    if value > 0.0 && text != "0" {
        format!("+{text}")
    } else {
        text
    }
}
