//! `ipw profile`: puts the parts together, runs, and says what came out.

mod earlier;
mod start;

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Context;
use ipw_analysis::metric::Values;
use ipw_clients::{Client, NotReady};
use ipw_core::attribution::Weights;
use ipw_core::event::{Event, Observer};
use ipw_core::slug::model_label;
use ipw_core::text::with_causes;
use ipw_core::time::{Clock, Timestamp};
use ipw_datasets::{Dataset, DatasetSpec, Fetching};
use ipw_runner::pauses::Watch;
use ipw_runner::{
    Done, Ended, Failures, Interrupter, Notices, Parts, Plan, Recorder, RunError, SystemClock,
};
use ipw_store::events::EventLog;
use ipw_store::output::Existing;
use ipw_store::resume;
use ipw_store::schema::RunSchema;
use ipw_store::writer::Finished;
use ipw_store::{CommitPolicy, NewRun, ReadingWriter, RunWriter, Status, StoreError};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::args::ProfileArgs;
use crate::error::{CliError, Exit};
use crate::hardware::Hardware;
use crate::observe::{JsonLines, Progress, Transfer};
use crate::pauses::{self, Beside};
use crate::service_metrics::Watched;
use crate::{
    attribution, calibration, clients, counting, derived, grading, load, measured, naming, next,
    quality, screen, service_metrics, settings, signals, summary,
};

pub(crate) use start::{only_model, resolve};

pub(crate) fn run(args: ProfileArgs) -> Result<Exit, CliError> {
    run_in(args, &Arc::default())
}

/// The same; `place` gets the run's directory as soon as it is known.
pub(crate) fn run_in(
    mut args: ProfileArgs,
    place: &Arc<OnceLock<PathBuf>>,
) -> Result<Exit, CliError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let runtime = start::runtime()?;
    let plan = settings::resolve(&mut args, |client| {
        runtime.block_on(only_model(client, &clock))
    })?;
    let plan_text = settings::to_toml(&plan)?;
    let quiet = args.quiet || args.json;
    let tokens = counting::load(plan.tokenizer.as_deref(), quiet)?;
    let dataset = open_dataset(&plan.dataset, quiet)?;
    let client = clients::connect(&plan.client, &plan.model, Arc::clone(&clock), quiet)?;
    let profile = Profile {
        place: Arc::clone(place),
        args,
        plan,
        plan_text,
        clock,
        dataset,
        client,
        tokens,
    };
    runtime.block_on(profile.run_and_close())
}

/// Opens the dataset; what must be fetched is fetched in sight of the user.
fn open_dataset(spec: &DatasetSpec, quiet: bool) -> Result<Box<dyn Dataset>, CliError> {
    let mut transfer = Transfer::new(quiet);
    let mut report = |progress| transfer.told(progress);
    let opened = ipw_datasets::open_with(spec, &mut Fetching::from_env(&mut report));
    transfer.end();
    opened.map_err(|error| {
        let exit = if error.is_usage() {
            Exit::Usage
        } else {
            Exit::Unexpected
        };
        CliError::new(exit, error)
    })
}

/// The parts of one run.
pub(crate) struct Profile {
    place: Arc<OnceLock<PathBuf>>,
    args: ProfileArgs,
    pub(crate) plan: Plan,
    plan_text: String,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) dataset: Box<dyn Dataset>,
    client: Box<dyn Client>,
    tokens: Option<Arc<ipw_tokens::TokenCounter>>,
}

/// How the queries went.
type Went = Result<Ended, RunError>;

impl Profile {
    /// Whatever happens, the client is closed; that it could not be hides nothing else.
    async fn run_and_close(&self) -> Result<Exit, CliError> {
        let done = self.run().await;
        if let Err(error) = self.client.close().await {
            screen::talk(&format!("warning: {error}"));
        }
        done
    }

    async fn run(&self) -> Result<Exit, CliError> {
        self.check_file_limit(raise_file_limit())?;
        let (interrupter, mut interrupt) = Interrupter::new();
        signals::listen(interrupter, self.args.quiet).context("listening for signals")?;
        let client = self.client.as_ref();
        let warnings = tokio::select! {
            ready = ipw_runner::make_ready(client, &self.plan.model) => {
                ready.map_err(|error| not_ready(client, error))?
            }
            () = interrupt.draining() => return Ok(Exit::Interrupted),
        };
        let hardware = Hardware::start(&self.plan.telemetry, client, &self.clock)?;
        let directory = self.directory(&hardware);
        let (left, recall) = earlier::look(&self.args)?;
        // Before a resumed run's summary is a new one.
        let of_tokens = counting::warnings(self.tokens.as_deref(), self.args.resume.as_deref());
        let page =
            service_metrics::find(self.plan.server_metrics.as_deref(), client, &*self.clock)?;
        let client_info = self.client_info().await;
        let mut about = summary::new(self, &hardware, &directory, client_info, &left);
        about.total_queries = left.done.len() as u64;
        let part = left.next_part;
        let output = self.prepare_output(&directory, &about, &hardware, left.again)?;
        let done: Done = left.done.into_iter().collect();
        let aside = output.aside().map(Path::to_owned);
        let notices = self.notices(&directory)?;
        notices.send(self.started(&directory, done.count()));
        let before = warnings.into_iter().chain(of_tokens);
        for message in before.chain(self.dataset.notes()) {
            notices.send(Event::Warning { message });
        }
        for message in hardware.notes() {
            notices.send(Event::Note { message });
        }
        let recorder = self.record(&directory, part, &hardware)?;
        let durable = self.plan.output.durable;
        let watched = page
            .map(|page| Watched::start(page, &directory, part, durable, &self.clock))
            .transpose()
            .context("preparing the output")?;
        let policy = CommitPolicy::every(self.plan.output.flush_every);
        let writer = RunWriter::start(output, about, policy, Arc::clone(&self.clock))
            .context("starting the writer")?;
        let parts = Parts {
            client,
            dataset: &*self.dataset,
            session: Arc::clone(&hardware.session),
            counter: self
                .tokens
                .clone()
                .map(|tokens| counting::every_reply(tokens, &self.plan)),
            grader: grading::grader(self.plan.scorer.clone()),
            judge: load::judge(&self.plan.load),
            clock: Arc::clone(&self.clock),
            part,
            done,
            recall,
            self_tests: OnceLock::new(),
            idled: ipw_runner::idle::Idled::default(),
        };
        let watch = Watch::start(Arc::clone(&self.clock)).context("starting the run")?;
        let (writer, went) = ipw_runner::run(&self.plan, &parts, writer, &notices, &interrupt)
            .await
            .context("starting the run")?;
        let lost = hardware.session.lost();
        // Nothing is read after the last look, so that what was counted is what is on disk.
        hardware.session.stop();
        finish_readings(recorder, &notices);
        let told = watched.map(|watched| watched.finish(&notices));
        let beside = Beside::of(told, watch);
        let finished = self.finish(writer, &went, &hardware, &parts, beside);
        let done = self
            .conclude(&directory, aside.as_deref(), went, finished, notices)
            .and_then(|exit| self.still_measured(exit, &lost));
        let is_chatty = !self.args.quiet && !self.args.json && self.args.sweep().is_none();
        if done.is_ok() && client.in_process() && is_chatty {
            let found = next::look(&self.clock).await;
            screen::print(&next::advice(&found, &directory.display().to_string()));
        }
        done
    }

    /// Refuses more streams than files may be open, before the first query.
    fn check_file_limit(&self, limit: Option<u64>) -> Result<(), CliError> {
        let is_shared = self.client.in_process() || self.plan.client.network.http2;
        let streams = self.plan.load.arrivals.concurrency();
        let (Some(limit), Some(streams), false) = (limit, streams, is_shared) else {
            return Ok(());
        };
        let needed = streams.get() as u64 + OTHER_FILES;
        if needed <= limit {
            return Ok(());
        }
        let message =
            format!("{streams} queries in flight need {needed} open files; {limit} are allowed");
        let most = limit.saturating_sub(OTHER_FILES).max(1);
        let help = format!("raise the limit (`ulimit -n {needed}`), or set `--concurrency {most}`");
        Err(CliError::usage(message).help(help))
    }

    /// What is known of the service, of the way to it, and of what counts its tokens.
    async fn client_info(&self) -> Value {
        let client = self.client.as_ref();
        let mut info = client.describe().await;
        let launched = self.args.launched.clone();
        let proxy = ipw_clients::proxy(client.base_url()).map(|proxy| json!(proxy));
        let tokenizer = self.tokens.as_ref().map(|tokens| json!(tokens.about()));
        let is_http2 = self.plan.client.network.http2;
        for (name, fact) in [
            ("launch", launched),
            ("proxy", proxy),
            ("protocol", is_http2.then(|| json!("HTTP/2"))),
            ("tokenizer", tokenizer),
        ] {
            if let (Some(fact), Some(info)) = (fact, info.as_object_mut()) {
                info.insert(name.to_owned(), fact);
            }
        }
        info
    }

    /// A run that was to be measured and lost a source for good says so when all is saved.
    fn still_measured(&self, exit: Exit, lost: &[String]) -> Result<Exit, CliError> {
        if !self.plan.telemetry.require_energy || lost.is_empty() || exit != Exit::Done {
            return Ok(exit);
        }
        let error = anyhow::anyhow!("`{}` fell silent and did not come back", lost.join("`, `"))
            .context("energy was required and was lost on the way");
        Err(CliError::new(Exit::NoEnergy, error)
            .help("all rows are saved; those after the loss have no energy (`energy.reason`)"))
    }

    /// Where rows go.
    fn directory(&self, hardware: &Hardware) -> PathBuf {
        let named = || {
            let name = naming::directory(&self.plan, &hardware.label, self.dataset.name());
            self.plan.output.directory.join(name)
        };
        let found = || self.args.resume.clone().unwrap_or_else(named);
        self.place.get_or_init(found).clone()
    }

    /// Takes raw readings to disk from now on.
    fn record(
        &self,
        directory: &Path,
        part: u32,
        hardware: &Hardware,
    ) -> Result<Recorder, CliError> {
        let sources = hardware.session.meters();
        let sink = ReadingWriter::create(directory, sources, part, self.plan.output.durable)
            .context("preparing the output")?;
        let recorder = Recorder::start(Arc::clone(&hardware.session), Box::new(sink));
        Ok(recorder.context("starting the recorder")?)
    }

    /// Makes the run directory, asking first where something is in the way.
    fn prepare_output(
        &self,
        directory: &Path,
        about: &ipw_store::Summary,
        hardware: &Hardware,
        again: u64,
    ) -> Result<NewRun, CliError> {
        let model = model_label(&self.plan.model);
        let schema = RunSchema::priced(
            &model,
            self.dataset.metadata_shape(),
            &hardware.system,
            hardware.session.devices(),
            self.plan.price.as_ref(),
        );
        let durable = self.plan.output.durable;
        if self.args.resume.is_some() {
            let again = (again > 0).then(|| earlier::again(&self.args));
            return resume::reopen(directory, schema, about, again, durable)
                .map_err(|error| CliError::new(Exit::Exists, error));
        }
        let exists = directory.symlink_metadata().is_ok();
        let may_replace = self.args.overwrite || self.args.yes;
        let existing = if exists && (may_replace || ask_to_replace(directory)) {
            Existing::Replace
        } else {
            Existing::Keep
        };
        ipw_store::create(directory, schema, existing, &self.plan_text, about, durable).map_err(
            |error| match error {
                StoreError::Busy { .. } => CliError::new(Exit::Exists, error).help(
                    "wait until it has finished, or choose another place with `--output-dir DIR`",
                ),
                StoreError::Exists { .. } => CliError::new(Exit::Exists, error).help(
                    "`--overwrite` replaces it when the new run has finished; `--name TEXT` makes another beside it",
                ),
                other => CliError::from(anyhow::Error::from(other).context("preparing the output"))
                    .help("choose another place with `--output-dir DIR`"),
            },
        )
    }

    fn notices(&self, directory: &Path) -> Result<Notices, CliError> {
        let mut observers: Vec<Box<dyn Observer>> = vec![Box::new(
            EventLog::create(directory).context("preparing the output")?,
        )];
        if self.args.json {
            observers.push(Box::new(JsonLines));
        } else if !self.args.quiet {
            observers.push(Box::new(Progress::new()));
        }
        let notices = Notices::start(observers, Arc::clone(&self.clock));
        Ok(notices.context("starting the observers")?)
    }

    fn started(&self, directory: &Path, done: u64) -> Event {
        Event::RunStarted {
            directory: directory.display().to_string(),
            model: model_label(&self.plan.model),
            client: self.plan.client.id.clone(),
            dataset: self.dataset.name().to_owned(),
            queries: self
                .plan
                .load
                .stop
                .expected(
                    self.dataset
                        .size()
                        .and_then(|size| self.plan.load.rounds_of(size)),
                )
                .map(|all| all.saturating_sub(done)),
        }
    }

    fn finish(
        &self,
        writer: RunWriter,
        went: &Went,
        hardware: &Hardware,
        parts: &Parts<'_>,
        beside: Beside,
    ) -> Result<Finished, StoreError> {
        let (warm, idled) = (&parts.self_tests, &parts.idled);
        let warm = warm.get().map_or(&[][..], Vec::as_slice);
        writer.finish(status_of(went), |summary, overview, run| {
            let elapsed = self.clock.now().since(Timestamp::ZERO);
            summary.server_metrics = beside.told;
            let mut telemetry = hardware.summary(elapsed, warm, idled);
            let part = summary.parts.last().map_or(0, |part| part.part);
            telemetry["pauses"] = pauses::told(run, part, &beside.pauses);
            summary.telemetry = Some(telemetry);
            // A run that cannot be read again says so elsewhere.
            let load = load::findings(run, &self.plan.load).ok();
            let frame = load.as_ref().map(|load| &load.frame);
            let values = frame.and_then(|frame| measured::within(run, frame).ok());
            // Without them, readers compute the metrics from the rows.
            summary.metrics = values.map(|values| json!(values));
            let values = values.unwrap_or_default();
            let mut efficiency = json!(grading::efficiency(overview, &values));
            efficiency["derived"] = json!(load.as_ref().map(|load| load.derived));
            summary.efficiency = Some(efficiency);
            summary.load = load.map(|load| json!(load));
            let telemetry = summary.telemetry.as_ref().unwrap_or(&Value::Null);
            let load = summary.load.as_ref().unwrap_or(&Value::Null);
            summary.quality = Some(json!(quality::notes(overview, telemetry, load)));
            let at = self.clock.anchor().unix_seconds(self.clock.now());
            let idle = hardware.idle_used(part, idled);
            let told = attribution::of(Weights::Equal, &idle, overview, at);
            summary.attribution = Some(told);
            summary.marginal = hardware.marginal(overview, run);
            summary.generated_at = self.clock.anchor().unix_seconds(self.clock.now());
            summary.reason = match went {
                Err(error) => Some(with_causes(error)),
                Ok(Ended::Interrupted) => Some("stopped by a signal".to_owned()),
                Ok(Ended::Failing { failed, sent }) => Some(format!(
                    "{failed} of {sent} queries failed, more than `--max-error-rate` allows"
                )),
                Ok(Ended::Complete) if overview.rows == 0 => {
                    Some("the dataset has no rows".to_owned())
                }
                Ok(Ended::Complete) => None,
            };
        })
    }

    fn conclude(
        &self,
        directory: &Path,
        aside: Option<&Path>,
        went: Went,
        finished: Result<Finished, StoreError>,
        notices: Notices,
    ) -> Result<Exit, CliError> {
        let status = if finished.is_ok() {
            status_of(&went)
        } else {
            Status::Failed
        };
        let rows = finished
            .as_ref()
            .map_or(0, |finished| finished.overview.rows);
        for message in finished.iter().flat_map(|finished| &finished.warnings) {
            notices.send(Event::Warning {
                message: message.clone(),
            });
        }
        if let (Some(old), false) = (aside, status == Status::Complete) {
            let message = format!(
                "the run that was there before is kept at `{}`",
                old.display()
            );
            notices.send(Event::Warning { message });
        }
        notices.finish(|notices_dropped| Event::RunFinished {
            status: status.label().to_owned(),
            rows,
            notices_dropped,
        });
        // The store's error comes first: it is why the sink's appends failed.
        let finished = finished.context("storing the rows").map_err(|error| {
            let run = next::quoted(&directory.display().to_string()) + &settings::resume_flags(&self.plan);
            CliError::from(error).help(format!(
                "what was committed is in `{}`; when the cause is mended, `ipw profile --resume {run}` goes on",
                directory.display()
            ))
        })?;
        let report = self.report(directory, &finished);
        self.show(directory, status, &finished, report.as_deref());
        if status != Status::Complete && !self.args.quiet && !self.args.json {
            let run = next::quoted(&ipw_core::text::printable(&directory.display().to_string()));
            let flags = settings::resume_flags(&self.plan);
            screen::talk(&format!("to go on: ipw profile --resume {run}{flags}"));
        }
        if let Err(RunError::Service(error)) = went {
            return Err(not_ready(self.client.as_ref(), error));
        }
        if let Err(error) = went {
            return Err(anyhow::Error::from(error)
                .context("the run stopped early")
                .into());
        }
        verdict(status, &finished, &self.plan.failures)
    }

    /// Writes the page, and again what was made from the rows of earlier parts.
    fn report(&self, directory: &Path, finished: &Finished) -> Option<PathBuf> {
        let wanted = if self.args.no_report {
            derived::Page::Never
        } else {
            derived::Page::Always
        };
        let refreshed = derived::refresh(directory, &finished.overview, wanted);
        refreshed.tell(self.args.quiet);
        refreshed.page
    }

    fn show(&self, directory: &Path, status: Status, finished: &Finished, report: Option<&Path>) {
        if self.args.quiet {
            return;
        }
        let overview = &finished.overview;
        if self.args.json {
            let line = json!({
                "event": "overview", "directory": directory, "report": report, "overview": overview,
                "metrics": finished.metrics,
            });
            screen::print(&format!("{line}\n"));
            return;
        }
        let name = self.plan.name.iter().map(|name| ("name", name.clone()));
        let head: Vec<_> = name
            .chain([
                ("model", model_label(&self.plan.model)),
                ("service", self.client.place()),
                ("dataset", self.dataset.name().to_owned()),
                ("status", status.label().to_owned()),
            ])
            .collect();
        let notes = quality::notes(overview, &finished.telemetry, &finished.load);
        let values = Values::deserialize(&finished.metrics).unwrap_or_default();
        let calibrated = calibration::quoted(finished.calibration.as_ref());
        screen::print(&screen::overview(
            &head,
            overview,
            screen::Told {
                values: &values,
                basis: self.plan.telemetry.basis,
                load: &finished.load,
                marginal: &finished.marginal,
                telemetry: &finished.telemetry,
            },
            &calibrated,
            &quality::lines(&notes),
            directory,
        ));
        if let Some(path) = report {
            let path = ipw_core::text::printable(&path.display().to_string());
            screen::print(&format!("{path}\n"));
        }
    }
}

/// Takes the last readings to disk; that it could not is told.
fn finish_readings(recorder: Recorder, notices: &Notices) {
    if let Err(error) = recorder.finish() {
        let error = anyhow::Error::from(error);
        let message = format!("raw readings are incomplete: {error:#}");
        notices.send(Event::Warning { message });
    }
}

/// Files that a run has open beside its streams: rows, readings, sources, libraries.
const OTHER_FILES: u64 = 48;

/// Every stream is an open file: as many as the system allows may be open. Returns how many that is;
/// `None` without a limit.
fn raise_file_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // A system that refuses leaves what there was.
    let _ = setrlimit(Resource::Nofile, raised);
    getrlimit(Resource::Nofile).current
}

fn status_of(went: &Went) -> Status {
    match went {
        Ok(Ended::Complete) => Status::Complete,
        Ok(Ended::Interrupted) => Status::Interrupted,
        Ok(Ended::Failing { .. }) | Err(_) => Status::Failed,
    }
}

fn verdict(status: Status, finished: &Finished, failures: &Failures) -> Result<Exit, CliError> {
    let overview = &finished.overview;
    if status == Status::Interrupted {
        return Ok(Exit::Interrupted);
    }
    if overview.rows == 0 {
        return Err(CliError::new(
            Exit::Unexpected,
            anyhow::anyhow!("the run has no rows: the dataset has none"),
        )
        .help("look at the dataset, and at its `offset`, `limit` and `path`"));
    }
    let stopped = status == Status::Failed;
    if stopped
        || failures
            .max_failed
            .is_exceeded(overview.failed(), overview.rows)
    {
        let message = format!("{} of {} queries failed", overview.failed(), overview.rows);
        return Err(CliError::new(Exit::Failed, anyhow::anyhow!(message))
            .help("the column `error` says why, row by row"));
    }
    Ok(Exit::Done)
}

pub(crate) fn not_ready(client: &dyn Client, error: NotReady) -> CliError {
    let NotReady { cause, help } = error;
    let message = format!(
        "the {} (client `{}`) at {} is unavailable",
        client.name(),
        client.id(),
        client.base_url()
    );
    let error = CliError::new(Exit::Service, anyhow::anyhow!(cause).context(message));
    match help {
        Some(help) => error.help(help),
        None => error,
    }
}

/// Asks on a terminal; without one the answer is no.
fn ask_to_replace(directory: &Path) -> bool {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return false;
    }
    let mut talk = std::io::stderr().lock();
    let _ = write!(
        talk,
        "`{}` exists. Replace it when the new run has finished? [y/N] ",
        ipw_core::text::printable(&directory.display().to_string())
    );
    let _ = talk.flush();
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests;
