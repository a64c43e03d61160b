//! Errors in the format of OpenAI's API.

use hyper::header::{ALLOW, HeaderValue};
use hyper::{Response, StatusCode};
use ipw_core::reply::Failure;
use serde_json::{Value, json};

use super::body::ReplyBody;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    message: String,
    param: Option<String>,
    code: Option<&'static str>,
    allow: Option<&'static str>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            param: None,
            code: None,
            allow: None,
        }
    }

    /// A malformed or unsupported request.
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// The connection limit is reached.
    pub(super) fn busy() -> Self {
        let message = "too many connections are open: try again later";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message).code("too_many_connections")
    }

    /// The path exists, but not for this method.
    pub(super) fn method(allow: &'static str) -> Self {
        let message = format!("this path takes {allow} only");
        let mut problem = Self::new(StatusCode::METHOD_NOT_ALLOWED, message);
        problem.allow = Some(allow);
        problem
    }

    /// A failure of the engine.
    pub(super) fn engine(failure: Failure, message: &str) -> Self {
        match failure {
            Failure::Context => Self::bad(message)
                .param("messages")
                .code("context_length_exceeded"),
            Failure::Template => Self::bad(message).param("messages"),
            Failure::Parameter => Self::bad(message),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, message),
        }
    }

    /// Names the invalid field.
    pub(super) fn param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// Sets the machine-readable code.
    pub(super) fn code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// The reply body, or the event in a stream.
    pub(super) fn to_json(&self) -> Value {
        let kind = if self.status.is_server_error() {
            "server_error"
        } else {
            "invalid_request_error"
        };
        json!({ "error": {
            "message": self.message,
            "type": kind,
            "param": self.param,
            "code": self.code,
        } })
    }

    pub(super) fn into_response(self) -> Response<ReplyBody> {
        let mut response = super::body::json(self.status, &self.to_json());
        if let Some(allow) = self.allow {
            let headers = response.headers_mut();
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        response
    }
}
