//! Hides secrets in everything a service sends back, at the single point where it enters.

use ipw_core::client::{BoxFuture, Client, CloseError, NotReady, Request};
use ipw_core::reply::Reply;
use ipw_core::secret::{self, hide, hide_in, hide_in_value};
use ipw_core::witness::{ExchangeEvent, Meaning, Witness};
use serde_json::Value;

/// Wraps a client so that its replies show no secret; returns it unchanged if none is in use.
pub(crate) fn guarded(client: Box<dyn Client>) -> Box<dyn Client> {
    if secret::is_any() {
        Box::new(SecretFilter(client))
    } else {
        client
    }
}

struct SecretFilter(Box<dyn Client>);

impl Client for SecretFilter {
    fn id(&self) -> &'static str {
        self.0.id()
    }

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn base_url(&self) -> &str {
        self.0.base_url()
    }

    fn place(&self) -> String {
        self.0.place()
    }

    fn in_process(&self) -> bool {
        self.0.in_process()
    }

    fn health(&self) -> BoxFuture<'_, Result<(), NotReady>> {
        Box::pin(async { self.0.health().await.map_err(refusal) })
    }

    fn prepare<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<Vec<String>, NotReady>> {
        Box::pin(async { self.0.prepare(model).await.map(texts).map_err(refusal) })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, NotReady>> {
        Box::pin(async { self.0.models().await.map(texts).map_err(refusal) })
    }

    fn describe(&self) -> BoxFuture<'_, Value> {
        Box::pin(async {
            let mut about = self.0.describe().await;
            hide_in_value(&mut about);
            about
        })
    }

    fn warm(&self, connections: usize) -> BoxFuture<'_, Result<(), NotReady>> {
        Box::pin(async move { self.0.warm(connections).await.map_err(refusal) })
    }

    fn send<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            let witness = request.witness.map(WitnessFilter);
            let witness = witness.as_ref().map(|looking| looking as &dyn Witness);
            let mut reply = self.0.send(Request { witness, ..request }).await;
            // All events have their timestamps by now: hiding costs no measured time.
            hide_in(&mut reply.answer);
            let texts = [
                &mut reply.error,
                &mut reply.reasoning,
                &mut reply.tool_calls,
                &mut reply.finish_reason,
                &mut reply.token_note,
            ];
            texts.into_iter().flatten().for_each(hide_in);
            reply
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), CloseError>> {
        self.0.close()
    }
}

fn refusal(mut error: NotReady) -> NotReady {
    hide_in(&mut error.cause);
    error.help.iter_mut().for_each(hide_in);
    error
}

fn texts(mut texts: Vec<String>) -> Vec<String> {
    texts.iter_mut().for_each(hide_in);
    texts
}

/// A witness whose texts have their secrets hidden.
struct WitnessFilter<'a>(&'a dyn Witness);

impl Witness for WitnessFilter<'_> {
    fn saw(&self, sight: ExchangeEvent<'_>) {
        match sight {
            ExchangeEvent::Answered {
                at,
                status,
                headers,
            } => {
                let hidden = |text: &String| hide(text).into_owned();
                let headers = headers.iter();
                let headers: Vec<_> = headers
                    .map(|(name, value)| (hidden(name), hidden(value)))
                    .collect();
                self.0.saw(ExchangeEvent::Answered {
                    at,
                    status: &hide(status),
                    headers: &headers,
                });
            }
            ExchangeEvent::Event { at, data, meaning } => {
                let text = String::from_utf8_lossy(data);
                let [reasoning, answer, finish] =
                    [meaning.reasoning, meaning.answer, meaning.finish].map(|text| text.map(hide));
                self.0.saw(ExchangeEvent::Event {
                    at,
                    data: hide(&text).as_bytes(),
                    meaning: &Meaning {
                        reasoning: reasoning.as_deref(),
                        answer: answer.as_deref(),
                        finish: finish.as_deref(),
                        ..*meaning
                    },
                });
            }
            other => self.0.saw(other),
        }
    }
}
