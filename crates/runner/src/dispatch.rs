//! Sending one query and making its row.

use std::sync::Arc;

use ipw_clients::{Client, Request};
use ipw_core::query::Query;
use ipw_core::reply::Reply;
use ipw_core::time::{Clock, Timestamp};

use crate::{Interrupt, Plan};

/// Sends queries by one plan through one client.
pub(crate) struct Dispatch<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) client: &'a dyn Client,
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) interrupt: &'a Interrupt,
}

impl Dispatch<'_> {
    /// Sends `query` and waits for what comes of it.
    pub(crate) async fn send(&self, query: &Query) -> Reply {
        let parameters = self.plan.parameters_over(&query.parameters);
        let request = Request {
            query,
            model: &self.plan.model,
            system: self.plan.generation.system.as_deref(),
            parameters: &parameters,
            timeout: self.plan.load.request_timeout,
            first_token_timeout: self.plan.load.first_token_timeout,
            idle_timeout: self.plan.load.idle_timeout,
            cancel: self.interrupt.cancel(),
        };
        self.client.send(request).await
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
