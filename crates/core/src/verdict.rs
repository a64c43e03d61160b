//! Grades: whether an answer is right, and how that was found out.

/// What a scorer says of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is right.
    Correct,
    /// It is wrong.
    Wrong,
    /// Nobody can say: not the same as wrong.
    Unscored,
}

impl Verdict {
    /// Whether the answer is right; `None` when nobody can say.
    pub const fn is_correct(self) -> Option<bool> {
        match self {
            Self::Correct => Some(true),
            Self::Wrong => Some(false),
            Self::Unscored => None,
        }
    }
}

/// A verdict with its grounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grade {
    /// What was said.
    pub verdict: Verdict,
    /// Id of the scorer; `None` when there was none to ask.
    pub scorer: Option<&'static str>,
    /// What was taken for the answer; `None` when nothing could be.
    pub extracted: Option<String>,
    /// Why, in a few words.
    pub reason: String,
    /// Who judged; `None` where no judge was asked.
    pub judge: Option<Box<Judged>>,
}

/// What a judge said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The model that judged.
    pub model: String,
    /// Which prompt it was given, with its version.
    pub prompt: String,
    /// What it said.
    pub output: String,
}

impl Grade {
    /// Nobody can say, for this reason.
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
