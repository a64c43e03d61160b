//! One connection: reads requests and sends replies until either side closes it.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;

use ipw_core::time::Timestamp;
use serde_json::{Value, json};

use crate::http::{self, Framing, Promise, Reader, Request};
use crate::ledger::{Exchange, Received};
use crate::pace::Pace;
use crate::plan::{Dialect, Plan};
use crate::render::Context;
use crate::reply::Reply;
use crate::service::Shared;
use crate::{ollama, openai};

/// A connection and the service's shared state.
pub(crate) struct Connection<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) stream: &'a TcpStream,
    pub(crate) number: u64,
}

impl Connection<'_> {
    /// Serves requests until the connection ends.
    pub(crate) fn serve(&self) {
        let mut reader = Reader::new(self.stream);
        loop {
            let open = match reader.next() {
                Ok(Some(request)) => self.answer(request, self.shared.clock.now()),
                Ok(None) => Ok(false),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    let body = openai::error(400, &error.to_string());
                    self.json(400, &body, Promise::Close).map(|()| false)
                }
                Err(error) => Err(error),
            };
            if !matches!(open, Ok(true)) {
                return;
            }
        }
    }

    fn answer(&self, request: Request, arrived: Timestamp) -> io::Result<bool> {
        let dialect = match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/v1/chat/completions") => Some(Dialect::OpenAi),
            ("POST", "/api/chat") => Some(Dialect::Ollama),
            _ => None,
        };
        let Some(dialect) = dialect else {
            return self.other(&request);
        };
        match serde_json::from_slice(&request.body) {
            Ok(body) => Ok(self.chat(request, body, dialect, arrived)),
            Err(error) => self.unreadable(&request, dialect, &error.to_string()),
        }
    }

    fn chat(&self, request: Request, body: Value, dialect: Dialect, arrived: Timestamp) -> bool {
        let shared = self.shared;
        let received = Arc::new(Received {
            number: shared.ledger.arrived(),
            path: request.path,
            headers: request.headers,
            body,
        });
        let script = (shared.script)(&received);
        let clock = shared.clock.as_ref();
        let model = shared.options.models.first().map_or("", String::as_str);
        let context = Context::new(&script, dialect, &received, model, (clock, arrived));
        let plan = Plan::of(&script, dialect, context.wishes);
        let until_close = !script.chunked && matches!(plan, Plan::Stream(..));
        let promise = match request.keep_alive && !until_close {
            false => Promise::Close,
            true if script.close_after => Promise::Broken,
            true => Promise::KeepAlive,
        };
        let pace = Pace {
            clock,
            stream: self.stream,
            stopped: &shared.stopped,
        };
        let mut progress = Reply::new(&context, pace, &shared.ledger, arrived, promise).send(&plan);
        let completed = progress.completed;
        if completed {
            shared.ledger.count_completed();
        }
        if shared.options.log {
            shared.ledger.push(Exchange {
                received: Arc::clone(&received),
                connection: self.number,
                arrived,
                sends: std::mem::take(&mut progress.sends),
                completed,
            });
        }
        drop(progress);
        completed && promise == Promise::KeepAlive
    }

    fn unreadable(&self, request: &Request, dialect: Dialect, why: &str) -> io::Result<bool> {
        self.note_other(request);
        let body = match dialect {
            Dialect::OpenAi => openai::error(400, why),
            Dialect::Ollama => ollama::error(why),
        };
        self.json(400, &body, promise(request))?;
        Ok(request.keep_alive)
    }

    fn other(&self, request: &Request) -> io::Result<bool> {
        self.note_other(request);
        let models = &self.shared.options.models;
        if let Some(status) = self.shared.options.question_status {
            let body = openai::error(status, "as scripted");
            self.json(status, &body, promise(request))?;
            return Ok(request.keep_alive);
        }
        let (status, body) = match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/v1/models") => (200, openai_models(models)),
            ("GET", "/api/tags") => (200, ollama_models(models)),
            ("GET", "/api/version") => (200, json!({"version": env!("CARGO_PKG_VERSION")})),
            ("GET", "/health") => (200, json!({"status": "ok"})),
            _ => (404, openai::error(404, "unknown path")),
        };
        self.json(status, &body, promise(request))?;
        Ok(request.keep_alive)
    }

    fn note_other(&self, request: &Request) {
        let line = format!("{} {}", request.method, request.path);
        self.shared.ledger.other(line);
    }

    fn json(&self, status: u16, body: &Value, promise: Promise) -> io::Result<()> {
        let body = body.to_string();
        let mut bytes = Vec::with_capacity(body.len() + 256);
        let framing = Framing::Length(body.len());
        http::head(&mut bytes, status, "application/json", framing, promise);
        bytes.extend_from_slice(body.as_bytes());
        { self.stream }.write_all(&bytes)
    }
}

fn promise(request: &Request) -> Promise {
    if request.keep_alive {
        Promise::KeepAlive
    } else {
        Promise::Close
    }
}

fn openai_models(models: &[String]) -> Value {
    let data: Vec<Value> = models
        .iter()
        .map(|id| json!({"id": id, "object": "model", "created": 0, "owned_by": "reference"}))
        .collect();
    json!({"object": "list", "data": data})
}

fn ollama_models(models: &[String]) -> Value {
    let models: Vec<Value> = models
        .iter()
        .map(|name| json!({"name": name, "model": name, "size": 0, "details": {}}))
        .collect();
    json!({"models": models})
}
