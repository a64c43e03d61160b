//! What is asked.

use serde_json::{Map, Value};

/// One prompt to be sent, with its reference answer and metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Place in the run's order, from 0: what a resumed run goes by.
    pub index: u64,
    /// The row's own id, or its place in the source.
    pub id: String,
    /// The prompt, sent verbatim.
    pub problem: String,
    /// The reference answer; `None` when the dataset has none.
    pub answer: Option<String>,
    /// The topic; `None` when the dataset has none.
    pub subject: Option<String>,
    /// All else that the row carries, in the dataset's shape; `row` is always there.
    pub metadata: Map<String, Value>,
    /// Generation parameters that the dataset asks for with this prompt.
    pub parameters: Map<String, Value>,
}

impl Query {
    /// A prompt that is in no dataset.
    pub fn asking(problem: String) -> Self {
        Self {
            index: 0,
            id: String::new(),
            problem,
            answer: None,
            subject: None,
            metadata: Map::new(),
            parameters: Map::new(),
        }
    }
}
