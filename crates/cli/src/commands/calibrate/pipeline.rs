//! One scenario through everything that a run goes through: plan, dataset, client, dispatch,
//! samplers, rows, store. Only the service and the sensor are ours, and they know the truth.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context as _;
use ipw_clients::{Client, ClientSpec, KeySource, Network, connect};
use ipw_core::event::Event;
use ipw_core::hardware::SystemInfo;
use ipw_core::params::Params;
use ipw_core::rollup::Choice;
use ipw_core::time::Clock;
use ipw_datasets::{Dataset as _, DatasetSpec};
use ipw_reference::Service;
use ipw_runner::idle::Idled;
use ipw_runner::plan::{Generation, Load, Output, ServiceHost, Telemetry};
use ipw_runner::{
    Done, Ended, Failures, Interrupt, Notices, Parts, Plan, Recorder, Stop, make_ready,
};
use ipw_store::events::EventLog;
use ipw_store::output::Existing;
use ipw_store::schema::RunSchema;
use ipw_store::{CommitPolicy, ReadingWriter, RunWriter, Status, Summary};
use ipw_telemetry::{Role, Session, Setup};

use super::compare::Asked;
use super::questions::Questions;
use super::rows::{self, Row};
use super::scenario::Scenario;
use super::sensor::{Sensor, Told};
use crate::error::CliError;
use crate::{grading, settings};

const MODEL: &str = "reference";
/// How often the sensor is polled: what a run does unless told otherwise.
const INTERVAL: Duration = Duration::from_millis(10);
const PRIMING: Duration = Duration::from_secs(1);
const WARM_UP: u32 = 3;
/// Longer than any scenario: a reply that hangs ends here.
const LIMIT: Duration = Duration::from_mins(1);
const FLUSH_EVERY: usize = 100;

/// What all scenarios share.
pub(super) struct Bench {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) system: SystemInfo,
    /// Where runs are made.
    pub(super) directory: PathBuf,
    pub(super) interrupt: Interrupt,
}

/// What came of a scenario.
pub(super) struct Taken {
    pub(super) rows: Vec<Row>,
    pub(super) asked: Vec<Asked>,
    /// Joules that the session counted and that the sensor told, fast and slow.
    pub(super) counted: [Option<(f64, f64)>; 2],
    /// Share of one core that sampling took.
    pub(super) sampler: Option<f64>,
}

impl Bench {
    /// Runs a scenario; `None` when it was told to stop.
    pub(super) async fn take(&self, scenario: &Scenario) -> Result<Option<Taken>, CliError> {
        let script = scenario.answers.script(Arc::clone(&self.clock));
        let service = Service::start(Arc::clone(&self.clock), script)
            .context("starting the reference service")?;
        let directory = self.directory.join(scenario.id);
        let plan = plan(scenario, &service, &directory);
        let client = connect(&plan.client, Arc::clone(&self.clock)).context("making the client")?;
        make_ready(&*client, MODEL)
            .await
            .context("asking the reference service whether it is ready")?;
        let told = Told::default();
        let session = self.session(&told)?;
        let begun = self.clock.now();
        let ended = self.run(&plan, scenario, &*client, &session).await?;
        let sampled = self.clock.now().since(begun);
        let own = session.own_cpu_time().as_secs_f64();
        if ended == Ended::Interrupted {
            return Ok(None);
        }
        let counted = session.accounts().into_iter();
        let counted: Vec<_> = counted
            .map(|(_, account)| account.energy.joules())
            .collect();
        let [fast, slow] = told.joules();
        let with = |place: usize, told: Option<f64>| counted.get(place).copied().zip(told);
        Ok(Some(Taken {
            rows: rows::read(&directory).context("reading the rows back")?,
            asked: Asked::of(&service.log()),
            counted: [with(0, fast), with(1, slow)],
            sampler: (!sampled.is_zero()).then(|| own / sampled.as_secs_f64()),
        }))
    }

    fn session(&self, told: &Told) -> Result<Arc<Session>, CliError> {
        let setup = Setup {
            collectors: vec![Box::new(Sensor::new(told.clone()))],
            interval: INTERVAL,
            role: Role::Service,
            absent: None,
        };
        let session = Session::start(setup, Arc::clone(&self.clock));
        let session = session.context("starting the sampler")?;
        session.prime(PRIMING);
        Ok(Arc::new(session))
    }

    async fn run(
        &self,
        plan: &Plan,
        scenario: &Scenario,
        client: &dyn Client,
        session: &Arc<Session>,
    ) -> Result<Ended, CliError> {
        let dataset = Questions::new(scenario.questions);
        let directory = &plan.output.directory;
        let writer = self.writer(plan, &dataset)?;
        let readings = ReadingWriter::create(directory, session.meters(), 0, false);
        let readings = readings.context("preparing the readings")?;
        let recorder = Recorder::start(Arc::clone(session), Box::new(readings))
            .context("starting the recorder")?;
        let log = EventLog::create(directory).context("preparing the notices")?;
        let notices = Notices::start(vec![Box::new(log)], Arc::clone(&self.clock))
            .context("starting the observers")?;
        let parts = Parts {
            client,
            dataset: &dataset,
            session: Arc::clone(session),
            counter: None,
            grader: grading::grader(None),
            judge: None,
            clock: Arc::clone(&self.clock),
            part: 0,
            done: Done::default(),
            recall: Arc::new(|_| Ok(None)),
            self_tests: OnceLock::new(),
            idled: Idled::default(),
        };
        let (writer, went) = ipw_runner::run(plan, &parts, writer, &notices, &self.interrupt)
            .await
            .context("starting the run")?;
        session.stop();
        recorder.finish().context("storing the readings")?;
        let finished = writer.finish(Status::Complete, |_, _, _| {});
        let rows = finished.context("storing the rows")?.overview.rows;
        notices.finish(|notices_dropped| Event::RunFinished {
            status: Status::Complete.label().to_owned(),
            rows,
            notices_dropped,
        });
        Ok(went.context("the run stopped early")?)
    }

    fn writer(&self, plan: &Plan, dataset: &Questions) -> Result<RunWriter, CliError> {
        let directory = &plan.output.directory;
        let about = self.about(dataset, directory);
        let schema = RunSchema::new(MODEL, dataset.metadata_shape(), &self.system, &[]);
        let plan = settings::to_toml(plan)?;
        let output = ipw_store::create(directory, schema, Existing::Keep, &plan, &about, false)
            .context("preparing the output")?;
        let policy = CommitPolicy::every(FLUSH_EVERY);
        let writer = RunWriter::start(output, about, policy, Arc::clone(&self.clock));
        Ok(writer.context("starting the writer")?)
    }

    fn about(&self, dataset: &Questions, directory: &Path) -> Summary {
        let anchor = self.clock.anchor();
        Summary {
            model: MODEL.to_owned(),
            dataset: dataset.id().to_owned(),
            dataset_name: dataset.name().to_owned(),
            generated_at: anchor.unix_seconds(self.clock.now()),
            system_info: Some(self.system.clone()),
            ..Summary::begun(directory, anchor)
        }
    }
}

fn plan(scenario: &Scenario, service: &Service, directory: &Path) -> Plan {
    Plan {
        name: None,
        tags: BTreeMap::new(),
        model: MODEL.to_owned(),
        scorer: None,
        tokenizer: None,
        price: None,
        launch: None,
        server_metrics: None,
        dataset: DatasetSpec {
            id: "calibrate".to_owned(),
            params: Params::default(),
        },
        client: ClientSpec {
            id: "openai".to_owned(),
            base_url: Some(service.url()),
            params: Params::default(),
            key: KeySource::Default,
            insecure_key: false,
            network: Network::default(),
            connect_timeout: LIMIT,
        },
        generation: Generation::default(),
        load: Load {
            arrivals: scenario.arrivals.clone(),
            stop: Stop::Exhausted,
            duration: scenario.duration,
            ramp: Duration::ZERO,
            repeat: None,
            seed: 0,
            retries: 0,
            unique_prefix: false,
            slo: None,
            warmup: WARM_UP,
            request_timeout: LIMIT,
            first_token_timeout: None,
            idle_timeout: None,
            max_reply: ipw_clients::MAX_REPLY,
        },
        failures: Failures::default(),
        telemetry: Telemetry {
            sample_interval: INTERVAL,
            require_energy: false,
            estimate: false,
            cpu_tdp_watts: None,
            gpus: Vec::new(),
            idle: Duration::ZERO,
            sources: Vec::new(),
            basis: Choice::All,
            service_host: ServiceHost::Local,
            service_pids: Vec::new(),
        },
        output: Output {
            directory: directory.to_owned(),
            flush_every: FLUSH_EVERY,
            durable: false,
        },
    }
}
