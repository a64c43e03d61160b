//! Any service that speaks OpenAI's chat completions API over server-sent events.

mod chat;
mod frame;
mod wire;

use std::sync::Arc;

use ipw_core::nearest::nearest_few;
use ipw_core::reply::Reply;
use ipw_core::time::Clock;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::client::{BoxFuture, Client, CloseError, NotReady, Request};
use crate::http::BaseUrl;
use crate::message::{Message, messages};
use crate::service::Service;
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

/// The client `openai`.
pub(crate) struct OpenAi {
    service: Service,
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
struct StreamOptions {
    include_usage: bool,
}

impl OpenAi {
    pub(crate) fn new(spec: &ClientSpec, clock: Arc<dyn Clock>) -> Result<Self, ClientError> {
        let mut params = spec.params.reader(KNOWN.id);
        let include_usage = params
            .parsed("include_usage", "`true` or `false`")?
            .unwrap_or(true);
        params.finish()?;
        let url = spec.base_url.as_deref().unwrap_or(KNOWN.default_url);
        let url = BaseUrl::parse(url)?.with_v1();
        Ok(Self {
            service: Service::new(spec, url, clock)?,
            include_usage,
        })
    }

    fn body(&self, request: &Request<'_>) -> Vec<u8> {
        let mut parameters = request.parameters.clone();
        parameters.retain(|name, _| !KNOWN.reserved.contains(&name.as_str()));
        let stream_options = self.include_usage.then_some(StreamOptions {
            include_usage: true,
        });
        let body = ChatRequest {
            model: request.model,
            messages: messages(request),
            stream: true,
            stream_options,
            parameters,
        };
        serde_json::to_vec(&body).expect("texts and JSON values serialize")
    }

    async fn list(&self) -> Result<Vec<String>, NotReady> {
        let list: wire::ModelList = self.service.list("/models").await?;
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

impl Client for OpenAi {
    fn id(&self) -> &'static str {
        KNOWN.id
    }

    fn name(&self) -> &'static str {
        "OpenAI-compatible service"
    }

    fn base_url(&self) -> &str {
        self.service.url.as_str()
    }

    fn health(&self) -> BoxFuture<'_, Result<(), NotReady>> {
        // Something answers; whether it lists models is not our concern here.
        Box::pin(async move { self.service.check("/models").await.map(|_| ()) })
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
                "base_url": self.base_url(),
                "models": self.list().await.ok(),
            })
        })
    }

    fn warm(&self, connections: usize) -> BoxFuture<'_, ()> {
        Box::pin(self.service.pool.warm(connections))
    }

    fn send<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Reply> {
        let body = |request: &Request<'_>| self.body(request);
        Box::pin(
            self.service
                .chat::<Chat>("/chat/completions", request, body),
        )
    }

    fn close(&self) -> BoxFuture<'_, Result<(), CloseError>> {
        Box::pin(async move {
            self.service.pool.clear();
            Ok(())
        })
    }
}
