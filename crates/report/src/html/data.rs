//! The page's data for its script: lists instead of objects, few digits, to keep the file small.

use std::collections::BTreeMap;

use ipw_findings::timeline::Segment;
use ipw_findings::written;
use serde_json::{Value, json};

use crate::markup;
use ipw_findings::page::{Page, QueryLine, Text};

/// Names shared by many lines, stored once.
#[derive(Default)]
struct Names {
    list: Vec<String>,
    places: BTreeMap<String, usize>,
}

impl Names {
    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.list.len();
        self.list.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        place
    }
}

/// All data for sorting, searching and zooming, escaped for a script element.
pub(super) fn of(page: &Page) -> String {
    let mut names = Names::default();
    let lines: Vec<Value> = page
        .queries
        .lines
        .iter()
        .map(|line| list(line, &mut names))
        .collect();
    let series: Vec<Value> = page
        .timeline
        .series
        .iter()
        .map(|series| {
            let segments: Vec<_> = series.segments.iter().map(segment).collect();
            json!({
                "name": series.name,
                "estimated": series.is_estimated,
                "nested": series.is_nested,
                "idle": series.idle.and_then(rounded),
                "segments": segments,
            })
        })
        .collect();
    let parts: Vec<_> = page.timeline.parts.iter().map(|at| rounded(*at)).collect();
    let data = json!({
        "names": names.list,
        "lines": lines,
        "inAll": page.queries.in_all,
        "slow": page.queries.slow,
        "costly": page.queries.costly,
        "withoutShares": page.queries.is_without_shares,
        "redacted": page.is_redacted,
        "timeline": {
            "seconds": rounded(page.timeline.seconds),
            "parts": parts,
            "series": series,
        },
    });
    markup::json(&data.to_string())
}

fn segment(segment: &Segment) -> Value {
    let few = |values: &[Option<f64>]| -> Vec<Option<f64>> {
        let short = |value: f64| format!("{value:.3e}").parse().ok();
        values
            .iter()
            .map(|value| value.filter(|value| value.is_finite()).and_then(short))
            .collect()
    };
    json!({
        "start": rounded(segment.start),
        "width": segment.width,
        "min": few(&segment.min),
        "mean": few(&segment.mean),
        "max": few(&segment.max),
    })
}

/// A number with five significant digits, for machines.
fn rounded(value: f64) -> Option<f64> {
    let value = value.is_finite().then_some(value)?;
    format!("{value:.4e}").parse().ok()
}

/// A line in the order that the script expects. Unknown values at the end are dropped.
fn list(line: &QueryLine, names: &mut Names) -> Value {
    let number = |value: Option<f64>| json!(value.and_then(rounded));
    // Instants need more digits than durations.
    let instant = |value: Option<f64>| {
        let value = value.filter(|value| value.is_finite());
        json!(value.map(|value| (value * 1e4).round() / 1e4))
    };
    let text = |text: &Option<Text>| json!(text.as_ref().map(|text| &text.text));
    let all = [
        &line.prompt,
        &line.answer,
        &line.expected,
        &line.reasoning,
        &line.error,
    ];
    let cut = all.iter().enumerate().filter_map(|(place, text)| {
        let is_cut = text.as_ref().is_some_and(|text| text.is_cut);
        is_cut.then_some(1_u32 << place)
    });
    let flags =
        cut.sum::<u32>() | u32::from(line.is_estimated) << 5 | u32::from(line.is_answered) << 6;
    let reason = line.energy_reason.as_deref();
    let reason = reason.map(|reason| names.place(written::reason(reason)));
    let shares: Vec<_> = line
        .shares
        .iter()
        .map(|share| {
            let why = share.reason.as_deref();
            json!([
                names.place(&share.name),
                names.place(&share.method),
                number(share.joules),
                number(share.sigma_joules),
                number(share.coverage),
                why.map(|why| names.place(written::reason(why))),
            ])
        })
        .collect();
    let mut list = vec![
        json!(line.index),
        json!(line.subject.as_deref().map(|subject| names.place(subject))),
        json!(names.place(&line.outcome)),
        json!(line.is_correct.map(u8::from)),
        instant(line.start),
        instant(line.end),
        number(line.seconds),
        number(line.time_to_first_token_seconds),
        json!(line.input_tokens),
        json!(line.output_tokens),
        number(line.joules),
        number(line.sigma_joules),
        json!(flags),
        text(&line.prompt),
        text(&line.answer),
        text(&line.expected),
        text(&line.reasoning),
        text(&line.error),
        number(line.above_idle_joules),
        json!(reason),
        json!(line.is_slo_met.map(u8::from)),
        json!((!shares.is_empty()).then_some(shares)),
    ];
    while list.last().is_some_and(Value::is_null) {
        list.pop();
    }
    Value::Array(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_machines_read_is_short_and_never_not_a_number() {
        assert_eq!(rounded(1.034_567_89), Some(1.0346));
        assert_eq!(rounded(f64::NAN), None);
        assert_eq!(json!(rounded(0.1 + 0.2)).to_string(), "0.3");
    }
}
