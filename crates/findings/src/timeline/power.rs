//! Power over time, thinned to what can be drawn: buckets double in width when there are too many.
//!
//! A counter's step is even power from one reading to the next; a gauge of power is what it says
//! since the reading before. What is silent for long is a gap, never a number.

use std::collections::BTreeMap;
use std::time::Duration;

use ipw_core::counter::{Counter, Step};
use ipw_core::energy::Meter;
use ipw_core::reading::Reading;
use ipw_core::source::{Method, Quantity, Role, Source};
use ipw_core::time::Timestamp;
use ipw_core::units::Joules;
use ipw_store::{Run, StoreError, Summary, readings};

use super::{Segment, Series};

/// Buckets of one source, and of all together.
const MOST: usize = 2_000;
const MOST_IN_ALL: usize = 12_000;
/// The narrowest bucket.
const WIDTH: f64 = 0.01;
/// Silence that is a gap, unless the source is slower than that.
const SILENCE: f64 = 1.0;
const PERIODS: f64 = 20.0;

/// One source of power, on the clock of its part.
pub(crate) struct Power {
    pub(crate) part: u32,
    source: Source,
    counter: Option<Counter>,
    last: Option<Timestamp>,
    silence: f64,
    width: f64,
    first: f64,
    most: usize,
    buckets: Vec<Bucket>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    joules: f64,
    seconds: f64,
    span: Option<(f64, f64)>,
}

impl Bucket {
    fn merge(self, other: Self) -> Self {
        let spans = self.span.into_iter().chain(other.span);
        Self {
            joules: self.joules + other.joules,
            seconds: self.seconds + other.seconds,
            span: spans.reduce(|one, two| (one.0.min(two.0), one.1.max(two.1))),
        }
    }
}

/// The power of every source that has any. Readings that are missing or damaged cost the drawing,
/// not the page.
pub(crate) fn of(run: &Run) -> Vec<Power> {
    read(run).unwrap_or_default()
}

fn read(run: &Run) -> Result<Vec<Power>, StoreError> {
    let sources = readings::sources(run.directory())?;
    let count = sources.iter().filter(|one| one.about.domain().is_some());
    let most = (MOST_IN_ALL / count.count().max(1)).clamp(2, MOST);
    let mut powers: Vec<Power> = sources
        .into_iter()
        .map(|described| {
            let mut about = described.about;
            if described.role == Role::Client {
                // Without this, a reader could take the picture for the service's power.
                about.name.push_str(" (client)");
            }
            Power::new(described.part, about, &described.meter, most)
        })
        .collect();
    readings::for_each(run.directory(), |reading| {
        if let Some(power) = powers.get_mut(usize::from(reading.source.0)) {
            power.add(reading);
        }
    })?;
    powers.retain(|power| power.buckets.iter().any(|bucket| bucket.seconds > 0.0));
    Ok(powers)
}

/// As one list of series, parts one behind the other.
pub(crate) fn series(
    powers: &[Power],
    offsets: &BTreeMap<u32, f64>,
    summary: &Summary,
) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for power in powers {
        let offset = offsets.get(&power.part).copied().unwrap_or(0.0);
        let segment = power.segment(offset);
        if let Some(known) = all.iter_mut().find(|one| one.name == power.source.name) {
            known.segments.push(segment);
            continue;
        }
        all.push(Series {
            is_estimated: power.source.method == Method::Estimated,
            is_nested: power
                .source
                .domain()
                .is_some_and(ipw_core::source::Domain::is_nested),
            idle: idle(summary, &power.source.name),
            name: power.source.name.clone(),
            segments: vec![segment],
        });
    }
    all
}

/// What a source drew before the queries.
fn idle(summary: &Summary, name: &str) -> Option<f64> {
    let told = summary.telemetry.as_ref()?.source(name)?;
    told.idle.before.map(|idle| idle.power.watts())
}

impl Power {
    fn new(part: u32, source: Source, meter: &Meter, most: usize) -> Self {
        let counter = match source.quantity {
            Quantity::Energy { rollover, .. } => Some(Counter::new(rollover, meter.plausible())),
            _ => None,
        };
        let period = source.period.map_or(0.0, |period| period.as_secs_f64());
        Self {
            part,
            counter,
            source,
            last: None,
            silence: SILENCE.max(PERIODS * period),
            width: WIDTH,
            first: 0.0,
            most,
            buckets: Vec::new(),
        }
    }

    fn add(&mut self, reading: &Reading) {
        if self.source.domain().is_none() || !reading.value.is_finite() {
            return;
        }
        let before = self.last.replace(reading.at);
        let Some(before) = before else {
            self.first = reading.at.seconds();
            if let Some(counter) = &mut self.counter {
                counter.update(Joules::from_joules(reading.value), Duration::ZERO);
            }
            return;
        };
        let since = reading.at.since(before);
        let seconds = since.as_secs_f64();
        let watts = match &mut self.counter {
            Some(counter) => match counter.update(Joules::from_joules(reading.value), since) {
                Step::Advanced(energy) | Step::Wrapped(energy) => energy.joules() / seconds,
                Step::First | Step::Reset | Step::Implausible => return,
            },
            None => reading.value,
        };
        // A counter is written down only when it moves: its silence is that of the last look.
        let silent = match (&self.counter, reading.previous) {
            (Some(_), Some(previous)) => reading.at.since(previous).as_secs_f64(),
            _ => seconds,
        };
        if seconds > 0.0 && silent <= self.silence && watts.is_finite() {
            self.spread(before.seconds(), reading.at.seconds(), watts);
        }
    }

    /// Adds even power from one instant to another.
    fn spread(&mut self, from: f64, until: f64, watts: f64) {
        while place((until - self.first) / self.width) >= self.most {
            self.halve();
        }
        let (first, last) = (
            place((from - self.first) / self.width),
            place((until - self.first) / self.width),
        );
        if self.buckets.len() <= last {
            self.buckets.resize(last + 1, Bucket::default());
        }
        for bucket in first..=last {
            let left = self.first + real(bucket) * self.width;
            let seconds = until.min(left + self.width) - from.max(left);
            if seconds <= 0.0 {
                continue;
            }
            self.buckets[bucket] = self.buckets[bucket].merge(Bucket {
                joules: watts * seconds,
                seconds,
                span: Some((watts, watts)),
            });
        }
    }

    fn halve(&mut self) {
        self.width *= 2.0;
        let merged = self.buckets.chunks(2).map(|pair| {
            let [one, two] = [pair[0], pair.get(1).copied().unwrap_or_default()];
            one.merge(two)
        });
        self.buckets = merged.collect();
    }

    /// From when until when it says something.
    pub(crate) fn extent(&self) -> Option<(f64, f64)> {
        let last = self.last?.seconds();
        (last > self.first).then_some((self.first, last))
    }

    fn segment(&self, offset: f64) -> Segment {
        let all = |value: fn(&Bucket) -> Option<f64>| self.buckets.iter().map(value).collect();
        Segment {
            start: self.first + offset,
            width: self.width,
            min: all(|bucket| bucket.span.map(|span| span.0)),
            mean: all(|bucket| (bucket.seconds > 0.0).then(|| bucket.joules / bucket.seconds)),
            max: all(|bucket| bucket.span.map(|span| span.1)),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place is small and not negative; what is negative is the first"
)]
fn place(position: f64) -> usize {
    position.max(0.0) as usize
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand at the most")]
fn real(place: usize) -> f64 {
    place as f64
}

#[cfg(test)]
mod tests {
    use ipw_core::counter::Rollover;
    use ipw_core::source::{Domain, SourceIndex};

    use super::*;

    fn source(quantity: Quantity) -> Source {
        Source {
            name: "rapl/package-0".to_owned(),
            collector: "rapl".into(),
            host: None,
            device: None,
            quantity,
            method: Method::Counter,
            period: Some(Duration::from_millis(10)),
            privilege: "none".into(),
            relative_sigma: None,
        }
    }

    fn counter() -> Source {
        source(Quantity::Energy {
            domain: Domain::CpuPackage,
            rollover: Rollover::Resets,
        })
    }

    fn meter(source: &Source) -> Meter {
        Meter::of(source, Duration::from_millis(10))
    }

    fn reading(millis: u64, value: f64) -> Reading {
        Reading {
            source: SourceIndex(0),
            at: Timestamp::from_nanos(millis * 1_000_000),
            previous: None,
            value,
        }
    }

    fn joules(power: &Power) -> f64 {
        power.buckets.iter().map(|bucket| bucket.joules).sum()
    }

    #[test]
    fn a_long_run_keeps_every_joule_in_few_buckets() {
        let mut power = Power::new(0, counter(), &meter(&counter()), 100);
        // Seven watts, read every 25 ms for a thousand seconds.
        for n in 0..=40_000_u64 {
            #[expect(clippy::cast_precision_loss, reason = "small")]
            power.add(&reading(n * 25, 7.0 * 0.025 * n as f64));
        }
        assert!(power.buckets.len() <= 100, "{}", power.buckets.len());
        assert!((joules(&power) - 7_000.0).abs() < 1e-6);
        let segment = power.segment(5.0);
        assert!((segment.start - 5.0).abs() < 1e-12);
        for watts in segment
            .mean
            .iter()
            .flatten()
            .chain(segment.max.iter().flatten())
        {
            assert!((watts - 7.0).abs() < 1e-9, "{watts}");
        }
    }

    #[test]
    fn a_gap_and_a_reset_are_no_numbers() {
        let mut power = Power::new(0, counter(), &meter(&counter()), 100);
        for (millis, value) in [
            (0, 0.0),
            (100, 1.0),
            (5_100, 60.0),
            (5_200, 1.0),
            (5_300, 2.0),
        ] {
            power.add(&reading(millis, value));
        }
        assert!((joules(&power) - 2.0).abs() < 1e-9, "{}", joules(&power));
        let segment = power.segment(0.0);
        assert!(segment.mean.iter().any(Option::is_none));
    }

    #[test]
    fn power_that_is_read_as_such_is_taken_as_it_is() {
        let gauge = source(Quantity::Power {
            domain: Domain::Gpu,
            averaging: Duration::ZERO,
        });
        let mut power = Power::new(0, gauge.clone(), &meter(&gauge), 100);
        for (millis, watts) in [(0, 50.0), (100, 100.0), (200, 200.0)] {
            power.add(&reading(millis, watts));
        }
        assert!((joules(&power) - 30.0).abs() < 1e-9);
        let segment = power.segment(0.0);
        let largest = segment.max.iter().flatten().copied().reduce(f64::max);
        assert_eq!(largest, Some(200.0));
    }
}
