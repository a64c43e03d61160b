//! Parts of a run from closures and lists: the short way to a client, a collector or a dataset of
//! your own. For more, implement [`Client`], [`Collector`] or [`Dataset`].

use std::sync::Arc;
use std::time::Duration;

use ipw_core::client::{BoxFuture, Client, CloseError, NotReady, Request};
use ipw_core::counter::Rollover;
use ipw_core::dataset::{Dataset, Queries, ReadError};
use ipw_core::query::Query;
use ipw_core::reply::{Failure, Outcome, Reply, TokenCounts, TokenSource};
use ipw_core::shape::Shape;
pub use ipw_core::source::Domain;
use ipw_core::source::{Method, Quantity, Source};
use ipw_core::time::{Clock, Timestamp};
use ipw_telemetry::{Collector, PollError};
use serde_json::{Value, json};

/// What a closure answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The text.
    pub text: String,
    /// Tokens of the prompt; `None` where they are not known.
    pub input_tokens: Option<u64>,
    /// Tokens generated; `None` where they are not known.
    pub output_tokens: Option<u64>,
}

impl<T: Into<String>> From<T> for Answer {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// Answers a prompt, or says why not.
pub(crate) type Answering =
    Box<dyn Fn(String) -> BoxFuture<'static, Result<Answer, String>> + Send + Sync>;

/// A client that asks a closure. The reply comes whole, so its first token is its last.
pub(crate) struct OwnClient {
    id: &'static str,
    answer: Answering,
    clock: Arc<dyn Clock>,
}

impl OwnClient {
    pub(crate) const fn new(id: &'static str, answer: Answering, clock: Arc<dyn Clock>) -> Self {
        Self { id, answer, clock }
    }

    async fn ask(&self, mut request: Request<'_>) -> Reply {
        let start = self.clock.now();
        let failed = |failure, why: &str| Reply::unsent(start, failure, why.to_owned());
        let answered = (self.answer)(request.query.problem.clone());
        let mut reply = tokio::select! {
            answered = answered => match answered {
                Ok(answer) => whole(answer, start),
                Err(why) => failed(Failure::Service, &why),
            },
            () = tokio::time::sleep(request.timeout) => Reply {
                outcome: Outcome::TimedOut,
                ..failed(Failure::Service, "the reply was not over in time")
            },
            () = request.cancel.cancelled() => Reply {
                outcome: Outcome::Cancelled,
                ..failed(Failure::Service, "cancelled")
            },
        };
        let end = self.clock.now();
        reply.timing.end = end;
        if reply.outcome.is_answered() {
            reply.timing.sent = Some(start);
            reply.timing.first_byte = Some(end);
            reply.timing.first_token = Some(end);
            reply.timing.first_answer_token = Some(end);
            reply.timing.chunks.push(end);
        }
        reply
    }
}

fn whole(answer: Answer, start: Timestamp) -> Reply {
    let is_counted = answer.input_tokens.is_some() || answer.output_tokens.is_some();
    Reply {
        outcome: Outcome::Complete,
        error: None,
        answer: answer.text,
        tokens: TokenCounts {
            input: answer.input_tokens,
            output: answer.output_tokens,
            ..TokenCounts::default()
        },
        token_source: is_counted.then_some(TokenSource::Usage),
        ..Reply::unsent(start, Failure::Empty, String::new())
    }
}

impl Client for OwnClient {
    fn id(&self) -> &'static str {
        self.id
    }

    fn name(&self) -> &'static str {
        self.id
    }

    fn base_url(&self) -> &'static str {
        "in this process"
    }

    fn in_process(&self) -> bool {
        true
    }

    fn health(&self) -> BoxFuture<'_, Result<(), NotReady>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn prepare<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<String>, NotReady>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, NotReady>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn describe(&self) -> BoxFuture<'_, Value> {
        Box::pin(std::future::ready(json!({ "client": self.id })))
    }

    fn send<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Reply> {
        Box::pin(self.ask(request))
    }

    fn close(&self) -> BoxFuture<'_, Result<(), CloseError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A collector of one source that a closure reads.
///
/// The closure runs on a thread of its own and may wait for the device. An error is a passing fault:
/// the time until the next value is a gap, and the fault is in the summary.
///
/// ```
/// use ipw::own::{Domain, Meter};
/// use std::time::Duration;
///
/// let plug = Meter::power("plug", Domain::Platform, Duration::from_millis(100), || Ok(42.0));
/// # let _ = plug;
/// ```
pub struct Meter {
    id: &'static str,
    source: Source,
    period: Duration,
    read: Box<dyn FnMut() -> Result<f64, String> + Send>,
}

impl Meter {
    /// A meter of power: `read` returns watts. `period` is how often the device has a new value.
    pub fn power(
        id: &'static str,
        domain: Domain,
        period: Duration,
        read: impl FnMut() -> Result<f64, String> + Send + 'static,
    ) -> Self {
        let averaging = Duration::ZERO;
        let quantity = Quantity::Power { domain, averaging };
        Self::of(id, quantity, Method::Integrated, period, Box::new(read))
    }

    /// A counter of energy: `read` returns joules since some moment. A decrease is a reset.
    pub fn energy(
        id: &'static str,
        domain: Domain,
        period: Duration,
        read: impl FnMut() -> Result<f64, String> + Send + 'static,
    ) -> Self {
        let rollover = Rollover::Resets;
        let quantity = Quantity::Energy { domain, rollover };
        Self::of(id, quantity, Method::Counter, period, Box::new(read))
    }

    fn of(
        id: &'static str,
        quantity: Quantity,
        method: Method,
        period: Duration,
        read: Box<dyn FnMut() -> Result<f64, String> + Send>,
    ) -> Self {
        Self {
            id,
            source: Source {
                name: id.to_owned(),
                collector: id.into(),
                host: None,
                device: None,
                quantity,
                method,
                period: Some(period),
                privilege: "none".into(),
                relative_sigma: None,
            },
            period,
            read,
        }
    }
}

impl Collector for Meter {
    fn id(&self) -> &'static str {
        self.id
    }

    fn sources(&self) -> &[Source] {
        std::slice::from_ref(&self.source)
    }

    fn interval(&self, wanted: Duration) -> Duration {
        wanted.max(self.period / 2)
    }

    fn poll(
        &mut self,
        clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError> {
        let value = (self.read)().map_err(PollError::Retry)?;
        take(0, clock.now(), value);
        Ok(())
    }
}

/// Prompts in memory, each with a reference answer or without.
pub struct Prompts {
    name: String,
    asked: Vec<(String, Option<String>)>,
    shape: Shape,
}

impl Prompts {
    /// Prompts with their reference answers.
    pub fn new<P: Into<String>, A: Into<String>>(
        name: impl Into<String>,
        prompts: impl IntoIterator<Item = (P, Option<A>)>,
    ) -> Self {
        let prompts = prompts.into_iter();
        Self {
            name: name.into(),
            asked: prompts
                .map(|(prompt, answer)| (prompt.into(), answer.map(Into::into)))
                .collect(),
            shape: Shape::Struct(vec![("row".to_owned(), Shape::Int)]),
        }
    }
}

impl Dataset for Prompts {
    fn id(&self) -> &str {
        &self.name
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> Option<u64> {
        Some(self.asked.len() as u64)
    }

    fn metadata_shape(&self) -> &Shape {
        &self.shape
    }

    fn queries(&self) -> Result<Queries<'_>, ReadError> {
        let queries = (0_u64..).zip(&self.asked).map(|(index, (prompt, answer))| {
            let mut query = Query::asking(prompt.clone());
            query.index = index;
            query.id = index.to_string();
            query.answer.clone_from(answer);
            query.metadata.insert("row".to_owned(), index.into());
            Ok(query)
        });
        Ok(Box::new(queries))
    }
}
