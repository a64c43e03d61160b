//! The routes of the server.

use std::net::IpAddr;
use std::sync::atomic::Ordering;

use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use ipw_core::text::{excerpt, printable};
use serde_json::{Value, json};

use super::body::{self, ReplyBody};
use super::chat::{self, Chunks, Head};
use super::problem::Problem;
use super::request::{self, ChatRequest, Delivery};
use super::{Server, unix_seconds};
use crate::engine::Generation;
use crate::generate::{Ending, Finish, Part};

const ENDPOINTS: &str = "`/v1/chat/completions`, `/v1/models` and `/health`";

impl Server {
    /// Answers one request that arrived at the address `at`. Errors become replies too.
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        at: IpAddr,
    ) -> Response<ReplyBody> {
        let answered = self.route(request, at).await;
        answered.unwrap_or_else(Problem::into_response)
    }

    async fn route(
        &self,
        request: Request<Incoming>,
        at: IpAddr,
    ) -> Result<Response<ReplyBody>, Problem> {
        self.guard.check(request.uri(), request.headers(), at)?;
        let path = request.uri().path();
        let path = path.strip_prefix("/v1").unwrap_or(path);
        match path.strip_suffix('/').unwrap_or(path) {
            "/health" => {
                reading(request.method())?;
                Ok(body::json(StatusCode::OK, &json!({ "status": "ok" })))
            }
            "/models" => {
                reading(request.method())?;
                let list = json!({ "object": "list", "data": [self.described()] });
                Ok(body::json(StatusCode::OK, &list))
            }
            "/chat/completions" if request.method() == Method::POST => {
                self.chat(request.into_body()).await
            }
            "/chat/completions" => Err(Problem::method("POST")),
            other => match other.strip_prefix("/models/") {
                Some(name) => {
                    reading(request.method())?;
                    self.one_model(name)
                }
                None => Err(nowhere(request.uri().path())),
            },
        }
    }

    /// The model's entry in the list of models.
    fn described(&self) -> Value {
        json!({
            "id": self.model,
            "object": "model",
            "created": self.created,
            "owned_by": "ipw",
            "ipw": self.engine.about(),
        })
    }

    fn one_model(&self, encoded: &str) -> Result<Response<ReplyBody>, Problem> {
        let name = percent_decoded(encoded);
        if name != self.model {
            return Err(request::no_model(&printable(&name), &self.model));
        }
        Ok(body::json(StatusCode::OK, &self.described()))
    }

    async fn chat(&self, body: Incoming) -> Result<Response<ReplyBody>, Problem> {
        let body = request::read(body, &self.limits).await?;
        let asked = ChatRequest::parse(&body, &self.model)?;
        drop(body);
        let mut generation = self.engine.generate(asked.prompt);
        match asked.delivery {
            Delivery::Whole => {
                let (text, ended) = whole(generation).await?;
                let completion = self.head().completion(&text, &ended)?;
                Ok(body::json(StatusCode::OK, &completion))
            }
            Delivery::Events { include_usage } => {
                // A failure before the first token still gets its own status code.
                let first = generation.next().await.ok_or_else(chat::broken)?;
                if let Part::Ended(Ending {
                    finish: Finish::Failed(failure, text),
                    ..
                }) = &first
                {
                    return Err(Problem::engine(*failure, text));
                }
                let chunks = Chunks {
                    head: self.head(),
                    include_usage,
                };
                Ok(body::events(generation, first, chunks))
            }
        }
    }

    fn head(&self) -> Head {
        let number = self.replies.fetch_add(1, Ordering::Relaxed);
        Head {
            // Distinguishes ids from those of another run of this server.
            id: format!("chatcmpl-{:x}-{number}", self.clock.anchor().unix_nanos),
            created: unix_seconds(&*self.clock),
            model: self.model.clone(),
        }
    }
}

/// Collects a whole reply.
async fn whole(mut generation: Generation) -> Result<(String, Ending), Problem> {
    let mut text = String::new();
    loop {
        match generation.next().await.ok_or_else(chat::broken)? {
            Part::Text(more, _) => text.push_str(&more),
            Part::Ended(ended) => return Ok((text, ended)),
        }
    }
}

fn reading(method: &Method) -> Result<(), Problem> {
    if matches!(*method, Method::GET | Method::HEAD) {
        Ok(())
    } else {
        Err(Problem::method("GET, HEAD"))
    }
}

fn nowhere(path: &str) -> Problem {
    let shown = excerpt(&printable(path), 100);
    let message = format!("there is nothing at `{shown}`; there is {ENDPOINTS}");
    Problem::new(StatusCode::NOT_FOUND, message)
}

/// Decodes percent-encoding in a part of a path; anything malformed stays as it is.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| first == b'%');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_out_of_a_path_as_they_were() {
        for (encoded, name) in [
            ("smollm2-135m", "smollm2-135m"),
            ("a%20b%2Fc", "a b/c"),
            ("100%", "100%"),
            ("%zz%+1", "%zz%+1"),
            ("%C3%A4", "ä"),
        ] {
            assert_eq!(percent_decoded(encoded), name);
        }
    }
}
