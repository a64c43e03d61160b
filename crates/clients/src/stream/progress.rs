//! The state of a reply in flight, its time limits, and its conversion to a row.

use std::time::Duration;

use ipw_core::reply::{Exchange, Failure, Outcome, Reply, Timing};
use ipw_core::size;
use ipw_core::time::{Clock, Timestamp};
use tokio::time::timeout;

use super::Chat;
use crate::http::HttpError;

/// The state of a reply in flight.
pub(super) struct Progress<C> {
    pub(super) chat: C,
    pub(super) timing: Timing,
    pub(super) exchange: Exchange,
}

/// Why reading stopped.
pub(super) enum StreamEnd {
    ByItself,
    Broken(HttpError),
    /// An HTTP error: its outcome and text.
    Answered(Outcome, String),
    Cancelled,
    /// Which limit passed, as text.
    TimedOut(String),
}

impl From<HttpError> for StreamEnd {
    fn from(error: HttpError) -> Self {
        Self::Broken(error)
    }
}

impl<C: Chat> Progress<C> {
    pub(super) fn begun(start: Timestamp) -> Self {
        Self {
            chat: C::default(),
            timing: Timing::begun(start),
            exchange: Exchange::default(),
        }
    }

    pub(super) fn reply(self, ended: StreamEnd, now: Timestamp) -> Reply {
        let Self {
            chat,
            mut timing,
            exchange,
        } = self;
        let (outcome, error) = match ended {
            StreamEnd::ByItself => chat.outcome(),
            StreamEnd::Broken(error) => (Outcome::Failed(error.failure), Some(error.text)),
            StreamEnd::Answered(outcome, text) => (outcome, Some(text)),
            StreamEnd::Cancelled => (Outcome::Cancelled, Some("cancelled".to_owned())),
            StreamEnd::TimedOut(text) => (Outcome::TimedOut, Some(text)),
        };
        if !outcome.is_answered() {
            timing.end = now;
        }
        let (tokens, token_source) = chat.tokens();
        let token_note = chat.token_note();
        let service_timing = chat.service_timing();
        let came = chat.into_transcript();
        timing.first_token = came.first_token;
        timing.first_answer_token = came.first_answer_token;
        timing.chunks = came.chunks;
        Reply {
            outcome,
            error,
            answer: came.answer,
            reasoning: Some(came.reasoning).filter(|reasoning| !reasoning.is_empty()),
            tool_calls: came.calls.json(),
            finish_reason: came.finish_reason,
            tokens,
            token_source,
            token_note,
            timing,
            exchange,
            service_timing,
            compute: None,
        }
    }
}

/// Limits of time and size for one query.
pub(super) struct Patience<'a> {
    pub(super) clock: &'a dyn Clock,
    pub(super) start: Timestamp,
    /// For the whole reply, from the start.
    pub(super) whole: Duration,
    /// For the first token, from the start.
    pub(super) first_token: Option<Duration>,
    /// For the next event, from the previous one, after the first token.
    pub(super) idle: Option<Duration>,
    /// Maximum size of the body, in bytes.
    pub(super) most: u64,
}

impl Patience<'_> {
    /// Awaits `step` within the limit. `quiet_since` is the last event's time, after the first
    /// token.
    pub(super) async fn wait<T>(
        &self,
        quiet_since: Option<Timestamp>,
        step: impl Future<Output = Result<T, HttpError>>,
    ) -> Result<T, StreamEnd> {
        let Some((limit, since)) = self.limit(quiet_since) else {
            return Ok(step.await?);
        };
        let left = limit.saturating_sub(self.clock.now().since(since));
        match timeout(left, step).await {
            Ok(stepped) => Ok(stepped?),
            Err(_) => Err(silent(limit, quiet_since)),
        }
    }

    /// Checks the limits after a read that did not end the reply.
    pub(super) fn check(
        &self,
        quiet_since: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<(), StreamEnd> {
        if at.since(self.start) >= self.whole {
            return Err(self.too_long());
        }
        match self.limit(quiet_since) {
            Some((limit, since)) if at.since(since) >= limit => Err(silent(limit, quiet_since)),
            _ => Ok(()),
        }
    }

    /// Checks the size limit after `received` bytes.
    pub(super) fn check_size(&self, received: u64) -> Result<(), StreamEnd> {
        if received <= self.most {
            return Ok(());
        }
        let text = format!("the reply is larger than {}", size::shown(self.most));
        Err(HttpError::new(Failure::TooLarge, text).into())
    }

    /// The current limit and its start.
    fn limit(&self, quiet_since: Option<Timestamp>) -> Option<(Duration, Timestamp)> {
        match quiet_since {
            None => Some((self.first_token?, self.start)),
            Some(last_event) => Some((self.idle?, last_event)),
        }
    }

    /// The error for the limit of the whole reply.
    pub(super) fn too_long(&self) -> StreamEnd {
        StreamEnd::TimedOut(format!("the reply did not finish within {:?}", self.whole))
    }
}

fn silent(limit: Duration, quiet_since: Option<Timestamp>) -> StreamEnd {
    StreamEnd::TimedOut(match quiet_since {
        Some(_) => format!("nothing came for {limit:?} in the middle of the reply"),
        None => format!("no token came within {limit:?}"),
    })
}
