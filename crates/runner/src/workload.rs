//! The queries of a run, in order: the dataset once or again and again, without those that an
//! earlier part has done.

use std::num::NonZeroU64;

use ipw_core::query::Query;
use ipw_datasets::{Dataset, DatasetError};

use crate::{Done, Stop};

type Queries<'a> = Box<dyn Iterator<Item = Result<Query, DatasetError>> + Send + 'a>;

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
    /// Queries that went out, in this part or an earlier one.
    sent: u64,
    next: Option<Query>,
}

impl<'a> Workload<'a> {
    /// `rounds` times the dataset; `None`: as long as somebody asks.
    pub(crate) fn new(
        dataset: &'a dyn Dataset,
        rounds: Option<NonZeroU64>,
        stop: Stop,
        done: &'a Done,
    ) -> Result<Self, DatasetError> {
        let mut workload = Self {
            dataset,
            done,
            stop,
            queries: dataset.queries()?,
            rounds: rounds.map(|rounds| rounds.get() - 1),
            before: 0,
            in_round: 0,
            sent: 0,
            next: None,
        };
        workload.next = workload.read()?;
        Ok(workload)
    }

    /// The query that comes next, ready before it is due.
    pub(crate) fn peek(&self) -> Option<&Query> {
        self.next.as_ref()
    }

    /// Takes the next query and reads the one behind it.
    pub(crate) fn take(&mut self) -> Result<Option<Query>, DatasetError> {
        let taken = self.next.take();
        if taken.is_some() {
            self.sent += 1;
            self.next = self.read()?;
        }
        Ok(taken)
    }

    fn read(&mut self) -> Result<Option<Query>, DatasetError> {
        loop {
            if self.stop.is_reached(self.sent) {
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
            if self.done.contains(query.index) {
                self.sent += 1;
                continue;
            }
            return Ok(Some(query));
        }
    }
}
