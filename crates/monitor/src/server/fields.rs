//! The original's fields 1 to 17: the latest values of the sources, summed as the original does.
//!
//! The original's clients cannot tell an estimate from a measurement, so an estimate is "not
//! available" to them. The same holds for an incomplete sum and for a source that has stopped. A
//! source is never added to another one that contains it ([`ipw_core::rollup`]).

use std::time::Duration;

use ipw_core::account::Account;
use ipw_core::counter::STUCK;
use ipw_core::rollup::{Use, uses};
use ipw_core::source::{Domain, Gauge, Quantity, Source};
use ipw_core::time::Timestamp;
use ipw_core::units::Joules;
use ipw_telemetry::Session;

use crate::pb;

/// The original's value for "not available".
const ABSENT: f64 = -1.0;

/// The sources that the fields are computed from.
pub(super) struct Fields {
    followed: Vec<LatestValues>,
    parts: Parts,
    /// Total memory of all boards, in MiB.
    memory_total: Option<f64>,
}

/// One source with its latest values.
struct LatestValues {
    longest_silence: Duration,
    /// The first poll with a value, and the last.
    began: Option<Timestamp>,
    polled: Option<Timestamp>,
    /// Its totals when its mean power was last computed.
    counted: (Joules, Duration),
    /// Mean power between its last two changes, in watts.
    watts: Option<f64>,
    is_stuck: bool,
    /// The latest value, if recent.
    value: Option<f64>,
    /// Joules since the monitor's first reading, while the source is active.
    energy: Option<f64>,
}

/// Indices of the sources in each sum.
#[derive(Default)]
struct Parts {
    gpu: Vec<Part>,
    cpu: Vec<Part>,
    ane: Vec<Part>,
}

struct Part {
    energy: usize,
    /// Source of the present power; without one it is derived from the energy.
    power: Option<usize>,
}

impl Fields {
    pub(super) fn new(session: &Session) -> Self {
        let followed = session.meters().map(|metered| LatestValues {
            longest_silence: metered.meter.longest_silence,
            began: None,
            polled: None,
            counted: (Joules::default(), Duration::ZERO),
            watts: None,
            is_stuck: false,
            value: None,
            energy: None,
        });
        let followed: Vec<LatestValues> = followed.collect();
        let sources: Vec<&Source> = session.sources().collect();
        let memories = session
            .devices()
            .iter()
            .map(|device| device.memory_total_mib);
        Self {
            parts: Parts::of(&sources, &followed),
            followed,
            memory_total: sum(memories),
        }
    }

    /// Computes the current fields.
    pub(super) fn message(
        &mut self,
        accounts: &[(Source, Account)],
        polled: &[Option<Timestamp>],
        now: Timestamp,
    ) -> pb::TelemetryReading {
        let mut is_changed = false;
        let each = self.followed.iter_mut().zip(accounts).zip(polled);
        for ((followed, (_, account)), polled) in each {
            is_changed |= followed.take(account, *polled, now);
        }
        let sources: Vec<&Source> = accounts.iter().map(|(source, _)| source).collect();
        if is_changed {
            self.parts = Parts::of(&sources, &self.followed);
        }
        let gauges = |gauge: Gauge| self.gauges(&sources, gauge);
        pb::TelemetryReading {
            power_watts: known(self.power(&self.parts.gpu)),
            energy_joules: known(self.energy(&self.parts.gpu)),
            temperature_celsius: known(mean(gauges(Gauge::GpuTemperature))),
            gpu_memory_usage_mb: known(sum(gauges(Gauge::GpuMemoryUsed))),
            cpu_memory_usage_mb: known(sum(gauges(Gauge::MemoryUsed))),
            cpu_power_watts: known(self.power(&self.parts.cpu)),
            cpu_energy_joules: known(self.energy(&self.parts.cpu)),
            ane_power_watts: known(self.power(&self.parts.ane)),
            ane_energy_joules: known(self.energy(&self.parts.ane)),
            gpu_compute_utilization_pct: known(mean(gauges(Gauge::GpuUse))),
            gpu_memory_bandwidth_utilization_pct: known(mean(gauges(Gauge::GpuMemoryUse))),
            gpu_tensor_core_utilization_pct: known(mean(gauges(Gauge::GpuTensorUse))),
            gpu_memory_total_mb: known(self.memory_total),
            ..pb::TelemetryReading::default()
        }
    }

    /// The values of all gauges of a kind; `None` for one that has stopped.
    fn gauges(&self, sources: &[&Source], gauge: Gauge) -> impl Iterator<Item = Option<f64>> {
        let wanted = Quantity::Gauge { gauge };
        let each = sources.iter().zip(&self.followed);
        each.filter(move |(source, _)| source.quantity == wanted)
            .map(|(_, followed)| followed.value)
    }

    fn power(&self, parts: &[Part]) -> Option<f64> {
        sum(parts.iter().map(|part| match part.power {
            Some(place) => self.followed[place].value,
            None => self.followed[part.energy].watts,
        }))
    }

    fn energy(&self, parts: &[Part]) -> Option<f64> {
        sum(parts.iter().map(|part| self.followed[part.energy].energy))
    }
}

impl LatestValues {
    /// Updates the source. Returns whether it turned out to stand still, or started to move.
    fn take(&mut self, account: &Account, polled: Option<Timestamp>, now: Timestamp) -> bool {
        self.began = self.began.or(polled);
        let before = std::mem::replace(&mut self.polled, polled);
        let is_recent = polled.is_some_and(|polled| now.since(polled) <= self.longest_silence);
        let rested = before.zip(polled).map(|(before, at)| at.since(before));
        if !is_recent || rested.is_some_and(|rested| rested > self.longest_silence) {
            self.watts = None;
        }
        let (energy, covered) = self.counted;
        if account.covered > covered {
            let watts = (account.energy - energy) / account.covered.saturating_sub(covered);
            self.watts = Some(watts.watts());
            self.counted = (account.energy, account.covered);
        }
        let last = account.values.map(|values| values.last);
        self.value = last.filter(|_| is_recent);
        self.energy = self.value.map(|_| account.energy.joules());
        let lasted = self.began.zip(polled).map(|(began, at)| at.since(began));
        let is_stuck = account.readings == 1 && lasted.is_some_and(|lasted| lasted >= STUCK);
        std::mem::replace(&mut self.is_stuck, is_stuck) != is_stuck
    }
}

impl Parts {
    fn of(sources: &[&Source], followed: &[LatestValues]) -> Self {
        let is_counter = |place: usize| matches!(sources[place].quantity, Quantity::Energy { .. });
        let is_stuck = |place: usize| is_counter(place) && followed[place].is_stuck;
        let uses = uses(sources, is_stuck);
        let of = |domain: Domain| -> Vec<Part> {
            let places = (0..sources.len()).filter(|place| {
                let source = sources[*place];
                source.domain() == Some(domain)
                    && source.is_measured_energy()
                    && uses[*place] != Use::Shown
                    && !is_stuck(*place)
            });
            let part = |place| Part {
                energy: place,
                power: power_beside(sources, place),
            };
            places.map(part).collect()
        };
        // For a single-chip board, the original reports its input: everything on it.
        let whole = of(Domain::Soc);
        if !whole.is_empty() {
            return Self {
                gpu: whole,
                ..Self::default()
            };
        }
        Self {
            gpu: of(Domain::Gpu),
            cpu: of(Domain::CpuPackage),
            ane: of(Domain::Ane),
        }
    }
}

/// The source of power for the energy source at `place`: itself, or another of the same board.
fn power_beside(sources: &[&Source], place: usize) -> Option<usize> {
    let own = sources[place];
    let is_power = |place: &usize| matches!(sources[*place].quantity, Quantity::Power { .. });
    let is_beside = |other: &usize| {
        let other = sources[*other];
        own.device.is_some()
            && other.device == own.device
            && other.domain() == own.domain()
            && other.collector == own.collector
    };
    let others = (0..sources.len()).filter(is_beside);
    std::iter::once(place).chain(others).find(is_power)
}

/// A sum is known if it has parts and all of them are known.
fn sum(parts: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let parts = parts.collect::<Option<Vec<f64>>>()?;
    (!parts.is_empty()).then(|| parts.iter().sum())
}

fn mean(parts: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let parts = parts.collect::<Option<Vec<f64>>>()?;
    let count = u32::try_from(parts.len()).ok().filter(|count| *count > 0)?;
    Some(parts.iter().sum::<f64>() / f64::from(count))
}

/// The original's clients read any number below zero as "not available".
fn known(value: Option<f64>) -> f64 {
    let usable = value.filter(|value| value.is_finite() && *value >= 0.0);
    usable.unwrap_or(ABSENT)
}

#[cfg(test)]
mod tests;
