//! A service over HTTP: its address, its key, and untimed requests.

use std::sync::Arc;
use std::time::Duration;

use ipw_core::client::{KeySource, NotReady};
use ipw_core::nearest::nearest_few;
use ipw_core::reply::{Exchange, Failure, Timing};
use ipw_core::setting::Setting;
use ipw_core::text::excerpt;
use ipw_core::time::Clock;
use serde_json::Value;
use tokio::time::timeout;

use crate::header::Headers;
use crate::http::{BaseUrl, Connector, HttpError, Pool, Proxy, Status, tls};
use crate::key::{self, Key};
use crate::network::{NetworkError, environment};
use crate::stream::compressed;
use crate::{ClientError, ClientSpec};

/// Time limit of an untimed request (health, models).
const QUESTION_LIMIT: Duration = Duration::from_secs(10);
/// Size limit of its answer: lists of models can be long.
const ANSWER_BODY: usize = 16 << 20;

/// What all HTTP clients share.
pub(crate) struct Service {
    pub(crate) url: BaseUrl,
    pub(crate) pool: Pool,
    pub(crate) clock: Arc<dyn Clock>,
    key: Option<Key>,
    headers: Headers,
    api_headers: ApiHeaders,
}

/// Headers that an API requires in every request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ApiHeaders {
    /// The header line with the key.
    pub(crate) key: fn(&Key) -> String,
    /// Further header lines, each with its end.
    pub(crate) lines: &'static str,
}

/// The headers of most APIs.
const BEARER: ApiHeaders = ApiHeaders {
    key: |key| format!("authorization: {}", key.bearer()),
    lines: "",
};

/// Warns if `models`, the service's list, lacks `model`; `hint` follows the similar names.
pub(crate) fn model_warnings(
    model: &str,
    models: Result<Vec<String>, NotReady>,
    hint: &str,
) -> Vec<String> {
    match models {
        Ok(models) if models.is_empty() || models.iter().any(|listed| listed == model) => {
            Vec::new()
        }
        Ok(models) => {
            let near = nearest_few(model, models.iter().map(String::as_str), 3).join("`, `");
            vec![format!(
                "the service does not list a model `{model}`; it has `{near}`{hint}"
            )]
        }
        Err(error) => vec![format!(
            "cannot tell whether the service has `{model}`: {error}"
        )],
    }
}

impl Service {
    pub(crate) fn new(
        spec: &ClientSpec,
        url: BaseUrl,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ClientError> {
        Self::within(spec, url, clock, &environment)
    }

    /// A service in an environment with these variables.
    fn within(
        spec: &ClientSpec,
        url: BaseUrl,
        clock: Arc<dyn Clock>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ClientError> {
        let network = &spec.network;
        let headers = Headers::resolve(network, &url, spec.insecure_key, variable)?;
        let key = match (&spec.key, headers.has("authorization")) {
            (KeySource::Default, true) => None,
            (_, true) => return Err(two_keys().into()),
            (source, false) => key::resolve(source, &url, spec.insecure_key)?,
        };
        let authorities = network.ca_file.as_deref().map(tls::authorities);
        let connector = Connector::new(url.clone(), spec.connect_timeout)
            .trusting(authorities.transpose()?.unwrap_or_default())
            .through(Proxy::find(&url, variable)?)
            .speaking_http2(network.http2)
            .prepared();
        if let Some(proxy) = connector.forwarder().filter(|_| network.http2) {
            let proxy = proxy.named();
            return Err(NetworkError::Forwarded { proxy }.into());
        }
        Ok(Self {
            url,
            pool: Pool::new(connector, Arc::clone(&clock)),
            clock,
            key,
            headers,
            api_headers: BEARER,
        })
    }

    /// This service with other required headers.
    #[must_use]
    pub(crate) fn with_headers(mut self, api_headers: ApiHeaders) -> Self {
        self.api_headers = api_headers;
        self
    }

    /// A POST request of `body` that accepts `accept`.
    pub(crate) fn post(&self, endpoint: &str, accept: &str, body: &[u8]) -> Vec<u8> {
        let mut request = self.head("POST", endpoint);
        request.reserve(128 + body.len());
        request.push_str("content-type: application/json\r\naccept: ");
        request.push_str(accept);
        request.push_str("\r\ncontent-length: ");
        request.push_str(&body.len().to_string());
        request.push_str("\r\n\r\n");
        let mut request = request.into_bytes();
        request.extend_from_slice(body);
        request
    }

    /// A request head without its final empty line. URL and key were checked for line breaks.
    fn head(&self, method: &str, endpoint: &str) -> String {
        let authority = self.url.authority();
        let mut head = format!("{method} ");
        // A forwarding proxy needs the absolute URL.
        if self.pool.forwarder().is_some() {
            head.extend(["http://", authority]);
        }
        head.push_str(&self.url.path_of(endpoint));
        head.extend([" HTTP/1.1\r\nhost: ", authority, "\r\n"]);
        if !self.headers.has("user-agent") {
            head.push_str(concat!(
                "user-agent: ipw/",
                env!("CARGO_PKG_VERSION"),
                "\r\n"
            ));
        }
        if let Some(proxy) = self.pool.forwarder() {
            head.push_str(&proxy.authorization_line());
        }
        head.push_str(self.headers.lines());
        if let Some(key) = &self.key {
            head.push_str(&(self.api_headers.key)(key));
            head.push_str("\r\n");
        }
        head.push_str(self.api_headers.lines);
        head
    }

    /// An untimed GET below the base URL.
    pub(crate) async fn get(&self, endpoint: &str) -> Result<(Status, Vec<u8>), HttpError> {
        let mut timing = Timing::begun(self.clock.now());
        let mut exchange = Exchange::default();
        let request = self.head("GET", endpoint) + "\r\n";
        let ask = async {
            let request = request.as_bytes();
            let mut answered = self
                .pool
                .send(request, &mut timing, &mut exchange, None)
                .await?;
            if answered.head.status.is_success()
                && let Some(compressed) = compressed(&answered)
            {
                return Err(compressed);
            }
            let body = answered.body.collect(ANSWER_BODY).await?;
            self.pool.give_back(answered.body);
            Ok((answered.head.status, body))
        };
        timeout(QUESTION_LIMIT, ask).await.unwrap_or_else(|_| {
            let text = format!("no answer within {QUESTION_LIMIT:?}");
            Err(HttpError::new(Failure::Reset, text))
        })
    }

    /// Checks a GET of `endpoint`. Returns the status unless the service is unreachable, broken,
    /// not ready, or rejects the credentials.
    pub(crate) async fn check(&self, endpoint: &str) -> Result<Status, NotReady> {
        let asked = self.get(endpoint).await;
        let (status, body) = asked.map_err(|error| self.unreachable(error))?;
        match status.code {
            407 => Err(NotReady {
                cause: format!("{status}{}", self.way()),
                help: Some("give the proxy's user and password in its URL".to_owned()),
            }),
            401 | 403 => Err(self.refused(&status)),
            503 => Err(NotReady {
                cause: format!(
                    "the service is not ready ({status}){}{}",
                    self.way(),
                    said(&body)
                ),
                help: Some("wait until the model is loaded, then try again".to_owned()),
            }),
            500.. => Err(NotReady {
                cause: format!(
                    "the service is broken ({status}){}{}",
                    self.way(),
                    said(&body)
                ),
                help: Some("check the service's log".to_owned()),
            }),
            _ => Ok(status),
        }
    }

    fn unreachable(&self, error: HttpError) -> NotReady {
        let help = if error.failure == Failure::Protocol {
            format!("remove `{}`", Setting::Http2)
        } else {
            let url = self.url.as_str();
            format!(
                "start the service, or name another with `{}` (now {url})",
                Setting::ClientBaseUrl
            )
        };
        NotReady {
            cause: error.text,
            help: Some(help),
        }
    }

    /// The forwarding proxy, to follow a status in messages: the proxy may have sent that status.
    pub(crate) fn way(&self) -> String {
        let proxy = self.pool.forwarder();
        proxy.map_or_else(String::new, |proxy| {
            format!(" through the proxy `{}`", proxy.place())
        })
    }

    fn refused(&self, status: &Status) -> NotReady {
        let (cause, help) = if self.key.is_some() {
            (
                "refuses the key",
                "check the key, and that it belongs to this service".to_owned(),
            )
        } else {
            (
                "asks for a key",
                format!(
                    "give it by `{}` or `{}`",
                    Setting::ApiKeyEnv.to("NAME"),
                    Setting::ApiKeyFile.to("PATH")
                ),
            )
        };
        NotReady {
            cause: format!("the service {cause} ({status}){}", self.way()),
            help: Some(help),
        }
    }

    /// Fetches a list of models.
    pub(crate) async fn list<T: serde::de::DeserializeOwned>(
        &self,
        endpoint: &str,
    ) -> Result<T, NotReady> {
        let not_listed = |cause: String| NotReady { cause, help: None };
        let asked = self.get(endpoint).await;
        let (status, body) = asked.map_err(|error| match error.failure {
            Failure::Protocol => self.unreachable(error),
            _ => not_listed(error.text),
        })?;
        if !status.is_success() {
            return Err(not_listed(format!(
                "the service does not list its models ({status})"
            )));
        }
        serde_json::from_slice(&body).map_err(|error| {
            not_listed(format!("cannot read the service's list of models: {error}"))
        })
    }
}

fn two_keys() -> NetworkError {
    NetworkError::Header {
        from: "`authorization`".to_owned(),
        problem: "is set, and so is a key\nhelp: remove one of them".to_owned(),
    }
}

/// The text of an error body, to follow a status in messages.
pub(crate) fn said(body: &[u8]) -> String {
    let text = serde_json::from_slice::<Value>(body)
        .ok()
        .and_then(|body| error_text(&body))
        .unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    let text = text.trim();
    if text.is_empty() {
        String::new()
    } else {
        format!(": {}", excerpt(text, 500))
    }
}

/// The message in an error body of any known shape.
pub(crate) fn error_text(body: &Value) -> Option<String> {
    let error = body.get("error").unwrap_or(body);
    let text = error
        .get("message")
        .or_else(|| body.get("detail"))
        .unwrap_or(error);
    match text {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests;
