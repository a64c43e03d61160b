//! A service that answers by path from golden files and records its requests.

use ipw_testkit::web::{Asked, Reply, Served, Server};

/// Status, content type and body.
pub(crate) type Answer = (u16, &'static str, &'static str);

pub(crate) const STREAM: &str = "text/event-stream";
pub(crate) const JSON: &str = "application/json";
pub(crate) const NOT_FOUND: Answer = (404, JSON, r#"{"detail":"Not Found"}"#);

pub(crate) struct Scripted(Server);

impl Scripted {
    /// Answers the requests in `answers`, and others with 404 like `FastAPI`.
    pub(crate) fn start(answers: &[(&'static str, Answer)]) -> Self {
        let answers = answers.to_vec();
        Self(Server::start(move |asked, _| {
            let path = asked.what.split('?').next().unwrap_or_default();
            let found = answers.iter().find(|(known, _)| *known == path);
            let (status, kind, body) = found.map_or(NOT_FOUND, |(_, answer)| *answer);
            let served = Served {
                status: Some(status),
                ..Served::of(body.as_bytes())
            };
            Reply::File(served.header(format!("content-type: {kind}")))
        }))
    }

    pub(crate) fn url(&self) -> String {
        self.0.url()
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.0.asked()
    }

    /// Number of requests for each endpoint.
    pub(crate) fn times(&self, what: &str) -> usize {
        self.asked().iter().filter(|one| one.what == what).count()
    }
}
