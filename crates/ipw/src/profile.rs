//! Assembles a run from a plan and carries it out. This is the only place where a plan becomes rows
//! on disk.
//!
//! With [`Profile`] a caller can replace any part; other parts follow the plan, and the plan has a
//! default for every setting. [`Profile::run`] lists the steps in the order in which they happen.

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
pub use resume::{EarlierParts, Resend};

use crate::derived::{self, Page};
use crate::error::{Error, Kind, not_ready};
use crate::hardware::Hardware;
use crate::own::Answering;
use crate::pauses::SideObservations;
use crate::service_metrics::{self, MetricsWatch};
use crate::tee::Tee;
use crate::{counting, summary};
use assembly::finish_readings;
pub use assembly::opened as open_dataset;
use ending::Ending;

/// A builder for a run. [`Profile::run`] carries it out.
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
    /// Facts that the caller adds to what the service reports about itself.
    service_facts: Map<String, Value>,
}

impl Profile {
    /// Carries out the run, from the first health check of the service to the report.
    ///
    /// Poll the future on a tokio runtime with timers and I/O. A current-thread runtime gives the
    /// most accurate timestamps. If the future is dropped, the rows measured so far stay on disk:
    /// the run opens, and can be resumed.
    ///
    /// An error means that there is no finished run. A run that was interrupted, stopped early or
    /// has failed rows is `Ok`. [`Finished::checked`] makes all of these except interrupted runs an
    /// error.
    pub async fn run(mut self) -> Result<Finished, Error> {
        let client = self.take_client()?;
        let done = match self.take_dataset() {
            Ok(dataset) => self.carry_out(&*client, &*dataset).await,
            Err(error) => Err(error),
        };
        // Close the client on every path. A failure to close must not hide an earlier error.
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

    /// Checks that the service is healthy and has the model. Returns warnings.
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

    /// Detects the sources and creates the output. When it returns, the run opens, and raw readings
    /// are being stored.
    async fn prepare(
        &mut self,
        client: &dyn Client,
        dataset: &dyn Dataset,
        warnings: Vec<String>,
    ) -> Result<PreparedRun, Error> {
        let own = self.collectors.take();
        let hardware = Hardware::start(&self.plan, client, own, &self.clock)?;
        let directory = self.directory(&hardware, dataset);
        let (left, recall) = self.earlier()?;
        // Read the old summary of a resumed run before it is replaced.
        let resumed = self.resume.as_ref().map(resume::Resume::directory);
        let of_tokens = counting::warnings(self.tokens.as_deref(), resumed);
        let metrics = self.plan.server_metrics.as_deref();
        let page = service_metrics::find(metrics, client, &*self.clock)?;
        let (plan, clock) = (&self.plan, &*self.clock);
        // On the heap: it is large, and would otherwise stay in the future across the await below.
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
        hardware.send_warnings(|event| notices.send(event));
        let recorder = self.record(&directory, part, &hardware)?;
        let watched = self.watch_service(page, &directory, part)?;
        let policy = CommitPolicy::every(self.plan.output.flush_every);
        let writer = RunWriter::start(output, *about, policy, Arc::clone(&self.clock))
            .context("starting the writer")?;
        Ok(PreparedRun {
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

    /// Warms up, sends the queries, and closes everything that `prepare` opened.
    async fn send(
        &mut self,
        client: &dyn Client,
        dataset: &dyn Dataset,
        prepared: PreparedRun,
        interrupt: &Interrupt,
    ) -> Result<Finished, Error> {
        let PreparedRun {
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
        // Stop sampling after the last window, so that the totals equal the readings on disk.
        hardware.session.stop();
        finish_readings(prepared.recorder, &notices);
        let server_metrics = prepared.watched.map(|watched| watched.finish(&notices));
        let ending = Ending {
            plan: &self.plan,
            clock: &*self.clock,
            hardware: &hardware,
            self_tests: parts.self_tests.get().map_or(&[][..], Vec::as_slice),
            idled: &parts.idled,
            beside: SideObservations::of(server_metrics, watch),
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

/// A run on disk without rows yet.
struct PreparedRun {
    hardware: Hardware,
    directory: PathBuf,
    /// Where the previous run in this directory was moved to.
    aside: Option<PathBuf>,
    notices: Notices,
    recorder: Recorder,
    watched: Option<MetricsWatch>,
    writer: RunWriter,
    left: EarlierParts,
    recall: Recall,
}

/// The error of a run that was interrupted before its first query.
fn interrupted() -> Error {
    let cause = anyhow::anyhow!("the run was interrupted before its first query");
    Error::new(Kind::Interrupted, cause)
}
