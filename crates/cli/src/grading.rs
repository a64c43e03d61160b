//! Grading as it goes: a row that says how it is graded is graded at once.

use std::sync::Arc;

use ipw_analysis::efficiency::{Answers, Efficiency, Spent};
use ipw_core::query::Query;
use ipw_core::reply::Reply;
use ipw_core::verdict::Grade;
use ipw_runner::Grader;
use ipw_scoring::{Question, scorer};
use ipw_store::Overview;
use serde_json::Value;

/// Grades by the scorer that the dataset's row names.
pub(crate) fn grader() -> Grader {
    Arc::new(grade)
}

fn grade(query: &Query, reply: &Reply) -> Grade {
    if !reply.outcome.is_answered() {
        return Grade::unscored(None, "the query was not answered");
    }
    let Some(id) = query.metadata.get("scorer").and_then(Value::as_str) else {
        return Grade::unscored(None, "the row names no scorer");
    };
    let scorer = match scorer(id) {
        Ok(scorer) => scorer,
        Err(unknown) => return Grade::unscored(None, unknown.to_string()),
    };
    let choices = query.metadata.get("choices").and_then(Value::as_array);
    let choices: Vec<String> = choices
        .into_iter()
        .flatten()
        .filter_map(|choice| choice.as_str().map(str::to_owned))
        .collect();
    let reference = query.answer.as_deref();
    ipw_scoring::grade(
        scorer,
        &Question {
            reference,
            choices: &choices,
            answer: &reply.answer,
        },
    )
}

/// What the run's joules bought.
pub(crate) fn efficiency(overview: &Overview) -> Efficiency {
    let verdicts = overview.verdicts;
    let answers = Answers {
        correct: verdicts.correct,
        wrong: verdicts.wrong,
        unscored: verdicts.unscored,
    };
    let energy = &overview.energy;
    answers.efficiency(Spent {
        joules: energy.joules,
        joules_per_query: energy.joules_per_query.map(|joules| joules.mean),
        watts: energy.watts,
    })
}
