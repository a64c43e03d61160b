//! The client `embedded`: the engine as a service inside this process.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ipw_clients::{
    BoxFuture, Client, ClientError, ClientInfo, ClientSpec, CloseError, NotReady, Request,
};
use ipw_core::reply::{
    Exchange, Failure, Outcome, Reply, ServiceTiming, Timing, TokenCounts, TokenSource,
};
use ipw_core::setting::Setting;
use ipw_core::text::with_causes;
use ipw_core::time::Clock;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::engine::{About, Engine, Generation, Options};
use crate::generate::{Ending, Finish, Part, Prompt};
use crate::settings::Settings;
use crate::template::conversation;

/// What `ipw list clients` shows.
pub const KNOWN: ClientInfo = ClientInfo {
    id: "embedded",
    summary: "the engine inside this binary: GGUF models of the llama family, on the CPU",
    default_url: "embedded",
    params: &[
        ("threads", "number of compute threads (default: all cores)"),
        (
            "context",
            "context length in tokens, if shorter than the model's own",
        ),
    ],
    reserved: &["model", "messages", "stream", "stream_options"],
    required: &[],
};

/// The client `embedded`. The model is loaded when it is prepared.
pub struct Embedded {
    path: PathBuf,
    options: Options,
    clock: Arc<dyn Clock>,
    engine: OnceLock<Engine>,
}

impl Embedded {
    /// A client for the model file at `path`; nothing is loaded yet.
    pub fn new(
        spec: &ClientSpec,
        path: PathBuf,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ClientError> {
        let mut params = spec.params.reader(KNOWN.id);
        let number = "a whole number above zero";
        let mut options = Options::default();
        if let Some(threads) = params.parsed::<std::num::NonZeroUsize>("threads", number)? {
            options.threads = threads.get();
        }
        let context = params.parsed::<std::num::NonZeroUsize>("context", number)?;
        options.context = context.map(std::num::NonZeroUsize::get);
        params.finish()?;
        if let Some(url) = &spec.base_url {
            return Err(ClientError::Url {
                url: url.clone(),
                problem: format!(
                    "is of no use: the embedded engine runs in this process \
                     (`{}` talks to a service)",
                    Setting::Client.to("openai")
                ),
            });
        }
        Ok(Self {
            path,
            options,
            clock,
            engine: OnceLock::new(),
        })
    }

    /// Loads the model on a separate thread, so that signals are handled meanwhile.
    async fn load(&self) -> Result<(), NotReady> {
        if self.engine.get().is_some() {
            return Ok(());
        }
        let not_ready = |cause: String| NotReady {
            cause,
            help: Some(format!(
                "any GGUF file of the llama family will do: `{}`, or `ipw models list`",
                Setting::Model.to("PATH.gguf")
            )),
        };
        let (sender, loaded) = oneshot::channel();
        let (path, options, clock) = (self.path.clone(), self.options, Arc::clone(&self.clock));
        let load = move || {
            let _ = sender.send(Engine::load(&path, options, clock));
        };
        std::thread::Builder::new()
            .name("ipw-load".to_owned())
            .spawn(load)
            .map_err(|error| not_ready(format!("cannot start a thread: {error}")))?;
        let name = self.path.display();
        let engine = loaded
            .await
            .map_err(|_| not_ready(format!("loading `{name}` broke: please report it")))?
            .map_err(|error| not_ready(format!("cannot load `{name}`: {}", with_causes(&error))))?;
        // Another task may have loaded it first: either engine will do.
        let _ = self.engine.set(engine);
        Ok(())
    }

    async fn reply(&self, mut request: Request<'_>) -> Reply {
        let mut draft = Draft::begun(Timing::begun(self.clock.now()));
        let prompt = match prompt(&request) {
            Ok(prompt) => prompt,
            Err(text) => return draft.failed(Failure::Parameter, text),
        };
        let Some(engine) = self.engine.get() else {
            return draft.failed(Failure::Engine, "the model is not loaded".to_owned());
        };
        draft.timing.sent = Some(self.clock.now());
        let mut generation = engine.generate(prompt);
        let limits = Limits {
            first_token: request.first_token_timeout,
            idle: request.idle_timeout,
        };
        let early = tokio::select! {
            biased;
            late = draft.read_within(&mut generation, &limits) => {
                late.map(|text| (Outcome::TimedOut, text))
            }
            () = request.cancel.cancelled() => Some((Outcome::Cancelled, "cancelled".to_owned())),
            () = tokio::time::sleep(request.timeout) => Some((
                Outcome::TimedOut,
                format!("the reply did not finish within {:?}", request.timeout),
            )),
        };
        if early.is_some() {
            // The energy until the engine really stops belongs to this query.
            generation.cancel();
            draft.read(&mut generation).await;
        }
        draft.reply(early)
    }
}

impl Client for Embedded {
    fn id(&self) -> &'static str {
        KNOWN.id
    }

    fn name(&self) -> &'static str {
        "embedded engine"
    }

    fn base_url(&self) -> &str {
        KNOWN.default_url
    }

    fn place(&self) -> String {
        let how = self.engine.get().map(Engine::about).map(|about| {
            let About {
                weights,
                threads,
                kernels,
                ..
            } = about;
            format!(": {weights} on {threads} threads ({kernels})")
        });
        format!("{} in this process{}", KNOWN.id, how.unwrap_or_default())
    }

    fn in_process(&self) -> bool {
        true
    }

    fn health(&self) -> BoxFuture<'_, Result<(), NotReady>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn prepare<'a>(&'a self, _model: &'a str) -> BoxFuture<'a, Result<Vec<String>, NotReady>> {
        Box::pin(async { self.load().await.map(|()| Vec::new()) })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, NotReady>> {
        let name = self
            .path
            .file_stem()
            .map(|name| name.to_string_lossy().into_owned());
        Box::pin(std::future::ready(Ok(name.into_iter().collect())))
    }

    fn describe(&self) -> BoxFuture<'_, Value> {
        let about = self.engine.get().map(Engine::about);
        let file = self.path.file_name().map(|name| name.to_string_lossy());
        Box::pin(std::future::ready(json!({ "engine": about, "file": file })))
    }

    fn send<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Reply> {
        Box::pin(self.reply(request))
    }

    fn close(&self) -> BoxFuture<'_, Result<(), CloseError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Time that the engine spent on the reply, without the wait in the queue.
fn service_timing(ended: &Ending) -> ServiceTiming {
    ServiceTiming {
        queue: None,
        load: None,
        prompt: ended.first_token.map(|first| first.since(ended.begun)),
        decode: ended.first_token.map(|first| ended.at.since(first)),
        total: Some(ended.at.since(ended.begun)),
    }
}

fn prompt(request: &Request<'_>) -> Result<Prompt, String> {
    let mut parameters = request.parameters.clone();
    parameters.retain(|name, _| !KNOWN.reserved.contains(&name.as_str()));
    let settings = Settings::from_parameters(&parameters).map_err(|error| error.to_string())?;
    Ok(Prompt {
        messages: conversation(request.system, request.query)?,
        settings,
    })
}

/// Time limits of a reply.
struct Limits {
    first_token: Option<Duration>,
    idle: Option<Duration>,
}

/// A reply in progress.
struct Draft {
    timing: Timing,
    answer: String,
    ended: Option<Ending>,
}

impl Draft {
    fn begun(timing: Timing) -> Self {
        Self {
            timing,
            answer: String::new(),
            ended: None,
        }
    }

    /// Receives parts until the end.
    async fn read(&mut self, generation: &mut Generation) {
        while self.take(generation.next().await) {}
    }

    /// The same, with time limits. Returns which limit passed before the end.
    async fn read_within(
        &mut self,
        generation: &mut Generation,
        limits: &Limits,
    ) -> Option<String> {
        let Limits { first_token, idle } = *limits;
        loop {
            let (limit, late) = if self.timing.first_token.is_none() {
                (first_token, "no token came within")
            } else {
                (idle, "nothing came in the middle of the reply for")
            };
            let part = match limit {
                None => generation.next().await,
                Some(limit) => match tokio::time::timeout(limit, generation.next()).await {
                    Ok(part) => part,
                    Err(_) => return Some(format!("{late} {limit:?}")),
                },
            };
            if !self.take(part) {
                return None;
            }
        }
    }

    /// Adds a part. Returns whether more will follow.
    fn take(&mut self, part: Option<Part>) -> bool {
        match part {
            Some(Part::Text(text, at)) => {
                self.answer.push_str(&text);
                self.timing.first_token.get_or_insert(at);
                self.timing.first_answer_token.get_or_insert(at);
                self.timing.chunks.push(at);
                self.timing.end = at;
                true
            }
            Some(Part::Ended(ended)) => {
                self.timing.end = ended.at;
                self.ended = Some(ended);
                false
            }
            None => false,
        }
    }

    fn failed(self, failure: Failure, text: String) -> Reply {
        self.reply(Some((Outcome::Failed(failure), text)))
    }

    fn reply(self, early: Option<(Outcome, String)>) -> Reply {
        let Self {
            timing,
            answer,
            ended,
        } = self;
        let (outcome, error, finish_reason) = match (early, ended.as_ref().map(|end| &end.finish)) {
            // The reply ended before it could be cancelled.
            (_, Some(Finish::Stop)) => (Outcome::Complete, None, Some("stop")),
            (_, Some(Finish::Length)) => (Outcome::Truncated, None, Some("length")),
            (_, Some(Finish::Failed(failure, text))) => {
                (Outcome::Failed(*failure), Some(text.clone()), None)
            }
            (Some((outcome, text)), _) => (outcome, Some(text), None),
            (None, Some(Finish::Cancelled)) => {
                (Outcome::Cancelled, Some("cancelled".to_owned()), None)
            }
            (None, None) => {
                let text = "the engine ended without a reply".to_owned();
                (Outcome::Failed(Failure::Engine), Some(text), None)
            }
        };
        let counted = ended.as_ref().filter(|ended| ended.prompt_tokens.is_some());
        Reply {
            outcome,
            error,
            answer,
            reasoning: None,
            tool_calls: None,
            finish_reason: finish_reason.map(str::to_owned),
            tokens: TokenCounts {
                input: counted.and_then(|ended| ended.prompt_tokens),
                output: counted.map(|ended| ended.reply_tokens),
                cached: counted.map(|_| 0),
                ..TokenCounts::default()
            },
            token_source: counted.map(|_| TokenSource::Usage),
            token_note: None,
            timing,
            exchange: Exchange::default(),
            service_timing: ended.as_ref().map(service_timing).unwrap_or_default(),
            compute: counted.map(|ended| ended.compute),
        }
    }
}
