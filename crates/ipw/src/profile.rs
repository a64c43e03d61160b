//! A run, put together and carried out: the one place where a plan becomes rows on disk.
//!
//! `Profile` is a builder: what is not given comes from the plan, and what the plan does not say has
//! a default. [`Profile::run`] reads as the order of a run.

mod assembly;
mod builder;
mod ending;
mod finished;
mod resume;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use ipw_core::client::Client;
use ipw_core::dataset::Dataset;
use ipw_core::event::{Event, Observer};
use ipw_core::plan::Plan;
use ipw_core::sink::Sink;
use ipw_core::time::Clock;
use ipw_runner::pauses::Watch;
use ipw_runner::{Grader, Interrupt, Interrupter, Notices, Recall, Recorder};
use ipw_store::output::Existing;
use ipw_store::summary::ClientInfo;
use ipw_store::{CommitPolicy, RunWriter};
use ipw_telemetry::Collector;
use serde_json::{Map, Value};

pub use finished::Finished;
pub use resume::{Left, Resend};

use crate::derived::{self, Page};
use crate::error::{Error, Kind, not_ready};
use crate::hardware::Hardware;
use crate::own::Answering;
use crate::pauses::Beside;
use crate::service_metrics::{self, Watched};
use crate::tee::Tee;
use crate::{counting, summary};
use assembly::finish_readings;
pub use assembly::opened as open_dataset;
use ending::Ending;

/// A run that is being put together.
///
/// ```no_run
/// # async fn example() -> Result<(), ipw::Error> {
/// let finished = ipw::Profile::new("smollm2")
///     .service("openai", "http://127.0.0.1:8080")
///     .dataset_named("starter")
///     .max_queries(20)
///     .run()
///     .await?;
/// println!("{} rows in {}", finished.overview.rows, finished.directory.display());
/// # Ok(())
/// # }
/// ```
pub struct Profile {
    plan: Plan,
    client: Option<Box<dyn Client>>,
    answering: Option<(&'static str, Answering)>,
    dataset: Option<Box<dyn Dataset>>,
    collectors: Option<Vec<Box<dyn Collector>>>,
    grader: Option<Grader>,
    tokens: Option<Arc<ipw_tokens::TokenCounter>>,
    observers: Vec<Box<dyn Observer>>,
    sinks: Vec<Box<dyn Sink + Send>>,
    clock: Arc<dyn Clock>,
    interrupt: Option<Interrupt>,
    existing: Box<dyn Fn(&Path) -> Existing + Send>,
    resume: Option<resume::Resume>,
    directory: Option<PathBuf>,
    page: Page,
    /// What is stored of the service beside what it says of itself.
    service_facts: Map<String, Value>,
}

impl Profile {
    /// Carries the run out, from the first question to the service to the report.
    ///
    /// The future must be polled by a tokio runtime with timers and I/O; a runtime of one thread
    /// stamps best. If it is dropped half-way, the rows measured so far are saved and the run opens;
    /// it can be resumed. An error means that there is no finished run. Runs that were interrupted,
    /// broken off or have failed rows are `Ok`: [`Finished::checked`] turns all but the interrupted
    /// into errors.
    pub async fn run(mut self) -> Result<Finished, Error> {
        let client = self.take_client()?;
        let done = match self.take_dataset() {
            Ok(dataset) => self.carry_out(&*client, &*dataset).await,
            Err(error) => Err(error),
        };
        // Whatever happened, the client is closed; that it could not be hides nothing else.
        let closed = client.close().await;
        let mut finished = done?;
        finished.close_warning = closed.err().map(|error| error.to_string());
        Ok(finished)
    }

    async fn carry_out(
        &mut self,
        client: &dyn Client,
        dataset: &dyn Dataset,
    ) -> Result<Finished, Error> {
        self.check_file_limit(client)?;
        let interrupt = self.interrupt.take();
        let mut interrupt = interrupt.unwrap_or_else(|| Interrupter::new().1);
        let warnings = self.ready(client, &mut interrupt).await?;
        let prepared = self.prepare(client, dataset, warnings).await?;
        self.send(client, dataset, prepared, &interrupt).await
    }

    /// Makes sure that the service answers and has the model; what comes back are warnings.
    async fn ready(
        &self,
        client: &dyn Client,
        interrupt: &mut Interrupt,
    ) -> Result<Vec<String>, Error> {
        tokio::select! {
            ready = ipw_runner::make_ready(client, &self.plan.model) => {
                ready.map_err(|error| not_ready(client, error))
            }
            () = interrupt.draining() => Err(interrupted()),
        }
    }

    /// Detects the sources and prepares the output: from now on there is a run that opens, and
    /// readings are stored.
    async fn prepare(
        &mut self,
        client: &dyn Client,
        dataset: &dyn Dataset,
        warnings: Vec<String>,
    ) -> Result<Prepared, Error> {
        let own = self.collectors.take();
        let hardware = Hardware::start(&self.plan, client, own, &self.clock)?;
        let directory = self.directory(&hardware, dataset);
        let (left, recall) = self.earlier()?;
        // Before a resumed run's summary is a new one.
        let resumed = self.resume.as_ref().map(resume::Resume::directory);
        let of_tokens = counting::warnings(self.tokens.as_deref(), resumed);
        let metrics = self.plan.server_metrics.as_deref();
        let page = service_metrics::find(metrics, client, &*self.clock)?;
        let (plan, clock) = (&self.plan, &*self.clock);
        // On the heap: it is large, and stays while the service is asked.
        let about = summary::new(plan, clock, dataset, &hardware, &directory, &left);
        let mut about = Box::new(about);
        about.client_info = ClientInfo::of(self.client_info(client).await);
        about.total_queries = Some(left.done.len() as u64);
        let part = left.next_part;
        let output = self.prepare_output(&directory, dataset, &about, &hardware, left.again)?;
        let aside = output.aside().map(Path::to_owned);
        let notices = self.notices(&directory)?;
        notices.send(self.started(&directory, dataset, left.done.len() as u64));
        let warnings = warnings.into_iter().chain(of_tokens);
        for message in warnings.chain(dataset.notes()) {
            notices.send(Event::Warning { message });
        }
        hardware.tell(|event| notices.send(event));
        let recorder = self.record(&directory, part, &hardware)?;
        let watched = self.watch_service(page, &directory, part)?;
        let policy = CommitPolicy::every(self.plan.output.flush_every);
        let writer = RunWriter::start(output, *about, policy, Arc::clone(&self.clock))
            .context("starting the writer")?;
        Ok(Prepared {
            hardware,
            directory,
            aside,
            notices,
            recorder,
            watched,
            writer,
            left,
            recall,
        })
    }

    /// Warms up, sends the queries, and closes what was prepared.
    async fn send(
        &mut self,
        client: &dyn Client,
        dataset: &dyn Dataset,
        prepared: Prepared,
        interrupt: &Interrupt,
    ) -> Result<Finished, Error> {
        let Prepared {
            hardware,
            directory,
            notices,
            ..
        } = prepared;
        let parts = self.parts(client, dataset, &hardware, prepared.left, prepared.recall);
        let watch = Watch::start(Arc::clone(&self.clock)).context("starting the run")?;
        let sink = Tee::new(prepared.writer, std::mem::take(&mut self.sinks));
        let (sink, ended) = ipw_runner::run(&self.plan, &parts, sink, &notices, interrupt)
            .await
            .context("starting the run")?;
        let lost_sources = hardware.session.lost();
        // Nothing is read after the last look, so that what was counted is what is on disk.
        hardware.session.stop();
        finish_readings(prepared.recorder, &notices);
        let told = prepared.watched.map(|watched| watched.finish(&notices));
        let ending = Ending {
            plan: &self.plan,
            clock: &*self.clock,
            hardware: &hardware,
            self_tests: parts.self_tests.get().map_or(&[][..], Vec::as_slice),
            idled: &parts.idled,
            beside: Beside::of(told, watch),
            ended: &ended,
        };
        let stored = ending.store(sink.into_inner());
        let status = ending::status_of(&ended);
        ending::announce(&stored, status, prepared.aside.as_deref(), notices);
        let stored = stored.map_err(|error| ending::not_stored(error, &directory))?;
        let summary = stored.summary;
        let stopped = ended.err();
        Ok(Finished {
            status,
            stopped: stopped.map(|error| finished::stopped_early(client, error)),
            files: derived::refresh(&directory, &stored.overview, self.page),
            warnings: summary.quality.clone().unwrap_or_default(),
            metrics: summary.metrics.unwrap_or_default(),
            overview: stored.overview,
            plan: self.plan.clone(),
            session: hardware.session,
            service: client.place(),
            dataset: dataset.name().to_owned(),
            lost_sources,
            close_warning: None,
            summary,
            directory,
        })
    }
}

/// A run that is on disk and has no row yet.
struct Prepared {
    hardware: Hardware,
    directory: PathBuf,
    /// The run that was there before.
    aside: Option<PathBuf>,
    notices: Notices,
    recorder: Recorder,
    watched: Option<Watched>,
    writer: RunWriter,
    left: Left,
    recall: Recall,
}

/// What is said of a run that was stopped before its first query.
fn interrupted() -> Error {
    let cause = anyhow::anyhow!("the run was told to stop before its first query");
    Error::new(Kind::Interrupted, cause)
}
