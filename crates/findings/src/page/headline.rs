//! The figures that people quote, and the sentence above them.

use std::fmt::Write as _;

use ipw_analysis::efficiency::{Accuracy, Answers};
use ipw_analysis::metric::Metric;
use ipw_analysis::percentile::{Percentile, Summary};
use ipw_store::overview::Distribution;

use super::Inputs;
use super::{Headline, How};
use crate::written::{counted, reason};
use ipw_core::quantity::{Unit, grouped};

/// A headline that is not known, and why.
fn unknown(id: &str, label: &str, why: String, meaning: &str) -> Headline {
    Headline {
        id: id.to_owned(),
        label: label.to_owned(),
        value: None,
        detail: Some(why),
        how: None,
        meaning: meaning.to_owned(),
    }
}

pub(super) fn of(known: &Inputs<'_>) -> Vec<Headline> {
    vec![
        per_watt(known),
        accuracy(known),
        joules(known),
        per_joule(known),
        latency(known),
        first_token(known),
    ]
}

/// The result in one or two sentences.
pub(super) fn lede(known: &Inputs<'_>) -> String {
    let overview = known.overview;
    let model = known.run.model();
    if overview.rows == 0 {
        return format!("{model} was asked nothing: this run has no rows.");
    }
    let rows = counted(overview.rows, "query", "queries");
    let failed = overview.unanswered();
    let mut text = match (overview.rows - failed, failed) {
        (0, _) => return format!("{model} answered none of {rows}: there is nothing to measure."),
        (_, 0) => format!("{model} answered {rows}."),
        (answered, _) => format!("{model} answered {} of {rows}.", grouped(answered)),
    };
    let verdicts = overview.verdicts;
    let graded = verdicts.correct + verdicts.wrong;
    if graded > 0 {
        let _ = write!(
            text,
            " {} of {} graded answers were right.",
            grouped(verdicts.correct),
            grouped(graded)
        );
    }
    let mut costs = Vec::new();
    if let Some(total) = overview.total_query_seconds {
        costs.push(format!("{} (median)", Unit::Seconds.show(total.p50)));
    }
    if let Some(joules) = overview.energy.joules_per_query {
        let how = if known.is_estimated() {
            "mean, estimated and not measured"
        } else {
            "mean"
        };
        costs.push(format!("{} ({how})", Unit::Joules.show(joules.mean)));
    }
    if !costs.is_empty() {
        let _ = write!(text, " A query took {}.", costs.join(" and "));
    }
    text
}

fn accuracy_of(known: &Inputs<'_>) -> Option<Accuracy> {
    let verdicts = known.overview.verdicts;
    let answers = Answers {
        correct: verdicts.correct,
        wrong: verdicts.wrong,
        unscored: verdicts.unscored,
    };
    answers.accuracy()
}

/// How the headline's joules came about.
pub(super) fn how(known: &Inputs<'_>) -> Option<How> {
    known.overview.energy.joules?;
    if known.is_estimated() {
        return Some(How::Estimated);
    }
    let sources = known.pass.sources.values();
    let measured = sources.filter(|source| source.rows > 0);
    let methods: Vec<_> = measured.flat_map(|source| &source.methods).collect();
    if methods.is_empty() {
        // A run of the original does not say how.
        return None;
    }
    let has = |method: &str| methods.iter().any(|one| *one == method);
    Some(match (has("counter"), has("integrated")) {
        (true, true) => How::CounterAndIntegrated,
        (false, true) => How::Integrated,
        _ => How::Counter,
    })
}

/// By how much all joules may be wrong together.
fn scale(known: &Inputs<'_>) -> Option<f64> {
    let energy = &known.overview.energy;
    let share = energy.sigma_joules? / energy.joules.filter(|joules| *joules > 0.0)?;
    share.is_finite().then_some(share)
}

fn scale_text(known: &Inputs<'_>) -> String {
    scale(known).map_or(String::new(), |share| {
        format!("; joules ± {:.0} % (1 σ)", (share * 100.0).max(1.0))
    })
}

/// Why there is no energy.
pub(super) fn no_energy(known: &Inputs<'_>) -> String {
    let reasons = &known.overview.energy.reasons;
    if known.overview.rows == 0 {
        return "no rows".to_owned();
    }
    let worst = reasons.iter().max_by_key(|(_, rows)| **rows);
    let why = worst.map_or("the rows do not say why", |(why, _)| reason(why));
    format!("no energy: {why}")
}

fn no_grades(known: &Inputs<'_>) -> String {
    match known.overview.rows {
        0 => "no rows".to_owned(),
        _ => "no answer was graded: the dataset's rows name no scorer".to_owned(),
    }
}

fn accuracy(known: &Inputs<'_>) -> Headline {
    let label = "Accuracy";
    let meaning = "The share of graded answers that were right.";
    let verdicts = known.overview.verdicts;
    match accuracy_of(known) {
        Some(found) => Headline {
            id: "accuracy".to_owned(),
            label: label.to_owned(),
            value: Some(Unit::Share.show(found.value)),
            detail: Some(format!(
                "95 %: {}; {} of {} right{}",
                Unit::Share.range(found.low, found.high),
                grouped(verdicts.correct),
                grouped(verdicts.correct + verdicts.wrong),
                match verdicts.unscored {
                    0 => String::new(),
                    unscored => format!(", {} not graded", grouped(unscored)),
                }
            )),
            how: Some(How::Graded),
            meaning: meaning.to_owned(),
        },
        None => unknown("accuracy", label, no_grades(known), meaning),
    }
}

/// Accuracy per something: its interval is that of the answers, and the joules' own beside it.
fn per(known: &Inputs<'_>, metric: Metric, label: &str, meaning: &str) -> Headline {
    let (id, unit) = (metric.name(), metric.unit());
    let accuracy = accuracy_of(known);
    let (Some(value), Some(accuracy)) = (known.values.get(metric), accuracy) else {
        let why = if accuracy.is_none() {
            no_grades(known)
        } else {
            no_energy(known)
        };
        return unknown(id, label, why, meaning);
    };
    // Zero right answers are zero per watt, and the upper end has no scale to grow from.
    let interval = (accuracy.value > 0.0).then(|| {
        let (low, high) = (
            value * accuracy.low / accuracy.value,
            value * accuracy.high / accuracy.value,
        );
        format!("95 % by the answers: {}", unit.range(low, high))
    });
    let interval = interval.unwrap_or_else(|| "no answer was right".to_owned());
    Headline {
        id: id.to_owned(),
        label: label.to_owned(),
        value: Some(unit.show(value)),
        detail: Some(format!("{interval}{}", scale_text(known))),
        how: how(known),
        meaning: meaning.to_owned(),
    }
}

fn per_watt(known: &Inputs<'_>) -> Headline {
    per(
        known,
        Metric::Ipw,
        "Intelligence per watt",
        "Accuracy divided by the mean power of the service while at least one query was in flight. More is better.",
    )
}

fn per_joule(known: &Inputs<'_>) -> Headline {
    per(
        known,
        Metric::Ipj,
        "Intelligence per joule",
        "Accuracy divided by the mean energy of a query. More is better.",
    )
}

fn joules(known: &Inputs<'_>) -> Headline {
    let (id, label) = (Metric::JoulesPerQuery.name(), "Energy per query");
    let meaning = "The mean over all queries, failed ones included.";
    let Some(summary) = known.pass.joules.summary else {
        return unknown(id, label, no_energy(known), meaning);
    };
    let interval = summary.mean_interval.map_or_else(
        || "a single query".to_owned(),
        |mean| {
            format!(
                "95 % by the queries: {}",
                Unit::Joules.range(mean.low.max(0.0), mean.high)
            )
        },
    );
    Headline {
        id: id.to_owned(),
        label: label.to_owned(),
        value: Some(Unit::Joules.show(summary.mean)),
        detail: Some(format!("{interval}{}", scale_text(known))),
        how: how(known),
        meaning: meaning.to_owned(),
    }
}

/// The median of `found`; where the sample is too small for an interval, `middle` without one.
fn median(
    found: Option<Summary>,
    middle: Option<Distribution>,
    (id, label): (&str, &str),
    why: &str,
    meaning: &str,
) -> Headline {
    let (Some(summary), Some(middle)) = (found, middle) else {
        return unknown(id, label, why.to_owned(), meaning);
    };
    let mut detail = match summary.p50 {
        Percentile::Known { low, high, .. } => {
            format!("95 %: {}", Unit::Seconds.range(low, high))
        }
        Percentile::Unsupported { needs } => format!("no interval: needs ≥ {needs} queries"),
    };
    if let Some(p95) = summary.p95.value() {
        let _ = write!(detail, "; p95 {}", Unit::Seconds.show(p95));
    }
    Headline {
        id: id.to_owned(),
        label: label.to_owned(),
        value: Some(Unit::Seconds.show(middle.p50)),
        detail: Some(detail),
        how: Some(How::Clock),
        meaning: meaning.to_owned(),
    }
}

fn latency(known: &Inputs<'_>) -> Headline {
    median(
        known.pass.total.summary,
        known.overview.total_query_seconds,
        (Metric::SentLatencyP50.name(), "Time per query"),
        "no query was answered",
        "From the moment of sending to the last token; half of the queries took less.",
    )
}

fn first_token(known: &Inputs<'_>) -> Headline {
    median(
        known.pass.first_token.summary,
        known.overview.time_to_first_token_seconds,
        (Metric::SentTtftP50.name(), "Time to first token"),
        "no query had a token",
        "From the moment of sending to the first token; half of the queries took less.",
    )
}
