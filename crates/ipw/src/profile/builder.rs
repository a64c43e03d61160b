//! What a run is made from: every part may be the caller's own value.

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
    /// A run of this model, with the defaults of everything else. It still needs a client and a
    /// dataset: without one of them, [`Profile::run`] is an error of kind
    /// [`Invalid`](crate::Kind::Invalid).
    pub fn new(model: impl Into<String>) -> Self {
        let (client, dataset) = (ClientSpec::new(""), DatasetSpec::new(""));
        Self::from_plan(Plan::new(model, client, dataset))
    }

    /// A run by this plan.
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

    /// The plan as it is now.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Changes the plan: for settings that have no method here.
    #[must_use]
    pub fn with_plan(mut self, change: impl FnOnce(&mut Plan)) -> Self {
        change(&mut self.plan);
        self
    }

    /// Asks the service at this address, by the client of this id (see [`crate::clients::known`]).
    #[must_use]
    pub fn service(mut self, client: impl Into<String>, base_url: impl Into<String>) -> Self {
        self.plan.client = ClientSpec::at(client, base_url);
        self
    }

    /// Asks a client of your own.
    ///
    /// Its stamps must be of the run's clock, or energy windows are wrong: make one clock
    /// (`SystemClock::start()` of [`crate::parts::runner`]), and give it to the client and to
    /// [`Profile::clock`].
    #[must_use]
    pub fn client(self, client: impl Client + 'static) -> Self {
        self.client_boxed(Box::new(client))
    }

    /// The same for a client that is in a box.
    #[must_use]
    pub fn client_boxed(mut self, client: Box<dyn Client>) -> Self {
        if self.plan.client.id.is_empty() {
            self.plan.client = ClientSpec::at(client.id(), client.base_url());
        }
        self.client = Some(client);
        self
    }

    /// Asks a closure, which answers a prompt or says why not.
    ///
    /// It gets the prompt alone: no system text, no parameters, no earlier turns. The reply comes
    /// whole, so the time to the first token is the time of the query. For more, implement
    /// [`Client`] and use [`Profile::client`].
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

    /// Sends the queries of the dataset of this name: a known id, or the path of a file.
    #[must_use]
    pub fn dataset_named(mut self, name: &str) -> Self {
        self.plan.dataset = ipw_datasets::named(name, Params::default());
        self
    }

    /// Sends the queries of a dataset of your own.
    #[must_use]
    pub fn dataset(self, dataset: impl Dataset + 'static) -> Self {
        self.dataset_boxed(Box::new(dataset))
    }

    /// The same for a dataset that is in a box.
    #[must_use]
    pub fn dataset_boxed(mut self, dataset: Box<dyn Dataset>) -> Self {
        if self.plan.dataset.id.is_empty() {
            self.plan.dataset = DatasetSpec::new(dataset.id());
        }
        self.dataset = Some(dataset);
        self
    }

    /// Sends this many queries at the most; 0 is all of the dataset.
    #[must_use]
    pub fn max_queries(mut self, most: u64) -> Self {
        self.plan.load.stop = NonZeroU64::new(most).map_or(Stop::Exhausted, Stop::After);
        self
    }

    /// Keeps this many queries in flight. It replaces [`Profile::rate`].
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

    /// Sends queries by a schedule: Poisson arrivals of this rate, as in `Rate::try_from(2.5)`. It
    /// replaces [`Profile::concurrency`].
    #[must_use]
    pub fn rate(mut self, rate: Rate) -> Self {
        self.plan.load.arrivals = Arrivals::Open {
            rate,
            process: Process::Poisson,
            concurrency: None,
        };
        self
    }

    /// Sends a generation parameter with every query.
    #[must_use]
    pub fn param(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let parameters = &mut self.plan.generation.parameters;
        parameters.insert(name.into(), value.into());
        self
    }

    /// Reads only the collectors that are added by this method; those of the machine are not
    /// detected. Their energy counts as the service's.
    #[must_use]
    pub fn collector(mut self, collector: impl Collector + 'static) -> Self {
        let collectors = self.collectors.get_or_insert_default();
        collectors.push(Box::new(collector));
        self
    }

    /// Grades every answer by the scorer of this name (see [`crate::grading`]), whatever the rows
    /// name.
    #[must_use]
    pub fn scorer_named(mut self, name: impl Into<String>) -> Self {
        self.plan.scorer = Some(name.into());
        self
    }

    /// Grades every answer by a scorer of your own, whatever the rows name. Verdicts are in
    /// `is_correct` of the rows.
    #[must_use]
    pub fn scorer(mut self, scorer: impl Scorer + 'static) -> Self {
        self.grader = Some(Arc::new(move |query: &Query, reply: &Reply| {
            grading::by(&scorer, query, reply)
        }));
        self
    }

    /// Counts tokens with this tokenizer ([`crate::counting::load`]), where the service does not say.
    #[must_use]
    pub fn tokenizer(mut self, tokens: Arc<ipw_tokens::TokenCounter>) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Tells this observer what happens. A slow one misses notices and delays nothing.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Hands every row to this sink as well, after the run's own store has it. If it fails, the run
    /// ends; the rows so far are saved.
    #[must_use]
    pub fn sink(mut self, sink: impl Sink + Send + 'static) -> Self {
        self.sinks.push(Box::new(sink));
        self
    }

    /// Makes run directories below this one (`runs` by default), each named after hardware, model and
    /// dataset.
    #[must_use]
    pub fn output_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.plan.output.directory = directory.into();
        self
    }

    /// Makes the run in exactly this directory.
    #[must_use]
    pub fn run_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Decides what happens to something that is in the way of the run's directory; it is kept
    /// otherwise, and the run is an error.
    #[must_use]
    pub fn on_existing(mut self, decide: impl Fn(&Path) -> Existing + Send + 'static) -> Self {
        self.existing = Box::new(decide);
        self
    }

    /// Whether `report.html` is written. Default: [`Page::Always`].
    #[must_use]
    pub const fn report(mut self, page: Page) -> Self {
        self.page = page;
        self
    }

    /// Stops when the [`Interrupter`](crate::parts::runner::Interrupter) of this interrupt is used: once
    /// to send nothing more, twice to cancel what is in flight.
    #[must_use]
    pub fn interrupt(mut self, interrupt: Interrupt) -> Self {
        self.interrupt = Some(interrupt);
        self
    }

    /// Uses this clock, which a client of your own stamps by as well.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Stores a fact about the service with the run, beside what the service says of itself.
    #[must_use]
    pub fn service_fact(mut self, name: impl Into<String>, fact: impl Into<Value>) -> Self {
        self.service_facts.insert(name.into(), fact.into());
        self
    }

    /// Grades every answer by this function.
    #[must_use]
    pub fn grader(mut self, grader: Grader) -> Self {
        self.grader = Some(grader);
        self
    }
}
