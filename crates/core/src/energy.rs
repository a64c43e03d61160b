//! Energy and power of a query: how a source is to be read, what it says, and what the sources add
//! up to (docs/method.md §6). How energy is shared is in [`crate::attribution`].

use std::sync::Arc;
use std::time::Duration;

use crate::counter::{LARGEST_POWER, Plausible, Rollover};
use crate::reading::{Reading, Window};
use crate::rollup::{Basis, Use};
use crate::source::{Domain, Quantity, Role, Source};
use crate::units::{Joules, Watts};

mod phases;

pub use phases::{Phase, PhaseKind, Phases, Split};

/// A shorter silence is a busy machine, not a gap.
const LEAST_SILENCE: Duration = Duration::from_millis(500);

/// How far beyond its limit a device may draw for a moment.
const LIMIT_MARGIN: f64 = 2.0;

/// Watts that any device may draw, whatever it says of its limit.
const LEAST_LIMIT: f64 = 100.0;

/// Why a number is null, or less than it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Nothing here reports energy.
    NoSource,
    /// The service runs on another machine: local joules are not its own.
    RemoteService,
    /// No reading falls into the window.
    NoReading,
    /// The counter started anew inside the window.
    CounterReset,
    /// The counter advanced inside the window by more than its device can have used.
    Implausible,
    /// Readings are missing inside the window.
    Gap,
    /// The readings end before the window does, or start after it.
    Partial,
    /// Idle is unknown, and the steps that hold the query are mostly idle.
    TooShort,
    /// A GPU does the work and nothing here measures it.
    GpuUnmeasured,
}

impl Reason {
    /// The reason as columns spell it.
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

/// Spread of a quantity over a window, weighted by time.
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
    /// The spread of values that each held for some time; `None` if none did.
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

    /// The sum of two quantities' spreads: exact for the mean, bounds for the rest.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            mean: self.mean + other.mean,
            max: self.max + other.max,
            median: self.median + other.median,
            min: self.min + other.min,
        }
    }

    /// The same quantity on several devices: the mean of the means and medians, the extremes of
    /// any.
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

/// What the readings of an energy source are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Joules since some moment.
    Counter(Rollover),
    /// Watts, as a mean over this long before each reading.
    Power(Duration),
}

/// How the readings of one energy source are to be taken.
#[derive(Debug, Clone, Copy)]
pub struct Meter {
    /// What its values are.
    pub kind: Kind,
    /// How often the device updates it, as far as is known.
    pub period: Option<Duration>,
    /// Relative uncertainty of its scale.
    pub relative_sigma: Option<f64>,
    /// Longer without a reading is a gap.
    pub longest_silence: Duration,
    /// By how much the instants of its readings may be off, all alike: the clock is another
    /// machine's, or nobody knows when within a request a value was taken.
    pub clock_bound: Duration,
    /// The most that its device draws: a counter that advances by more is not believed.
    pub largest: Watts,
    /// How far a stamp can be from the moment at which its value was taken, where that is known.
    pub dated_within: Option<Duration>,
}

/// A source, how its readings are to be taken, and whose machine it is on.
#[derive(Debug, Clone, Copy)]
pub struct Metered<'a> {
    /// What it is.
    pub about: &'a Source,
    /// How its readings are to be taken.
    pub meter: &'a Meter,
    /// Whose machine it is on.
    pub role: Role,
}

/// What one source says of one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowEnergy {
    /// The energy, idle included; `None` with a reason.
    pub energy: Option<Joules>,
    /// What of it lies above idle; `None` when idle is unknown, too.
    pub above_idle: Option<Joules>,
    /// One standard deviation of the energy.
    pub sigma: Option<Joules>,
    /// Power of the source over the covered part, whoever it was for.
    pub power: Option<Spread>,
    /// Share of the window that readings cover.
    pub coverage: f64,
    /// Why the energy is null or covers less than the window.
    pub reason: Option<Reason>,
}

impl WindowEnergy {
    /// Nothing is known, for this reason.
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
    /// How the readings of `source` are to be taken when it is polled every `interval`.
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

    /// The same for a device that says what it may draw. A limit holds on average: peaks, and limits
    /// that are raised later, stay below twice as much. What a power shows may be the peak itself.
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

    /// The same for a device whose reader knows that it draws no more than this.
    #[must_use]
    pub fn at_most(self, largest: Option<Watts>) -> Self {
        let is_less = |watts: &Watts| *watts > Watts::ZERO && *watts < self.largest;
        let largest = largest.filter(is_less).unwrap_or(self.largest);
        Self { largest, ..self }
    }

    /// What its counter can have advanced by.
    pub fn plausible(&self) -> Plausible {
        Plausible::new(self.largest, self.period, self.dated_within)
    }

    /// How far behind the time of a reading lies what it tells of: half the time over which a
    /// power is averaged.
    pub fn lag(&self) -> Duration {
        match self.kind {
            Kind::Counter(_) => Duration::ZERO,
            Kind::Power(averaging) => averaging / 2,
        }
    }
}

/// The spread of a gauge over `window`: each value holds until the next, but no longer than
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

/// The energy of one query as one source saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The source.
    pub source: Arc<Source>,
    /// Whose energy it is.
    pub domain: Domain,
    /// What it goes into.
    pub used: Use,
    /// What it says of the query's window.
    pub energy: WindowEnergy,
}

impl Share {
    /// What an energy source says; `None` of a gauge.
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
    /// Source by source.
    pub shares: Vec<Share>,
    /// Why there is no energy, when there is none.
    pub reason: Option<Reason>,
    /// Memory in use, in MiB.
    pub memory: Option<Spread>,
    /// Temperature of the CPU, in °C.
    pub temperature: Option<Spread>,
    /// The state of the GPUs, over all boards.
    pub gpu: GpuState,
    /// The same before and after the first token, where there was one.
    pub phases: Option<Box<Phases>>,
}

/// The state of all GPUs over a window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GpuState {
    /// Memory in use, in MiB: the sum.
    pub memory: Option<Spread>,
    /// Temperature, in °C: the mean, and the extremes of any board.
    pub temperature: Option<Spread>,
    /// Share of time with work, in percent, likewise.
    pub compute: Option<Spread>,
    /// Share of time in which memory was read or written, in percent, likewise.
    pub memory_bus: Option<Spread>,
    /// Share of time in which the matrix units had work, in percent, likewise.
    pub tensor: Option<Spread>,
}

impl QueryEnergy {
    /// No energy, for this reason.
    pub fn unknown(reason: Reason) -> Self {
        Self {
            reason: Some(reason),
            ..Self::default()
        }
    }

    /// Says why there is no headline, if there is none and nothing says so yet.
    #[must_use]
    pub fn explained(mut self) -> Self {
        if self.reason.is_none() && self.headline().is_none() {
            let why = self.shares.iter().find_map(|share| share.energy.reason);
            self.reason = Some(why.unwrap_or(Reason::NoSource));
        }
        self
    }

    /// What the headline figures are made from.
    pub fn basis(&self) -> Option<Basis> {
        Basis::of(
            self.in_headline()
                .map(|share| (share.domain, share.source.method, &*share.source.collector)),
        )
    }

    /// The energy of one domain over the machine, all of it or nothing.
    pub fn of(&self, domain: Domain) -> Option<Joules> {
        sum(self.rolled_up(domain))
    }

    /// The power of one domain over the machine, all of it or nothing.
    pub fn power_of(&self, domain: Domain) -> Option<Spread> {
        power(self.rolled_up(domain))
    }

    /// The energy of the whole chip, where the basis is one.
    pub fn soc(&self) -> Option<Joules> {
        self.of(Domain::Soc)
            .or_else(|| self.basis()?.is_soc().then(|| self.headline())?)
    }

    /// The power of the whole chip, where the basis is one.
    pub fn soc_power(&self) -> Option<Spread> {
        let is_soc = self.basis()?.is_soc();
        is_soc.then(|| power(self.in_headline()))?
    }

    /// The energy on the basis, all of it or nothing.
    pub fn headline(&self) -> Option<Joules> {
        sum(self.in_headline())
    }

    /// The energy on the basis above idle, all of it or nothing.
    pub fn headline_above_idle(&self) -> Option<Joules> {
        let mut sum = None;
        for share in self.in_headline() {
            let energy = share.energy.above_idle?;
            sum = Some(sum.map_or(energy, |sum: Joules| sum + energy));
        }
        sum
    }

    /// One standard deviation of the headline; independent sources add in squares.
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

/// All of them or nothing, and nothing of none.
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
