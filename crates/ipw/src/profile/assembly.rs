//! Makes each part of a run as the plan asks, or takes the part that the caller provided.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Context as _;
use ipw_core::client::Client;
use ipw_core::dataset::Dataset;
use ipw_core::event::{Event, Observer};
use ipw_core::plan::Plan;
use ipw_core::setting::Setting;
use ipw_core::slug::model_label;
use ipw_datasets::Fetching;
use ipw_findings::load;
use ipw_hub::Progress;
use ipw_runner::{FinishedSet, Notices, Parts, Recall, Recorder};
use ipw_scrape::page::Page;
use ipw_store::events::EventLog;
use ipw_store::schema::RunSchema;
use ipw_store::{NewRun, ReadingWriter, StoreError, Summary, plan, resume};
use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};

use super::resume::Resume;
use super::{EarlierParts, Profile};
use crate::error::{Error, Kind};
use crate::hardware::Hardware;
use crate::own::OwnClient;
use crate::service_metrics::MetricsWatch;
use crate::{clients, counting, grading, naming};

/// Files that a run keeps open besides its connections: rows, readings, sources, libraries.
const OTHER_FILES: u64 = 48;

/// Opens the dataset of a plan. `progress` gets the progress of downloads.
pub fn opened(plan: &Plan, progress: &mut dyn FnMut(Progress)) -> Result<Box<dyn Dataset>, Error> {
    let mut report = |one| progress(one);
    let fetching = &mut Fetching::from_env(&mut report);
    let opened = ipw_datasets::open_for(&plan.dataset, plan.load.stop.most(), fetching);
    opened.map_err(|error| {
        let kind = if error.is_usage() {
            Kind::Invalid
        } else {
            Kind::Unexpected
        };
        Error::new(kind, error)
    })
}

impl Profile {
    pub(super) fn take_client(&mut self) -> Result<Box<dyn Client>, Error> {
        if let Some((id, answer)) = self.answering.take() {
            let clock = Arc::clone(&self.clock);
            return Ok(Box::new(OwnClient::new(id, answer, clock)));
        }
        match self.client.take() {
            Some(client) => Ok(client),
            None if self.plan.client.id.is_empty() => Err(Error::invalid("the run has no client")
                .with_help("name a service, or provide your own client")),
            None => {
                let clock = Arc::clone(&self.clock);
                clients::connect(&self.plan.client, &self.plan.model, clock, &mut |_| {})
            }
        }
    }

    pub(super) fn take_dataset(&mut self) -> Result<Box<dyn Dataset>, Error> {
        if let (None, Some(named)) = (&self.tokens, &self.plan.tokenizer) {
            self.tokens = Some(counting::load(named, &mut |_| {})?);
        }
        match self.dataset.take() {
            Some(dataset) => Ok(dataset),
            None if self.plan.dataset.id.is_empty() => {
                Err(Error::invalid("the run has no dataset")
                    .with_help("name a dataset or a file, or provide your own dataset"))
            }
            None => opened(&self.plan, &mut |_| {}),
        }
    }

    /// Refuses more connections than the limit on open files allows, before the first query.
    pub(super) fn check_file_limit(&self, client: &dyn Client) -> Result<(), Error> {
        let is_shared = client.in_process() || self.plan.client.network.http2;
        let streams = self.plan.load.arrivals.concurrency();
        let limit = getrlimit(Resource::Nofile).current;
        let (Some(limit), Some(streams), false) = (limit, streams, is_shared) else {
            return Ok(());
        };
        let needed = streams.get() as u64 + OTHER_FILES;
        if needed <= limit {
            return Ok(());
        }
        let message = format!(
            "{streams} queries in flight need {needed} open files, but the limit is {limit}"
        );
        let most = limit.saturating_sub(OTHER_FILES).max(1);
        let fewer = Setting::Concurrency.to(most);
        Err(Error::invalid(message).with_help(format!(
            "raise the limit with `ulimit -n {needed}`, or set `{fewer}`"
        )))
    }

    /// Describes the service, the connection to it, and the source of its token counts.
    pub(super) async fn client_info(&self, client: &dyn Client) -> Value {
        let mut info = client.describe().await;
        let Some(known) = info.as_object_mut() else {
            return info;
        };
        let proxy = ipw_clients::proxy(client.base_url()).map(|proxy| json!(proxy));
        let tokenizer = self.tokens.as_ref().map(|tokens| json!(tokens.about()));
        let is_http2 = self.plan.client.network.http2;
        known.extend(self.service_facts.clone());
        for (name, fact) in [
            ("proxy", proxy),
            ("protocol", is_http2.then(|| json!("HTTP/2"))),
            ("tokenizer", tokenizer),
        ] {
            if let Some(fact) = fact {
                known.insert(name.to_owned(), fact);
            }
        }
        info
    }

    /// The directory of the run.
    pub(super) fn directory(&self, hardware: &Hardware, dataset: &dyn Dataset) -> PathBuf {
        let resumed = self.resume.as_ref().map(Resume::directory);
        match (resumed, &self.directory) {
            (Some(directory), _) => directory.to_owned(),
            (None, Some(directory)) => directory.clone(),
            (None, None) => {
                let name = naming::directory(&self.plan, &hardware.label, dataset.name());
                self.plan.output.directory.join(name)
            }
        }
    }

    /// Starts to store raw readings.
    pub(super) fn record(
        &self,
        directory: &Path,
        part: u32,
        hardware: &Hardware,
    ) -> Result<Recorder, Error> {
        let sources = hardware.session.meters();
        let sink = ReadingWriter::create(directory, sources, part, self.plan.output.durable)
            .context("preparing the output")?;
        let recorder = Recorder::start(Arc::clone(&hardware.session), Box::new(sink));
        Ok(recorder.context("starting the recorder")?)
    }

    /// Starts to store the service's Prometheus metrics, once a second.
    pub(super) fn watch_service(
        &self,
        page: Option<Page>,
        directory: &Path,
        part: u32,
    ) -> Result<Option<MetricsWatch>, Error> {
        let durable = self.plan.output.durable;
        let start = |page| MetricsWatch::start(page, directory, part, durable, &self.clock);
        Ok(page
            .map(start)
            .transpose()
            .context("preparing the output")?)
    }

    /// Creates the run directory. If one exists, the caller's `on_existing` decides.
    pub(super) fn prepare_output(
        &self,
        directory: &Path,
        dataset: &dyn Dataset,
        about: &Summary,
        hardware: &Hardware,
        resent: u64,
    ) -> Result<NewRun, Error> {
        let schema = RunSchema::priced(
            &model_label(&self.plan.model),
            dataset.metadata_shape(),
            &hardware.system,
            hardware.session.devices(),
            self.plan.price.as_ref(),
        );
        let durable = self.plan.output.durable;
        if let Some(resume) = &self.resume {
            return resume::reopen(directory, schema, about, resume.again(resent), durable)
                .map_err(|error| Error::new(Kind::Exists, error));
        }
        let existing = if directory.symlink_metadata().is_ok() {
            (self.existing)(directory)
        } else {
            ipw_store::output::Existing::Keep
        };
        let plan = plan_text(&self.plan)?;
        ipw_store::create(directory, schema, existing, &plan, about, durable).map_err(in_the_way)
    }

    pub(super) fn notices(&mut self, directory: &Path) -> Result<Notices, Error> {
        let log = EventLog::create(directory).context("preparing the output")?;
        let mut observers: Vec<Box<dyn Observer>> = vec![Box::new(log)];
        observers.append(&mut self.observers);
        let notices = Notices::start(observers, Arc::clone(&self.clock));
        Ok(notices.context("starting the observers")?)
    }

    pub(super) fn started(&self, directory: &Path, dataset: &dyn Dataset, done: u64) -> Event {
        let load = &self.plan.load;
        let size = dataset.size().and_then(|size| load.rounds_of(size));
        let expected = load.stop.expected(size);
        Event::RunStarted {
            directory: directory.display().to_string(),
            model: model_label(&self.plan.model),
            client: self.plan.client.id.clone(),
            dataset: dataset.name().to_owned(),
            queries: expected.map(|all| all.saturating_sub(done)),
        }
    }

    pub(super) fn parts<'a>(
        &self,
        client: &'a dyn Client,
        dataset: &'a dyn Dataset,
        hardware: &Hardware,
        left: EarlierParts,
        recall: Recall,
    ) -> Parts<'a> {
        let grader = self.grader.clone();
        let scorer = || grading::grader(self.plan.scorer.clone());
        let tokens = self.tokens.clone();
        Parts {
            client,
            dataset,
            session: Arc::clone(&hardware.session),
            counter: tokens.map(|tokens| counting::every_reply(tokens, &self.plan)),
            grader: grader.unwrap_or_else(scorer),
            slo_check: load::slo_check(&self.plan.load),
            clock: Arc::clone(&self.clock),
            part: left.next_part,
            done: left.done.into_iter().collect::<FinishedSet>(),
            recall,
            self_tests: OnceLock::new(),
            idled: ipw_runner::idle::IdleMeasurements::default(),
        }
    }
}

/// The plan as `plan.toml` stores it.
pub(crate) fn plan_text(plan: &Plan) -> Result<String, Error> {
    plan::text(plan).map_err(|error| {
        Error::new(Kind::Invalid, error)
            .with_help("parameters cannot be `null`, and integers must fit in 64 bits")
    })
}

/// Stores the last readings. A failure is a warning: rows are complete without raw readings.
pub(super) fn finish_readings(recorder: Recorder, notices: &Notices) {
    if let Err(error) = recorder.finish() {
        let error = anyhow::Error::from(error);
        let message = format!("raw readings are incomplete: {error:#}");
        notices.send(Event::Warning { message });
    }
}

/// Explains why the run directory cannot be created.
fn in_the_way(error: StoreError) -> Error {
    let elsewhere = Setting::OutputDir.to("DIR");
    match error {
        StoreError::Busy { .. } => Error::new(Kind::Exists, error).with_help(format!(
            "wait until it has finished, or choose another directory with `{elsewhere}`"
        )),
        StoreError::Exists { .. } => Error::new(Kind::Exists, error).with_help(format!(
            "use `{}` to replace it once the new run has finished, or `{}` to keep both",
            Setting::Overwrite,
            Setting::Name.to("TEXT")
        )),
        other => Error::from(anyhow::Error::from(other).context("preparing the output"))
            .with_help(format!("choose another directory with `{elsewhere}`")),
    }
}
