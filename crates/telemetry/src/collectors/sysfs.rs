//! Values in small kernel files: shared by the collectors of boards.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipw_core::hardware::Device;
use ipw_core::source::{Domain, Gauge, Method, Quantity, Source};
use ipw_core::time::{Clock, Timestamp};

use crate::collectors::host::files::Reader;
use crate::{Collector, PollError};

/// Plausible watts of a device inside a machine, as in [`ipw_core::counter`].
pub(crate) const POWER: RangeInclusive<f64> = 0.0..=20_000.0;
/// Plausible temperatures in °C; other values are sensor faults.
pub(crate) const TEMPERATURE: RangeInclusive<f64> = -50.0..=150.0;
/// Plausible percentages.
pub(crate) const SHARE: RangeInclusive<f64> = 0.0..=100.0;

/// Poll interval of state: it does not affect the energy.
pub(crate) const STATE_INTERVAL: Duration = Duration::from_millis(500);

/// A number from files: their product times a factor, in the source's unit.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    files: Vec<PathBuf>,
    factor: f64,
    plausible: RangeInclusive<f64>,
}

impl Value {
    /// A value from one file.
    pub(crate) fn scaled(file: PathBuf, factor: f64, plausible: RangeInclusive<f64>) -> Self {
        Self {
            files: vec![file],
            factor,
            plausible,
        }
    }

    /// The product of two files, such as voltage and current.
    pub(crate) fn product(files: [PathBuf; 2], factor: f64) -> Self {
        Self {
            files: files.into(),
            factor,
            plausible: POWER,
        }
    }

    /// The files that it is computed from.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }

    /// Whether all files exist.
    pub(crate) fn is_there(&self) -> bool {
        self.files.iter().all(|file| file.exists())
    }

    /// The current value; `None` if a file is unreadable or the value implausible.
    pub(crate) fn read(&self, reader: &mut Reader) -> Option<f64> {
        let mut value = self.factor;
        for file in &self.files {
            value *= reader.number(file)?;
        }
        self.plausible.contains(&value).then_some(value)
    }
}

/// A collector whose sources are [`Value`]s.
pub(crate) struct Files {
    id: &'static str,
    sources: Vec<Source>,
    values: Vec<Value>,
    devices: Vec<Device>,
    /// The shortest sensible poll interval.
    shortest: Duration,
    sleep: Option<PathBuf>,
    reader: Reader,
}

impl Files {
    /// A collector of these values, polled every `shortest` at most.
    pub(crate) fn new(id: &'static str, values: Vec<(Source, Value)>, shortest: Duration) -> Self {
        let (sources, values) = values.into_iter().unzip();
        Self {
            id,
            sources,
            values,
            devices: Vec::new(),
            shortest,
            sleep: None,
            reader: Reader::default(),
        }
    }

    /// Sets the device of the sources.
    pub(crate) fn of(mut self, device: Device) -> Self {
        self.devices.push(device);
        self
    }

    /// Does not poll while `status`, the device's `power/runtime_status`, says that it is
    /// suspended.
    pub(crate) fn unless_asleep(mut self, status: PathBuf) -> Self {
        self.sleep = Some(status);
        self
    }
}

impl Collector for Files {
    fn id(&self) -> &'static str {
        self.id
    }

    fn sources(&self) -> &[Source] {
        &self.sources
    }

    fn devices(&self) -> &[Device] {
        &self.devices
    }

    fn interval(&self, wanted: Duration) -> Duration {
        wanted.max(self.shortest)
    }

    fn poll(
        &mut self,
        clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError> {
        let status = self.sleep.as_deref();
        if status.is_some_and(|status| is_asleep(&mut self.reader, status)) {
            return Ok(());
        }
        let mut is_heard = false;
        for (place, value) in self.values.iter().enumerate() {
            if let Some(value) = value.read(&mut self.reader) {
                take(place, clock.now(), value);
                is_heard = true;
            }
        }
        if is_heard {
            Ok(())
        } else {
            Err(silence(self.values.iter().flat_map(Value::files)))
        }
    }
}

/// Whether a device is suspended: reading its sensors would wake it.
pub(crate) fn is_asleep(reader: &mut Reader, status: &Path) -> bool {
    reader
        .read(status)
        .is_some_and(|status| matches!(status.trim(), "suspended" | "suspending"))
}

/// Why these files yielded no value. Missing files are retried less often.
pub(crate) fn silence<'a>(files: impl Iterator<Item = &'a Path>) -> PollError {
    let mut first = None;
    for file in files {
        if file.exists() {
            let place = file.display();
            return PollError::Retry(format!("`{place}` holds no usable value"));
        }
        first.get_or_insert(file);
    }
    let place = first.unwrap_or_else(|| Path::new("")).display();
    PollError::Gone(format!("cannot find `{place}`"))
}

/// The text of a small file; `None` if empty or unreadable. Files of the device tree end with a NUL
/// byte.
pub(crate) fn text(path: &Path) -> Option<String> {
    let mut reader = Reader::default();
    let text = reader.read(path)?.trim_end_matches('\0').trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A power source whose values are means over `averaging`.
pub(crate) fn power(name: String, domain: Domain, averaging: Duration) -> Source {
    let collector = name.split('/').next().unwrap_or_default().to_owned();
    Source {
        collector: collector.into(),
        host: None,
        device: None,
        quantity: Quantity::Power { domain, averaging },
        method: Method::Integrated,
        period: (!averaging.is_zero()).then_some(averaging),
        privilege: "none".into(),
        relative_sigma: None,
        name,
    }
}

/// A gauge of the device that it is named after.
pub(crate) fn gauge(device: &str, name: &str, gauge: Gauge) -> Source {
    let collector = device.split('/').next().unwrap_or_default().to_owned();
    Source {
        name: format!("{device}/{name}"),
        collector: collector.into(),
        host: None,
        device: Some(device.to_owned()),
        quantity: Quantity::Gauge { gauge },
        method: Method::Direct,
        period: None,
        privilege: "none".into(),
        relative_sigma: None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
