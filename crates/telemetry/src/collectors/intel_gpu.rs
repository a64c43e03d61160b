//! Intel GPUs: the energy counters of the `i915` and `xe` drivers in hwmon.
//!
//! Only discrete boards have them. An integrated GPU is part of the package that RAPL counts. A
//! suspended board is not read: reading would wake it.

mod counters;
mod names;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use ipw_core::counter::Rollover;
use ipw_core::hardware::Device;
use ipw_core::setting::Setting;
use ipw_core::source::{Domain, Gauge, Method, Quantity, Source};

use crate::collectors::host::files::{Reader, numbered};
use crate::collectors::sysfs::{
    Files, POWER, STATE_INTERVAL, TEMPERATURE, Value, gauge, is_asleep, text,
};
use crate::{Absent, Collector, Gpus, Options};
use counters::Counters;

const ID: &str = "intel_gpu";
const VENDOR: &str = "0x8086";
const DRIVERS: [&str; 2] = ["i915", "xe"];

/// Highest sensor number to look for on one board.
const MOST_SENSORS: u32 = 8;

/// A discrete board.
struct Board {
    /// The PCI device directory of the card.
    device: PathBuf,
    hwmon: PathBuf,
    driver: String,
    counters: Vec<(Part, PathBuf)>,
}

/// What a counter covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// The whole board.
    Card,
    /// The chip and everything on its package.
    Package,
    /// An unknown domain.
    Other(u32),
}

/// Finds the boards that have an energy counter.
pub fn detect(options: &Options) -> Result<Vec<Box<dyn Collector>>, Absent> {
    let drm = options.sysfs.join("class/drm");
    let is_intel = |card: &PathBuf| text(&card.join("device/vendor")).as_deref() == Some(VENDOR);
    let cards: Vec<PathBuf> = numbered(&drm, "card")
        .into_iter()
        .filter(is_intel)
        .collect();
    if cards.is_empty() {
        let reason = format!("no Intel GPU under `{}`", drm.display());
        return Err(absent(false, reason));
    }
    let boards: Vec<Board> = cards.iter().filter_map(|card| Board::at(card)).collect();
    if boards.is_empty() {
        return Err(uncounted(&cards));
    }
    if boards.iter().all(Board::is_denied) {
        return Err(denied(&drm));
    }
    let meant: Vec<(usize, Board)> = boards
        .into_iter()
        .enumerate()
        .filter(|(index, board)| is_meant(&options.gpus, *index, board.pci().as_deref()))
        .collect();
    if meant.is_empty() {
        let reason = format!("`{}` matches no Intel GPU", Setting::Gpu);
        return Err(absent(true, reason));
    }
    let collectors = meant
        .into_iter()
        .flat_map(|(index, board)| board.collectors(index));
    Ok(collectors.collect())
}

fn absent(is_here: bool, reason: String) -> Absent {
    Absent {
        collector: ID.into(),
        is_here,
        reason,
        fix: None,
        risk: None,
    }
}

/// The reason when no board's counter is readable. If others are readable, such a board stays a
/// source: without it the sum over the boards is unknown.
fn denied(drm: &Path) -> Absent {
    let counters = drm.join("card*/device/hwmon/hwmon*/energy*_input");
    Absent {
        fix: Some(format!("sudo chmod a+r {}", counters.display())),
        ..absent(
            true,
            format!("cannot read `{}`: permission denied", counters.display()),
        )
    }
}

/// The reason when there are GPUs but no counter.
fn uncounted(cards: &[PathBuf]) -> Absent {
    let board = cards.iter().find_map(|card| monitor(card));
    let reason = board.map_or_else(
        || {
            "the Intel GPU is integrated in the CPU: RAPL counts its energy with the package, and \
             it has no counter of its own"
                .to_owned()
        },
        |(hwmon, _)| {
            format!(
                "`{}` has no `energy1_input`: this kernel's driver does not count the GPU's \
                 energy",
                hwmon.display()
            )
        },
    );
    absent(true, reason)
}

/// Whether the user selected it: by its number, PCI address or id.
fn is_meant(gpus: &Gpus, index: usize, pci: Option<&str>) -> bool {
    let is_it = |name: &String| {
        *name == index.to_string()
            || *name == format!("{ID}/{index}")
            || pci.is_some_and(|pci| name.eq_ignore_ascii_case(pci))
    };
    gpus.named.is_empty() || gpus.named.iter().any(is_it)
}

/// The hwmon directory of a card, and its driver.
fn monitor(card: &Path) -> Option<(PathBuf, String)> {
    numbered(&card.join("device/hwmon"), "hwmon")
        .into_iter()
        .find_map(|hwmon| {
            let driver = text(&hwmon.join("name"))?;
            DRIVERS.contains(&&*driver).then_some((hwmon, driver))
        })
}

impl Board {
    fn at(card: &Path) -> Option<Self> {
        let (hwmon, driver) = monitor(card)?;
        let counters = counted(&hwmon);
        (!counters.is_empty()).then(|| Self {
            device: card.join("device"),
            hwmon,
            driver,
            counters,
        })
    }

    /// Whether the counter is unreadable. Opening wakes nothing; only reading does.
    fn is_denied(&self) -> bool {
        let refused = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        let mut files = self.counters.iter().map(|(_, file)| File::open(file));
        files.all(|opened| opened.is_err_and(refused))
    }

    /// Separate collectors for energy and state, so that nothing delays energy.
    fn collectors(self, index: usize) -> Vec<Box<dyn Collector>> {
        let id = format!("{ID}/{index}");
        let status = self.device.join("power/runtime_status");
        let state = self.state(&id);
        let device = self.describe(&id, index, &state);
        let counters: Vec<(Source, PathBuf)> = self
            .counters
            .iter()
            .map(|(part, file)| (self.source(&id, *part), file.clone()))
            .collect();
        let mut collectors: Vec<Box<dyn Collector>> =
            vec![Box::new(Counters::new(counters, device, status.clone()))];
        if !state.is_empty() {
            let state = Files::new(ID, state, STATE_INTERVAL).unless_asleep(status);
            collectors.push(Box::new(state));
        }
        collectors
    }

    fn source(&self, id: &str, part: Part) -> Source {
        // The package is part of the card; without a card counter it is all that is known.
        let is_first = self
            .counters
            .first()
            .is_some_and(|(first, _)| *first == part);
        let (name, domain) = match part {
            _ if is_first => (id.to_owned(), Domain::Gpu),
            Part::Card => (format!("{id}/card"), Domain::Rail),
            Part::Package => (format!("{id}/pkg"), Domain::Rail),
            Part::Other(number) => (format!("{id}/energy{number}"), Domain::Rail),
        };
        Source {
            name,
            collector: ID.into(),
            host: None,
            device: Some(id.to_owned()),
            quantity: Quantity::Energy {
                domain,
                // The drivers count in 64 bits: a decrease is a reset.
                rollover: Rollover::Resets,
            },
            method: Method::Counter,
            period: None,
            privilege: "none".into(),
            relative_sigma: None,
        }
    }

    fn describe(&self, id: &str, index: usize, state: &[(Source, Value)]) -> Device {
        let mut reader = Reader::default();
        let is_limit = |source: &Source| source.name.ends_with("/power_limit");
        let limit = state
            .iter()
            .find(|(source, _)| is_limit(source))
            .filter(|_| !is_asleep(&mut reader, &self.device.join("power/runtime_status")))
            .and_then(|(_, limit)| limit.read(&mut Reader::default()));
        let mut notes = Vec::new();
        if self.counters.iter().all(|(part, _)| *part != Part::Card) {
            notes.push("the energy counter does not cover the whole board".to_owned());
        }
        Device {
            id: id.to_owned(),
            name: text(&self.device.join("device")).map(|device| names::name(&device)),
            vendor: Some("Intel".to_owned()),
            index: u32::try_from(index).ok(),
            device_type: Some("GPU".to_owned()),
            backend: Some(self.driver.clone()),
            pci: self.pci(),
            power_limit_watts: limit,
            notes,
            ..Device::default()
        }
    }

    /// The PCI address: `0000:03:00.0`.
    fn pci(&self) -> Option<String> {
        let about = text(&self.device.join("uevent"))?;
        let mut lines = about.lines();
        let place = lines.find_map(|line| line.strip_prefix("PCI_SLOT_NAME="));
        place.map(str::to_owned)
    }

    fn state(&self, id: &str) -> Vec<(Source, Value)> {
        let temperature = self.temperature().map(|file| {
            let value = Value::scaled(file, 1e-3, TEMPERATURE);
            (gauge(id, "temperature", Gauge::GpuTemperature), value)
        });
        // `max` is the sustained limit, `cap` the momentary one; newer boards have only the latter.
        // `crit`, where the board cuts out, is far above both.
        let limits = ["power1_max", "power1_cap", "power2_max", "power2_cap"];
        let files = limits.map(|file| self.hwmon.join(file));
        let limit = files.into_iter().find(|file| file.exists()).map(|file| {
            // Zero means that there is no limit.
            let value = Value::scaled(file, 1e-6, f64::MIN_POSITIVE..=*POWER.end());
            (gauge(id, "power_limit", Gauge::PowerLimit), value)
        });
        temperature.into_iter().chain(limit).collect()
    }

    /// The temperature of the package, else the first one.
    fn temperature(&self) -> Option<PathBuf> {
        let sensors: Vec<(Option<String>, PathBuf)> = (1..=MOST_SENSORS)
            .map(|number| {
                let label = text(&self.hwmon.join(format!("temp{number}_label")));
                (label, self.hwmon.join(format!("temp{number}_input")))
            })
            .filter(|(_, file)| file.exists())
            .collect();
        let package = sensors
            .iter()
            .find(|(label, _)| label.as_deref() == Some("pkg"));
        package.or(sensors.first()).map(|(_, file)| file.clone())
    }
}

/// The counters of a board; the one that represents the board comes first.
fn counted(hwmon: &Path) -> Vec<(Part, PathBuf)> {
    let mut counters: Vec<(Part, PathBuf)> = (1..=MOST_SENSORS)
        .map(|number| (number, hwmon.join(format!("energy{number}_input"))))
        .filter(|(_, file)| file.exists())
        .map(|(number, file)| {
            let label = text(&hwmon.join(format!("energy{number}_label")));
            let part = match (label.as_deref(), number) {
                (Some("card"), _) | (None, 1) => Part::Card,
                (Some("pkg"), _) | (None, 2) => Part::Package,
                _ => Part::Other(number),
            };
            (part, file)
        })
        .collect();
    counters.sort();
    counters.dedup_by_key(|(part, _)| *part);
    counters
}

#[cfg(test)]
mod tests;
