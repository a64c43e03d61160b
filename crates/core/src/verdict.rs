//! Grades: whether an answer is correct, and how it was determined.

/// A scorer's verdict on an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is right.
    Correct,
    /// It is wrong.
    Wrong,
    /// The scorer cannot decide; this differs from wrong.
    Unscored,
}

impl Verdict {
    /// Whether the answer is correct; `None` when it is unscored.
    pub const fn is_correct(self) -> Option<bool> {
        match self {
            Self::Correct => Some(true),
            Self::Wrong => Some(false),
            Self::Unscored => None,
        }
    }
}

/// A verdict and its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grade {
    /// The verdict.
    pub verdict: Verdict,
    /// Id of the scorer; `None` without a scorer.
    pub scorer: Option<&'static str>,
    /// The text extracted as the answer; `None` if none was found.
    pub extracted: Option<String>,
    /// The reason in a few words.
    pub reason: String,
    /// The judge model's reply; `None` without a judge.
    pub judge: Option<Box<JudgeReply>>,
}

/// The reply of a judge model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeReply {
    /// The model that judged.
    pub model: String,
    /// Version of the prompt that it was given.
    pub prompt: String,
    /// Its output.
    pub output: String,
}

impl Grade {
    /// An unscored grade with its reason.
    pub fn unscored(scorer: Option<&'static str>, reason: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Unscored,
            scorer,
            extracted: None,
            reason: reason.into(),
            judge: None,
        }
    }
}
