//! Runs one scenario through the same assembly as any other run. Only the service and the sensor
//! are simulated; their true values are known.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use ipw_clients::connect;
use ipw_core::client::ClientSpec;
use ipw_core::dataset::DatasetSpec;
use ipw_core::plan::{Load, Output, Plan, ServiceHost, Telemetry};
use ipw_core::time::Clock;
use ipw_reference::Service;
use ipw_runner::Interrupt;
use ipw_store::Status;

use super::compare::ServiceRecord;
use super::questions::{self, Questions};
use super::rows::{self, Row};
use super::scenario::Scenario;
use super::sensor::{Sensor, ShownEnergy};
use crate::derived::Page;
use crate::error::{Error, Kind};
use crate::{Profile, service_metrics};

const MODEL: &str = "reference";
/// Timeout of a query; longer than any scenario.
const LIMIT: Duration = Duration::from_mins(1);

/// What all scenarios share.
pub(super) struct Bench {
    pub(super) clock: Arc<dyn Clock>,
    /// Parent of the run directories.
    pub(super) directory: PathBuf,
    pub(super) interrupt: Interrupt,
}

/// Measurements of one scenario.
pub(super) struct Measurement {
    pub(super) rows: Vec<Row>,
    pub(super) asked: Vec<ServiceRecord>,
    /// Joules as the session counted them and as the sensor showed them; fast, slow.
    pub(super) counted: [Option<(f64, f64)>; 2],
    /// CPU time of sampling, as a share of one core.
    pub(super) sampler: Option<f64>,
}

impl Bench {
    /// Runs a scenario; `None` if interrupted.
    pub(super) async fn measure(&self, scenario: &Scenario) -> Result<Option<Measurement>, Error> {
        let script = scenario.answers.script(Arc::clone(&self.clock));
        let service = Service::start(Arc::clone(&self.clock), script)
            .context("starting the reference service")?;
        let directory = self.directory.join(scenario.id);
        let plan = plan(scenario, &service, &directory);
        let client = connect(&plan.client, Arc::clone(&self.clock)).context("making the client")?;
        let shown = ShownEnergy::default();
        let begun = self.clock.now();
        let finished = Profile::from_plan(plan)
            .client_boxed(client)
            .dataset(Questions::new(scenario.questions))
            .collector(Sensor::new(shown.clone()))
            .clock(Arc::clone(&self.clock))
            .interrupt(self.interrupt.clone())
            .run_directory(&directory)
            .report(Page::Never)
            .run()
            .await;
        let finished = match finished {
            Err(error) if error.kind() == Kind::Interrupted => return Ok(None),
            finished => finished?,
        };
        let sampled = self.clock.now().since(begun).as_secs_f64();
        if finished.status == Status::Interrupted {
            return Ok(None);
        }
        let session = Arc::clone(&finished.session);
        finished.checked()?;
        let counted: Vec<_> = session
            .accounts()
            .into_iter()
            .map(|(_, account)| account.energy.joules())
            .collect();
        let [fast, slow] = shown.joules();
        let with = |place: usize, shown: Option<f64>| counted.get(place).copied().zip(shown);
        let own = session.own_cpu_time().as_secs_f64();
        Ok(Some(Measurement {
            rows: rows::read(&directory).context("reading the rows back")?,
            asked: ServiceRecord::of(&service.log()),
            counted: [with(0, fast), with(1, slow)],
            sampler: (sampled > 0.0).then(|| own / sampled),
        }))
    }
}

fn plan(scenario: &Scenario, service: &Service, directory: &Path) -> Plan {
    let client = ClientSpec {
        connect_timeout: LIMIT,
        ..ClientSpec::at("openai", service.url())
    };
    let dataset = DatasetSpec::new(questions::ID);
    Plan {
        server_metrics: Some(service_metrics::OFF.to_owned()),
        load: Load {
            arrivals: scenario.arrivals.clone(),
            duration: scenario.duration,
            request_timeout: LIMIT,
            ..Load::default()
        },
        telemetry: Telemetry {
            estimate: false,
            idle: Duration::ZERO,
            service_host: ServiceHost::Local,
            ..Telemetry::default()
        },
        output: Output {
            directory: directory.to_owned(),
            ..Output::default()
        },
        ..Plan::new(MODEL, client, dataset)
    }
}
