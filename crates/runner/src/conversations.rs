//! Turns that are asked with the replies to earlier turns: each waits until those replies exist.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ipw_core::chat::Message;
use ipw_core::query::Query;
use ipw_core::reply::Reply;
use ipw_core::time::Timestamp;

/// Finds the reply to a query in earlier parts of the run; `None` if it was not answered. Fails if
/// the row cannot be read.
pub type Recall = Arc<dyn Fn(u64) -> Result<Option<Message>, String> + Send + Sync>;

/// A query that can be sent.
pub(crate) struct ReadyQuery {
    pub(crate) query: Query,
    /// When the last turn that it waited for finished; `None` if it did not wait.
    pub(crate) since: Option<Timestamp>,
    /// Why the query cannot be sent, if so.
    pub(crate) unaskable: Option<String>,
}

/// The conversations in progress.
pub(crate) struct Conversations {
    recall: Recall,
    /// By the index of the first turn.
    open: HashMap<u64, Conversation>,
    /// Turns that can be sent.
    ready: VecDeque<ReadyQuery>,
    /// Number of turns that wait for earlier turns.
    waiting: usize,
}

#[derive(Default)]
struct Conversation {
    replies: Vec<Message>,
    /// Why the conversation cannot go on, if so.
    broken: Option<String>,
    /// When the last reply arrived; `None` if that was in an earlier part.
    since: Option<Timestamp>,
    waiting: VecDeque<Query>,
}

impl Conversation {
    /// Records the result of the turn with this number.
    fn hear(&mut self, number: u32, heard: Result<Option<Message>, String>) {
        match heard {
            Ok(Some(reply)) => self.replies.push(reply),
            Ok(None) => {
                let text = format!("turn {number} of the conversation was not answered");
                self.broken.get_or_insert(text);
            }
            Err(problem) => {
                let text = format!("the reply to turn {number} cannot be read: {problem}");
                self.broken.get_or_insert(text);
            }
        }
    }

    /// Whether the turn with this number can be sent, or can never be.
    fn is_ready(&self, number: u32) -> bool {
        self.broken.is_some() || self.replies.len() + 1 >= number as usize
    }

    fn ready(&self, mut query: Query) -> ReadyQuery {
        query.hear(&self.replies);
        ReadyQuery {
            query,
            since: self.since,
            unaskable: self.broken.clone(),
        }
    }
}

impl Conversations {
    pub(crate) fn new(recall: Recall) -> Self {
        Self {
            recall,
            open: HashMap::new(),
            ready: VecDeque::new(),
            waiting: 0,
        }
    }

    /// Takes a query without a row; returns it if it can be sent, else keeps it here.
    pub(crate) fn admit(&mut self, query: Query) -> Option<ReadyQuery> {
        let live = query.turn.as_ref().filter(|turn| turn.live.is_some());
        let Some(number) = live.map(|turn| turn.number) else {
            return Some(ReadyQuery {
                query,
                since: None,
                unaskable: None,
            });
        };
        let first = query.first_turn();
        let recall = &self.recall;
        let conversation = self.open.entry(first).or_insert_with(|| {
            // Earlier turns are in an earlier part of the run.
            let mut conversation = Conversation::default();
            for (before, number) in (first..query.index).zip(1..) {
                conversation.hear(number, recall(before));
            }
            conversation
        });
        if conversation.is_ready(number) {
            return Some(conversation.ready(query));
        }
        conversation.waiting.push_back(query);
        self.waiting += 1;
        None
    }

    /// Records a finished query.
    pub(crate) fn landed(&mut self, query: &Query, reply: &Reply, at: Timestamp) {
        let Some(turn) = query.turn.as_ref() else {
            return;
        };
        let Some(live) = turn.live.as_ref() else {
            return;
        };
        let first = query.first_turn();
        if turn.number >= live.of {
            self.open.remove(&first);
            return;
        }
        let Some(conversation) = self.open.get_mut(&first) else {
            return;
        };
        let heard = reply
            .outcome
            .is_answered()
            .then(|| Message::reply(&reply.answer, reply.tool_calls.as_deref()));
        conversation.hear(turn.number, Ok(heard));
        conversation.since = Some(at);
        // A broken conversation gets one failed row for each remaining turn.
        if let Some(next) = conversation.waiting.pop_front() {
            self.waiting -= 1;
            self.ready.push_back(conversation.ready(next));
        }
    }

    /// The next turn that can be sent.
    pub(crate) fn take(&mut self) -> Option<ReadyQuery> {
        self.ready.pop_front()
    }

    /// Whether no turn is waiting or ready.
    pub(crate) fn is_over(&self) -> bool {
        self.ready.is_empty() && self.waiting == 0
    }
}

#[cfg(test)]
mod tests {
    use ipw_core::query::{LiveTurn, Turn};
    use ipw_core::reply::{Failure, Outcome};

    use super::*;

    fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    /// A turn of a conversation of three, by the index of the first turn and its number.
    fn turn(first: u64, number: u32) -> Query {
        let texts = ["a", "b", "c"];
        let asked = &texts[..number as usize];
        Query {
            index: first + u64::from(number) - 1,
            messages: asked
                .iter()
                .map(|text| Message::of("user", *text))
                .collect(),
            turn: Some(Turn {
                conversation: first.to_string(),
                number,
                live: Some(LiveTurn {
                    of: 3,
                    replies_before: (1..asked.len()).collect(),
                }),
            }),
            ..Query::asking("x".to_owned())
        }
    }

    fn answered(text: &str) -> Reply {
        Reply {
            outcome: Outcome::Complete,
            answer: text.to_owned(),
            ..Reply::unsent(at(0), Failure::Empty, String::new())
        }
    }

    fn failed() -> Reply {
        Reply::unsent(at(0), Failure::Connect, "refused".to_owned())
    }

    fn sent(ready: &ReadyQuery) -> String {
        let texts: Vec<_> = ready.query.messages.iter().map(Message::text).collect();
        texts.join(" ")
    }

    fn no_earlier_part() -> Recall {
        Arc::new(|index| panic!("{index} is not in an earlier part"))
    }

    #[test]
    fn a_turn_waits_for_the_reply_to_the_one_before_it() {
        let mut all = Conversations::new(no_earlier_part());
        let first = all.admit(turn(5, 1)).unwrap();
        assert_eq!((sent(&first).as_str(), first.since), ("a", None));
        assert!(all.admit(turn(5, 2)).is_none() && all.admit(turn(5, 3)).is_none());
        let other = all.admit(turn(8, 1)).unwrap();
        assert!(all.take().is_none() && !all.is_over());

        all.landed(&first.query, &answered("A"), at(7));
        let second = all.take().unwrap();
        assert_eq!(
            (sent(&second).as_str(), second.since),
            ("a A b", Some(at(7)))
        );
        assert!(all.take().is_none(), "one turn at a time");
        all.landed(&other.query, &answered("X"), at(8));
        assert!(
            all.take().is_none(),
            "the other conversation's turns have not arrived"
        );
        let later = all.admit(turn(8, 2)).unwrap();
        assert_eq!((sent(&later).as_str(), later.since), ("a X b", Some(at(8))));

        all.landed(&second.query, &answered("B"), at(9));
        let third = all.take().unwrap();
        assert_eq!(sent(&third), "a A b B c");
        all.landed(&third.query, &answered("C"), at(10));
        assert!(all.is_over());
        assert_eq!(all.open.len(), 1, "finished conversations are removed");
    }

    #[test]
    fn turns_behind_one_that_failed_cannot_be_asked_and_are_not_lost() {
        let mut all = Conversations::new(no_earlier_part());
        let first = all.admit(turn(0, 1)).unwrap();
        assert!(all.admit(turn(0, 2)).is_none());
        all.landed(&first.query, &failed(), at(1));
        let second = all.take().unwrap();
        let why = "turn 1 of the conversation was not answered";
        assert_eq!(second.unaskable.as_deref(), Some(why));
        all.landed(&second.query, &failed(), at(2));
        let third = all.admit(turn(0, 3)).unwrap();
        assert_eq!(
            third.unaskable.as_deref(),
            Some(why),
            "the first reason is kept"
        );
        assert!(all.is_over());
    }

    #[test]
    fn replies_of_an_earlier_part_are_recalled() {
        let recall: Recall = Arc::new(|index| match index {
            10 => Ok(Some(Message::reply("A", None))),
            11 => Ok(Some(Message::reply("B", None))),
            20 => Ok(None),
            _ => Err("gone".to_owned()),
        });
        let mut all = Conversations::new(recall);
        let third = all.admit(turn(10, 3)).unwrap();
        assert_eq!((sent(&third).as_str(), third.since), ("a A b B c", None));
        let failed = all.admit(turn(20, 2)).unwrap();
        assert!(failed.unaskable.unwrap().contains("turn 1"));
        let unread = all.admit(turn(30, 2)).unwrap();
        assert!(unread.unaskable.unwrap().contains("gone"));
    }

    #[test]
    fn what_is_no_turn_never_waits() {
        let mut all = Conversations::new(no_earlier_part());
        let alone = all.admit(Query::asking("x".to_owned())).unwrap();
        assert!(alone.since.is_none() && alone.unaskable.is_none());
        all.landed(&alone.query, &answered("y"), at(1));
        assert!(all.is_over() && all.open.is_empty());
    }
}
