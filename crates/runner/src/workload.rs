//! The queries of a run, in order: the dataset, once or repeated, without queries that earlier
//! parts finished.

use std::num::NonZeroU64;

use ipw_core::dataset::{Dataset, ReadError};
use ipw_core::query::Query;
use ipw_core::reply::Reply;
use ipw_core::time::Timestamp;

use crate::conversations::{Conversations, ReadyQuery, Recall};
use crate::{FinishedSet, Stop};

type Queries<'a> = Box<dyn Iterator<Item = Result<Query, ReadError>> + Send + 'a>;

/// The remaining queries.
pub(crate) struct Workload<'a> {
    dataset: &'a dyn Dataset,
    done: &'a FinishedSet,
    stop: Stop,
    queries: Queries<'a>,
    /// Remaining rounds; `None` for unlimited.
    rounds: Option<u64>,
    /// Number of queries in earlier rounds.
    before: u64,
    /// Number of queries in this round.
    in_round: u64,
    /// Number of queries that were read, or finished in an earlier part.
    read: u64,
    conversations: Conversations,
    next: Option<ReadyQuery>,
}

impl<'a> Workload<'a> {
    /// `rounds` times the dataset; `None` for unlimited.
    pub(crate) fn new(
        dataset: &'a dyn Dataset,
        rounds: Option<NonZeroU64>,
        stop: Stop,
        done: &'a FinishedSet,
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

    /// The next query that does not wait, read ahead of its due time.
    pub(crate) fn peek(&self) -> Option<&Query> {
        self.next.as_ref().map(|ready| &ready.query)
    }

    /// Takes a query that can be sent, turns of open conversations first. `None` does not mean the
    /// end: turns may still wait.
    pub(crate) fn take(&mut self) -> Result<Option<ReadyQuery>, ReadError> {
        if let Some(turn) = self.conversations.take() {
            return Ok(Some(turn));
        }
        let taken = self.next.take();
        if taken.is_some() {
            self.next = self.read_on()?;
        }
        Ok(taken)
    }

    /// Records a finished query.
    pub(crate) fn landed(&mut self, query: &Query, reply: &Reply, at: Timestamp) {
        self.conversations.landed(query, reply, at);
    }

    /// Whether no query is left, ready or waiting.
    pub(crate) fn is_over(&self) -> bool {
        self.next.is_none() && self.conversations.is_over()
    }

    /// Reads up to the next query that can be sent; turns that must wait are set aside.
    fn read_on(&mut self) -> Result<Option<ReadyQuery>, ReadError> {
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
            // Makes a row's index unique in the run, over all rounds.
            query.index += self.before;
            self.read += 1;
            if self.done.contains(query.index) {
                continue;
            }
            return Ok(Some(query));
        }
    }
}
