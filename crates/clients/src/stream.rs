//! One streamed chat on the timed path, for every API: send, read, enforce limits, make the reply.
//!
//! A client defines how its stream is split and what events mean ([`Chat`]). Timestamps, limits,
//! cancelling and broken exchanges are handled here.

mod calls;
mod progress;
#[cfg(test)]
pub(crate) mod replay;
mod transcript;
mod watch;

pub(crate) use calls::{CallPiece, Calls};
pub(crate) use transcript::{Piece, Transcript, some_text};

use std::time::Duration;

use ipw_core::client::Request;
use ipw_core::reply::{Failure, Outcome, Reply, ServiceTiming, Timing, TokenCounts, TokenSource};
use ipw_core::text::excerpt;
use ipw_core::time::Timestamp;
use ipw_core::witness::{ExchangeEvent, Witness};
use serde::Deserialize;
use tokio::task::unconstrained;
use tokio::time::timeout;

use crate::fault::{self, FailedRequest};
use crate::http::{Body, HttpError, HttpReply};
use crate::service::Service;
use crate::sse::TooLarge;
use crate::{ndjson, sse};
use progress::{Patience, Progress, StreamEnd};
use watch::{NoWitness, Watch, WitnessWatch};

/// How long to wait for the end of the body after the last event, before closing the connection.
const AFTERMATH: Duration = Duration::from_millis(100);
/// How many bytes may follow the last event.
const AFTERMATH_BYTES: usize = 64 << 10;
/// How many bytes of an error's body are read.
const ERROR_BODY: usize = 64 << 10;

/// Splits bytes into events, wherever the reads cut them.
pub(crate) trait Split: Default + Send {
    /// Calls `each` with every event that `bytes` completes.
    fn push(&mut self, bytes: &[u8], each: impl FnMut(&[u8])) -> Result<(), TooLarge>;

    /// Ends the stream; calls `each` with what is complete apart from its end.
    fn finish(&mut self, each: impl FnMut(&[u8]));
}

/// Assembles a reply from events.
pub(crate) trait Chat: Default + Send {
    type Splitter: Split;
    /// The media type to ask for.
    const ACCEPT: &'static str;
    /// The kind of stream, for messages.
    const STREAM: &'static str;

    /// Takes one event received at `at`.
    fn event(&mut self, data: &[u8], at: Timestamp);

    /// Whether the last event arrived. Later bytes are not part of the reply.
    fn is_done(&self) -> bool;

    /// An invalid event, or an error that the service reported.
    fn fault(&self) -> Option<&(Outcome, String)>;

    /// Whether to stop reading.
    fn is_broken(&self) -> bool {
        self.fault().is_some()
    }

    /// The outcome of a finished reply without a fault.
    fn ended(&self) -> (Outcome, Option<String>);

    /// The outcome of a finished reply.
    fn outcome(&self) -> (Outcome, Option<String>) {
        match self.fault() {
            Some((outcome, text)) => (outcome.clone(), Some(text.clone())),
            None => self.ended(),
        }
    }

    /// Token counts and their source.
    fn tokens(&self) -> (TokenCounts, Option<TokenSource>);

    /// A note if another source of the same service counts differently.
    fn token_note(&self) -> Option<String> {
        None
    }

    /// The durations that the service reports.
    fn service_timing(&self) -> ServiceTiming;

    /// The texts received so far.
    fn transcript(&self) -> &Transcript;

    fn into_transcript(self) -> Transcript;
}

/// The outcome of a stream without a reply; `is_done` if the service ended it properly.
pub(crate) fn without_reply(is_done: bool) -> (Outcome, Option<String>) {
    let (failure, text) = if is_done {
        (
            Failure::Empty,
            "the service ended the stream without a reply",
        )
    } else {
        (Failure::Closed, "the stream ended before a reply came")
    };
    (Outcome::Failed(failure), Some(text.to_owned()))
}

/// Parses an event as JSON. `serde_json` does not validate strings that it skips, so the whole
/// event is checked for UTF-8 first.
pub(crate) fn parse<'a, T: Deserialize<'a>>(data: &'a [u8]) -> Result<T, String> {
    let text = std::str::from_utf8(data).map_err(|error| error.to_string())?;
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// The outcome of a stream with an event that does not fit the API.
pub(crate) fn bad_event(data: &[u8], expected: &str, error: &str) -> (Outcome, String) {
    let shown = excerpt(&String::from_utf8_lossy(data), 80);
    let text = format!("an event is not {expected} ({error}): {shown}");
    (Outcome::Failed(Failure::BadEvent), text)
}

/// The outcome of a stream that ended in the middle of a reply.
pub(crate) fn cut_short() -> (Outcome, Option<String>) {
    let text = "the stream ended in the middle of the reply".to_owned();
    (Outcome::Failed(Failure::Closed), Some(text))
}

impl Split for sse::Splitter {
    fn push(&mut self, bytes: &[u8], each: impl FnMut(&[u8])) -> Result<(), TooLarge> {
        self.push(bytes, each)
    }

    fn finish(&mut self, each: impl FnMut(&[u8])) {
        self.finish(each);
    }
}

impl Split for ndjson::Splitter {
    fn push(&mut self, bytes: &[u8], each: impl FnMut(&[u8])) -> Result<(), TooLarge> {
        self.push(bytes, each)
    }

    fn finish(&mut self, each: impl FnMut(&[u8])) {
        self.finish(each);
    }
}

impl Service {
    /// Sends one query of `client` to `endpoint`; every error becomes a reply too. The body is
    /// built after the start, so its time counts in the latency. If it cannot be built, nothing is
    /// sent.
    pub(crate) async fn chat<C: Chat>(
        &self,
        client: &'static str,
        endpoint: &str,
        mut request: Request<'_>,
        body: impl FnOnce(&Request<'_>) -> Result<Vec<u8>, String> + Send,
    ) -> Reply {
        let start = self.clock.now();
        let mut progress = Progress::<C>::begun(start);
        let body = match body(&request) {
            Ok(body) => body,
            Err(problem) => {
                let ended = HttpError::new(Failure::Parameter, problem).into();
                return progress.reply(ended, self.clock.now());
            }
        };
        let asked = FailedRequest {
            client,
            endpoint,
            model: request.model,
        };
        let patience = Patience {
            clock: self.clock.as_ref(),
            start,
            whole: request.timeout,
            first_token: request.first_token_timeout,
            idle: request.idle_timeout,
            most: request.max_reply,
        };
        let witness = request.witness;
        // Sockets yield by themselves (`http/turn`). The runtime's budget must not apply: a stream
        // that used it up would keep the two branches below from being polled.
        let (ended, left) = unconstrained(async {
            tokio::select! {
                biased;
                ended = self.exchange(asked, body, &patience, &mut progress, witness) => {
                    match ended {
                        Ok(left) => (StreamEnd::ByItself, left),
                        Err(ended) => (ended, None),
                    }
                }
                () = request.cancel.cancelled() => (StreamEnd::Cancelled, None),
                () = tokio::time::sleep(request.timeout) => (patience.too_long(), None),
            }
        })
        .await;
        let reply = progress.reply(ended, self.clock.now());
        if let Some(body) = left {
            self.free(body).await;
        }
        reply
    }

    /// Keeps the connection of a complete reply for the next query, if the body ends in time. The
    /// reply does not change.
    async fn free(&self, mut body: Body) {
        let mut rest = 0;
        let ends = async {
            while !body.is_over() && rest <= AFTERMATH_BYTES {
                match body.next().await {
                    Ok(Some((bytes, _))) => rest += bytes.len(),
                    _ => return,
                }
            }
        };
        let _ = timeout(AFTERMATH, ends).await;
        self.pool.give_back(body);
    }

    /// Runs the exchange; returns the rest of the body of a complete reply.
    async fn exchange<C: Chat>(
        &self,
        asked: FailedRequest<'_>,
        body: Vec<u8>,
        patience: &Patience<'_>,
        progress: &mut Progress<C>,
        witness: Option<&dyn Witness>,
    ) -> Result<Option<Body>, StreamEnd> {
        let Progress {
            chat,
            timing,
            exchange,
        } = progress;
        let request = self.post(asked.endpoint, C::ACCEPT, &body);
        let mut answered = patience
            .wait(None, self.pool.send(&request, timing, exchange, witness))
            .await?;
        timing.end = timing.first_byte.unwrap_or(timing.end);
        if let Some(witness) = witness {
            witness.saw(ExchangeEvent::Answered {
                at: timing.end,
                status: &answered.head.status.to_string(),
                headers: &answered.body.headers(),
            });
        }
        if let Some(compressed) = compressed(&answered) {
            exchange.retry_after = retry_after(&answered);
            return Err(compressed.into());
        }
        if !answered.head.status.is_success() {
            exchange.retry_after = retry_after(&answered);
            let body = error_body(&mut answered, timing).await;
            let code = answered.head.status.code;
            let status = format!("{}{}", answered.head.status, self.way());
            let (outcome, text) = fault::of_status(&status, code, &body, asked);
            return Err(StreamEnd::Answered(outcome, text));
        }
        if let Some(kind) = not_a_stream(&answered) {
            let body = answered.body.collect(ERROR_BODY).await?;
            let shown = excerpt(&String::from_utf8_lossy(&body), 200);
            let text = format!("the reply is `{kind}`, not {}: {shown}", C::STREAM);
            return Err(HttpError::new(Failure::NotAStream, text).into());
        }
        match witness {
            None => read(&mut answered, chat, patience, timing, &NoWitness).await?,
            Some(witness) => {
                let watch = WitnessWatch(witness);
                read(&mut answered, chat, patience, timing, &watch).await?;
            }
        }
        Ok((!chat.is_broken()).then_some(answered.body))
    }
}

/// Reads the stream into `chat`; fails on splitter or transport errors and on limits.
async fn read<C: Chat>(
    answered: &mut HttpReply,
    chat: &mut C,
    patience: &Patience<'_>,
    timing: &mut Timing,
    watch: &impl Watch,
) -> Result<(), StreamEnd> {
    let mut splitter = C::Splitter::default();
    let mut last_event = None;
    let mut received = 0;
    while !chat.is_done() && !chat.is_broken() {
        let quiet_since = chat.transcript().first_token.and(last_event);
        let next = patience.wait(quiet_since, answered.body.next()).await?;
        let Some((bytes, stamp)) = next else {
            splitter.finish(|data| watch.event(chat, data, timing.end));
            return Ok(());
        };
        timing.came(stamp);
        let at = stamp.at;
        received += bytes.len() as u64;
        watch.read(bytes.len(), stamp);
        let each = |data: &[u8]| {
            watch.event(chat, data, at);
            last_event = Some(at);
        };
        splitter
            .push(bytes, each)
            .map_err(|error| HttpError::new(Failure::TooLarge, error.to_string()))?;
        if !chat.is_done() && !chat.is_broken() {
            // A read that is always ready never lets the timers run.
            patience.check(chat.transcript().first_token.and(last_event), at)?;
            patience.check_size(received)?;
        }
    }
    Ok(())
}

/// The delay in `retry-after`. Dates are not supported: overloaded services send seconds.
fn retry_after(answered: &HttpReply) -> Option<Duration> {
    let seconds: f64 = answered.head.retry_after.as_ref()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The error for a compressed body: the request did not allow it, and it cannot be read as text. An
/// error status keeps its failure.
pub(crate) fn compressed(answered: &HttpReply) -> Option<HttpError> {
    let coding = excerpt(answered.head.compression.as_deref()?, 40);
    let status = &answered.head.status;
    let text = format!(
        "the body of the reply ({status}) is compressed (`{coding}`), which the request does not \
         allow; turn compression off in the service or the proxy in front of it"
    );
    let failure = if status.is_success() {
        Failure::NotAStream
    } else {
        Failure::Http(status.code)
    };
    Some(HttpError::new(failure, text))
}

/// The content type, if it excludes a stream.
fn not_a_stream(answered: &HttpReply) -> Option<String> {
    let kind = answered.head.content_type.as_deref()?;
    let is_other = ["application/json", "text/html"]
        .iter()
        .any(|other| kind.starts_with(other));
    is_other.then(|| kind.to_owned())
}

async fn error_body(answered: &mut HttpReply, timing: &mut Timing) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < ERROR_BODY {
        let Ok(Some((bytes, stamp))) = answered.body.next().await else {
            break;
        };
        timing.came(stamp);
        body.extend_from_slice(bytes);
    }
    body
}
