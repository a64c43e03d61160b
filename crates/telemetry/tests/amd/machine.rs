//! A machine with the fake library, a session over it, and what they say.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ipw_core::energy::QueryEnergy;
use ipw_core::hardware::Device;
use ipw_core::reading::Window;
use ipw_core::source::Source;
use ipw_core::time::{Clock, Timestamp};
use ipw_telemetry::collectors::amd;
use ipw_telemetry::{Absent, Collector, Options, PollError, Poller, Role, Session, Setup};
use ipw_testkit::sensor::PowerTrace;
use ipw_testkit::{ManualClock, fake_library, or_skip};

pub(crate) const STEPS: &str = "steps 0.37:90 0.41:300 0.29:520";

pub(crate) fn trace() -> PowerTrace {
    PowerTrace::new(&[(0.37, 90.0), (0.41, 300.0), (0.29, 520.0)])
}

pub(crate) fn at(seconds: f64) -> Timestamp {
    Timestamp::ZERO.after(Duration::from_secs_f64(seconds))
}

/// A machine with the fake library, and whatever the kernel shows beside it.
pub(crate) struct Machine {
    pub(crate) root: tempfile::TempDir,
}

impl Machine {
    /// `None` where the library cannot be built: then the test is skipped, loudly.
    ///
    /// Each machine has a copy of its own: the loader takes the same path for the same library.
    pub(crate) fn with(script: &str) -> Option<Self> {
        let library = or_skip(fake_library("ipw-fake-amdsmi"))?;
        let root = tempfile::tempdir().unwrap();
        fs::copy(library, root.path().join("libamd_smi.so")).unwrap();
        let machine = Self { root };
        machine.set(0.0);
        let clock = machine.path("clock");
        machine.write(
            "libamd_smi.so.script",
            &format!("clock {}\n{script}\n", clock.display()),
        );
        Some(machine)
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.root.path().join(file)
    }

    pub(crate) fn write(&self, file: &str, content: &str) {
        let file = self.path(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }

    /// Makes it that moment for the library.
    pub(crate) fn set(&self, seconds: f64) {
        self.write("clock", &at(seconds).nanos().to_string());
    }

    /// A card of the kernel's driver (for layouts and sources see the collector's own tests).
    pub(crate) fn card(&self, number: u32, pci: &str, model: &str, microwatts: &str) {
        let device = format!("sys/class/drm/card{number}/device");
        for (file, content) in [
            ("vendor", "0x1002\n"),
            ("device", &*format!("0x{model}\n")),
            ("uevent", &*format!("DRIVER=amdgpu\nPCI_SLOT_NAME={pci}\n")),
            ("gpu_busy_percent", "99\n"),
            ("hwmon/hwmon3/name", "amdgpu\n"),
            ("hwmon/hwmon3/power1_input", microwatts),
        ] {
            self.write(&format!("{device}/{file}"), content);
        }
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            sysfs: self.path("sys"),
            proc: self.path("proc"),
            dev: self.path("dev"),
            amdsmi: Some(self.path("libamd_smi.so")),
            ..Options::default()
        }
    }

    pub(crate) fn detect(&self) -> Result<Vec<Box<dyn Collector>>, Absent> {
        amd::detect(&self.options())
    }

    pub(crate) fn absent(&self) -> Absent {
        match self.detect() {
            Ok(collectors) => panic!("found {} collectors", collectors.len()),
            Err(absent) => absent,
        }
    }

    pub(crate) fn bench(self) -> Bench {
        let setup = Setup {
            collectors: self.detect().map_err(|absent| absent.reason).unwrap(),
            interval: Duration::from_millis(10),
            role: Role::Service,
            absent: None,
        };
        let clock = Arc::new(ManualClock::default());
        let (session, pollers) = Session::new(setup, Arc::clone(&clock) as Arc<dyn Clock>);
        Bench {
            machine: self,
            session,
            pollers,
            clock,
            now: 0.0,
        }
    }
}

/// A session over a machine, polled every 50 ms of its own time.
pub(crate) struct Bench {
    pub(crate) machine: Machine,
    pub(crate) session: Session,
    pub(crate) pollers: Vec<Poller>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) now: f64,
}

impl Bench {
    pub(crate) fn live_until(&mut self, seconds: f64) {
        while self.now < seconds {
            self.machine.set(self.now);
            self.clock.set(at(self.now));
            for poller in &mut self.pollers {
                poller.poll();
            }
            self.now += 0.05;
        }
    }

    pub(crate) fn query(&mut self, start: f64, end: f64) -> QueryEnergy {
        self.live_until(start);
        let ticket = self.session.open(at(start));
        self.live_until(end);
        self.session.landed(ticket);
        self.live_until(end + 1.0);
        self.session
            .close(ticket, Window::new(at(start), at(end)).unwrap())
    }
}

pub(crate) fn sources(collectors: &[Box<dyn Collector>]) -> Vec<&Source> {
    let sources = collectors.iter().flat_map(|collector| collector.sources());
    sources.collect()
}

pub(crate) fn names(collectors: &[Box<dyn Collector>]) -> Vec<&str> {
    let sources = sources(collectors).into_iter();
    sources.map(|source| &*source.name).collect()
}

pub(crate) fn devices(collectors: &[Box<dyn Collector>]) -> Vec<&Device> {
    let devices = collectors.iter().flat_map(|collector| collector.devices());
    devices.collect()
}

/// Names and values from one poll of all collectors, and the faults.
pub(crate) fn poll(collectors: &mut [Box<dyn Collector>]) -> (Vec<(String, f64)>, Vec<PollError>) {
    let (mut heard, mut errors) = (Vec::new(), Vec::new());
    for collector in collectors {
        let mut places = Vec::new();
        let polled = collector.poll(&ManualClock::default(), &mut |place, _, value| {
            places.push((place, value));
        });
        errors.extend(polled.err());
        let name = |place: usize| collector.sources()[place].name.clone();
        heard.extend(
            places
                .into_iter()
                .map(|(place, value)| (name(place), value)),
        );
    }
    (heard, errors)
}

pub(crate) fn value(heard: &[(String, f64)], name: &str) -> f64 {
    let mut found = heard.iter().filter(|(known, _)| known == name);
    found
        .next()
        .unwrap_or_else(|| panic!("no {name}: {heard:?}"))
        .1
}

pub(crate) fn joules(energy: &QueryEnergy) -> f64 {
    let energy = energy.headline().unwrap_or_else(|| panic!("{energy:?}"));
    energy.joules()
}
