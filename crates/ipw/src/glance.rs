//! The state of each device between two moments of a live session.

use std::collections::BTreeMap;

use ipw_core::account::Account;
use ipw_core::source::{Gauge, Method, Quantity, Source};
use serde_json::{Value, json};

/// The accounts of all sources at two moments.
pub struct Glance<'a> {
    /// The later moment, in seconds on the session's clock.
    pub seconds: f64,
    /// Accounts at the earlier moment.
    pub before: &'a [(Source, Account)],
    /// Accounts at the later moment.
    pub now: &'a [(Source, Account)],
}

/// The state of a device, or of a source without a device. `None` where it is not reported.
#[derive(Debug, Default)]
pub struct DeviceState {
    /// Mean power between the two moments.
    pub watts: Option<f64>,
    /// How its energy is obtained.
    pub method: Option<Method>,
    /// Energy since the session began.
    pub joules: Option<f64>,
    /// Temperature in degrees Celsius.
    pub celsius: Option<f64>,
    /// Utilization in percent.
    pub busy: Option<f64>,
    /// Memory in use, in MiB.
    pub memory: Option<f64>,
    /// Seconds between two new values.
    pub period: Option<f64>,
    /// Notes on data quality: stuck values, gaps, implausible steps.
    pub notes: Vec<String>,
}

impl Glance<'_> {
    /// Mean power between the two moments.
    fn watts(&self, place: usize) -> Option<f64> {
        let (_, before) = &self.before[place];
        let (_, now) = &self.now[place];
        let covered = now.covered.saturating_sub(before.covered);
        (!covered.is_zero()).then(|| ((now.energy - before.energy) / covered).watts())
    }

    /// All values as JSON, for programs.
    pub fn json(&self) -> Value {
        let sources: Vec<Value> = self
            .now
            .iter()
            .enumerate()
            .map(|(place, (source, account))| {
                let is_energy = source.domain().is_some();
                json!({
                    "name": source.name,
                    "device": source.device,
                    "domain": source.domain(),
                    "method": source.method,
                    "unit": source.unit(),
                    "value": account.values.map(|values| values.last),
                    "watts": self.watts(place).filter(|_| is_energy),
                    "joules": is_energy.then(|| account.energy.joules()),
                    "change_interval_seconds":
                        account.change_interval.map(|interval| interval.as_secs_f64()),
                    "resets": account.resets,
                    "implausible": account.implausible,
                    "gaps": account.gaps,
                })
            })
            .collect();
        json!({ "seconds": self.seconds, "sources": sources })
    }

    /// State by device, in the order of their sources.
    pub fn devices(&self) -> Vec<(String, DeviceState)> {
        let mut order = Vec::new();
        let mut lines: BTreeMap<String, DeviceState> = BTreeMap::new();
        for (place, (source, account)) in self.now.iter().enumerate() {
            let (name, is_own) = line_of(source);
            if !lines.contains_key(&name) {
                order.push(name.clone());
            }
            let line = lines.entry(name).or_default();
            let last = account.values.map(|values| values.last);
            match source.quantity {
                Quantity::Gauge { gauge } => line.state(gauge, last),
                // A counter and a power gauge of one device measure the same energy: show the
                // first.
                Quantity::Energy { .. } | Quantity::Power { .. }
                    if is_own || line.joules.is_none() =>
                {
                    line.watts = self.watts(place);
                    line.joules = Some(account.energy.joules());
                    line.period = account
                        .change_interval
                        .map(|interval| interval.as_secs_f64());
                    line.method = Some(source.method);
                    line.quality(source, account);
                }
                Quantity::Energy { .. } | Quantity::Power { .. } => {}
            }
        }
        order
            .into_iter()
            .filter_map(|name| lines.remove(&name).map(|line| (name, line)))
            .collect()
    }
}

/// The label of the line that shows a source, and whether the line belongs to this source alone.
fn line_of(source: &Source) -> (String, bool) {
    match (&source.device, source.domain()) {
        (Some(device), Some(domain)) if domain.is_nested() => (
            // A domain inside a board has its own line.
            source.name.clone(),
            device == &source.name,
        ),
        (Some(device), _) => (device.clone(), false),
        (None, Some(_)) => (source.name.clone(), true),
        (None, None) => match &source.host {
            Some(host) => (format!("{host}/{}", source.collector), false),
            None => (source.collector.to_string(), false),
        },
    }
}

impl DeviceState {
    fn state(&mut self, gauge: Gauge, value: Option<f64>) {
        match gauge {
            Gauge::CpuTemperature | Gauge::GpuTemperature => self.celsius = value,
            Gauge::CpuUse | Gauge::GpuUse => self.busy = value,
            Gauge::MemoryUsed | Gauge::GpuMemoryUsed => self.memory = value,
            Gauge::Throttle if value.is_some_and(|bits| bits > 0.0) => {
                self.notes.push("throttled".to_owned());
            }
            _ => {}
        }
    }

    fn quality(&mut self, source: &Source, account: &Account) {
        if source.method == Method::Counter && account.resolution.is_none() {
            self.notes.push("does not move".to_owned());
        }
        for (count, what) in [
            (account.resets, "resets"),
            (account.implausible, "implausible steps"),
            (account.gaps, "gaps"),
        ] {
            if count > 0 {
                self.notes.push(format!("{count} {what}"));
            }
        }
    }
}
