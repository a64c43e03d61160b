//! The page itself, as `OpenMetrics` 1.0 or in the older text format.
//!
//! Unknown values are left out: a source that has stopped has no power and no temperature.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::Duration;

use ipw_core::account::Account;
use ipw_core::source::{Gauge, Quantity, Source};
use ipw_core::time::Timestamp;
use ipw_telemetry::Session;

/// Shortest interval of the mean power.
const SHORTEST: Duration = Duration::from_secs(1);
/// Number of earlier pages to remember.
const REMEMBERED: usize = 64;

type Accounts = Vec<(Source, Account)>;

/// The format of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    OpenMetrics,
    Text,
}

impl Format {
    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// Joules and their covered time on earlier pages.
///
/// Power is the mean since the last page that is at least a second old, or since the start. This
/// works at any scrape interval, and for several scrapers with different ones.
pub(super) struct History(VecDeque<(Timestamp, Vec<EnergySample>)>);

#[derive(Clone, Copy)]
struct EnergySample {
    joules: f64,
    covered: Duration,
}

impl History {
    pub(super) fn new(now: Timestamp, accounts: &Accounts) -> Self {
        Self(VecDeque::from([(now, seen(accounts))]))
    }

    /// The mean power of each source up to `now`; `None` for gauges and unknown values.
    pub(super) fn watts(&mut self, now: Timestamp, accounts: &Accounts) -> Vec<Option<f64>> {
        let is_old = |at: Timestamp| now.since(at) >= SHORTEST;
        // Of the pages that are old enough, only the latest is ever needed again.
        while self.0.get(1).is_some_and(|(at, _)| is_old(*at)) {
            self.0.pop_front();
        }
        let current = seen(accounts);
        let watts = match self.0.front() {
            Some((_, before)) => {
                let sources = accounts.iter().zip(before.iter().zip(&current));
                sources
                    .map(|((source, _), (before, now))| {
                        source.domain()?;
                        now.watts_since(*before)
                    })
                    .collect()
            }
            None => vec![None; accounts.len()],
        };
        if self.0.len() < REMEMBERED {
            self.0.push_back((now, current));
        }
        watts
    }
}

impl EnergySample {
    fn watts_since(self, before: Self) -> Option<f64> {
        let covered = self.covered.saturating_sub(before.covered);
        let watts = (self.joules - before.joules) / covered.as_secs_f64();
        (!covered.is_zero() && watts.is_finite()).then_some(watts)
    }
}

fn seen(accounts: &Accounts) -> Vec<EnergySample> {
    let seen = accounts.iter().map(|(_, account)| EnergySample {
        joules: account.energy.joules(),
        covered: account.covered,
    });
    seen.collect()
}

/// The type of a family of samples.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Info,
}

/// One family of samples.
struct Family {
    /// The name without the suffix of its type.
    name: &'static str,
    kind: Kind,
    /// The unit, which is the end of the name; empty for a count.
    unit: &'static str,
    help: &'static str,
}

const fn family(name: &'static str, kind: Kind, unit: &'static str, help: &'static str) -> Family {
    Family {
        name,
        kind,
        unit,
        help,
    }
}

/// A source with its totals and its power.
struct SourceRow<'a> {
    source: &'a Source,
    account: &'a Account,
    watts: Option<f64>,
    /// Whether it had a value recently.
    is_alive: bool,
}

impl SourceRow<'_> {
    fn is_energy(&self) -> bool {
        self.source.domain().is_some()
    }

    /// The last value of a gauge of one of these kinds, times `factor`.
    fn gauge(&self, wanted: &[Gauge], factor: f64) -> Option<f64> {
        let Quantity::Gauge { gauge } = self.source.quantity else {
            return None;
        };
        let is_wanted = self.is_alive && wanted.contains(&gauge);
        let last = self.account.values.filter(|_| is_wanted)?.last;
        Some(last * factor)
    }
}

type Show = fn(&SourceRow<'_>) -> Option<f64>;

/// All families; each has one sample for every source with a value.
const FAMILIES: [(Family, Show); 13] = [
    (
        family(
            "ipw_energy_joules",
            Kind::Counter,
            "joules",
            "Energy seen since the start, gaps left out.",
        ),
        |line| line.is_energy().then(|| line.account.energy.joules()),
    ),
    (
        family(
            "ipw_power_watts",
            Kind::Gauge,
            "watts",
            "Mean power since the last page that is at least a second old.",
        ),
        |line| line.watts.filter(|_| line.is_alive),
    ),
    (
        family(
            "ipw_temperature_celsius",
            Kind::Gauge,
            "celsius",
            "Temperature.",
        ),
        |line| line.gauge(&[Gauge::CpuTemperature, Gauge::GpuTemperature], 1.0),
    ),
    (
        family(
            "ipw_utilization_ratio",
            Kind::Gauge,
            "ratio",
            "Share of time with work, from 0 to 1.",
        ),
        |line| {
            let uses = [
                Gauge::CpuUse,
                Gauge::GpuUse,
                Gauge::GpuMemoryUse,
                Gauge::GpuTensorUse,
            ];
            line.gauge(&uses, 0.01)
        },
    ),
    (
        family(
            "ipw_memory_used_bytes",
            Kind::Gauge,
            "bytes",
            "Memory in use.",
        ),
        |line| line.gauge(&[Gauge::MemoryUsed, Gauge::GpuMemoryUsed], 1_048_576.0),
    ),
    (
        family(
            "ipw_clock_hertz",
            Kind::Gauge,
            "hertz",
            "Clock of cores or memory.",
        ),
        |line| {
            let clocks = [Gauge::CpuFrequency, Gauge::GpuClock, Gauge::GpuMemoryClock];
            line.gauge(&clocks, 1e6)
        },
    ),
    (
        family(
            "ipw_power_limit_watts",
            Kind::Gauge,
            "watts",
            "What the board may draw.",
        ),
        |line| line.gauge(&[Gauge::PowerLimit], 1.0),
    ),
    (
        family(
            "ipw_throttle_reasons",
            Kind::Gauge,
            "",
            "Why the board is held back, as bits; 0 for not at all.",
        ),
        |line| line.gauge(&[Gauge::Throttle], 1.0),
    ),
    (
        family(
            "ipw_processes",
            Kind::Gauge,
            "",
            "Processes that use the board.",
        ),
        |line| line.gauge(&[Gauge::Processes], 1.0),
    ),
    (
        family(
            "ipw_readings",
            Kind::Counter,
            "",
            "Readings kept since the start.",
        ),
        |line| Some(count(line.account.readings)),
    ),
    (
        family(
            "ipw_gaps",
            Kind::Counter,
            "",
            "How often readings were missing for longer than they may.",
        ),
        |line| line.is_energy().then(|| count(line.account.gaps)),
    ),
    (
        family(
            "ipw_resets",
            Kind::Counter,
            "",
            "How often a counter started anew or said nonsense.",
        ),
        |line| line.is_energy().then(|| count(line.account.resets)),
    ),
    (
        family(
            "ipw_implausible",
            Kind::Counter,
            "",
            "How often a source said more than its device can have used.",
        ),
        |line| line.is_energy().then(|| count(line.account.implausible)),
    ),
];

/// Renders the page.
pub(super) fn page(
    session: &Session,
    now: Timestamp,
    accounts: &Accounts,
    watts: &[Option<f64>],
    format: Format,
) -> String {
    let polled = session.polled();
    let silences = session
        .meters()
        .map(|metered| metered.meter.longest_silence);
    let alive: Vec<bool> = polled
        .into_iter()
        .zip(silences)
        .map(|(polled, longest)| polled.is_some_and(|polled| now.since(polled) <= longest))
        .collect();
    let lines: Vec<SourceRow<'_>> = accounts
        .iter()
        .zip(watts)
        .zip(alive)
        .map(|(((source, account), watts), is_alive)| SourceRow {
            source,
            account,
            watts: *watts,
            is_alive,
        })
        .collect();
    write(&lines, format)
}

fn write(lines: &[SourceRow<'_>], format: Format) -> String {
    let mut page = Page {
        text: String::new(),
        format,
    };
    for (family, show) in &FAMILIES {
        let mut samples = lines
            .iter()
            .filter_map(|line| Some((line, show(line)?)))
            .filter(|(_, value)| value.is_finite())
            .peekable();
        if samples.peek().is_some() {
            page.head(family);
            for (line, value) in samples {
                page.sample(family, &labels(line.source), value);
            }
        }
    }
    let info = family("ipw_source", Kind::Info, "", "What a source is.");
    if !lines.is_empty() {
        page.head(&info);
        for line in lines {
            page.sample(&info, &described(line.source), 1.0);
        }
    }
    let build = family("ipw_build", Kind::Info, "", "What serves this page.");
    page.head(&build);
    let version = ("version", env!("CARGO_PKG_VERSION").to_owned());
    page.sample(&build, &[version], 1.0);
    if format == Format::OpenMetrics {
        page.text.push_str("# EOF\n");
    }
    page.text
}

/// The text so far.
struct Page {
    text: String,
    format: Format,
}

impl Page {
    fn head(&mut self, family: &Family) {
        let name = match self.format {
            Format::OpenMetrics => family.name.to_owned(),
            Format::Text => family.sample_name(),
        };
        let kind = match (family.kind, self.format) {
            (Kind::Counter, _) => "counter",
            (Kind::Info, Format::OpenMetrics) => "info",
            (Kind::Gauge | Kind::Info, _) => "gauge",
        };
        let _ = writeln!(self.text, "# HELP {name} {}", family.help);
        let _ = writeln!(self.text, "# TYPE {name} {kind}");
        if self.format == Format::OpenMetrics && !family.unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {}", family.unit);
        }
    }

    fn sample(&mut self, family: &Family, labels: &[(&str, String)], value: f64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let name = family.sample_name();
        let _ = writeln!(self.text, "{name}{{{}}} {value}", labels.join(","));
    }
}

impl Family {
    fn sample_name(&self) -> String {
        let ending = match self.kind {
            Kind::Counter => "_total",
            Kind::Gauge => "",
            Kind::Info => "_info",
        };
        format!("{}{ending}", self.name)
    }
}

/// The labels that identify a sample, and tell an estimate from a measurement.
fn labels(source: &Source) -> Vec<(&'static str, String)> {
    let mut labels = vec![("source", source.name.clone())];
    labels.extend(source.host.clone().map(|host| ("host", host)));
    labels.extend(source.device.clone().map(|device| ("device", device)));
    labels.extend(source.domain().map(|domain| ("domain", spelled(&domain))));
    labels.push(("method", source.method.label().to_owned()));
    labels
}

/// The static labels of a source.
fn described(source: &Source) -> Vec<(&'static str, String)> {
    let mut labels = labels(source);
    labels.push(("collector", source.collector.to_string()));
    let quantity = match source.quantity {
        Quantity::Energy { .. } => "energy".to_owned(),
        Quantity::Power { .. } => "power".to_owned(),
        Quantity::Gauge { gauge } => spelled(&gauge),
    };
    labels.push(("quantity", quantity));
    if let Some(period) = source.period {
        labels.push(("period_seconds", period.as_secs_f64().to_string()));
    }
    labels
}

/// The serialized name of a value.
fn spelled(word: &impl serde::Serialize) -> String {
    let word = serde_json::to_value(word).ok();
    let word = word.as_ref().and_then(serde_json::Value::as_str);
    word.unwrap_or_default().to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[expect(
    clippy::cast_precision_loss,
    reason = "2^53 readings take longer than any session lasts"
)]
fn count(number: u64) -> f64 {
    number as f64
}
