//! The batteries of a laptop while it runs on them: the power of the whole machine, screen
//! included.
//!
//! On mains power a battery says nothing about the machine's power, so nothing is reported then,
//! and that is not a fault. Several batteries are one source: some laptops drain them one by one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipw_core::source::{Domain, Source};
use ipw_core::time::{Clock, Timestamp};

use crate::collectors::host::files::Reader;
use crate::collectors::sysfs::{POWER, power, silence, text};
use crate::{Absent, Collector, Options, PollError};

const ID: &str = "battery";

/// The kernel queries an ACPI battery once a second (`cache_time` of its driver).
const PERIOD: Duration = Duration::from_secs(1);

const DISCHARGING: &str = "Discharging";

/// All batteries of the machine.
struct Batteries {
    source: [Source; 1],
    all: Vec<Battery>,
    reader: Reader,
}

struct Battery {
    directory: PathBuf,
}

/// Finds the batteries, if they power the machine now.
pub fn detect(options: &Options) -> Result<Vec<Box<dyn Collector>>, Absent> {
    let supplies = options.sysfs.join("class/power_supply");
    let all = batteries(&supplies);
    if all.is_empty() {
        let reason = format!("no battery under `{}`", supplies.display());
        return Err(absent(false, reason, None));
    }
    let (batteries, mute): (Vec<_>, Vec<_>) = all.into_iter().partition(Battery::has_power);
    if batteries.is_empty() {
        let reason = format!(
            "`{}` reports neither power nor current",
            names(&mute, "`, `")
        );
        return Err(absent(true, reason, None));
    }
    let mut reader = Reader::default();
    if !batteries.iter().any(|battery| battery.feeds(&mut reader)) {
        return Err(idle(&batteries));
    }
    let name = format!("{ID}/{}", names(&batteries, "+"));
    let source = Source {
        period: Some(PERIOD),
        ..power(name, Domain::Platform, Duration::ZERO)
    };
    Ok(vec![Box::new(Batteries {
        source: [source],
        all: batteries,
        reader: Reader::default(),
    })])
}

impl Collector for Batteries {
    fn id(&self) -> &'static str {
        ID
    }

    fn sources(&self) -> &[Source] {
        &self.source
    }

    fn interval(&self, wanted: Duration) -> Duration {
        wanted.max(PERIOD / 2)
    }

    fn poll(
        &mut self,
        clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError> {
        let Self { all, reader, .. } = self;
        if !all.iter().any(|battery| battery.directory.exists()) {
            return Err(silence(all.iter().map(|battery| &*battery.directory)));
        }
        let mut sum = None;
        for battery in all.iter() {
            if !battery.feeds(reader) {
                continue;
            }
            // If one battery is unreadable, the sum would be less than the machine's power.
            let Some(watts) = battery.watts(reader) else {
                return Err(silence(std::iter::once(&*battery.directory)));
            };
            sum = Some(sum.unwrap_or(0.0) + watts);
        }
        if let Some(watts) = sum {
            take(0, clock.now(), watts);
        }
        Ok(())
    }
}

impl Battery {
    fn feeds(&self, reader: &mut Reader) -> bool {
        let status = reader.read(&self.directory.join("status"));
        status.is_some_and(|status| status.trim() == DISCHARGING)
    }

    fn has_power(&self) -> bool {
        let has = |file: &str| self.directory.join(file).exists();
        has("power_now") || (has("current_now") && has("voltage_now"))
    }

    /// Some drivers report discharge as negative, as the kernel's documentation asks.
    fn watts(&self, reader: &mut Reader) -> Option<f64> {
        let mut number = |file: &str| reader.number(&self.directory.join(file));
        let watts = match number("power_now") {
            Some(microwatts) => microwatts * 1e-6,
            None => number("current_now")? * number("voltage_now")? * 1e-12,
        };
        Some(watts.abs()).filter(|watts| POWER.contains(watts))
    }

    fn name(&self) -> String {
        let name = self.directory.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// The batteries of the machine, without those of mice and keyboards.
fn batteries(supplies: &Path) -> Vec<Battery> {
    let entries = fs::read_dir(supplies).into_iter().flatten().flatten();
    let is = |directory: &Path, file: &str, value: &str| {
        text(&directory.join(file)).as_deref() == Some(value)
    };
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| is(path, "type", "Battery") && !is(path, "scope", "Device"))
        .filter(|path| !is(path, "present", "0"))
        .collect();
    found.sort();
    found
        .into_iter()
        .map(|directory| Battery { directory })
        .collect()
}

fn names(batteries: &[Battery], between: &str) -> String {
    let names: Vec<String> = batteries.iter().map(Battery::name).collect();
    names.join(between)
}

fn idle(batteries: &[Battery]) -> Absent {
    let states = batteries.iter().map(|battery| {
        let status = text(&battery.directory.join("status"));
        format!(
            "`{}` is `{}`",
            battery.name(),
            status.as_deref().unwrap_or("Unknown")
        )
    });
    let states: Vec<String> = states.collect();
    let reason = format!(
        "{}: on mains power a battery does not show the machine's power",
        states.join(", ")
    );
    absent(true, reason, Some("unplug the charger"))
}

fn absent(is_here: bool, reason: String, fix: Option<&str>) -> Absent {
    Absent {
        collector: ID.into(),
        is_here,
        reason,
        fix: fix.map(str::to_owned),
        risk: None,
    }
}

#[cfg(test)]
mod tests;
