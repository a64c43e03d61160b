//! Grades answers, during a run or from stored rows.

use std::sync::Arc;

use ipw_core::query::Query;
use ipw_core::reply::Reply;
use ipw_core::verdict::Grade;
use ipw_runner::Grader;
use ipw_scoring::{Question, Scorer, rules_of, scorer};
use serde_json::{Map, Value};

use crate::error::Error;

/// Why a row without an answer has no verdict.
pub(crate) const NOT_ANSWERED: &str = "the query was not answered";

/// Grades a reply with this scorer.
pub(crate) fn by(scorer: &dyn Scorer, query: &Query, reply: &Reply) -> Grade {
    if !reply.outcome.is_answered() {
        return Grade::unscored(None, NOT_ANSWERED);
    }
    ask(
        scorer,
        query.answer.as_deref(),
        &query.metadata,
        &reply.answer,
    )
}

/// Grades with the requested scorer, or else with the one that the dataset's row names.
pub fn grader(asked: Option<String>) -> Grader {
    Arc::new(move |query: &Query, reply: &Reply| {
        if !reply.outcome.is_answered() {
            return Grade::unscored(None, NOT_ANSWERED);
        }
        let id = named(asked.as_deref(), &query.metadata);
        grade(id, query.answer.as_deref(), &query.metadata, &reply.answer)
    })
}

/// The scorer for a row: the requested one, or else the one that the row names.
pub(crate) fn named<'a>(
    asked: Option<&'a str>,
    metadata: &'a Map<String, Value>,
) -> Option<&'a str> {
    asked.or_else(|| metadata.get("scorer")?.as_str())
}

/// Refuses an unknown scorer.
pub fn check(asked: Option<&str>) -> Result<(), Error> {
    match asked.map(scorer) {
        Some(Err(unknown)) => Err(Error::invalid(unknown)),
        _ => Ok(()),
    }
}

/// Grades an answer with the scorer of this name.
pub(crate) fn grade(
    id: Option<&str>,
    reference: Option<&str>,
    metadata: &Map<String, Value>,
    answer: &str,
) -> Grade {
    let Some(id) = id else {
        return Grade::unscored(None, "the row names no scorer");
    };
    match scorer(id) {
        Ok(scorer) => ask(scorer, reference, metadata, answer),
        Err(unknown) => Grade::unscored(None, unknown.to_string()),
    }
}

fn ask(
    scorer: &dyn Scorer,
    reference: Option<&str>,
    metadata: &Map<String, Value>,
    answer: &str,
) -> Grade {
    let choices = metadata.get("choices").and_then(Value::as_array);
    let choices: Vec<String> = choices
        .into_iter()
        .flatten()
        .filter_map(|choice| choice.as_str().map(str::to_owned))
        .collect();
    let rules = rules_of(metadata);
    ipw_scoring::grade(
        scorer,
        &Question {
            reference,
            choices: &choices,
            rules: rules.as_ref(),
            answer,
        },
    )
}
