//! Sends one query, with retries.

use std::sync::Arc;

use ipw_core::client::{Client, Request};
use ipw_core::query::Query;
use ipw_core::reply::Reply;
use ipw_core::time::{Clock, Timestamp};

use crate::{Interrupt, Plan, retry};

/// Sends queries of one plan through one client.
pub(crate) struct Dispatch<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) client: &'a dyn Client,
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) interrupt: &'a Interrupt,
}

impl Dispatch<'_> {
    /// Sends `query`, with the plan's retries.
    ///
    /// Returns the last attempt's reply, with the start of the first attempt.
    pub(crate) async fn send(&self, query: &Query) -> Reply {
        let mut reply = self.once(query).await;
        let start = reply.timing.start;
        let mut asked = reply.exchange.retry_after;
        let mut attempts = 1;
        while attempts <= self.plan.load.retries && retry::is_worth_it(&reply.outcome) {
            let wait = retry::pause(attempts, asked, self.plan.load.seed ^ query.index);
            let mut cancel = self.interrupt.cancel();
            tokio::select! {
                biased;
                () = cancel.cancelled() => break,
                () = tokio::time::sleep(wait) => {}
            }
            reply = self.once(query).await;
            asked = reply.exchange.retry_after.or(asked);
            attempts += 1;
        }
        reply.timing.start = start;
        reply.exchange.attempts = Some(attempts);
        reply.exchange.retry_after = asked;
        reply
    }

    async fn once(&self, query: &Query) -> Reply {
        let parameters = self.plan.parameters_over(&query.parameters);
        let request = Request {
            query,
            model: &self.plan.model,
            system: self.plan.generation.system.as_deref(),
            parameters: &parameters,
            timeout: self.plan.load.request_timeout,
            first_token_timeout: self.plan.load.first_token_timeout,
            idle_timeout: self.plan.load.idle_timeout,
            max_reply: self.plan.load.max_reply,
            cancel: self.interrupt.cancel(),
            witness: None,
        };
        self.client.send(request).await
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
