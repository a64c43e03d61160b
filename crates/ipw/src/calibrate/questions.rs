//! The questions of a calibration. Each carries its number, which links a row to its exchange in
//! the service's log.

use ipw_core::query::Query;
use ipw_core::shape::Shape;
use ipw_datasets::{Dataset, Queries, ReadError};
use ipw_reference::Received;
use serde_json::{Map, Value};

pub(super) const ID: &str = "calibrate";
const BEGINNING: &str = "calibrate: question ";

/// A fixed number of questions, made lazily.
pub(super) struct Questions {
    count: u64,
    shape: Shape,
}

impl Questions {
    pub(super) fn new(count: u64) -> Self {
        Self {
            count,
            shape: Shape::Struct(vec![("row".to_owned(), Shape::Int)]),
        }
    }
}

impl Dataset for Questions {
    fn id(&self) -> &str {
        ID
    }

    fn name(&self) -> &str {
        ID
    }

    fn size(&self) -> Option<u64> {
        Some(self.count)
    }

    fn metadata_shape(&self) -> &Shape {
        &self.shape
    }

    fn queries(&self) -> Result<Queries<'_>, ReadError> {
        Ok(Box::new((0..self.count).map(|index| Ok(question(index)))))
    }
}

fn question(index: u64) -> Query {
    let mut metadata = Map::new();
    metadata.insert("row".to_owned(), index.into());
    Query {
        index,
        id: index.to_string(),
        problem: format!("{BEGINNING}{index}"),
        messages: Vec::new(),
        turn: None,
        answer: None,
        subject: None,
        metadata,
        parameters: Map::new(),
    }
}

/// The number of the question in a request; `None` for a warm-up.
pub(super) fn number(received: &Received) -> Option<u64> {
    let prompt = received.body.pointer("/messages/0/content");
    let prompt = prompt.and_then(Value::as_str)?;
    prompt.strip_prefix(BEGINNING)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_is_recognised_by_the_service_and_a_warm_up_is_none() {
        let received = |prompt: &str| Received {
            number: 0,
            path: String::new(),
            headers: Vec::new(),
            body: json!({"messages": [{"role": "user", "content": prompt}]}),
        };
        let questions = Questions::new(12);
        let last = questions.queries().unwrap().last().unwrap().unwrap();
        assert_eq!(number(&received(&last.problem)), Some(11));
        assert_eq!(number(&received("Which day comes after Monday?")), None);
    }
}
