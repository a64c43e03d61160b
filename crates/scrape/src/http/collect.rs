//! The collector: one request, all sources of its reply.

use std::thread;
use std::time::Duration;

use ipw_core::alignment::ClockOffset;
use ipw_core::hardware::Device;
use ipw_core::source::{Quantity, Role, Source};
use ipw_core::text::printable;
use ipw_core::time::{Clock, Timestamp};
use ipw_telemetry::{Collector, PollError};

use super::place::{Place, PlacedValue, Reply, Selection};
use super::preset::{Board, Grouping};
use super::probe::{self, Changes};
use super::spec::{HttpSpec, Multiplicity, WantedValue};
use super::trips::Trips;
use super::unit::Unit;
use super::web::{Answer, Asker, RequestError};
use super::{HttpError, ID, Timing};

/// Default lower limit of the poll interval, which protects small devices.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);
/// A counter whose period is longer than the power's by this factor resolves queries worse.
const COARSER: u32 = 5;

/// The sources behind one URL.
pub(super) struct Http {
    asker: Asker,
    sources: Vec<Source>,
    watched: Vec<TrackedValue>,
    devices: Vec<Device>,
    role: Option<Role>,
    timing: Timing,
    trips: Trips,
}

/// The place of one source's value.
#[derive(Clone)]
struct TrackedValue {
    place: Place,
    which: Selection,
    unit: Unit,
}

/// A source before its period is known.
struct Candidate {
    source: Source,
    watched: TrackedValue,
    device: Option<Device>,
}

impl Http {
    pub(super) fn connect(spec: &HttpSpec, clock: &dyn Clock) -> Result<Self, HttpError> {
        let accept = match spec.wants.first().map(|want| &want.place) {
            Some(Place::Metric(_)) => "application/openmetrics-text, text/plain;q=0.9, */*;q=0.1",
            _ => "application/json, */*;q=0.1",
        };
        let asker = Asker::new(&spec.url, &spec.access, accept)?;
        // The first request opens the connection, so its duration says nothing about later ones.
        let answer = asker
            .ask(clock)
            .map_err(|failed| HttpError::Answer(failed.words()))?;
        let leads = leads(spec, answer.text)
            .map_err(|why| HttpError::Answer(format!("{}: {why}", asker.shown())))?;
        let mut http = Self {
            asker,
            sources: Vec::new(),
            watched: Vec::new(),
            devices: Vec::new(),
            role: spec.role,
            timing: spec.timing,
            trips: Trips::default(),
        };
        for lead in leads {
            http.sources.push(lead.source);
            http.watched.push(lead.watched);
            let is_new = |device: &Device| http.devices.iter().all(|known| known.id != device.id);
            http.devices.extend(lead.device.filter(is_new));
        }
        http.find_periods(spec, clock);
        http.drop_coarse_counters();
        Ok(http)
    }

    /// Determines each value's update period: from the user, from observation, or from documents.
    fn find_periods(&mut self, spec: &HttpSpec, clock: &dyn Clock) {
        let mut changes = vec![Changes::default(); self.sources.len()];
        let began = clock.now();
        for _ in 0..probe::QUESTIONS {
            if let Ok((at, reply)) = self.look(clock) {
                for (watched, changes) in self.watched.iter().zip(&mut changes) {
                    if let Ok(value) = watched.value(&reply) {
                        changes.take(at, value);
                    }
                }
            }
            let is_over = clock.now().since(began) >= probe::LONGEST
                || changes.iter().all(Changes::is_enough);
            // Round-trip times are measured in any case.
            if is_over || spec.timing.period.is_some() {
                break;
            }
            thread::sleep(probe::SPACING);
        }
        for (source, changes) in self.sources.iter_mut().zip(&changes) {
            let seen = || changes.period().or(spec.documented);
            source.period = spec.timing.period.or_else(seen);
        }
    }

    /// If a device has both power and a counter, the counter is used, unless it updates far less
    /// often: then only the power is used.
    fn drop_coarse_counters(&mut self) {
        let sources = self.sources.clone();
        let is_coarse = |counter: &Source| {
            let is_counter = matches!(counter.quantity, Quantity::Energy { .. });
            let beside = sources.iter().find(|source| {
                matches!(source.quantity, Quantity::Power { .. })
                    && (&source.device, source.domain()) == (&counter.device, counter.domain())
            });
            let finer = beside.and_then(|power| power.period);
            is_counter
                && finer.is_some_and(|finer| {
                    counter.period.is_none_or(|period| period > finer * COARSER)
                })
        };
        let keep: Vec<bool> = sources.iter().map(|source| !is_coarse(source)).collect();
        let mut kept = keep.iter();
        self.sources
            .retain(|_| kept.next().is_some_and(|keep| *keep));
        let mut kept = keep.iter();
        self.watched
            .retain(|_| kept.next().is_some_and(|keep| *keep));
    }

    /// Requests once. Returns the time and the reply.
    fn look(&mut self, clock: &dyn Clock) -> Result<(Timestamp, Reply), PollError> {
        let answer = self.asker.ask(clock).map_err(|failed| match failed {
            RequestError::Away(words) => PollError::Gone(words),
            RequestError::Useless(words) => PollError::Retry(words),
        })?;
        let Answer {
            text,
            asked,
            answered,
        } = answer;
        let took = answered.since(asked);
        if !self.trips.take(took) {
            return Err(self.retry("the reply was too late to date its values"));
        }
        let Some(watched) = self.watched.first() else {
            return Err(self.retry("no value is selected"));
        };
        let reply = Reply::new(text, &watched.place).map_err(|why| self.retry(&why))?;
        Ok((asked.after(took / 2), reply))
    }

    fn retry(&self, why: &str) -> PollError {
        PollError::Retry(format!("{}: {why}", self.asker.shown()))
    }
}

impl Collector for Http {
    fn id(&self) -> &'static str {
        ID
    }

    fn sources(&self) -> &[Source] {
        &self.sources
    }

    fn devices(&self) -> &[Device] {
        &self.devices
    }

    fn role(&self) -> Option<Role> {
        self.role
    }

    fn aligned(&self) -> Option<ClockOffset> {
        self.trips.aligned()
    }

    fn delay(&self) -> Duration {
        self.trips.worst()
    }

    fn interval(&self, wanted: Duration) -> Duration {
        let periods = self.sources.iter().filter_map(|source| source.period);
        let half = periods.min().unwrap_or_default() / 2;
        let own = self.timing.interval;
        own.unwrap_or_else(|| wanted.max(half).max(SHORTEST_INTERVAL))
    }

    fn poll(
        &mut self,
        clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError> {
        let (at, reply) = self.look(clock)?;
        let mut wrong = None;
        for (place, watched) in self.watched.iter().enumerate() {
            match watched.value(&reply) {
                Ok(value) => take(place, at, value),
                Err(why) => wrong = wrong.or(Some(why)),
            }
        }
        wrong.map_or(Ok(()), |why| Err(self.retry(&why)))
    }
}

impl TrackedValue {
    fn value(&self, reply: &Reply) -> Result<f64, String> {
        let raw = self.place.value(reply, &self.which)?;
        let value = self.unit.value(raw);
        value.map_err(|why| format!("`{}` is {why}", self.place))
    }
}

/// All sources in a first reply. Values of a preset that the device lacks are left out, but at
/// least one must exist.
fn leads(spec: &HttpSpec, text: String) -> Result<Vec<Candidate>, String> {
    let Some(first) = spec.wants.first() else {
        return Err("no value is selected".to_owned());
    };
    let reply = Reply::new(text, &first.place)?;
    let mut leads = Vec::new();
    let mut missing = None;
    for want in &spec.wants {
        match found(spec, want, &reply) {
            Ok(found) => leads.extend(found),
            Err(why) => missing = missing.or(Some(why)),
        }
    }
    match missing {
        Some(why) if leads.is_empty() => Err(why),
        _ => Ok(leads),
    }
}

fn found(spec: &HttpSpec, want: &WantedValue, reply: &Reply) -> Result<Vec<Candidate>, String> {
    let which = match want.several {
        Multiplicity::Refused => Selection::One,
        Multiplicity::Summed => Selection::Sum,
        Multiplicity::Apart(each) => return apart(spec, want, each, reply),
    };
    let watched = TrackedValue {
        place: want.place.clone(),
        which,
        unit: want.unit,
    };
    watched.value(reply)?;
    Ok(vec![Candidate {
        source: source(spec, want, base(spec)),
        watched,
        device: None,
    }])
}

/// One source for each of the values at a place.
fn apart(
    spec: &HttpSpec,
    want: &WantedValue,
    each: Grouping,
    reply: &Reply,
) -> Result<Vec<Candidate>, String> {
    let mut leads: Vec<Candidate> = Vec::new();
    let mut keys = Vec::new();
    let mut wrong = None;
    for found in want.place.all(reply, each.by)? {
        if keys.contains(&found.key) {
            continue;
        }
        if let Err(why) = &found.value {
            wrong = wrong.or_else(|| Some(format!("`{}` {why}", want.place)));
            continue;
        }
        let device = format!("{}/{}{}", base(spec), each.prefix, last_part(&found.key));
        leads.push(Candidate {
            device: board(spec.board, &device, &found),
            source: source(spec, want, device),
            watched: TrackedValue {
                place: want.place.clone(),
                which: Selection::Named(found.key.clone(), each.by),
                unit: want.unit,
            },
        });
        keys.push(found.key);
    }
    match wrong {
        Some(why) if leads.is_empty() => Err(why),
        _ => Ok(leads),
    }
}

fn source(spec: &HttpSpec, want: &WantedValue, device: String) -> Source {
    Source {
        name: format!("{device}/{}", want.name),
        collector: ID.into(),
        host: spec.host.clone(),
        device: Some(device),
        quantity: want.unit.quantity(want.domain, &spec.timing),
        method: want.unit.method(),
        period: None,
        privilege: spec.access.privilege().into(),
        relative_sigma: spec.sigma,
    }
}

/// The prefix of its source names.
fn base(spec: &HttpSpec) -> String {
    match &spec.host {
        Some(host) => format!("{host}/{ID}/{}", spec.label),
        None => format!("{ID}/{}", spec.label),
    }
}

/// The last step of a path: keys may be whole paths of a file system.
fn last_part(key: &str) -> String {
    let part = key.rsplit('/').find(|part| !part.is_empty());
    printable(part.unwrap_or_default())
}

fn board(board: Option<Board>, id: &str, found: &PlacedValue) -> Option<Device> {
    let (board, sample) = board.zip(found.sample.as_ref())?;
    let text = |label: &str| sample.label(label).map(printable);
    Some(Device {
        id: id.to_owned(),
        name: text(board.name),
        vendor: Some(board.vendor.to_owned()),
        index: found.key.parse().ok(),
        device_type: Some("GPU".to_owned()),
        backend: Some(ID.to_owned()),
        uuid: text(board.uuid),
        pci: text(board.pci),
        ..Device::default()
    })
}
