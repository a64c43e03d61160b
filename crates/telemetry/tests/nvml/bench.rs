//! A machine with boards and simulated time.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ipw_core::energy::QueryEnergy;
use ipw_core::hardware::Device;
use ipw_core::reading::Window;
use ipw_core::source::{Domain, Source};
use ipw_core::time::{Clock, Timestamp};
use ipw_telemetry::collectors::nvml;
use ipw_telemetry::{Collector, Options, Poller, Role, Session, Setup};
use ipw_testkit::fake_nvml::{FakeNvml, Machine};
use ipw_testkit::sensor::PowerTrace;
use ipw_testkit::{ManualClock, or_skip};

pub(crate) fn at(seconds: f64) -> Timestamp {
    Timestamp::ZERO.after(Duration::from_secs_f64(seconds))
}

pub(crate) fn window(start: f64, end: f64) -> Window {
    Window::new(at(start), at(end)).unwrap()
}

/// Power as that of a service: some seconds of each.
pub(crate) fn uneven() -> PowerTrace {
    PowerTrace::new(&[(2.0, 180.0), (2.0, 420.0), (1.0, 650.0)])
}

pub(crate) fn constant(watts: f64) -> PowerTrace {
    PowerTrace::new(&[(1.0, watts)])
}

/// Directories without boards, for everything but the library.
pub(crate) fn options(fake: &FakeNvml, root: &Path) -> Options {
    Options {
        sysfs: root.join("sys"),
        proc: root.join("proc"),
        dev: root.join("dev"),
        nvml: Some(fake.library().to_owned()),
        ..Options::default()
    }
}

pub(crate) fn detect(options: &Options) -> Vec<Box<dyn Collector>> {
    nvml::detect(options).unwrap_or_else(|absent| panic!("absent: {absent:?}"))
}

pub(crate) fn names(collectors: &[Box<dyn Collector>]) -> Vec<String> {
    let sources = collectors.iter().flat_map(|collector| collector.sources());
    sources.map(|source| source.name.clone()).collect()
}

pub(crate) fn devices(collectors: &[Box<dyn Collector>]) -> Vec<Device> {
    let devices = collectors.iter().flat_map(|collector| collector.devices());
    devices.cloned().collect()
}

/// A board on the bus of `root`.
pub(crate) fn on_bus(root: &Path, place: &str, status: &str) -> PathBuf {
    let device = root.join("sys/bus/pci/devices").join(place);
    fs::create_dir_all(device.join("power")).unwrap();
    fs::write(device.join("vendor"), "0x10de\n").unwrap();
    fs::write(device.join("class"), "0x030200\n").unwrap();
    let file = device.join("power/runtime_status");
    fs::write(&file, format!("{status}\n")).unwrap();
    file
}

/// A machine with simulated time, polled when its pollers are due, and always a little late.
pub(crate) struct Bench {
    pub(crate) fake: FakeNvml,
    pub(crate) session: Session,
    pub(crate) pollers: Vec<(Poller, f64)>,
    clock: Arc<ManualClock>,
    late: u32,
    pub(crate) devices: Vec<Device>,
    _root: tempfile::TempDir,
}

impl Bench {
    /// `None` where the fake library cannot be built: the test says so and ends.
    pub(crate) fn new(machine: &Machine) -> Option<Self> {
        let root = tempfile::tempdir().unwrap();
        Self::at(machine, root, |_| {})
    }

    pub(crate) fn at(
        machine: &Machine,
        root: tempfile::TempDir,
        change: impl FnOnce(&mut Options),
    ) -> Option<Self> {
        let fake = or_skip(FakeNvml::new(machine))?;
        let mut options = options(&fake, root.path());
        change(&mut options);
        let collectors = detect(&options);
        let devices = devices(&collectors);
        let setup = Setup {
            collectors,
            interval: Duration::from_millis(10),
            role: Role::Service,
            absent: None,
        };
        let clock = Arc::new(ManualClock::default());
        let (session, pollers) = Session::new(setup, Arc::clone(&clock) as Arc<dyn Clock>);
        Some(Self {
            fake,
            session,
            pollers: pollers.into_iter().map(|poller| (poller, 0.013)).collect(),
            clock,
            late: 1,
            devices,
            _root: root,
        })
    }

    /// Up to four milliseconds, the same in every run.
    pub(crate) fn lateness(&mut self) -> f64 {
        self.late = self
            .late
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        f64::from(self.late >> 16) / 65_536.0 * 0.004
    }

    pub(crate) fn live_until(&mut self, seconds: f64) {
        loop {
            let due = |(_, due): &(Poller, f64)| *due;
            let next = self.pollers.iter().map(due).fold(f64::INFINITY, f64::min);
            if next >= seconds {
                break;
            }
            let now = next + self.lateness();
            self.fake.set(now).unwrap();
            self.clock.set(at(now));
            for (poller, due) in self.pollers.iter_mut().filter(|(_, due)| *due <= next) {
                *due += poller.poll().as_secs_f64();
            }
        }
        self.clock.set(at(seconds));
    }

    pub(crate) fn query(&mut self, start: f64, end: f64) -> QueryEnergy {
        self.live_until(start);
        let ticket = self.session.open(at(start));
        self.live_until(end);
        self.session.landed(ticket);
        self.live_until(end + 1.2);
        self.session.close(ticket, window(start, end))
    }

    pub(crate) fn sources(&self) -> Vec<Source> {
        self.session.sources().cloned().collect()
    }
}

pub(crate) fn joules(energy: &QueryEnergy) -> f64 {
    energy
        .of(Domain::Gpu)
        .unwrap_or_else(|| panic!("no energy: {energy:?}"))
        .joules()
}

/// By how much it is off, as a share of the truth.
pub(crate) fn error(energy: &QueryEnergy, truth: f64) -> f64 {
    joules(energy) / truth - 1.0
}
