//! What is asked.

use serde_json::{Map, Value};

use crate::chat::Message;

/// One prompt to be sent, with its reference answer and metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Place in the run's order, from 0: what a resumed run goes by.
    pub index: u64,
    /// The row's own id, or its place in the source.
    pub id: String,
    /// The prompt, sent verbatim; with [`Query::messages`], the text of the question in them.
    pub problem: String,
    /// The messages that are sent, the question among them; none: the prompt is all.
    pub messages: Vec<Message>,
    /// Its place in a conversation; `None` where there is none.
    pub turn: Option<Turn>,
    /// The reference answer; `None` when the dataset has none.
    pub answer: Option<String>,
    /// The topic; `None` when the dataset has none.
    pub subject: Option<String>,
    /// All else that the row carries, in the dataset's shape; `row` is always there.
    pub metadata: Map<String, Value>,
    /// Generation parameters that the dataset asks for with this prompt.
    pub parameters: Map<String, Value>,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Which conversation.
    pub conversation: String,
    /// Which of its questions, from 1.
    pub number: u32,
    /// Set where turns are asked with the replies that the run itself got for those before.
    pub live: Option<Live>,
}

/// How a turn hangs on the replies to those before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    /// How many turns of the conversation are asked.
    pub of: u32,
    /// Before which of the messages, as they are without any, each earlier turn's reply belongs.
    pub replies_before: Vec<usize>,
}

impl Query {
    /// Puts the replies to the earlier turns, in their order, where they belong.
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

    /// The index of the first turn of the same conversation: its own where it is in none.
    pub fn first_turn(&self) -> u64 {
        let live = self.turn.as_ref().filter(|turn| turn.live.is_some());
        let before = live.map_or(0, |turn| u64::from(turn.number.saturating_sub(1)));
        self.index.saturating_sub(before)
    }

    /// The same with `text` before all that is asked.
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

    /// A prompt that is in no dataset.
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
                live: Some(Live {
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
