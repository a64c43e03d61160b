//! What a run says of its last grading.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::GivenParameters;

/// The last `ipw score` that graded a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scoring {
    /// Verdicts of an earlier set were put back.
    Used {
        /// Version of ipw.
        ipw: Cow<'static, str>,
        /// When: seconds since the Unix epoch.
        at: f64,
        /// Id of the set.
        used_set: u64,
        /// Rows that have a verdict of it.
        graded: u64,
        /// Rows whose verdict is another now.
        changed: u64,
    },
    /// Answers were graded.
    Graded {
        /// Version of ipw.
        ipw: Cow<'static, str>,
        /// When: seconds since the Unix epoch.
        at: f64,
        /// The scorer for all rows; `None`: what each row names.
        scorer: Option<String>,
        /// Whether answers that had a verdict were graded again.
        again: bool,
        /// Rows that have a new grade.
        graded: u64,
        /// Rows whose verdict is another now.
        changed: u64,
        /// Answers without a new verdict that keep the old one.
        kept: u64,
        /// What the judge took; `None` where none was asked.
        judge: Option<Box<Judging>>,
    },
}

impl Scoring {
    /// When: seconds since the Unix epoch.
    pub const fn at(&self) -> f64 {
        match self {
            Self::Used { at, .. } | Self::Graded { at, .. } => *at,
        }
    }
}

/// What judging took: apart from what the service took, and never in its joules.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Judging {
    /// Id of the client.
    pub client: String,
    /// Where the judge was asked.
    pub place: String,
    /// The model.
    pub model: String,
    /// Name of the prompt.
    pub prompt: Cow<'static, str>,
    /// Generation parameters, as the user gave them.
    pub parameters: GivenParameters,
    /// Answers that it was asked about.
    pub asked: u64,
    /// Answers that this judge was asked about by an earlier call.
    pub asked_before: u64,
    /// Requests in all.
    pub attempts: u64,
    /// Answers that it gave no verdict on.
    pub without_verdict: u64,
    /// Tokens of its prompts; `None` where a reply did not say.
    pub input_tokens: Option<u64>,
    /// Tokens of its replies; `None` where a reply did not say.
    pub output_tokens: Option<u64>,
    /// How long it took.
    pub seconds: f64,
    /// `None` without a price.
    pub cost_usd: Option<f64>,
    /// Judges are not measured yet.
    pub joules: Option<f64>,
}

impl fmt::Display for Judging {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} with `{}`: {} answers in {} attempts, {:.1} s",
            self.model, self.prompt, self.asked, self.attempts, self.seconds
        )?;
        if let (Some(input), Some(output)) = (self.input_tokens, self.output_tokens) {
            write!(formatter, ", {input} tokens in, {output} out")?;
        }
        if self.without_verdict > 0 {
            write!(formatter, "; {} without a verdict", self.without_verdict)?;
        }
        Ok(())
    }
}
