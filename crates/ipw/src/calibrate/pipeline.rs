//! One scenario through everything that a run goes through, by the same assembly as any other run.
//! Only the service and the sensor are ours, and they know the truth.

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

use super::compare::Asked;
use super::questions::{self, Questions};
use super::rows::{self, Row};
use super::scenario::Scenario;
use super::sensor::{Sensor, Told};
use crate::derived::Page;
use crate::error::{Error, Kind};
use crate::{Profile, service_metrics};

const MODEL: &str = "reference";
/// Longer than any scenario: a reply that hangs ends here.
const LIMIT: Duration = Duration::from_mins(1);

/// What all scenarios share.
pub(super) struct Bench {
    pub(super) clock: Arc<dyn Clock>,
    /// Where runs are made.
    pub(super) directory: PathBuf,
    pub(super) interrupt: Interrupt,
}

/// What came of a scenario.
pub(super) struct Measured {
    pub(super) rows: Vec<Row>,
    pub(super) asked: Vec<Asked>,
    /// Joules that the session counted and that the sensor told, fast and slow.
    pub(super) counted: [Option<(f64, f64)>; 2],
    /// Share of one core that sampling took.
    pub(super) sampler: Option<f64>,
}

impl Bench {
    /// Runs a scenario; `None` when it was told to stop.
    pub(super) async fn measure(&self, scenario: &Scenario) -> Result<Option<Measured>, Error> {
        let script = scenario.answers.script(Arc::clone(&self.clock));
        let service = Service::start(Arc::clone(&self.clock), script)
            .context("starting the reference service")?;
        let directory = self.directory.join(scenario.id);
        let plan = plan(scenario, &service, &directory);
        let client = connect(&plan.client, Arc::clone(&self.clock)).context("making the client")?;
        let told = Told::default();
        let begun = self.clock.now();
        let finished = Profile::from_plan(plan)
            .client_boxed(client)
            .dataset(Questions::new(scenario.questions))
            .collector(Sensor::new(told.clone()))
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
        let [fast, slow] = told.joules();
        let with = |place: usize, told: Option<f64>| counted.get(place).copied().zip(told);
        let own = session.own_cpu_time().as_secs_f64();
        Ok(Some(Measured {
            rows: rows::read(&directory).context("reading the rows back")?,
            asked: Asked::of(&service.log()),
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
