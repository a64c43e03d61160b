//! Services with one of OpenAI's APIs over server-sent events: chat completions, completions or
//! responses. A [`Flavour`] adds what one kind of server reports about itself.

mod chat;
mod counts;
pub(crate) mod flavour;
mod frame;
#[cfg(test)]
mod golden;
mod items;
mod request;
mod responses;
mod wire;

use std::sync::{Arc, OnceLock};

use ipw_core::client::{BoxFuture, Client, CloseError, NotReady, Request};
use ipw_core::reply::Reply;
use ipw_core::time::Clock;
use serde_json::{Value, json};

use crate::http::BaseUrl;
use crate::service::{Service, model_warnings};
use crate::{ClientError, ClientInfo, ClientSpec, Entry};
use chat::Chat;
pub(crate) use flavour::RESERVED;
use flavour::{API, Flavour, INCLUDE_USAGE, MODELS, Question, ServerInfo};
use request::{Api, Extras};
use responses::Responses;

/// Endpoint paths that users may leave at the end of a base URL.
const ENDINGS: [&str; 5] = [
    "/v1/chat/completions",
    "/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1",
];

static FLAVOUR: Flavour = Flavour {
    known: KNOWN,
    name: "OpenAI-compatible service",
    health: None,
    switches: &[],
    questions: &[],
};

const KNOWN: ClientInfo = ClientInfo {
    id: "openai",
    summary: "any OpenAI-compatible service: chat, completions or responses, streamed",
    default_url: "http://127.0.0.1:8080/v1",
    params: &[API, INCLUDE_USAGE],
    reserved: RESERVED,
    required: &[],
};

pub(crate) const CLIENT: Entry = Flavour::entry(|spec, clock| make(&FLAVOUR, spec, clock), KNOWN);

/// Makes a client for this kind of server.
pub(crate) fn make(
    flavour: &'static Flavour,
    spec: &ClientSpec,
    clock: Arc<dyn Clock>,
) -> Result<Box<dyn Client>, ClientError> {
    Ok(Box::new(OpenAi::new(flavour, spec, clock)?))
}

/// Checks that the API of `spec` accepts a system text, if there is one.
pub(crate) fn check(spec: &ClientSpec, system: Option<&str>) -> Result<(), ClientError> {
    if system.is_some() && is_raw(spec) {
        return Err(ClientError::NoSystem);
    }
    Ok(())
}

/// Whether the API of `spec` takes the prompt unchanged.
pub(crate) fn is_raw(spec: &ClientSpec) -> bool {
    let api = spec.params.iter().find(|(name, _)| *name == API.0);
    api.is_some_and(|(_, api)| api == Api::Completions.label())
}

/// The client `openai` and those based on it.
struct OpenAi {
    flavour: &'static Flavour,
    /// With `/v1`, as users write it.
    base_url: String,
    /// Based at the root: some endpoints are not below `/v1`.
    service: Service,
    api: Api,
    extras: Extras,
    /// The first model asked for.
    model: OnceLock<String>,
}

impl OpenAi {
    fn new(
        flavour: &'static Flavour,
        spec: &ClientSpec,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ClientError> {
        let known = &flavour.known;
        let mut params = spec.params.reader(known.id);
        let api = params
            .parsed(API.0, "`chat`, `completions` or `responses`")?
            .unwrap_or_default();
        let include_usage = params
            .parsed(INCLUDE_USAGE.0, "`true` or `false`")?
            .unwrap_or(true);
        let mut extras = flavour.extras(&mut params)?;
        params.finish()?;
        if include_usage {
            let options = &mut extras.stream_options;
            options.insert(INCLUDE_USAGE.0.to_owned(), true.into());
        }
        let url = spec.base_url.as_deref().unwrap_or(known.default_url);
        let root = BaseUrl::parse(url)?.without(&ENDINGS);
        Ok(Self {
            flavour,
            base_url: root.clone().with_v1().as_str().to_owned(),
            service: Service::new(spec, root, clock)?,
            api,
            extras,
            model: OnceLock::new(),
        })
    }

    async fn check(&self) -> Result<(), NotReady> {
        if let Some(endpoint) = self.flavour.health {
            self.service.check(endpoint).await?;
        }
        // Any answer that accepts the key counts as ready, with or without a list of models.
        self.service.check(MODELS).await.map(|_| ())
    }

    async fn list(&self) -> Result<Vec<String>, NotReady> {
        let list: wire::ModelList = self.service.list(MODELS).await?;
        Ok(list.ids())
    }

    async fn warnings(&self, model: &str) -> Vec<String> {
        model_warnings(model, self.list().await, "")
    }

    /// Asks the server about itself; unanswered questions leave their fields empty.
    async fn about(&self, models: Option<&Value>) -> ServerInfo {
        let mut about = ServerInfo::default();
        let model = self.model.get().map(String::as_str);
        for Question { endpoints, learn } in self.flavour.questions {
            for endpoint in *endpoints {
                let answer = match (*endpoint, models) {
                    // Already fetched.
                    (MODELS, models) => models.cloned(),
                    (endpoint, _) => self.answer(endpoint).await,
                };
                if let Some(answer) = answer {
                    learn(&answer, model, &mut about);
                    break;
                }
            }
        }
        about
    }

    async fn answer(&self, endpoint: &str) -> Option<Value> {
        let (status, body) = self.service.get(endpoint).await.ok()?;
        if !status.is_success() {
            return None;
        }
        serde_json::from_slice(&body).ok()
    }

    async fn description(&self) -> Value {
        let models = self.answer(MODELS).await;
        let listed = models.as_ref().and_then(|models| {
            let list: wire::ModelList = serde_json::from_value(models.clone()).ok()?;
            Some(list.ids())
        });
        let mut description = json!({
            "id": self.flavour.known.id,
            "base_url": self.base_url,
            "api": self.api.label(),
            "models": listed,
        });
        if self.flavour.questions.is_empty() {
            return description;
        }
        let about = self.about(models.as_ref()).await;
        let about = serde_json::to_value(about).expect("texts and numbers serialize");
        if let (Value::Object(all), Value::Object(about)) = (&mut description, about) {
            all.insert("server".to_owned(), self.flavour.name.into());
            all.extend(about);
        }
        description
    }
}

impl Client for OpenAi {
    fn id(&self) -> &'static str {
        self.flavour.known.id
    }

    fn name(&self) -> &'static str {
        self.flavour.name
    }

    fn base_url(&self) -> &str {
        &self.base_url
    }

    fn health(&self) -> BoxFuture<'_, Result<(), NotReady>> {
        Box::pin(self.check())
    }

    fn prepare<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<Vec<String>, NotReady>> {
        // A run uses one model: describe the first one.
        self.model.get_or_init(|| model.to_owned());
        Box::pin(async move { Ok(self.warnings(model).await) })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, NotReady>> {
        Box::pin(self.list())
    }

    fn describe(&self) -> BoxFuture<'_, Value> {
        Box::pin(self.description())
    }

    fn warm(&self, connections: usize) -> BoxFuture<'_, Result<(), NotReady>> {
        Box::pin(self.service.pool.warm(connections))
    }

    fn send<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Reply> {
        let (id, endpoint) = (self.flavour.known.id, self.api.endpoint());
        let body = |request: &Request<'_>| request::body(self.api, request, &self.extras);
        match self.api {
            Api::Chat | Api::Completions => {
                Box::pin(self.service.chat::<Chat>(id, endpoint, request, body))
            }
            Api::Responses => Box::pin(self.service.chat::<Responses>(id, endpoint, request, body)),
        }
    }

    fn close(&self) -> BoxFuture<'_, Result<(), CloseError>> {
        Box::pin(async move {
            self.service.pool.clear();
            Ok(())
        })
    }
}
