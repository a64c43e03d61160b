//! Queries.

use serde_json::{Map, Value};

use crate::chat::Message;

/// One prompt to be sent, with its reference answer and metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Place in the run's order, from 0. Resuming relies on it.
    pub index: u64,
    /// The row's own id, or its place in the source.
    pub id: String,
    /// The prompt, sent verbatim. With [`Query::messages`], the text of their question.
    pub problem: String,
    /// The messages to send, including the question; empty to send the prompt alone.
    pub messages: Vec<Message>,
    /// Its place in a conversation, if it belongs to one.
    pub turn: Option<Turn>,
    /// The reference answer; `None` when the dataset has none.
    pub answer: Option<String>,
    /// The topic; `None` when the dataset has none.
    pub subject: Option<String>,
    /// Other fields of the row, in the dataset's shape; `row` is always present.
    pub metadata: Map<String, Value>,
    /// Generation parameters that the dataset asks for with this prompt.
    pub parameters: Map<String, Value>,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Id of the conversation.
    pub conversation: String,
    /// Number of the turn, from 1.
    pub number: u32,
    /// Set if earlier turns use the model's own replies from this run.
    pub live: Option<LiveTurn>,
}

/// How a turn depends on the replies to earlier turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveTurn {
    /// Number of turns in the conversation.
    pub of: u32,
    /// Index in the original messages before which each earlier turn's reply is inserted.
    pub replies_before: Vec<usize>,
}

impl Query {
    /// Inserts the replies to earlier turns, in order.
    pub fn hear(&mut self, replies: &[Message]) {
        let live = self.turn.as_ref().and_then(|turn| turn.live.as_ref());
        let Some(live) = live else {
            return;
        };
        let places = live.replies_before.iter().copied();
        for (place, reply) in places.zip(replies).rev() {
            let place = place.min(self.messages.len());
            self.messages.insert(place, reply.clone());
        }
    }

    /// The index of the first turn of the same conversation, or its own outside of one.
    pub fn first_turn(&self) -> u64 {
        let live = self.turn.as_ref().filter(|turn| turn.live.is_some());
        let before = live.map_or(0, |turn| u64::from(turn.number.saturating_sub(1)));
        self.index.saturating_sub(before)
    }

    /// A copy with `text` in front of the prompt.
    #[must_use]
    pub fn behind(&self, text: &str) -> Self {
        let mut query = self.clone();
        let mut messages = query.messages.iter_mut();
        match messages.find(|message| !message.is_system()) {
            Some(first) => first.put_before(text),
            None => query.problem.insert_str(0, text),
        }
        query
    }

    /// A query that is in no dataset.
    pub fn asking(problem: String) -> Self {
        Self {
            index: 0,
            id: String::new(),
            problem,
            messages: Vec::new(),
            turn: None,
            answer: None,
            subject: None,
            metadata: Map::new(),
            parameters: Map::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(query: &Query) -> Vec<String> {
        query.messages.iter().map(Message::text).collect()
    }

    #[test]
    fn replies_go_where_they_belong() {
        let mut query = Query {
            index: 12,
            messages: ["a", "b", "c"].map(|text| Message::of("user", text)).into(),
            turn: Some(Turn {
                conversation: "x".to_owned(),
                number: 3,
                live: Some(LiveTurn {
                    of: 3,
                    replies_before: vec![1, 2],
                }),
            }),
            ..Query::asking("c".to_owned())
        };
        assert_eq!(query.first_turn(), 10);
        query.hear(&["A", "B"].map(|text| Message::reply(text, None)));
        assert_eq!(texts(&query), ["a", "A", "b", "B", "c"]);
        let mut alone = Query::asking("c".to_owned());
        alone.hear(&[Message::of("user", "x")]);
        assert_eq!((texts(&alone), alone.first_turn()), (vec![], 0));
    }

    #[test]
    fn a_text_goes_before_the_first_thing_that_is_asked() {
        let alone = Query::asking("why?".to_owned()).behind("[1] ");
        assert_eq!(alone.problem, "[1] why?");
        let chat = Query {
            messages: vec![
                Message::of("system", "be brief"),
                Message::of("user", "why?"),
            ],
            ..Query::asking("why?".to_owned())
        };
        let chat = chat.behind("[1] ");
        assert_eq!(texts(&chat), ["be brief", "[1] why?"]);
        assert_eq!(chat.problem, "why?");
    }
}
