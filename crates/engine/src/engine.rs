//! A loaded model that runs on its own threads.

use std::io::{Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, mpsc};

use ipw_core::reply::{Compute, Failure};
use ipw_core::time::Clock;
use serde::Serialize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::error::LoadError;
use crate::generate::{CancelFlag, Ending, Finish, Generator, Part, Prompt};
use crate::gguf::{Gguf, GgufError};
use crate::language;
use crate::model::{Model, describe_weights};

/// How to run a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Number of compute threads.
    pub threads: usize,
    /// Context length in tokens, if shorter than the model's own.
    pub context: Option<usize>,
}

impl Default for Options {
    /// Uses all cores: other programs need one only occasionally, and the scheduler makes room.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            threads,
            context: None,
        }
    }
}

/// A description of the loaded model and the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct About {
    /// The name in the file; `None` if it has none.
    pub name: Option<String>,
    /// The model family.
    pub architecture: String,
    /// Formats of the weights in memory, which may differ from the file.
    pub weights: String,
    /// Number of weights.
    pub parameters: u64,
    /// Number of layers.
    pub layers: usize,
    /// Context length in tokens.
    pub context: usize,
    /// Number of tokens in the vocabulary.
    pub vocabulary: usize,
    /// Memory of the weights.
    pub weight_bytes: u64,
    /// Bytes of weights read by each pass.
    pub bytes_per_pass: u64,
    /// Memory of keys and values per position.
    pub cache_bytes_per_token: u64,
    /// Operations per token, without attention.
    pub flops_per_token: u64,
    /// Number of compute threads.
    pub threads: usize,
    /// The instruction set in use.
    pub kernels: &'static str,
    /// How concurrent queries are handled.
    pub concurrency: &'static str,
}

/// A model that generates one reply at a time. Further queries wait in a queue.
#[derive(Debug)]
pub struct Engine {
    jobs: mpsc::Sender<Job>,
    about: About,
}

struct Job {
    prompt: Prompt,
    cancelled: CancelFlag,
    out: UnboundedSender<Part>,
}

/// A reply in progress. Dropping it cancels it.
#[derive(Debug)]
pub struct Generation {
    parts: UnboundedReceiver<Part>,
    cancelled: CancelFlag,
}

impl Engine {
    /// Loads a model file and starts the threads.
    pub fn load(path: &Path, options: Options, clock: Arc<dyn Clock>) -> Result<Self, LoadError> {
        Self::start(&mut Gguf::open(path)?, options, clock)
    }

    /// Loads a model from an open file.
    pub fn start<R: Read + Seek>(
        file: &mut Gguf<R>,
        options: Options,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, LoadError> {
        let mut model = Model::load(file)?;
        if let Some(context) = options.context {
            model.shape.context = model.shape.context.min(context);
        }
        let name = file.text("general.name")?.map(str::to_owned);
        let weights = describe_weights(file);
        let tokenizer = language::tokenizer(file)?;
        if tokenizer.len() > model.shape.vocabulary {
            return Err(LoadError::File(GgufError::Broken(format!(
                "it has {} tokens and embeds {}",
                tokenizer.len(),
                model.shape.vocabulary
            ))));
        }
        let template = match language::template(file, &tokenizer)? {
            Some(template) => template,
            None => language::usual_template(&tokenizer)?,
        };
        let about = about(&model, name, weights, options.threads);
        let generator = Generator {
            model,
            tokenizer,
            template,
            clock,
            sequence: crate::forward::Sequence::default(),
            scratch: crate::forward::Scratch::default(),
        };
        let (jobs, queue) = mpsc::channel();
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(options.threads.max(1))
            .thread_name(|index| format!("ipw-engine-{index}"))
            .build()
            .map_err(|error| LoadError::Threads(error.to_string()))?;
        threads.spawn(move || work_off(generator, &queue));
        Ok(Self { jobs, about })
    }

    /// Describes the model.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Queues a prompt.
    pub fn generate(&self, prompt: Prompt) -> Generation {
        let (out, parts) = unbounded_channel();
        let cancelled = CancelFlag::default();
        let job = Job {
            prompt,
            cancelled: cancelled.clone(),
            out,
        };
        // If the generator is gone, the job is dropped, and the reply stops without an end.
        let _ = self.jobs.send(job);
        Generation { parts, cancelled }
    }
}

impl Generation {
    /// The next part; `None` after the end.
    pub async fn next(&mut self) -> Option<Part> {
        self.parts.recv().await
    }

    /// Cancels after the current token; the final part still follows.
    pub fn cancel(&self) {
        self.cancelled.cancel();
    }
}

fn work_off(mut generator: Generator, queue: &mpsc::Receiver<Job>) {
    while let Ok(job) = queue.recv() {
        let Job {
            prompt,
            cancelled,
            out,
        } = job;
        let reply = catch_unwind(AssertUnwindSafe(|| {
            generator.reply(&prompt, &cancelled, &out);
        }));
        if reply.is_err() {
            // The next reply is not affected: a sequence is cleared before use.
            let text = "the engine panicked: please report it with the prompt".to_owned();
            let _ = out.send(Part::Ended(Ending {
                finish: Finish::Failed(Failure::Engine, text),
                prompt_tokens: None,
                reply_tokens: 0,
                compute: Compute {
                    flops: 0.0,
                    bytes: 0.0,
                },
                begun: generator.clock.now(),
                first_token: None,
                at: generator.clock.now(),
            }));
        }
    }
}

fn about(model: &Model, name: Option<String>, weights: String, threads: usize) -> About {
    let shape = &model.shape;
    let output = (shape.vocabulary * shape.width) as u64;
    About {
        name,
        architecture: shape.architecture.clone(),
        weights,
        parameters: model.parameters(),
        layers: shape.layers,
        context: shape.context,
        vocabulary: shape.vocabulary,
        weight_bytes: model.held_bytes(),
        bytes_per_pass: model.pass_bytes,
        cache_bytes_per_token: shape.cache_bytes(),
        flops_per_token: 2 * (model.layer_weights + output),
        threads,
        kernels: model.kernels.name(),
        concurrency: "queue",
    }
}
