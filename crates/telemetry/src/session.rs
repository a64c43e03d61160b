//! The live collection of readings. Computes the energy of a window. Keeps each reading until it
//! is on disk and no open query can need it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ipw_core::account::Account;
use ipw_core::alignment::ClockOffset;
use ipw_core::attribution::{Balance, Flights, Idle, share};
use ipw_core::energy::{Meter, MeteredSource, Phase, Phases, QueryEnergy, Reason, Share, Split};
use ipw_core::hardware::{Device, SystemInfo};
use ipw_core::reading::{Reading, Window};
use ipw_core::rollup::{Choice, Use, uses};
use ipw_core::source::{Domain, Role, Source, SourceIndex};
use ipw_core::time::{Clock, Timestamp};

use self::state::{Claim, Evidence, State};
use crate::SelfTest;
use crate::sampler::{Poller, Sampler};
use crate::self_test::self_tests;
use crate::series::Series;
use crate::{Collector, PollError};

mod boards;
mod gauges;
mod state;

/// Number of distinct faults that are remembered.
const MOST_FAULTS: usize = 100;

/// A claim on readings, by a query or an idle measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// State that the session shares with its samplers.
pub(crate) struct Shared {
    state: Mutex<State>,
    news: Condvar,
}

/// The role of each source in the results, and which counters stood still when it was determined.
struct Uses {
    basis: Choice,
    stuck: Vec<bool>,
    by_source: Arc<[Use]>,
}

impl Uses {
    fn of(kept: &[TrackedSource], stuck: Vec<bool>, basis: Choice) -> Self {
        let billed: Vec<usize> = (0..kept.len())
            .filter(|place| kept[*place].role == Role::Service)
            .collect();
        let sources: Vec<&Source> = billed.iter().map(|place| &*kept[*place].about).collect();
        let mut all = vec![Use::Shown; kept.len()];
        let used = uses(&sources, |place| stuck[billed[place]]);
        let used = basis.apply(&sources, used);
        for (place, used) in billed.into_iter().zip(used) {
            all[place] = used;
        }
        Self {
            basis,
            stuck,
            by_source: all.into(),
        }
    }
}

/// A source, and how to read and wait for it.
struct TrackedSource {
    about: Arc<Source>,
    meter: Meter,
    role: Role,
}

/// Running samplers and their readings.
pub struct Session {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    kept: Vec<TrackedSource>,
    devices: Vec<Device>,
    /// The service's machine, if it is another one.
    system: Option<SystemInfo>,
    samplers: Mutex<Vec<Sampler>>,
    /// The role of this machine when there are no collectors.
    role: Role,
    /// Why there is no energy source, where that is known from the start.
    absent: Option<Reason>,
    longest_wait: Duration,
}

/// The arguments of [`Session::start`].
pub struct Setup {
    /// The collectors to poll.
    pub collectors: Vec<Box<dyn Collector>>,
    /// The poll interval that the user wants; a collector may need a longer one.
    pub interval: Duration,
    /// The role of this machine, for collectors that do not state one.
    pub role: Role,
    /// Why there is no energy source; `None` if there is one.
    pub absent: Option<Reason>,
}

impl Session {
    /// Starts one thread for each collector, or one for each circle of collectors.
    pub fn start(setup: Setup, clock: Arc<dyn Clock>) -> std::io::Result<Self> {
        let (session, pollers) = Self::new(setup, clock);
        *session.samplers() = Sampler::start_all(pollers)?;
        Ok(session)
    }

    /// A session without threads: the caller polls.
    pub fn new(setup: Setup, clock: Arc<dyn Clock>) -> (Self, Vec<Poller>) {
        let mut kept = Vec::new();
        let mut series = Vec::new();
        let mut planned = Vec::new();
        let mut longest_wait = Duration::ZERO;
        let mut devices = Vec::new();
        let mut system = None;
        for collector in setup.collectors {
            let role = collector.role().unwrap_or(setup.role);
            if role == Role::Service {
                devices.extend_from_slice(collector.devices());
                system = system.or_else(|| collector.system().cloned());
            }
            let interval = collector.interval(setup.interval);
            let first = kept.len();
            for (place, about) in collector.sources().iter().enumerate() {
                let index = SourceIndex(u16::try_from(kept.len()).unwrap_or(u16::MAX));
                let limit = power_limit(about, collector.devices());
                let meter = Meter {
                    clock_bound: collector
                        .aligned()
                        .map_or(Duration::ZERO, |aligned| aligned.bound),
                    dated_within: collector.dated_within(),
                    ..Meter::of(about, interval)
                        .limited(limit)
                        .at_most(collector.largest(place))
                };
                series.push(Series::new(index, about, meter));
                if about.domain().is_some() {
                    let late = meter.lag() + collector.delay();
                    longest_wait = longest_wait.max(wait(about, interval, late));
                }
                kept.push(TrackedSource {
                    about: Arc::new(about.clone()),
                    meter,
                    role,
                });
            }
            planned.push((collector, interval, first));
        }
        let uses = Uses::of(&kept, vec![false; kept.len()], Choice::All);
        let shared = Arc::new(Shared::new(series, uses));
        let pollers = planned
            .into_iter()
            .map(|(collector, interval, first)| {
                Poller::new(
                    collector,
                    interval,
                    Arc::clone(&clock),
                    Arc::clone(&shared),
                    first,
                )
            })
            .collect();
        let Setup { role, absent, .. } = setup;
        let samplers = Mutex::default();
        (
            Self {
                shared,
                clock,
                kept,
                devices,
                system,
                samplers,
                role,
                absent,
                longest_wait,
            },
            pollers,
        )
    }

    /// All sources, in the order of their indices.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.kept.iter().map(|kept| &*kept.about)
    }

    /// All sources, each with the meter that interprets its readings.
    pub fn meters(&self) -> impl Iterator<Item = MeteredSource<'_>> {
        self.kept.iter().map(|kept| MeteredSource {
            about: &kept.about,
            meter: &kept.meter,
            role: kept.role,
        })
    }

    /// The devices of the service's machines, as detected.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The service's machine, if it is another one and describes itself.
    pub fn system(&self) -> Option<&SystemInfo> {
        self.system.as_ref()
    }

    /// The role of the measured machines: the service's if any of them is.
    pub fn role(&self) -> Role {
        let is_service = |kept: &TrackedSource| kept.role == Role::Service;
        if self.kept.is_empty() {
            self.role
        } else if self.kept.iter().any(is_service) {
            Role::Service
        } else {
            Role::Client
        }
    }

    /// Whether any source measures the energy of the service.
    pub fn is_measured(&self) -> bool {
        let is_measured =
            |kept: &TrackedSource| kept.role == Role::Service && kept.about.is_measured_energy();
        self.kept.iter().any(is_measured)
    }

    /// Waits until every energy source has yielded a value, at most `limit`. Returns at once if
    /// there is no energy source.
    pub fn prime(&self, limit: Duration) {
        self.wait(limit, |state| {
            let mut energies = state.series.iter().filter(|series| series.is_energy());
            energies.all(|series| series.latest().is_some())
        });
    }

    /// A query starts: from now on, the readings that it may need are kept.
    pub fn open(&self, start: Timestamp) -> Ticket {
        let mut state = self.shared.lock();
        let flight = Some(state.flights.begin(start));
        state.admit(Claim { start, flight })
    }

    /// Keeps the readings from `start` until [`Session::release`] without a query in flight, for
    /// [`Session::idle_over`].
    pub fn watch(&self, start: Timestamp) -> Ticket {
        let flight = None;
        self.shared.lock().admit(Claim { start, flight })
    }

    /// Releases the readings that this ticket keeps.
    pub fn release(&self, ticket: Ticket) {
        let mut state = self.shared.lock();
        if let Some(open) = state.open.remove(&ticket) {
            // The caller gives no end time, so the query counts as in flight until now.
            let window = Window::new(open.start, self.clock.now().max(open.start));
            if let (Some(flight), Some(window)) = (open.flight, window) {
                state.flights.settle(flight, window);
            }
        }
        state.forget();
    }

    /// The query has ended; its readings are still needed. [`Session::close`] gives the exact
    /// window.
    pub fn landed(&self, ticket: Ticket) {
        let now = self.clock.now();
        let mut state = self.shared.lock();
        if let Some(flight) = state.open.get(&ticket).and_then(|open| open.flight) {
            state.flights.end(flight, now);
        }
    }

    /// The query was in flight over `window`; its readings are still needed.
    pub fn landed_after(&self, ticket: Ticket, window: Window) {
        let mut state = self.shared.lock();
        if let Some(flight) = state.open.get(&ticket).and_then(|open| open.flight) {
            state.flights.settle(flight, window);
        }
    }

    /// The energy of a query: its share of the energy used while it was in flight. Waits for
    /// readings later than its end, up to a limit. Its readings may be dropped afterwards.
    pub fn close(&self, ticket: Ticket, window: Window) -> QueryEnergy {
        self.close_in_phases(ticket, window, None)
    }

    /// As [`Session::close`], divided into two phases at `split`.
    pub fn close_in_phases(
        &self,
        ticket: Ticket,
        window: Window,
        split: Option<Split>,
    ) -> QueryEnergy {
        let mut state = self.shared.lock();
        if let Some(flight) = state.open.get(&ticket).and_then(|open| open.flight) {
            state.flights.settle(flight, window);
        }
        drop(state);
        self.wait_for_readings(window.end());
        let mut state = self.shared.lock();
        let evidence = state.evidence(window, &self.kept);
        let Some(flights) = state.flights_apart(&evidence.traces, window) else {
            let energy = self.divided(&evidence, &state.flights, window, split);
            state.leave(ticket);
            return energy;
        };
        state.leave(ticket);
        drop(state);
        self.divided(&evidence, &flights, window, split)
    }

    /// The energy of `window`, and its parts before and after `split`.
    fn divided(
        &self,
        evidence: &Evidence,
        flights: &Flights,
        window: Window,
        split: Option<Split>,
    ) -> QueryEnergy {
        let mut energy = self.energy(evidence, flights, window);
        if energy.headline().is_some() {
            energy.phases = split
                .and_then(|split| self.phases(evidence, flights, window, split))
                .map(Box::new);
        }
        energy
    }

    /// The energy used before and after `split`.
    fn phases(
        &self,
        evidence: &Evidence,
        flights: &Flights,
        window: Window,
        split: Split,
    ) -> Option<Phases> {
        let [prefill, decode] = split.windows(window)?;
        Some(Phases {
            kind: split.kind(flights.had_one_at_most(window)),
            prefill: Phase::of(&self.shares(evidence, flights, prefill), prefill.length()),
            decode: Phase::of(&self.shares(evidence, flights, decode), decode.length()),
        })
    }

    /// The energy of any window whose readings are still in memory, as if nothing else had been in
    /// flight.
    pub fn window_energy(&self, window: Window) -> QueryEnergy {
        let mut state = self.shared.lock();
        let evidence = state.evidence(window, &self.kept);
        drop(state);
        self.energy(&evidence, &Flights::alone(window), window)
    }

    /// Sets the idle power of each source, in the order of the sources; `None` where it is unknown.
    /// Queries that close afterwards have it subtracted for their energy above idle.
    pub fn set_idle(&self, idle: Vec<Option<Idle>>) {
        let mut state = self.shared.lock();
        state.unsaved_idle = Some(idle.clone());
        state.idle = idle;
    }

    /// The idle power from [`Session::set_idle`], if it was set since the last call.
    pub fn take_unsaved_idle(&self) -> Option<Vec<Option<Idle>>> {
        self.shared.lock().unsaved_idle.take()
    }

    /// The mean power of each energy source over `window`, in the order of the sources. Only time
    /// without a query in flight counts, and only readings still in memory ([`Session::watch`]).
    pub fn idle_over(&self, window: Window) -> Vec<Option<Idle>> {
        let state = self.shared.lock();
        let traces = state.traces(window);
        let flights = state.flights.clone();
        drop(state);
        let idle = self.kept.iter().zip(&traces).map(|(kept, trace)| {
            kept.about.domain()?;
            Idle::over(&kept.meter, trace, window, &flights)
        });
        idle.collect()
    }

    /// How the energy of each source was divided so far, in the order of the sources; `None` for
    /// gauges. Queries in flight count with their energy up to now.
    pub fn balance(&self) -> Vec<Option<Balance>> {
        let state = self.shared.lock();
        let sources = state.series.iter().enumerate();
        sources
            .map(|(place, series)| series.balance(&state.flights, state.idle_of(place)))
            .collect()
    }

    /// The energy and state of all sources over `window`.
    fn energy(&self, evidence: &Evidence, flights: &Flights, window: Window) -> QueryEnergy {
        let mut energy = self.shares(evidence, flights, window);
        self.gauge(evidence, window, &mut energy);
        energy.explained()
    }

    /// The shares of the energy sources over `window`.
    fn shares(&self, evidence: &Evidence, flights: &Flights, window: Window) -> QueryEnergy {
        let reason = match self.role() {
            Role::Client => Some(Reason::RemoteService),
            Role::Service => self.absent,
        };
        let mut energy = QueryEnergy {
            reason,
            ..QueryEnergy::default()
        };
        if reason.is_some() {
            return energy;
        }
        for (place, (kept, trace)) in self.kept.iter().zip(&evidence.traces).enumerate() {
            if kept.about.domain().is_none() || kept.role == Role::Client {
                continue;
            }
            let idle = evidence.idle[place];
            let meter = Meter {
                clock_bound: evidence.bounds[place],
                ..kept.meter
            };
            let said = share(&meter, trace, window, flights, idle);
            let share = Share::of(&kept.about, evidence.uses[place], said);
            energy.shares.extend(share);
        }
        energy
    }

    fn wait_for_readings(&self, end: Timestamp) {
        if self.role() == Role::Client {
            return;
        }
        let clock = Arc::clone(&self.clock);
        let limit = self.longest_wait.saturating_sub(clock.now().since(end));
        self.wait(limit, |state| {
            let now = clock.now();
            state.series.iter().zip(&self.kept).all(|(series, kept)| {
                let is_billed = series.is_energy() && kept.role == Role::Service;
                !is_billed || series.reaches(end) || !series.is_alive(now)
            })
        });
    }

    /// Waits until `done` holds, at most `limit`.
    fn wait(&self, limit: Duration, done: impl Fn(&State) -> bool) {
        let started = self.clock.now();
        let mut state = self.shared.lock();
        while !done(&state) {
            let left = limit.saturating_sub(self.clock.now().since(started));
            if left.is_zero() {
                return;
            }
            // Bounds the cost of a lost wake-up.
            let nap = left.min(Duration::from_millis(100));
            let woken = self.shared.news.wait_timeout(state, nap);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Readings that are not on disk yet. They stay in memory until [`Session::saved`].
    pub fn take_unsaved(&self) -> Vec<Reading> {
        std::mem::take(&mut self.shared.lock().unsaved)
    }

    /// Declares that all readings up to `until` are on disk.
    pub fn saved(&self, until: Timestamp) {
        let mut state = self.shared.lock();
        state.saved = state.saved.max(until);
        state.forget();
    }

    /// The totals of each source so far.
    pub fn accounts(&self) -> Vec<(Source, Account)> {
        let state = self.shared.lock();
        let accounts = state.series.iter().map(Series::account);
        self.kept
            .iter()
            .map(|kept| Source::clone(&kept.about))
            .zip(accounts)
            .collect()
    }

    /// The self-test of each source so far, in the order of the sources.
    pub fn self_tests(&self) -> Vec<SelfTest> {
        self_tests(&self.accounts())
    }

    /// The choices of a basis for which the service has sources.
    pub fn bases(&self) -> Vec<Choice> {
        let kept = self.kept.iter().filter(|kept| kept.role == Role::Service);
        let sources: Vec<&Source> = kept.map(|kept| &*kept.about).collect();
        Choice::offered(&sources, &uses(&sources, |_| false))
    }

    /// Restricts the basis of the headline figures to these sources from now on.
    pub fn count_only(&self, basis: Choice) {
        let mut state = self.shared.lock();
        let stuck = state.uses.stuck.clone();
        state.uses = Uses::of(&self.kept, stuck, basis);
    }

    /// The names of basis sources that have stopped yielding values.
    pub fn lost(&self) -> Vec<String> {
        let now = self.clock.now();
        let mut state = self.shared.lock();
        let uses = state.uses(&self.kept);
        let lost = |place: &usize| {
            uses[*place] == Use::Headline
                && (!state.series[*place].is_alive(now) || state.series[*place].is_stuck())
        };
        (0..self.kept.len())
            .filter(lost)
            .map(|place| self.kept[place].about.name.clone())
            .collect()
    }

    /// When each source last yielded a value, in the order of the sources; `None` before the first.
    pub fn polled(&self) -> Vec<Option<Timestamp>> {
        let state = self.shared.lock();
        state.series.iter().map(Series::polled).collect()
    }

    /// The clock offset of each source against ours, in the order of the sources; `None` for local
    /// sources.
    pub fn aligned(&self) -> Vec<Option<ClockOffset>> {
        self.shared.lock().aligned.clone()
    }

    /// As [`Session::aligned`], if an error bound has widened since the last call.
    pub fn take_unsaved_alignment(&self) -> Option<Vec<Option<ClockOffset>>> {
        let mut state = self.shared.lock();
        let is_new = std::mem::take(&mut state.unsaved_alignment);
        is_new.then(|| state.aligned.clone())
    }

    /// Stops polling until [`Session::resume`]; readings stay.
    pub fn pause(&self) {
        for sampler in self.samplers().iter() {
            sampler.pause(true);
        }
    }

    /// Polls again. Only counters bridge the pause: power over it stays unknown.
    pub fn resume(&self) {
        for sampler in self.samplers().iter() {
            sampler.pause(false);
        }
    }

    /// Number of readings in memory.
    pub fn in_memory(&self) -> usize {
        self.shared.lock().series.iter().map(Series::len).sum()
    }

    /// CPU time used by the samplers.
    pub fn own_cpu_time(&self) -> Duration {
        self.samplers().iter().map(Sampler::cpu_time).sum()
    }

    /// Faults of polls, one text for each distinct fault.
    pub fn faults(&self) -> Vec<String> {
        self.shared.lock().faults.clone()
    }

    /// Stops the samplers; readings stay.
    pub fn stop(&self) {
        for sampler in self.samplers().iter_mut() {
            sampler.stop();
        }
    }

    fn samplers(&self) -> MutexGuard<'_, Vec<Sampler>> {
        self.samplers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn new(series: Vec<Series>, uses: Uses) -> Self {
        Self {
            state: Mutex::new(State::new(series, uses)),
            news: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the values of one poll. `first` is the index of the collector's first source.
    pub(crate) fn take(&self, first: usize, polled: &[(usize, Timestamp, f64)]) {
        let mut state = self.lock();
        let State {
            series, unsaved, ..
        } = &mut *state;
        for (place, at, value) in polled {
            unsaved.extend(series[first + place].take(*at, *value));
        }
        drop(state);
        self.news.notify_all();
    }

    /// Separates the readings before a suspend from those after it, for `count` sources from
    /// `first` on.
    pub(crate) fn interrupt(&self, first: usize, count: usize) {
        for series in self.lock().series.iter_mut().skip(first).take(count) {
            series.interrupt();
        }
    }

    /// Notes the clock offset of `count` sources from `first` on.
    pub(crate) fn align(&self, first: usize, count: usize, aligned: ClockOffset) {
        self.lock().align(first, count, aligned);
    }

    /// Remembers a fault, once for each distinct text.
    pub(crate) fn fault(&self, collector: &str, error: &PollError) {
        let text = format!("{collector}: {error}");
        let mut state = self.lock();
        if !state.faults.contains(&text) && state.faults.len() < MOST_FAULTS {
            state.faults.push(text);
        }
    }
}

/// The power limit of this source's board in watts, if known and if the source covers just the
/// board.
fn power_limit(about: &Source, devices: &[Device]) -> Option<f64> {
    let own = about.device.as_ref()?;
    let is_board = matches!(about.domain()?, Domain::Gpu | Domain::GpuMemory);
    let device = devices.iter().find(|device| device.id == *own)?;
    device.power_limit_watts.filter(|_| is_board)
}

/// How long a row waits for a later reading of this source: two periods plus its lag, at most one
/// second.
fn wait(about: &Source, interval: Duration, lag: Duration) -> Duration {
    let period = about.period.unwrap_or(interval).max(interval);
    (period * 2 + lag).clamp(Duration::from_millis(50), Duration::from_secs(1))
}
