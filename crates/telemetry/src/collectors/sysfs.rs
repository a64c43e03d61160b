//! Values that stand in small files of the kernel: what the boards' collectors have in common.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipw_core::hardware::Device;
use ipw_core::source::{Domain, Gauge, Method, Quantity, Source};
use ipw_core::time::{Clock, Timestamp};

use crate::collectors::host::files::Reader;
use crate::{Collector, PollError};

/// Watts that something inside a machine can draw, as [`ipw_core::counter`] has it.
pub(crate) const POWER: RangeInclusive<f64> = 0.0..=20_000.0;
/// °C outside of which a value is a fault of the sensor.
pub(crate) const TEMPERATURE: RangeInclusive<f64> = -50.0..=150.0;
/// Percent.
pub(crate) const SHARE: RangeInclusive<f64> = 0.0..=100.0;

/// State is polled this often: nothing of it changes the joules.
pub(crate) const STATE_INTERVAL: Duration = Duration::from_millis(500);

/// A number from files: their product and a factor that makes it one of the source's unit.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    files: Vec<PathBuf>,
    factor: f64,
    plausible: RangeInclusive<f64>,
}

impl Value {
    /// From one file.
    pub(crate) fn scaled(file: PathBuf, factor: f64, plausible: RangeInclusive<f64>) -> Self {
        Self {
            files: vec![file],
            factor,
            plausible,
        }
    }

    /// From two files, as voltage and current are.
    pub(crate) fn product(files: [PathBuf; 2], factor: f64) -> Self {
        Self {
            files: files.into(),
            factor,
            plausible: POWER,
        }
    }

    /// The files it comes from.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }

    /// Whether all of them exist.
    pub(crate) fn is_there(&self) -> bool {
        self.files.iter().all(|file| file.exists())
    }

    /// What it is now; `None` if a file says nothing, or something that cannot be.
    pub(crate) fn read(&self, reader: &mut Reader) -> Option<f64> {
        let mut value = self.factor;
        for file in &self.files {
            value *= reader.number(file)?;
        }
        self.plausible.contains(&value).then_some(value)
    }
}

/// Sources that each are a [`Value`].
pub(crate) struct Files {
    id: &'static str,
    sources: Vec<Source>,
    values: Vec<Value>,
    devices: Vec<Device>,
    /// More often than this makes no sense.
    shortest: Duration,
    sleep: Option<PathBuf>,
    reader: Reader,
}

impl Files {
    /// A collector of these, polled no more often than every `shortest`.
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

    /// What its sources belong to.
    pub(crate) fn of(mut self, device: Device) -> Self {
        self.devices.push(device);
        self
    }

    /// Lets the device sleep while the `power/runtime_status` in this file says that it does.
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

/// Whether a device sleeps: whoever reads its sensors wakes it.
pub(crate) fn is_asleep(reader: &mut Reader, status: &Path) -> bool {
    reader
        .read(status)
        .is_some_and(|status| matches!(status.trim(), "suspended" | "suspending"))
}

/// Why nothing was heard from these: files that are not there are looked for less often.
pub(crate) fn silence<'a>(files: impl Iterator<Item = &'a Path>) -> PollError {
    let mut first = None;
    for file in files {
        if file.exists() {
            let place = file.display();
            return PollError::Retry(format!("`{place}` holds nothing that can be used"));
        }
        first.get_or_insert(file);
    }
    let place = first.unwrap_or_else(|| Path::new("")).display();
    PollError::Gone(format!("`{place}` is not there"))
}

/// The text of a small file; `None` if there is none in it. Those of the device tree end with a
/// nought byte.
pub(crate) fn text(path: &Path) -> Option<String> {
    let mut reader = Reader::default();
    let text = reader.read(path)?.trim_end_matches('\0').trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A source of power that is the mean over `averaging`.
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

/// A source of state, of the device that it is named after.
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
