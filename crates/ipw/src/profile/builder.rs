//! Builder methods: every part of a run can be the caller's own value.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ipw_core::client::{Client, ClientSpec};
use ipw_core::dataset::{Dataset, DatasetSpec};
use ipw_core::event::Observer;
use ipw_core::params::Params;
use ipw_core::plan::{Arrivals, Plan, Process, Rate, Stop};
use ipw_core::query::Query;
use ipw_core::reply::Reply;
use ipw_core::sink::Sink;
use ipw_core::time::Clock;
use ipw_runner::{Grader, Interrupt, SystemClock};
use ipw_scoring::Scorer;
use ipw_store::output::Existing;
use ipw_telemetry::Collector;
use serde_json::{Map, Value};

use super::Profile;
use crate::derived::Page;
use crate::grading;
use crate::own::{Answer, Answering};

impl Profile {
    /// A run of this model with default settings.
    ///
    /// It still needs a client and a dataset. Without either, [`Profile::run`] fails with
    /// [`Invalid`](crate::Kind::Invalid).
    pub fn new(model: impl Into<String>) -> Self {
        let (client, dataset) = (ClientSpec::new(""), DatasetSpec::new(""));
        Self::from_plan(Plan::new(model, client, dataset))
    }

    /// A run that follows this plan.
    pub fn from_plan(plan: Plan) -> Self {
        Self {
            plan,
            client: None,
            answering: None,
            dataset: None,
            collectors: None,
            grader: None,
            tokens: None,
            observers: Vec::new(),
            sinks: Vec::new(),
            clock: Arc::new(SystemClock::start()),
            interrupt: None,
            existing: Box::new(|_| Existing::Keep),
            resume: None,
            directory: None,
            page: Page::Always,
            service_facts: Map::new(),
        }
    }

    /// The plan with all changes so far.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Changes the plan. Use it for settings without a builder method.
    #[must_use]
    pub fn with_plan(mut self, change: impl FnOnce(&mut Plan)) -> Self {
        change(&mut self.plan);
        self
    }

    /// Sends queries to the service at this address. `client` is an id from
    /// [`crate::clients::known`].
    #[must_use]
    pub fn service(mut self, client: impl Into<String>, base_url: impl Into<String>) -> Self {
        self.plan.client = ClientSpec::at(client, base_url);
        self
    }

    /// Sends queries through your own client.
    ///
    /// Its timestamps must come from the run's clock; otherwise the energy windows are wrong.
    /// Create one clock (`SystemClock::start()` in [`crate::parts::runner`]), and pass it to both
    /// the client and [`Profile::clock`].
    #[must_use]
    pub fn client(self, client: impl Client + 'static) -> Self {
        self.client_boxed(Box::new(client))
    }

    /// Like [`Profile::client`], for a boxed client.
    #[must_use]
    pub fn client_boxed(mut self, client: Box<dyn Client>) -> Self {
        if self.plan.client.id.is_empty() {
            self.plan.client = ClientSpec::at(client.id(), client.base_url());
        }
        self.client = Some(client);
        self
    }

    /// Sends each prompt to a closure, which returns an answer or the reason for a failure.
    ///
    /// The closure gets the prompt only: no system text, no parameters, no earlier turns. The
    /// answer arrives whole, so the time to first token equals the time of the query. To receive
    /// more or to stream, implement [`Client`] and use [`Profile::client`].
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), ipw::Error> {
    /// let finished = ipw::Profile::new("parrot")
    ///     .answered_by("parrot", |prompt: String| async move { Ok::<_, String>(prompt) })
    ///     .dataset_named("starter")
    ///     .run()
    ///     .await?;
    /// # let _ = finished;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn answered_by<F, A>(
        mut self,
        id: &'static str,
        answer: impl Fn(String) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<A, String>> + Send + 'static,
        A: Into<Answer>,
    {
        let answer: Answering = Box::new(move |prompt| {
            let answered = answer(prompt);
            Box::pin(async move { answered.await.map(Into::into) })
        });
        self.plan.client = ClientSpec::new(id);
        self.answering = Some((id, answer));
        self
    }

    /// Takes the queries from a dataset by name: a known id, or the path of a file.
    #[must_use]
    pub fn dataset_named(mut self, name: &str) -> Self {
        self.plan.dataset = ipw_datasets::named(name, Params::default());
        self
    }

    /// Takes the queries from your own dataset.
    #[must_use]
    pub fn dataset(self, dataset: impl Dataset + 'static) -> Self {
        self.dataset_boxed(Box::new(dataset))
    }

    /// Like [`Profile::dataset`], for a boxed dataset.
    #[must_use]
    pub fn dataset_boxed(mut self, dataset: Box<dyn Dataset>) -> Self {
        if self.plan.dataset.id.is_empty() {
            self.plan.dataset = DatasetSpec::new(dataset.id());
        }
        self.dataset = Some(dataset);
        self
    }

    /// Limits the number of queries; 0 sends the whole dataset.
    #[must_use]
    pub fn max_queries(mut self, most: u64) -> Self {
        self.plan.load.stop = NonZeroU64::new(most).map_or(Stop::Exhausted, Stop::After);
        self
    }

    /// Keeps this many queries in flight. Replaces [`Profile::rate`].
    #[must_use]
    pub fn concurrency(mut self, streams: NonZeroUsize) -> Self {
        self.plan.load.arrivals = match streams.get() {
            1 => Arrivals::Sequential,
            _ => Arrivals::Closed {
                concurrency: streams,
            },
        };
        self
    }

    /// Sends queries at Poisson arrivals of this rate, for example `Rate::try_from(2.5)`. Replaces
    /// [`Profile::concurrency`].
    #[must_use]
    pub fn rate(mut self, rate: Rate) -> Self {
        self.plan.load.arrivals = Arrivals::Open {
            rate,
            process: Process::Poisson,
            concurrency: None,
        };
        self
    }

    /// Adds a generation parameter to every query.
    #[must_use]
    pub fn param(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let parameters = &mut self.plan.generation.parameters;
        parameters.insert(name.into(), value.into());
        self
    }

    /// Adds your own collector. The run then reads only collectors added here and detects none.
    /// Their energy counts as the service's.
    #[must_use]
    pub fn collector(mut self, collector: impl Collector + 'static) -> Self {
        let collectors = self.collectors.get_or_insert_default();
        collectors.push(Box::new(collector));
        self
    }

    /// Grades every answer with this scorer (see [`crate::grading`]), even where rows name another.
    #[must_use]
    pub fn scorer_named(mut self, name: impl Into<String>) -> Self {
        self.plan.scorer = Some(name.into());
        self
    }

    /// Grades every answer with your own scorer, even where rows name another. The verdict is
    /// stored in the column `is_correct`.
    #[must_use]
    pub fn scorer(mut self, scorer: impl Scorer + 'static) -> Self {
        self.grader = Some(Arc::new(move |query: &Query, reply: &Reply| {
            grading::by(&scorer, query, reply)
        }));
        self
    }

    /// Counts tokens with this tokenizer ([`crate::counting::load`]) where the service reports
    /// none.
    #[must_use]
    pub fn tokenizer(mut self, tokens: Arc<ipw_tokens::TokenCounter>) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Adds an observer of the run's events. A slow observer misses events; it never delays the
    /// run.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Adds a sink that gets every row after the run's own store. If the sink fails, the run stops
    /// and keeps its rows.
    #[must_use]
    pub fn sink(mut self, sink: impl Sink + Send + 'static) -> Self {
        self.sinks.push(Box::new(sink));
        self
    }

    /// Sets the parent of run directories; `runs` by default. Each is named after hardware, model
    /// and dataset.
    #[must_use]
    pub fn output_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.plan.output.directory = directory.into();
        self
    }

    /// Sets the exact directory of the run.
    #[must_use]
    pub fn run_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Decides what happens if the run directory exists. By default it is kept, and the run fails
    /// with [`Exists`](crate::Kind::Exists).
    #[must_use]
    pub fn on_existing(mut self, decide: impl Fn(&Path) -> Existing + Send + 'static) -> Self {
        self.existing = Box::new(decide);
        self
    }

    /// Chooses whether `report.html` is written. Default: [`Page::Always`].
    #[must_use]
    pub const fn report(mut self, page: Page) -> Self {
        self.page = page;
        self
    }

    /// Stops the run when the matching [`Interrupter`](crate::parts::runner::Interrupter) is used.
    /// The first interrupt sends no further queries; the second cancels those in flight.
    #[must_use]
    pub fn interrupt(mut self, interrupt: Interrupt) -> Self {
        self.interrupt = Some(interrupt);
        self
    }

    /// Sets the clock. Pass the same one to your own client, which must take its timestamps from
    /// it.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Stores a fact about the service with the run, beside what the service reports.
    #[must_use]
    pub fn service_fact(mut self, name: impl Into<String>, fact: impl Into<Value>) -> Self {
        self.service_facts.insert(name.into(), fact.into());
        self
    }

    /// Grades every answer with this function.
    #[must_use]
    pub fn grader(mut self, grader: Grader) -> Self {
        self.grader = Some(grader);
        self
    }
}
