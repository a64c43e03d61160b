//! Anthropic's messages API: `/v1/messages` over server-sent events.

mod chat;
mod messages;
mod request;
mod wire;

use std::sync::Arc;

use ipw_core::client::{BoxFuture, Client, CloseError, NotReady, Request};
use ipw_core::reply::Reply;
use ipw_core::time::Clock;
use serde_json::{Value, json};

use crate::http::BaseUrl;
use crate::service::{ApiHeaders, Service, model_warnings};
use crate::{ClientError, ClientInfo, ClientSpec, Entry};
use chat::Chat;

const KNOWN: ClientInfo = ClientInfo {
    id: "anthropic",
    summary: "Anthropic's messages API: /v1/messages, streamed",
    default_url: "https://api.anthropic.com",
    params: &[],
    reserved: &["model", "messages", "system", "stream"],
    required: &[(
        "max_tokens",
        "the longest reply in tokens, which the API requires",
    )],
};

pub(crate) const CLIENT: Entry = Entry {
    known: KNOWN,
    make: |spec, clock| Ok(Box::new(Anthropic::new(spec, clock)?)),
    check: |_, _| Ok(()),
};

/// The only published version: <https://docs.claude.com/en/api/versioning>.
const HEADERS: ApiHeaders = ApiHeaders {
    key: |key| format!("x-api-key: {}", key.text()),
    lines: "anthropic-version: 2023-06-01\r\n",
};

struct Anthropic {
    service: Service,
}

impl Anthropic {
    fn new(spec: &ClientSpec, clock: Arc<dyn Clock>) -> Result<Self, ClientError> {
        spec.params.reader(KNOWN.id).finish()?;
        let url = spec.base_url.as_deref().unwrap_or(KNOWN.default_url);
        let url = BaseUrl::parse(url)?.without(&["/v1/messages", "/v1"]);
        Ok(Self {
            service: Service::new(spec, url, clock)?.with_headers(HEADERS),
        })
    }

    async fn list(&self) -> Result<Vec<String>, NotReady> {
        // The default page size is 20.
        let list: wire::ModelList = self.service.list("/v1/models?limit=1000").await?;
        Ok(list.data.into_iter().map(|model| model.id).collect())
    }

    async fn warnings(&self, model: &str) -> Vec<String> {
        model_warnings(model, self.list().await, "")
    }
}

impl Client for Anthropic {
    fn id(&self) -> &'static str {
        KNOWN.id
    }

    fn name(&self) -> &'static str {
        "Anthropic's API"
    }

    fn base_url(&self) -> &str {
        self.service.url.as_str()
    }

    fn health(&self) -> BoxFuture<'_, Result<(), NotReady>> {
        // Compatible servers need not list models. Any answer that accepts the key counts as ready.
        Box::pin(async move { self.service.check("/v1/models").await.map(|_| ()) })
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

    fn warm(&self, connections: usize) -> BoxFuture<'_, Result<(), NotReady>> {
        Box::pin(self.service.pool.warm(connections))
    }

    fn send<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Reply> {
        let chat = self
            .service
            .chat::<Chat>(KNOWN.id, "/v1/messages", request, request::body);
        Box::pin(chat)
    }

    fn close(&self) -> BoxFuture<'_, Result<(), CloseError>> {
        Box::pin(async move {
            self.service.pool.clear();
            Ok(())
        })
    }
}
