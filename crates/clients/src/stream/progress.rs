//! What is known of a reply at any moment, how long to wait for more, and the row it becomes.

use std::time::Duration;

use ipw_core::reply::{Exchange, Failure, Outcome, Reply, Timing};
use ipw_core::size;
use ipw_core::time::{Clock, Timestamp};
use tokio::time::timeout;

use super::Chat;
use crate::http::HttpError;

/// What is known of a reply at any moment.
pub(super) struct Progress<C> {
    pub(super) chat: C,
    pub(super) timing: Timing,
    pub(super) exchange: Exchange,
}

/// Why nothing more is read.
pub(super) enum Ended {
    ByItself,
    Broken(HttpError),
    /// With another answer than a stream, and what it means.
    Answered(Outcome, String),
    Cancelled,
    /// With what did not happen in time.
    TimedOut(String),
}

impl From<HttpError> for Ended {
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

    pub(super) fn reply(self, ended: Ended, now: Timestamp) -> Reply {
        let Self {
            chat,
            mut timing,
            exchange,
        } = self;
        let (outcome, error) = match ended {
            Ended::ByItself => chat.outcome(),
            Ended::Broken(error) => (Outcome::Failed(error.failure), Some(error.text)),
            Ended::Answered(outcome, text) => (outcome, Some(text)),
            Ended::Cancelled => (Outcome::Cancelled, Some("cancelled".to_owned())),
            Ended::TimedOut(text) => (Outcome::TimedOut, Some(text)),
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

/// How long the service may keep us waiting within one query, and how much it may send.
pub(super) struct Patience<'a> {
    pub(super) clock: &'a dyn Clock,
    pub(super) start: Timestamp,
    /// For the whole reply, from the start.
    pub(super) whole: Duration,
    /// For the first token, from the start.
    pub(super) first_token: Option<Duration>,
    /// For every event after it, from the one before.
    pub(super) idle: Option<Duration>,
    /// Bytes of the body.
    pub(super) most: u64,
}

impl Patience<'_> {
    /// Waits for `step`. `quiet_since` is the last event, once the first token has come.
    pub(super) async fn wait<T>(
        &self,
        quiet_since: Option<Timestamp>,
        step: impl Future<Output = Result<T, HttpError>>,
    ) -> Result<T, Ended> {
        let Some((limit, since)) = self.limit(quiet_since) else {
            return Ok(step.await?);
        };
        let left = limit.saturating_sub(self.clock.now().since(since));
        match timeout(left, step).await {
            Ok(stepped) => Ok(stepped?),
            Err(_) => Err(silent(limit, quiet_since)),
        }
    }

    /// Whether a limit had passed when a read came that did not end the reply.
    pub(super) fn check(&self, quiet_since: Option<Timestamp>, at: Timestamp) -> Result<(), Ended> {
        if at.since(self.start) >= self.whole {
            return Err(self.too_long());
        }
        match self.limit(quiet_since) {
            Some((limit, since)) if at.since(since) >= limit => Err(silent(limit, quiet_since)),
            _ => Ok(()),
        }
    }

    /// Whether a body of `received` bytes may still grow.
    pub(super) fn check_size(&self, received: u64) -> Result<(), Ended> {
        if received <= self.most {
            return Ok(());
        }
        let text = format!("the reply is larger than {}", size::shown(self.most));
        Err(HttpError::new(Failure::TooLarge, text).into())
    }

    /// The limit that holds now, and from when it counts.
    fn limit(&self, quiet_since: Option<Timestamp>) -> Option<(Duration, Timestamp)> {
        match quiet_since {
            None => Some((self.first_token?, self.start)),
            Some(last_event) => Some((self.idle?, last_event)),
        }
    }

    /// The whole took too long.
    pub(super) fn too_long(&self) -> Ended {
        Ended::TimedOut(format!("the reply was not over within {:?}", self.whole))
    }
}

fn silent(limit: Duration, quiet_since: Option<Timestamp>) -> Ended {
    Ended::TimedOut(match quiet_since {
        Some(_) => format!("nothing came for {limit:?} in the middle of the reply"),
        None => format!("no token came within {limit:?}"),
    })
}
