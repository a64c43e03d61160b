//! Energy and power of a query: how to read a source, what it reports, and the sum over sources
//! (docs/method.md §6). The sharing of energy is in [`crate::attribution`].

use std::sync::Arc;
use std::time::Duration;

use crate::counter::{AdvanceLimit, LARGEST_POWER, Rollover};
use crate::reading::{Reading, Window};
use crate::rollup::{Basis, Use};
use crate::source::{Domain, Quantity, Role, Source};
use crate::units::{Joules, Watts};

mod phases;

pub use phases::{Phase, PhaseKind, Phases, Split};

/// A shorter silence comes from a busy machine and is not a gap.
const LEAST_SILENCE: Duration = Duration::from_millis(500);

/// Ratio by which a device may exceed its power limit for a moment.
const LIMIT_MARGIN: f64 = 2.0;

/// Power limit that no device goes below, whatever it reports, in watts.
const LEAST_LIMIT: f64 = 100.0;

/// Why a number is null or incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// No source on this machine reports energy.
    NoSource,
    /// The service runs on another machine, so local joules are not its own.
    RemoteService,
    /// No reading falls into the window.
    NoReading,
    /// The counter reset inside the window.
    CounterReset,
    /// The counter advanced inside the window by more than its device can have used.
    Implausible,
    /// Readings are missing inside the window.
    Gap,
    /// The readings end before the window does, or start after it.
    Partial,
    /// Idle power is unknown, and the steps of the query are mostly idle.
    TooShort,
    /// A GPU does the work and no source measures it.
    GpuUnmeasured,
}

impl Reason {
    /// The name in columns.
    pub const fn label(self) -> &'static str {
        match self {
            Self::NoSource => "no_source",
            Self::RemoteService => "remote_service",
            Self::NoReading => "no_reading",
            Self::CounterReset => "counter_reset",
            Self::Implausible => "implausible",
            Self::Gap => "gap",
            Self::Partial => "partial",
            Self::TooShort => "too_short",
            Self::GpuUnmeasured => "gpu_unmeasured",
        }
    }
}

/// Time-weighted spread of a quantity over a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Largest.
    pub max: f64,
    /// Median.
    pub median: f64,
    /// Smallest.
    pub min: f64,
}

impl Spread {
    /// The spread of values with the time that each held; `None` without any time.
    pub fn of(mut values: Vec<(f64, Duration)>) -> Option<Self> {
        values.retain(|(value, held)| value.is_finite() && !held.is_zero());
        values.sort_unstable_by(|(left, _), (right, _)| left.total_cmp(right));
        let total: f64 = values.iter().map(|(_, held)| held.as_secs_f64()).sum();
        let (min, max) = (values.first()?.0, values.last()?.0);
        let mean = values
            .iter()
            .map(|(value, held)| value * held.as_secs_f64())
            .sum::<f64>()
            / total;
        let mut passed = 0.0;
        let middle = values.iter().find(|(_, held)| {
            passed += held.as_secs_f64();
            passed >= total / 2.0
        });
        Some(Self {
            mean,
            max,
            median: middle.map_or(max, |(value, _)| *value),
            min,
        })
    }

    /// The spread of a sum of two quantities: exact for the mean, bounds for the rest.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            mean: self.mean + other.mean,
            max: self.max + other.max,
            median: self.median + other.median,
            min: self.min + other.min,
        }
    }

    /// The same quantity on several devices: means of the means and medians, extremes over all
    /// devices.
    pub fn over(devices: &[Self]) -> Option<Self> {
        let mean = |get: fn(&Self) -> f64| {
            let (sum, count) = devices.iter().fold((0.0, 0.0), |(sum, count), device| {
                (sum + get(device), count + 1.0)
            });
            sum / count
        };
        let largest = devices.iter().map(|spread| spread.max).reduce(f64::max)?;
        let smallest = devices.iter().map(|spread| spread.min).reduce(f64::min)?;
        Some(Self {
            mean: mean(|spread| spread.mean),
            max: largest,
            median: mean(|spread| spread.median),
            min: smallest,
        })
    }
}

/// Kind of the readings of an energy source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Cumulative joules.
    Counter(Rollover),
    /// Watts, averaged over this time before each reading.
    Power(Duration),
}

/// How to interpret the readings of one energy source.
#[derive(Debug, Clone, Copy)]
pub struct Meter {
    /// Kind of its values.
    pub kind: Kind,
    /// Update period of the device, where known.
    pub period: Option<Duration>,
    /// Relative uncertainty of its scale.
    pub relative_sigma: Option<f64>,
    /// A longer time without a reading is a gap.
    pub longest_silence: Duration,
    /// Common error bound of its reading times: the clock of another machine, or an unknown moment
    /// within a request.
    pub clock_bound: Duration,
    /// Upper bound of its device's power. A counter that advances by more is implausible.
    pub largest: Watts,
    /// Largest distance of a stamp from the measurement of its value, where known.
    pub dated_within: Option<Duration>,
}

/// A source with its meter and the role of its machine.
#[derive(Debug, Clone, Copy)]
pub struct MeteredSource<'a> {
    /// The source.
    pub about: &'a Source,
    /// How to interpret its readings.
    pub meter: &'a Meter,
    /// The role of its machine.
    pub role: Role,
}

/// Energy of one source over one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowEnergy {
    /// The energy, idle included; `None` with a reason.
    pub energy: Option<Joules>,
    /// Energy above idle; also `None` when idle power is unknown.
    pub above_idle: Option<Joules>,
    /// One standard deviation of the energy.
    pub sigma: Option<Joules>,
    /// Power of the source over the covered part, for all queries together.
    pub power: Option<Spread>,
    /// Share of the window that readings cover.
    pub coverage: f64,
    /// Why the energy is null or covers less than the window.
    pub reason: Option<Reason>,
}

impl WindowEnergy {
    /// An unknown energy with its reason.
    pub const fn unknown(reason: Reason) -> Self {
        Self {
            energy: None,
            above_idle: None,
            sigma: None,
            power: None,
            coverage: 0.0,
            reason: Some(reason),
        }
    }
}

impl Meter {
    /// The meter of `source`, polled every `interval`.
    pub fn of(source: &Source, interval: Duration) -> Self {
        let kind = match source.quantity {
            Quantity::Energy { rollover, .. } => Kind::Counter(rollover),
            Quantity::Power { averaging, .. } => Kind::Power(averaging),
            Quantity::Gauge { .. } => Kind::Power(Duration::ZERO),
        };
        let usual = interval.max(source.period.unwrap_or(Duration::ZERO));
        Self {
            kind,
            period: source.period,
            relative_sigma: source.relative_sigma,
            longest_silence: (usual * 10).max(LEAST_SILENCE),
            clock_bound: Duration::ZERO,
            largest: source.domain().map_or(LARGEST_POWER, Domain::largest_power),
            dated_within: None,
        }
    }

    /// The meter of a device with this power limit. A limit holds on average: peaks, and limits
    /// raised later, stay below twice as much. A power reading may be the peak itself.
    #[must_use]
    pub fn limited(self, limit: Option<f64>) -> Self {
        let is_counter = matches!(self.kind, Kind::Counter(_));
        let limit = limit.filter(|watts| is_counter && *watts > 0.0);
        let largest = limit.map(|watts| (watts * LIMIT_MARGIN).max(LEAST_LIMIT));
        Self {
            largest: largest.map_or(self.largest, |watts| {
                Watts::from_watts(watts.min(self.largest.watts()))
            }),
            ..self
        }
    }

    /// The meter of a device that never draws more than this.
    #[must_use]
    pub fn at_most(self, largest: Option<Watts>) -> Self {
        let is_less = |watts: &Watts| *watts > Watts::ZERO && *watts < self.largest;
        let largest = largest.filter(is_less).unwrap_or(self.largest);
        Self { largest, ..self }
    }

    /// Bound of its counter's advance.
    pub fn plausible(&self) -> AdvanceLimit {
        AdvanceLimit::new(self.largest, self.period, self.dated_within)
    }

    /// Delay of a reading behind the power it reports: half its averaging time.
    pub fn lag(&self) -> Duration {
        match self.kind {
            Kind::Counter(_) => Duration::ZERO,
            Kind::Power(averaging) => averaging / 2,
        }
    }
}

/// The spread of a gauge over `window`. Each value holds until the next, but no longer than
/// `longest_silence`.
pub fn gauge_spread(
    readings: &[Reading],
    window: Window,
    longest_silence: Duration,
) -> Option<Spread> {
    let held = readings.iter().enumerate().map(|(index, reading)| {
        let longest = reading.at.after(longest_silence);
        let until = readings
            .get(index + 1)
            .map_or(longest, |next| next.at.min(longest));
        (reading.value, window.overlap(reading.at, until))
    });
    Spread::of(held.collect())
}

/// The energy of one query according to one source.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The source.
    pub source: Arc<Source>,
    /// The domain of the source.
    pub domain: Domain,
    /// Figures that it enters.
    pub used: Use,
    /// Energy over the query's window.
    pub energy: WindowEnergy,
}

impl Share {
    /// The share of an energy source; `None` for a gauge.
    pub fn of(source: &Arc<Source>, used: Use, energy: WindowEnergy) -> Option<Self> {
        Some(Self {
            domain: source.domain()?,
            source: Arc::clone(source),
            used,
            energy,
        })
    }
}

/// Energy of one query over all sources.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryEnergy {
    /// One share per source.
    pub shares: Vec<Share>,
    /// Why there is no energy.
    pub reason: Option<Reason>,
    /// Memory in use, in MiB.
    pub memory: Option<Spread>,
    /// Temperature of the CPU, in °C.
    pub temperature: Option<Spread>,
    /// The state of the GPUs, over all boards.
    pub gpu: GpuState,
    /// The same before and after the first token, for queries with one.
    pub phases: Option<Box<Phases>>,
}

/// The state of all GPUs over a window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GpuState {
    /// Memory in use, in MiB: the sum.
    pub memory: Option<Spread>,
    /// Temperature in °C: the mean, and the extremes over boards.
    pub temperature: Option<Spread>,
    /// Utilization in percent: the mean, and the extremes over boards.
    pub compute: Option<Spread>,
    /// Memory-bus utilization in percent: the mean, and the extremes over boards.
    pub memory_bus: Option<Spread>,
    /// Utilization of the matrix units in percent: the mean, and the extremes over boards.
    pub tensor: Option<Spread>,
}

impl QueryEnergy {
    /// Unknown energy with its reason.
    pub fn unknown(reason: Reason) -> Self {
        Self {
            reason: Some(reason),
            ..Self::default()
        }
    }

    /// Adds a reason if the headline is missing without one.
    #[must_use]
    pub fn explained(mut self) -> Self {
        if self.reason.is_none() && self.headline().is_none() {
            let why = self.shares.iter().find_map(|share| share.energy.reason);
            self.reason = Some(why.unwrap_or(Reason::NoSource));
        }
        self
    }

    /// Basis of the headline figures.
    pub fn basis(&self) -> Option<Basis> {
        Basis::of(
            self.in_headline()
                .map(|share| (share.domain, share.source.method, &*share.source.collector)),
        )
    }

    /// The energy of one domain over the machine; `None` if any share is missing.
    pub fn of(&self, domain: Domain) -> Option<Joules> {
        sum(self.rolled_up(domain))
    }

    /// The power of one domain over the machine; `None` if any share is missing.
    pub fn power_of(&self, domain: Domain) -> Option<Spread> {
        power(self.rolled_up(domain))
    }

    /// The energy of the whole chip, if the basis is one.
    pub fn soc(&self) -> Option<Joules> {
        self.of(Domain::Soc)
            .or_else(|| self.basis()?.is_soc().then(|| self.headline())?)
    }

    /// The power of the whole chip, if the basis is one.
    pub fn soc_power(&self) -> Option<Spread> {
        let is_soc = self.basis()?.is_soc();
        is_soc.then(|| power(self.in_headline()))?
    }

    /// The energy on the basis; `None` if any share is missing.
    pub fn headline(&self) -> Option<Joules> {
        sum(self.in_headline())
    }

    /// The energy on the basis above idle; `None` if any share is missing.
    pub fn headline_above_idle(&self) -> Option<Joules> {
        let mut sum = None;
        for share in self.in_headline() {
            let energy = share.energy.above_idle?;
            sum = Some(sum.map_or(energy, |sum: Joules| sum + energy));
        }
        sum
    }

    /// One standard deviation of the headline. Independent sources add in quadrature.
    pub fn headline_sigma(&self) -> Option<Joules> {
        self.headline()?;
        let squares: f64 = self
            .in_headline()
            .filter_map(|share| share.energy.sigma)
            .map(|sigma| sigma.joules().powi(2))
            .sum();
        Some(Joules::from_joules(squares.sqrt()))
    }

    fn in_headline(&self) -> impl Iterator<Item = &Share> {
        self.shares
            .iter()
            .filter(|share| share.used == Use::Headline)
    }

    fn rolled_up(&self, domain: Domain) -> impl Iterator<Item = &Share> {
        self.shares
            .iter()
            .filter(move |share| share.domain == domain && share.used != Use::Shown)
    }
}

/// The sum of the shares; `None` for no shares, or if a value is missing.
fn sum<'a>(shares: impl Iterator<Item = &'a Share>) -> Option<Joules> {
    let mut sum = None;
    for share in shares {
        let energy = share.energy.energy?;
        sum = Some(sum.map_or(energy, |sum: Joules| sum + energy));
    }
    sum
}

fn power<'a>(shares: impl Iterator<Item = &'a Share>) -> Option<Spread> {
    let powers: Option<Vec<_>> = shares.map(|share| share.energy.power).collect();
    powers?.into_iter().reduce(Spread::plus)
}

#[cfg(test)]
mod tests;
