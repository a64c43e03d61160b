//! The table of cases, shared by the tests.

use ipw_core::verdict::{Grade, Verdict};
use ipw_scoring::{Question, scorer};
use serde_json::Value;

/// One line of `cases.jsonl`.
pub(crate) struct Case {
    /// Line number, from 1.
    pub(crate) line: usize,
    /// The scorer's id.
    pub(crate) scorer: String,
    pub(crate) reference: Option<String>,
    /// The options of a choice.
    pub(crate) choices: Vec<String>,
    /// The constraints of `instructions`.
    pub(crate) rules: Option<Value>,
    pub(crate) answer: String,
    /// The expected verdict.
    pub(crate) verdict: Verdict,
}

impl Case {
    /// The grade of the case's answer, with reasoning removed.
    pub(crate) fn grade(&self) -> Grade {
        self.grade_of(&self.answer)
    }

    /// The grade of another answer to the same question.
    pub(crate) fn grade_of(&self, answer: &str) -> Grade {
        let question = Question {
            reference: self.reference.as_deref(),
            choices: &self.choices,
            rules: self.rules.as_ref(),
            answer,
        };
        ipw_scoring::grade(scorer(&self.scorer).expect("a known scorer"), &question)
    }
}

pub(crate) fn texts(list: &Value) -> Vec<String> {
    let listed = list.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    listed.iter().map(text).collect()
}

pub(crate) fn cases() -> Vec<Case> {
    let lines = include_str!("../cases.jsonl").lines().enumerate();
    lines
        .map(|(index, line)| {
            let row: Value = serde_json::from_str(line).expect("one object a line");
            Case {
                line: index + 1,
                scorer: row["scorer"].as_str().expect("a scorer").to_owned(),
                reference: row["reference"].as_str().map(str::to_owned),
                choices: texts(&row["choices"]),
                rules: row.get("rules").cloned(),
                answer: row["answer"].as_str().expect("an answer").to_owned(),
                verdict: match row["verdict"].as_str() {
                    Some("correct") => Verdict::Correct,
                    Some("wrong") => Verdict::Wrong,
                    other => {
                        assert_eq!(other, Some("unscored"), "line {}", index + 1);
                        Verdict::Unscored
                    }
                },
            }
        })
        .collect()
}
