//! The hardware side of a run: its sources, which of them count as the service's energy, and notes
//! about them.

use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context;
use ipw_clients::{BaseUrl, Client};
use ipw_core::account::Account;
use ipw_core::attribution::Idle;
use ipw_core::energy::Reason;
use ipw_core::event::Event;
use ipw_core::hardware::{Device, GpuInfo, SystemInfo, label};
use ipw_core::plan::{self, Plan, ServiceHost};
use ipw_core::rollup::Choice;
use ipw_core::setting::Setting;
use ipw_core::source::{Gauge, Quantity, Source};
use ipw_core::telemetry::{
    Absent, CpuTime, IdlePower, OtherRuns, SelfTest, SelfTests, SourceReport, Telemetry,
};
use ipw_core::time::{Clock, Timestamp};
use ipw_core::units::Watts;
use ipw_findings::marginal;
use ipw_runner::idle::{IdleMeasurements, IdlePowers};
use ipw_store::attribute::{IdleFrom, IdleUsed, worked};
use ipw_store::summary::MarginalCosts;
use ipw_store::{Overview, Run};
use ipw_telemetry::collectors::host::system_info;
use ipw_telemetry::surroundings::{ListenAddress, Observation, Service, Surroundings};
use ipw_telemetry::{Collector, Gpus, Options, Role, Session, Setup};

use crate::error::no_basis;
use crate::error::{Error, Kind};
use crate::sources::{SourceSet, attach};

/// How long to wait for the first reading of a source before the run starts without it.
const PRIMING: Duration = Duration::from_secs(2);

/// Lower limit: faster sampling would itself show in the measured power.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// The hardware of a run, sampled from before the first query.
pub struct Hardware {
    /// The live readings.
    pub session: Arc<Session>,
    /// CPU, memory, operating system of this machine.
    pub system: SystemInfo,
    /// Label of runs on this hardware, used in directory names.
    pub label: String,
    absent: Vec<Absent>,
    estimate: Option<String>,
    /// Notes about sources on other machines.
    elsewhere: Vec<String>,
    begun: Timestamp,
    /// Other load on this machine.
    around: Surroundings,
    /// Whether the energy of this machine counts as the service's.
    is_billed: bool,
    /// Whether the model runs in this process.
    is_service: bool,
}

/// Where to look for sources: the system's own paths, or those that the environment names.
pub fn options(estimate: bool, cpu_tdp: Option<f64>, gpus: &[String]) -> Options {
    // A binary with raised privileges must not let its caller choose which files it reads.
    let trusted = !is_privileged();
    let place = |name: &str| {
        let place = std::env::var_os(name).filter(|_| trusted);
        place.filter(|place| !place.is_empty()).map(PathBuf::from)
    };
    let visible = |name: &str| std::env::var(name).ok();
    let standard = Options::default();
    Options {
        sysfs: place("IPW_SYSFS_ROOT").unwrap_or(standard.sysfs),
        estimate,
        cpu_tdp: cpu_tdp.map(Watts::from_watts),
        nvml: place("IPW_NVML_LIB"),
        amdsmi: place("IPW_AMDSMI_LIB"),
        gpus: Gpus {
            named: gpus.to_vec(),
            cuda_visible: visible("CUDA_VISIBLE_DEVICES"),
            rocm_visible: visible("ROCR_VISIBLE_DEVICES")
                .or_else(|| visible("HIP_VISIBLE_DEVICES")),
        },
        machine: visible("IPW_MACHINE_ID"),
        ..standard
    }
}

/// Whether the kernel raised this process's privileges at start (`AT_SECURE`). Such a process may
/// be unable to read its auxiliary vector; then it counts as privileged.
#[cfg(target_os = "linux")]
fn is_privileged() -> bool {
    const AT_SECURE: usize = 23;
    let Ok(vector) = std::fs::read("/proc/self/auxv") else {
        return true;
    };
    let word = size_of::<usize>();
    let number = |bytes: &[u8]| bytes.try_into().map(usize::from_ne_bytes).ok();
    let mut pairs = vector.chunks_exact(2 * word);
    pairs.any(|pair| {
        number(&pair[..word]) == Some(AT_SECURE) && number(&pair[word..]).is_none_or(|set| set != 0)
    })
}

#[cfg(not(target_os = "linux"))]
fn is_privileged() -> bool {
    false
}

impl Hardware {
    /// Detects the sources and starts the session. If the caller provides its `own` collectors,
    /// only these are read.
    pub fn start(
        plan: &Plan,
        client: &dyn Client,
        own: Option<Vec<Box<dyn Collector>>>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        let (plan, is_launched) = (&plan.telemetry, plan.launch.is_some());
        let options = options(plan.estimate, plan.cpu_tdp_watts, &plan.gpus);
        let role = if client.in_process() {
            Role::Service
        } else {
            role(plan.service_host, client.base_url())
        };
        let attached = match own {
            Some(collectors) => SourceSet::own(collectors),
            None => attach(&plan.sources, &options, role, clock)?,
        };
        if plan.require_energy {
            require(&attached)?;
        }
        let SourceSet {
            collectors,
            absent,
            estimate,
            reason,
            role,
            is_here,
            notes,
        } = attached;
        let setup = Setup {
            collectors,
            interval: plan.sample_interval.max(SHORTEST_INTERVAL),
            role,
            absent: reason,
        };
        let begun = clock.now();
        let is_billed = is_here && role == Role::Service;
        let service = processes(plan, client, is_launched, is_billed);
        let around =
            Surroundings::start(&options, service, Arc::clone(clock)).map_err(|missing| {
                let pid = Setting::ServicePid;
                Error::invalid(format!("`{pid}`: {missing}")).with_help(
                    "name a process of the service, or remove the flag to find it by its port",
                )
            })?;
        let session = Session::start(setup, Arc::clone(clock)).context("starting the samplers")?;
        if plan.basis != Choice::All {
            let offered = session.bases();
            if !offered.contains(&plan.basis) {
                let message = format!("no source here measures basis `{}`", plan.basis.label());
                return Err(no_basis(message, &offered));
            }
            session.count_only(plan.basis);
        }
        session.prime(PRIMING);
        let system = match session.system() {
            Some(system) if !is_here => system.clone(),
            _ => system_info(&options),
        };
        let label = label(
            &device_names(session.devices()),
            system.cpu_brand.as_deref(),
        );
        Ok(Self {
            session: Arc::new(session),
            system,
            label,
            absent,
            estimate,
            elsewhere: notes,
            begun,
            around,
            is_billed,
            is_service: client.in_process(),
        })
    }

    /// Sends a warning for each thing to know before trusting the joules.
    pub fn send_warnings(&self, send: impl Fn(Event)) {
        let others = self.around.runs_at_start();
        if self.is_billed && others > 0 {
            let runs = if others == 1 { "run" } else { "runs" };
            let message = format!(
                "{others} other {runs} of `ipw` on this machine: each run counts the energy of all; measure one at a time"
            );
            send(Event::Warning { message });
        }
        for message in self.notes() {
            send(Event::Note { message });
        }
    }

    /// The first GPU, as the original's `gpu_info` describes it.
    pub fn gpu_info(&self) -> Option<GpuInfo> {
        self.session.devices().first().map(GpuInfo::from)
    }

    /// Things to know before trusting the joules.
    fn notes(&self) -> Vec<String> {
        let mut notes = self.elsewhere.clone();
        if self.session.role() == Role::Client {
            notes.push(
                format!(
                    "the service runs on another machine: its energy is not measured (start `ipw monitor` there and set `{}` here, or set `{}` if it runs here)",
                    Setting::Telemetry.to("grpc://HOST:PORT"),
                    Setting::ServiceHost.to("local")
                ),
            );
        } else if let Some(estimate) = &self.estimate {
            notes.push(format!(
                "energy is estimated, not measured: {estimate} (see `ipw doctor`)"
            ));
        } else if !self
            .session
            .sources()
            .any(|source| source.domain().is_some())
        {
            notes.push("no energy source on this machine (see `ipw doctor`)".to_owned());
        }
        notes
    }

    /// CPU time of the service, of this process and of the whole machine.
    fn cpu(&self, seen: Option<&Observation>, elapsed: Duration) -> CpuTime {
        let accounts = self.session.accounts();
        let gauge = |source: &Source| source.quantity == CPU_USE;
        let found = accounts.iter().find(|(source, _)| gauge(source));
        let busy = found.and_then(|(_, account)| Some(account.values?.mean / 100.0));
        let since = elapsed.saturating_sub(self.begun.since(Timestamp::ZERO));
        let cpus = self.system.cpu_count.map(f64::from);
        let machine = busy
            .zip(cpus)
            .map(|(busy, cpus)| busy * cpus * since.as_secs_f64());
        let here = seen.filter(|_| self.is_billed || self.is_service);
        let own = here.filter(|seen| seen.processes.is_some());
        let seconds = |time: Duration| time.as_secs_f64();
        CpuTime {
            service_seconds: here.and_then(|seen| seen.service.as_ref().ok().copied().map(seconds)),
            service_processes: here
                .and_then(|seen| seen.processes)
                .map(|count| count as u64),
            service_unknown: seen.and_then(|seen| seen.service.as_ref().err().cloned()),
            own_seconds: own.map(|seen| seconds(seen.own)),
            machine_seconds: here.and_then(|seen| seen.machine.map(seconds)).or(machine),
            capacity_seconds: here.and_then(|seen| seen.capacity.map(seconds)),
        }
    }

    /// The idle power used for each energy source.
    pub fn idle_used(&self, part: u32, idled: &IdleMeasurements) -> Vec<IdleUsed> {
        let before = idled.before.get();
        let sources = self.session.sources().enumerate();
        sources
            .filter(|(_, source)| source.domain().is_some())
            .map(|(place, source)| {
                let idle = before.and_then(|before| *before.get(place)?);
                let from = idle.map(|_| IdleFrom::Recorded);
                IdleUsed::new(&source.name, part, idle, from)
            })
            .collect()
    }

    /// Marginal energy of a token and of a second; `None` without a measured source or without a
    /// query that has energy.
    pub fn marginal(&self, overview: &Overview, run: &Run) -> Option<MarginalCosts> {
        if !self.session.is_measured() || overview.energy.rows == 0 {
            return None;
        }
        // Unreadable readings are reported elsewhere.
        marginal::of(&worked(run).ok()?)
    }

    /// The telemetry part of the summary, except pauses of this process. `warm` has the results of
    /// the self-tests after the warm-up.
    pub fn summary(
        &self,
        elapsed: Duration,
        warm: &[SelfTest],
        idled: &IdleMeasurements,
    ) -> Telemetry {
        let balances = self.session.balance();
        let aligned = self.session.aligned();
        let roles = self.session.meters().map(|source| source.role);
        let sources = self
            .session
            .accounts()
            .into_iter()
            .zip(self.session.self_tests())
            .zip(roles)
            .enumerate()
            .map(
                |(place, (((source, account), tested), role))| SourceReport {
                    role: Some(role),
                    clock: aligned.get(place).copied().flatten(),
                    idle: IdlePower {
                        before: drawn(&idled.before, place),
                        after: drawn(&idled.after, place),
                    },
                    balance: balances.get(place).copied().flatten(),
                    self_test: SelfTests {
                        start: warm.get(place).copied(),
                        end: Some(tested),
                    },
                    ..counted(source, &account)
                },
            );
        let own = self.session.own_cpu_time();
        let seen = self.around.finish();
        let billed = seen.as_ref().filter(|_| self.is_billed);
        Telemetry {
            devices: self.session.devices().to_vec(),
            sources: sources.collect(),
            absent: self.absent.clone(),
            estimate: self.estimate.clone(),
            faults: self.session.faults(),
            cpu: Some(self.cpu(seen.as_ref(), elapsed)),
            other_runs: billed.and_then(|seen| seen.runs).map(|runs| OtherRuns {
                most: runs.most as u64,
                seconds: runs.time.as_secs_f64(),
            }),
            sampler_cpu_seconds: Some(own.as_secs_f64()),
            sampler_cpu_share: share(own, elapsed),
            pauses: Vec::new(),
        }
    }
}

/// Counts and totals of one source, for the summary.
fn counted(source: Source, account: &Account) -> SourceReport {
    let is_energy = source.domain().is_some();
    let is_counter = matches!(source.quantity, Quantity::Energy { .. });
    let is_seen = is_energy && !account.covered.is_zero();
    let seconds = |time: Duration| time.as_secs_f64();
    SourceReport {
        readings: Some(account.readings),
        joules: is_seen.then(|| account.energy.joules()),
        covered_seconds: is_energy.then_some(account.covered.as_secs_f64()),
        resets: Some(account.resets),
        implausible: Some(account.implausible),
        still_seconds: account.still.filter(|_| is_counter).map(seconds),
        change_interval_seconds: account.change_interval.map(seconds),
        gaps: Some(account.gaps),
        values: account.values.filter(|_| !is_energy),
        ..SourceReport::of(source)
    }
}

const CPU_USE: Quantity = Quantity::Gauge {
    gauge: Gauge::CpuUse,
};

/// How to find the processes of the service.
fn processes(
    plan: &plan::Telemetry,
    client: &dyn Client,
    is_launched: bool,
    is_billed: bool,
) -> Service {
    if client.in_process() {
        return Service::Own;
    }
    if !is_billed {
        return Service::Unknown("the energy of this machine is not the service's");
    }
    if !plan.service_pids.is_empty() {
        return Service::Pids(plan.service_pids.clone());
    }
    if is_launched {
        return Service::Launched;
    }
    let Ok(url) = BaseUrl::parse(client.base_url()) else {
        return Service::Unknown("the address of the service is not understood");
    };
    if let Some(path) = url.socket() {
        return Service::Listening(ListenAddress::Socket(path.to_owned()));
    }
    let addresses = (url.host(), url.port()).to_socket_addrs();
    let addresses = addresses.into_iter().flatten().map(|address| address.ip());
    Service::Listening(ListenAddress::Port(url.port(), addresses.collect()))
}

/// The idle power of a source.
fn drawn(drawn: &OnceLock<IdlePowers>, place: usize) -> Option<Idle> {
    *drawn.get()?.get(place)?
}

/// Names of the devices, for the hardware label.
pub fn device_names(devices: &[Device]) -> Vec<&str> {
    let names = devices.iter().filter_map(|device| device.name.as_deref());
    names.collect()
}

fn share(own: Duration, elapsed: Duration) -> Option<f64> {
    (!elapsed.is_zero()).then(|| own.as_secs_f64() / elapsed.as_secs_f64())
}

fn require(attached: &SourceSet) -> Result<(), Error> {
    let refuse = |why: String, help: String| {
        let error = anyhow::anyhow!(why).context("energy is required and cannot be measured");
        Err(Error::new(Kind::NoEnergy, error).with_help(help))
    };
    if attached.billed().any(Source::is_measured_energy) {
        return Ok(());
    }
    if attached.billed().next().is_none() && attached.role == Role::Client {
        return refuse(
            format!(
                "the service runs on another machine ({})",
                Reason::RemoteService.label()
            ),
            format!(
                "start `ipw monitor` on that machine and set `{}` here, or set `{}` if the service runs here",
                Setting::Telemetry.to("grpc://HOST:PORT"),
                Setting::ServiceHost.to("local")
            ),
        );
    }
    let is_here = |absent: &&Absent| absent.is_here || absent.fix.is_some();
    let mut why: Vec<_> = attached
        .absent
        .iter()
        .filter(is_here)
        .map(|absent| format!("{}: {}", absent.collector, absent.reason))
        .chain(attached.notes.iter().cloned())
        .collect();
    if why.is_empty() {
        why.push("found no energy counter, GPU or battery".to_owned());
    }
    let fix = attached.absent.iter().find_map(|absent| absent.fix.clone());
    refuse(
        format!("no source measures energy ({})", why.join("; ")),
        fix.unwrap_or_else(|| "run `ipw doctor` to see what is missing".to_owned()),
    )
}

/// Whether local energy is the service's or only the client's.
fn role(host: ServiceHost, base_url: &str) -> Role {
    let here = match host {
        ServiceHost::Local => true,
        ServiceHost::Remote => false,
        ServiceHost::Auto => runs_here(base_url),
    };
    if here { Role::Service } else { Role::Client }
}

fn runs_here(base_url: &str) -> bool {
    let Ok(url) = BaseUrl::parse(base_url) else {
        return false;
    };
    if url.is_loopback() {
        return true;
    }
    let Ok(mut addresses) = (url.host(), url.port()).to_socket_addrs() else {
        return false;
    };
    addresses.any(|address| is_own(address.ip()))
}

/// An address belongs to this machine if a socket can be bound to it.
fn is_own(address: IpAddr) -> bool {
    address.is_loopback() || TcpListener::bind(SocketAddr::new(address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_joules_count_only_for_a_service_that_runs_here() {
        for (host, url, expected) in [
            (ServiceHost::Auto, "http://127.0.0.1:1", Role::Service),
            (ServiceHost::Auto, "http://localhost:1", Role::Service),
            (ServiceHost::Auto, "http://[::1]:1", Role::Service),
            (ServiceHost::Auto, "http://192.0.2.1:1", Role::Client),
            (
                ServiceHost::Auto,
                "http://no-such-host.invalid:1",
                Role::Client,
            ),
            (ServiceHost::Local, "http://192.0.2.1:1", Role::Service),
            (ServiceHost::Remote, "http://127.0.0.1:1", Role::Client),
        ] {
            assert_eq!(role(host, url), expected, "{host:?} {url}");
        }
    }
}
