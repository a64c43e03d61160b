//! NVIDIA boards that are not there: a copy of the fake library, its script, and the truth.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::fake_library::fake_library;
use crate::sensor::PowerTrace;
use crate::{Missing, place};

/// Where time comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// The test says what time it is: [`FakeNvml::set`].
    Told,
    /// The machine's monotonic clock; the traces begin at this many nanoseconds of it.
    Monotonic(u64),
}

/// A board. The fields are what the script says of it.
#[derive(Debug, Clone)]
pub struct Board {
    /// What it calls itself.
    pub name: String,
    /// Its UUID.
    pub uuid: String,
    /// Its place on the bus, as NVML writes it.
    pub pci: String,
    /// CUDA's compute capability.
    pub capability: (u32, u32),
    /// Its power over time: the truth.
    pub trace: PowerTrace,
    /// Joules that the counter had counted when the trace began.
    pub offset: f64,
    /// Seconds between two updates of the counter and of power.
    pub period: f64,
    /// Seconds that an instant power is averaged over.
    pub window: f64,
    /// Whether there is a counter.
    pub has_energy: bool,
    /// Whether there is plain power.
    pub has_power: bool,
    /// Scopes of instant power, and which part of the trace each of them is.
    pub scopes: Vec<(&'static str, f64)>,
    /// The same for average power.
    pub averaged: Vec<(&'static str, f64)>,
    /// Moments at which the counter begins anew.
    pub resets: Vec<f64>,
    /// Stretches in which the board is lost.
    pub lost: Vec<(f64, f64)>,
    /// What the counter says meanwhile, in mJ.
    pub energy_values: Vec<(f64, f64, u64)>,
    /// What every power says meanwhile, in mW.
    pub power_values: Vec<(f64, f64, u64)>,
    /// Milliseconds that every call for it takes.
    pub delay_ms: u64,
    /// Whether it is divided; `None` where it cannot be.
    pub mig: Option<bool>,
    /// UUIDs of its instances.
    pub instances: Vec<String>,
    /// Whether its memory corrects errors; `None` where it cannot.
    pub ecc: Option<bool>,
    /// State by the script's word: `temperature`, `throttle` and so on.
    pub state: Vec<(&'static str, f64)>,
}

impl Board {
    /// An H100 of this number, with this power.
    pub fn new(number: u32, trace: PowerTrace) -> Self {
        Self {
            name: "NVIDIA H100 80GB HBM3".to_owned(),
            uuid: format!("GPU-{number}f1e2d3c-0000-4000-8000-00000000000{number}"),
            pci: format!("00000000:{:02X}:00.0", 0x1b + number * 0x10),
            capability: (9, 0),
            trace,
            offset: 123_456.789,
            period: 0.1,
            window: 0.1,
            has_energy: true,
            has_power: true,
            scopes: vec![("gpu", 1.0)],
            averaged: Vec::new(),
            resets: Vec::new(),
            lost: Vec::new(),
            energy_values: Vec::new(),
            power_values: Vec::new(),
            delay_ms: 0,
            mig: Some(false),
            instances: Vec::new(),
            ecc: Some(true),
            state: vec![
                ("throttle", 0.0),
                ("limit", 700.0),
                ("temperature", 45.0),
                ("use", 87.0),
                ("memory_use", 31.0),
                ("memory_mib", 81_559.0),
                ("memory_used_mib", 1024.0),
                ("clock_mhz", 1980.0),
                ("memory_clock_mhz", 2619.0),
                ("processes", 1.0),
            ],
        }
    }

    /// The same board with another state.
    #[must_use]
    pub fn with_state(mut self, word: &'static str, value: f64) -> Self {
        self.state.retain(|(known, _)| *known != word);
        self.state.push((word, value));
        self
    }

    fn write(&self, script: &mut String) {
        let mut line = |line: String| {
            script.push_str(&line);
            script.push('\n');
        };
        line("board".to_owned());
        line(format!("name {}", self.name));
        line(format!("uuid {}", self.uuid));
        line(format!("pci {}", self.pci));
        line(format!(
            "capability {} {}",
            self.capability.0, self.capability.1
        ));
        for (seconds, watts) in self.trace.steps() {
            line(format!("step {seconds} {watts}"));
        }
        line(format!("offset {}", self.offset));
        line(format!("period {}", self.period));
        line(format!("window {}", self.window));
        for (word, is_there) in [("no_energy", self.has_energy), ("no_power", self.has_power)] {
            if !is_there {
                line(word.to_owned());
            }
        }
        for (word, scopes) in [("scope", &self.scopes), ("averaged", &self.averaged)] {
            for (scope, factor) in scopes {
                line(format!("{word} {scope} {factor}"));
            }
        }
        for reset in &self.resets {
            line(format!("reset {reset}"));
        }
        for (from, to) in &self.lost {
            line(format!("lost {from} {to}"));
        }
        for (word, values) in [
            ("energy_value", &self.energy_values),
            ("power_value", &self.power_values),
        ] {
            for (from, to, value) in values {
                line(format!("{word} {from} {to} {value}"));
            }
        }
        line(format!("delay_ms {}", self.delay_ms));
        for (word, is_on) in [("mig", self.mig), ("ecc", self.ecc)] {
            if let Some(is_on) = is_on {
                line(format!("{word} {}", if is_on { "on" } else { "off" }));
            }
        }
        for instance in &self.instances {
            line(format!("instance {instance}"));
        }
        for (word, value) in &self.state {
            line(format!("{word} {value}"));
        }
    }
}

/// A machine with boards.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The driver's version.
    pub driver: String,
    /// What initialising returns; 0 is success.
    pub init: u32,
    /// Where time comes from.
    pub time: Time,
    /// Functions that look as if they were missing.
    pub missing: Vec<&'static str>,
    /// The boards.
    pub boards: Vec<Board>,
}

impl Machine {
    /// A machine with these boards, whose time is told.
    pub fn new(boards: Vec<Board>) -> Self {
        Self {
            driver: "580.95.05".to_owned(),
            init: 0,
            time: Time::Told,
            missing: Vec::new(),
            boards,
        }
    }
}

/// A private copy of the fake library, so that tests do not share its state, and its script.
pub struct FakeNvml {
    directory: tempfile::TempDir,
    library: PathBuf,
}

impl FakeNvml {
    /// Builds the library if need be, and makes it act as `machine`.
    pub fn new(machine: &Machine) -> Result<Self, Missing> {
        let built = fake_library("ipw-fake-nvml")?;
        let made = || -> io::Result<Self> {
            let directory = tempfile::tempdir()?;
            let library = directory.path().join("libnvidia-ml.so.1");
            fs::copy(&built, &library)?;
            let fake = Self { directory, library };
            fake.set(0.0)?;
            fake.act_as(machine)?;
            Ok(fake)
        };
        made().map_err(|error| place::unusable(&built, &error))
    }

    /// The library, for `IPW_NVML_LIB` or what stands for it.
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// Makes the library act as `machine` from now on.
    pub fn act_as(&self, machine: &Machine) -> io::Result<()> {
        let mut script = String::new();
        let _ = writeln!(script, "driver {}", machine.driver);
        let _ = writeln!(script, "init {}", machine.init);
        let _ = match machine.time {
            Time::Told => writeln!(script, "clock {}", self.path("clock").display()),
            Time::Monotonic(start) => writeln!(script, "start {start}"),
        };
        let _ = writeln!(script, "calls {}", self.path("calls").display());
        for name in &machine.missing {
            let _ = writeln!(script, "missing {name}");
        }
        for board in &machine.boards {
            board.write(&mut script);
        }
        self.replace("libnvidia-ml.so.1.script", &script)
    }

    /// Sets the time, in seconds after the beginning of the traces.
    pub fn set(&self, seconds: f64) -> io::Result<()> {
        self.replace("clock", &seconds.to_string())
    }

    /// The calls so far: the function, and the board's number or `-`.
    pub fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.path("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A reader sees the old text or the new one.
    fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        let aside = self.path(&format!("{name}.new"));
        fs::write(&aside, text)?;
        fs::rename(aside, self.path(name))
    }
}
