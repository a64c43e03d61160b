//! The queries of a run, in order: the dataset once or again and again, without those that an
//! earlier part has done.

use std::num::NonZeroU64;

use ipw_core::dataset::{Dataset, ReadError};
use ipw_core::query::Query;
use ipw_core::reply::Reply;
use ipw_core::time::Timestamp;

use crate::conversations::{Conversations, Ready, Recall};
use crate::{Done, Stop};

type Queries<'a> = Box<dyn Iterator<Item = Result<Query, ReadError>> + Send + 'a>;

/// What is left to send.
pub(crate) struct Workload<'a> {
    dataset: &'a dyn Dataset,
    done: &'a Done,
    stop: Stop,
    queries: Queries<'a>,
    /// Rounds still to come; `None`: for ever.
    rounds: Option<u64>,
    /// Queries of the rounds before.
    before: u64,
    /// Queries of this round.
    in_round: u64,
    /// Queries that were read to go out, or went out in an earlier part.
    read: u64,
    conversations: Conversations,
    next: Option<Ready>,
}

impl<'a> Workload<'a> {
    /// `rounds` times the dataset; `None`: as long as somebody asks.
    pub(crate) fn new(
        dataset: &'a dyn Dataset,
        rounds: Option<NonZeroU64>,
        stop: Stop,
        done: &'a Done,
        recall: Recall,
    ) -> Result<Self, ReadError> {
        let mut workload = Self {
            dataset,
            done,
            stop,
            queries: dataset.queries()?,
            rounds: rounds.map(|rounds| rounds.get() - 1),
            before: 0,
            in_round: 0,
            read: 0,
            conversations: Conversations::new(recall),
            next: None,
        };
        workload.next = workload.read_on()?;
        Ok(workload)
    }

    /// The first query that has nothing to wait for, ready before it is due.
    pub(crate) fn peek(&self) -> Option<&Query> {
        self.next.as_ref().map(|ready| &ready.query)
    }

    /// Takes a query that may go now, turns of conversations under way first. There may be none
    /// although it is not over.
    pub(crate) fn take(&mut self) -> Result<Option<Ready>, ReadError> {
        if let Some(turn) = self.conversations.take() {
            return Ok(Some(turn));
        }
        let taken = self.next.take();
        if taken.is_some() {
            self.next = self.read_on()?;
        }
        Ok(taken)
    }

    /// A query is over.
    pub(crate) fn landed(&mut self, query: &Query, reply: &Reply, at: Timestamp) {
        self.conversations.landed(query, reply, at);
    }

    /// Whether nothing is left, neither to go nor to wait.
    pub(crate) fn is_over(&self) -> bool {
        self.next.is_none() && self.conversations.is_over()
    }

    /// Reads up to the next query that may go; turns on the way wait for theirs.
    fn read_on(&mut self) -> Result<Option<Ready>, ReadError> {
        while let Some(query) = self.read()? {
            if let Some(ready) = self.conversations.admit(query) {
                return Ok(Some(ready));
            }
        }
        Ok(None)
    }

    fn read(&mut self) -> Result<Option<Query>, ReadError> {
        loop {
            if self.stop.is_reached(self.read) {
                return Ok(None);
            }
            let Some(mut query) = self.queries.next().transpose()? else {
                if self.in_round == 0 || self.rounds == Some(0) {
                    return Ok(None);
                }
                self.rounds = self.rounds.map(|rounds| rounds - 1);
                self.before += self.in_round;
                self.in_round = 0;
                self.queries = self.dataset.queries()?;
                continue;
            };
            self.in_round += 1;
            // A row's index is unique in the run, whatever round it belongs to.
            query.index += self.before;
            self.read += 1;
            if self.done.contains(query.index) {
                continue;
            }
            return Ok(Some(query));
        }
    }
}
