//! Any service that speaks OpenAI's chat completions API over server-sent events.

mod chat;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, StatusCode};
use ipw_core::nearest::nearest_few;
use ipw_core::reply::{Exchange, Failure, Outcome, Reply, Timing};
use ipw_core::text::excerpt;
use ipw_core::time::Clock;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::client::{BoxFuture, Client, CloseError, NotReady, Request};
use crate::http::{Answered, BaseUrl, Connector, HttpError, HttpRequest, Pool};
use crate::key::{self, Key};
use crate::sse::Splitter;
use crate::{ClientError, ClientSpec, Known};
use chat::Chat;

pub(crate) const KNOWN: Known = Known {
    id: "openai",
    summary: "any OpenAI-compatible service: /v1/chat/completions, streamed",
    default_url: "http://127.0.0.1:8080/v1",
    params: &[(
        "include_usage",
        "ask for token counts in the stream (default `true`; `false` for services that refuse)",
    )],
    reserved: &["model", "messages", "stream", "stream_options"],
};

/// How long an untimed question (health, models) may take.
const QUESTION_LIMIT: Duration = Duration::from_secs(10);
/// How long the end of the body may take after `[DONE]` before the connection is given up.
const AFTERMATH: Duration = Duration::from_millis(100);
/// How much of an error's body is read.
const ERROR_BODY: usize = 64 << 10;
/// How much of a model list is read.
const LIST_BODY: usize = 16 << 20;

/// The client `openai`.
pub(crate) struct OpenAi {
    url: BaseUrl,
    key: Option<Key>,
    pool: Pool,
    clock: Arc<dyn Clock>,
    include_usage: bool,
}

#[derive(Serialize)]
struct ChatRequest<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(flatten)]
    parameters: Map<String, Value>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

impl OpenAi {
    pub(crate) fn new(spec: &ClientSpec, clock: Arc<dyn Clock>) -> Result<Self, ClientError> {
        let mut params = spec.params.reader("openai");
        let include_usage = params
            .parsed("include_usage", "`true` or `false`")?
            .unwrap_or(true);
        params.finish()?;
        let url = spec.base_url.as_deref().unwrap_or(KNOWN.default_url);
        let url = BaseUrl::parse(url)?.with_v1();
        let key = key::resolve(&spec.key, &url, spec.insecure_key)?;
        let limit = Duration::from_secs_f64(spec.connect_timeout_seconds);
        let pool = Pool::new(Connector::new(url.clone(), limit), Arc::clone(&clock));
        Ok(Self {
            url,
            key,
            pool,
            clock,
            include_usage,
        })
    }

    fn request(&self, method: Method, endpoint: &str, body: Vec<u8>) -> HttpRequest {
        let mut request = hyper::Request::builder()
            .method(method)
            .uri(self.url.path_of(endpoint))
            .header("host", self.url.authority())
            .header("user-agent", concat!("ipw/", env!("CARGO_PKG_VERSION")));
        if !body.is_empty() {
            request = request
                .header("content-type", "application/json")
                .header("accept", "text/event-stream");
        }
        if let Some(key) = &self.key {
            request = request.header("authorization", key.bearer());
        }
        request
            .body(Full::new(Bytes::from(body)))
            .expect("a checked URL and key make valid headers")
    }

    fn body(&self, request: &Request<'_>) -> Vec<u8> {
        let mut messages = Vec::with_capacity(2);
        messages.extend(request.system.map(|content| Message {
            role: "system",
            content,
        }));
        messages.push(Message {
            role: "user",
            content: &request.query.problem,
        });
        let mut parameters = request.parameters.clone();
        parameters.retain(|name, _| !KNOWN.reserved.contains(&name.as_str()));
        let stream_options = self.include_usage.then_some(StreamOptions {
            include_usage: true,
        });
        let body = ChatRequest {
            model: request.model,
            messages,
            stream: true,
            stream_options,
            parameters,
        };
        serde_json::to_vec(&body).expect("texts and JSON values serialize")
    }

    /// An untimed GET below the base URL.
    async fn get(&self, endpoint: &str) -> Result<(StatusCode, Vec<u8>), HttpError> {
        let mut timing = Timing::begun(self.clock.now());
        let mut exchange = Exchange::default();
        let request = self.request(Method::GET, endpoint, Vec::new());
        let ask = async {
            let mut answered = self.pool.send(request, &mut timing, &mut exchange).await?;
            let body = answered.body.collect(LIST_BODY).await?;
            let status = answered.response.status();
            self.pool.give_back(answered.body);
            Ok((status, body))
        };
        timeout(QUESTION_LIMIT, ask).await.unwrap_or_else(|_| {
            let text = format!("no answer within {QUESTION_LIMIT:?}");
            Err(HttpError::new(Failure::Reset, text))
        })
    }

    /// Reads the stream into `chat`; returns the splitter's or transport's fault.
    async fn read(
        &self,
        answered: &mut Answered,
        chat: &mut Chat,
        timing: &mut Timing,
    ) -> Result<(), HttpError> {
        let mut splitter = Splitter::default();
        while !chat.is_done() && !chat.is_broken() {
            let Some((bytes, at)) = answered.body.next().await? else {
                splitter.finish(|data| chat.event(data, timing.end));
                return Ok(());
            };
            timing.end = at;
            splitter
                .push(&bytes, |data| chat.event(data, at))
                .map_err(|error| HttpError::new(Failure::TooLarge, error.to_string()))?;
        }
        Ok(())
    }

    async fn exchange(&self, body: Vec<u8>, progress: &mut Progress) -> Result<(), HttpError> {
        let Progress {
            chat,
            timing,
            exchange,
        } = progress;
        let request = self.request(Method::POST, "/chat/completions", body);
        let mut answered = self.pool.send(request, timing, exchange).await?;
        timing.end = timing.first_byte.unwrap_or(timing.end);
        if !answered.response.status().is_success() {
            return Err(http_failure(&mut answered, timing).await);
        }
        if let Some(kind) = not_a_stream(&answered) {
            let body = answered.body.collect(ERROR_BODY).await?;
            let shown = excerpt(&String::from_utf8_lossy(&body), 200);
            let text = format!("the reply is `{kind}`, not an event stream: {shown}");
            return Err(HttpError::new(Failure::NotAStream, text));
        }
        self.read(&mut answered, chat, timing).await?;
        if !chat.is_broken() {
            // The connection is free for the next query once the body has ended.
            while let Ok(Ok(Some(_))) = timeout(AFTERMATH, answered.body.next()).await {}
            self.pool.give_back(answered.body);
        }
        Ok(())
    }

    async fn send_query(&self, mut request: Request<'_>) -> Reply {
        let mut progress = Progress::begun(self.clock.now());
        let body = self.body(&request);
        let ended = tokio::select! {
            biased;
            ended = self.exchange(body, &mut progress) => Ended::ByItself(ended),
            () = request.cancel.cancelled() => Ended::Cancelled,
            () = tokio::time::sleep(request.timeout) => Ended::TimedOut(request.timeout),
        };
        progress.reply(ended, self.clock.now())
    }

    async fn check(&self) -> Result<(), NotReady> {
        let (status, body) = self.get("/models").await.map_err(|error| NotReady {
            cause: error.text,
            help: Some(format!(
                "start the service, or name another with `--client-base-url` (now {})",
                self.url.as_str()
            )),
        })?;
        match status.as_u16() {
            401 | 403 => Err(self.refused(status)),
            503 => Err(NotReady {
                cause: format!("the service is not ready ({status}){}", said(&body)),
                help: Some("wait until the model is loaded, then try again".to_owned()),
            }),
            500.. => Err(NotReady {
                cause: format!("the service is broken ({status}){}", said(&body)),
                help: Some("look into the service's own log".to_owned()),
            }),
            // Something answers; whether it lists models is not our concern here.
            _ => Ok(()),
        }
    }

    fn refused(&self, status: StatusCode) -> NotReady {
        let (cause, help) = if self.key.is_some() {
            (
                "refuses our key",
                "check the key, and that it belongs to this service",
            )
        } else {
            (
                "asks for a key",
                "give it by `--api-key-env NAME` or `--api-key-file PATH`",
            )
        };
        NotReady {
            cause: format!("the service {cause} ({status})"),
            help: Some(help.to_owned()),
        }
    }

    async fn list(&self) -> Result<Vec<String>, NotReady> {
        let not_listed = |cause: String| NotReady { cause, help: None };
        let (status, body) = self
            .get("/models")
            .await
            .map_err(|error| not_listed(error.text))?;
        if !status.is_success() {
            return Err(not_listed(format!(
                "the service lists no models ({status})"
            )));
        }
        let list: wire::ModelList = serde_json::from_slice(&body)
            .map_err(|error| not_listed(format!("the service's model list is odd: {error}")))?;
        Ok(list.data.into_iter().map(|model| model.id).collect())
    }

    async fn warnings(&self, model: &str) -> Vec<String> {
        match self.list().await {
            Ok(models) if models.iter().any(|listed| listed == model) => Vec::new(),
            Ok(models) if models.is_empty() => Vec::new(),
            Ok(models) => {
                let near = nearest_few(model, models.iter().map(String::as_str), 3).join("`, `");
                vec![format!(
                    "the service does not list a model `{model}`; it has `{near}`"
                )]
            }
            Err(error) => vec![format!(
                "cannot tell whether the service has `{model}`: {error}"
            )],
        }
    }
}

/// What is known of a reply at any moment.
struct Progress {
    chat: Chat,
    timing: Timing,
    exchange: Exchange,
}

enum Ended {
    ByItself(Result<(), HttpError>),
    Cancelled,
    TimedOut(Duration),
}

impl Progress {
    fn begun(start: ipw_core::time::Timestamp) -> Self {
        Self {
            chat: Chat::default(),
            timing: Timing::begun(start),
            exchange: Exchange::default(),
        }
    }

    fn reply(self, ended: Ended, now: ipw_core::time::Timestamp) -> Reply {
        let Self {
            mut chat,
            mut timing,
            exchange,
        } = self;
        let (outcome, error) = match ended {
            Ended::ByItself(Ok(())) => chat.outcome(),
            Ended::ByItself(Err(error)) => (Outcome::Failed(error.failure), Some(error.text)),
            Ended::Cancelled => (Outcome::Cancelled, Some("cancelled".to_owned())),
            Ended::TimedOut(limit) => (
                Outcome::TimedOut,
                Some(format!("the reply was not over within {limit:?}")),
            ),
        };
        if !outcome.is_answered() {
            timing.end = now;
        }
        let (tokens, token_source) = chat.tokens();
        timing.first_token = chat.first_token;
        timing.first_answer_token = chat.first_answer_token;
        timing.chunks = std::mem::take(&mut chat.chunks);
        Reply {
            outcome,
            error,
            answer: chat.answer,
            reasoning: Some(chat.reasoning).filter(|reasoning| !reasoning.is_empty()),
            finish_reason: chat.finish_reason,
            tokens,
            token_source,
            timing,
            exchange,
            compute: None,
        }
    }
}

/// The content type, if it says that this is no event stream.
fn not_a_stream(answered: &Answered) -> Option<String> {
    let kind = answered
        .response
        .headers()
        .get("content-type")?
        .to_str()
        .ok()?;
    let is_other = ["application/json", "text/html"]
        .iter()
        .any(|other| kind.starts_with(other));
    is_other.then(|| kind.to_owned())
}

async fn http_failure(answered: &mut Answered, timing: &mut Timing) -> HttpError {
    let status = answered.response.status();
    let mut body = Vec::new();
    while body.len() < ERROR_BODY {
        let Ok(Some((bytes, at))) = answered.body.next().await else {
            break;
        };
        timing.end = at;
        body.extend_from_slice(&bytes);
    }
    HttpError::new(
        Failure::Http(status.as_u16()),
        format!("{status}{}", said(&body)),
    )
}

/// What an error's body says, ready to stand behind its status.
fn said(body: &[u8]) -> String {
    let text = serde_json::from_slice::<Value>(body)
        .ok()
        .and_then(|body| wire::error_text(&body))
        .unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    let text = text.trim();
    if text.is_empty() {
        String::new()
    } else {
        format!(": {}", excerpt(text, 500))
    }
}

impl Client for OpenAi {
    fn id(&self) -> &'static str {
        KNOWN.id
    }

    fn name(&self) -> &'static str {
        "OpenAI-compatible service"
    }

    fn base_url(&self) -> &str {
        self.url.as_str()
    }

    fn health(&self) -> BoxFuture<'_, Result<(), NotReady>> {
        Box::pin(self.check())
    }

    fn prepare<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<Vec<String>, NotReady>> {
        Box::pin(async move { Ok(self.warnings(model).await) })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, NotReady>> {
        Box::pin(self.list())
    }

    fn describe(&self) -> BoxFuture<'_, Value> {
        Box::pin(async move {
            json!({
                "id": KNOWN.id,
                "base_url": self.url.as_str(),
                "models": self.list().await.ok(),
            })
        })
    }

    fn send<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Reply> {
        Box::pin(self.send_query(request))
    }

    fn close(&self) -> BoxFuture<'_, Result<(), CloseError>> {
        Box::pin(async move {
            self.pool.clear();
            Ok(())
        })
    }
}
