//! Ollama's own chat API: `/api/chat`, one JSON object per line, counters in the last one.
//!
//! Ollama also speaks OpenAI's API. Its own API reports how long loading, prefill and generation
//! took.

mod chat;
mod messages;
mod request;
mod wire;

use std::sync::Arc;

use ipw_core::client::{BoxFuture, Client, CloseError, NotReady, Request};
use ipw_core::reply::Reply;
use ipw_core::setting::Setting;
use ipw_core::time::Clock;
use serde_json::{Value, json};

use crate::http::BaseUrl;
use crate::service::{Service, model_warnings};
use crate::{ClientError, ClientInfo, ClientSpec, Entry};
use chat::Chat;

pub(crate) const KNOWN: ClientInfo = ClientInfo {
    id: "ollama",
    summary: "Ollama's own API: /api/chat, streamed, with its own durations",
    default_url: "http://127.0.0.1:11434",
    params: &[(
        "keep_alive",
        "how long the model stays loaded after a query: `5m`, `-1` (always) or `0` (not at all)",
    )],
    reserved: &["model", "messages", "stream"],
    required: &[],
};

pub(crate) const CLIENT: Entry = Entry {
    known: KNOWN,
    make: |spec, clock| Ok(Box::new(Ollama::new(spec, clock)?)),
    check: |_, _| Ok(()),
};

pub(crate) struct Ollama {
    service: Service,
    keep_alive: Option<Value>,
}

impl Ollama {
    fn new(spec: &ClientSpec, clock: Arc<dyn Clock>) -> Result<Self, ClientError> {
        let mut params = spec.params.reader(KNOWN.id);
        let keep_alive = params.text("keep_alive").map(request::keep_alive);
        params.finish()?;
        let url = spec.base_url.as_deref().unwrap_or(KNOWN.default_url);
        let url = BaseUrl::parse(url)?.without(&["/api/chat", "/api", "/v1"]);
        Ok(Self {
            service: Service::new(spec, url, clock)?,
            keep_alive,
        })
    }

    async fn check(&self) -> Result<(), NotReady> {
        let status = self.service.check("/api/version").await?;
        if status.code == 404 {
            return Err(NotReady {
                cause: format!("the service does not speak Ollama's API ({status})"),
                help: Some(format!(
                    "`{}` speaks to OpenAI-compatible services",
                    Setting::Client.to("openai")
                )),
            });
        }
        Ok(())
    }

    async fn list(&self) -> Result<Vec<String>, NotReady> {
        let list: wire::ModelList = self.service.list("/api/tags").await?;
        Ok(list.models.into_iter().map(|model| model.name).collect())
    }

    async fn version(&self) -> Option<String> {
        let (_, body) = self.service.get("/api/version").await.ok()?;
        let version: wire::Version = serde_json::from_slice(&body).ok()?;
        Some(version.version)
    }

    async fn warnings(&self, model: &str) -> Vec<String> {
        let models = self.list().await;
        match &models {
            Ok(models) if models.iter().any(|listed| is_same(listed, model)) => Vec::new(),
            Ok(models) if models.is_empty() => vec![format!(
                "the service has no models yet; `ollama pull {model}` fetches this one"
            )],
            _ => model_warnings(
                model,
                models,
                &format!("; `ollama pull {model}` fetches it"),
            ),
        }
    }
}

/// Compares model names; a name without a tag means `latest`.
fn is_same(listed: &str, model: &str) -> bool {
    listed == model || listed.strip_suffix(":latest") == Some(model)
}

impl Client for Ollama {
    fn id(&self) -> &'static str {
        KNOWN.id
    }

    fn name(&self) -> &'static str {
        "Ollama"
    }

    fn base_url(&self) -> &str {
        self.service.url.as_str()
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
                "base_url": self.base_url(),
                "version": self.version().await,
                "models": self.list().await.ok(),
            })
        })
    }

    fn warm(&self, connections: usize) -> BoxFuture<'_, Result<(), NotReady>> {
        Box::pin(self.service.pool.warm(connections))
    }

    fn send<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Reply> {
        let body = |request: &Request<'_>| request::body(request, self.keep_alive.as_ref());
        let chat = self
            .service
            .chat::<Chat>(KNOWN.id, "/api/chat", request, body);
        Box::pin(chat)
    }

    fn close(&self) -> BoxFuture<'_, Result<(), CloseError>> {
        Box::pin(async move {
            self.service.pool.clear();
            Ok(())
        })
    }
}
