//! What else runs on this machine during a run: CPU time of the service, of this process and of
//! the whole machine, and other runs. Energy is measured for the whole machine, so load from
//! other processes is part of it.

mod beacon;
mod sockets;
mod table;
mod times;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ipw_core::setting::Setting;
use ipw_core::time::{Clock, Timestamp};
use rustix::time::{ClockId, clock_gettime};

use self::beacon::Beacon;
pub use self::sockets::ListenAddress;
use self::table::Process;
use self::times::Times;
use crate::Options;
use crate::collectors::host::files::Reader;
use crate::collectors::host::stat::{CpuTimes, TICK};

/// Interval between two reads of the known processes and of other runs.
const LOOK: Duration = Duration::from_millis(500);

/// Minimum number of reads between two searches for new processes.
const SEARCH: u32 = 4;

/// A search may take at most one part in this many of the time.
const SEARCH_SHARE: u32 = 200;

/// Programs that listen and forward requests: the service is behind them.
const FORWARDERS: [&str; 16] = [
    "caddy",
    "conmon",
    "docker-proxy",
    "envoy",
    "haproxy",
    "init",
    "kubectl",
    "nginx",
    "pasta",
    "rootlessport",
    "slirp4netns",
    "socat",
    "ssh",
    "sshd",
    "systemd",
    "traefik",
];

/// How to find the processes of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Service {
    /// The service runs in this process.
    Own,
    /// This process started the service.
    Launched,
    /// The user named its process ids.
    Pids(Vec<u32>),
    /// By the address that it listens on.
    Listening(ListenAddress),
    /// The processes are not on this machine or cannot be found, with the reason.
    Unknown(&'static str),
}

/// What was observed of the machine during the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// CPU time of the service, or why it is unknown.
    pub service: Result<Duration, String>,
    /// Number of processes that the service had over the run; `None` if they were not found.
    pub processes: Option<usize>,
    /// CPU time of this process.
    pub own: Duration,
    /// CPU time of the whole machine; `None` if unknown.
    pub machine: Option<Duration>,
    /// CPU time that all CPUs together offered; `None` if unknown.
    pub capacity: Option<Duration>,
    /// Other runs on this machine; `None` where they cannot be detected.
    pub runs: Option<Runs>,
}

/// Other runs of ipw that overlapped with this one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Runs {
    /// The largest number at the same time.
    pub most: usize,
    /// How long at least one of them was active.
    pub time: Duration,
}

/// The user named a process that is not running.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("process {0} is not running, or cannot be seen from here")]
pub struct NoProcess(pub u32);

/// A thread that observes the machine from its start until [`Surroundings::finish`].
#[derive(Debug)]
pub struct Surroundings {
    state: Mutex<State>,
    /// Number of other runs at the start.
    at_start: Option<usize>,
}

#[derive(Debug)]
enum State {
    Looking(Sender<()>, JoinHandle<Observation>),
    Over(Box<Observation>),
}

impl Surroundings {
    /// Starts the thread.
    ///
    /// # Errors
    /// If a process that the user named is not running.
    pub fn start(
        options: &Options,
        service: Service,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, NoProcess> {
        let own = std::process::id();
        let mut look = Look::new(options, service, own, clock);
        if let Service::Pids(pids) = &look.service {
            let is_there = |pid: &&u32| Process::read(&look.proc, **pid).is_some();
            if let Some(missing) = pids.iter().find(|pid| !is_there(pid)) {
                return Err(NoProcess(*missing));
            }
        }
        look.search();
        look.count_runs(Duration::ZERO);
        let at_start = look.runs.map(|runs| runs.most);
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("ipw-around".to_owned());
        let before = look.seen();
        let started = thread.spawn(move || {
            while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                look.again();
            }
            look.again();
            look.seen()
        });
        // If the thread cannot start, everything stays unknown.
        let state = started.map_or_else(
            |_| State::Over(Box::new(before)),
            |thread| State::Looking(stop, thread),
        );
        Ok(Self {
            state: Mutex::new(state),
            at_start,
        })
    }

    /// Number of other runs at the start.
    pub fn runs_at_start(&self) -> usize {
        self.at_start.unwrap_or(0)
    }

    /// Stops the thread. Returns the observations the first time, `None` afterwards.
    pub fn finish(&self) -> Option<Observation> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = match &*state {
            State::Over(seen) => return Some((**seen).clone()),
            State::Looking(..) => {
                let nothing = State::Over(Box::new(Observation::nothing()));
                let State::Looking(stop, thread) = std::mem::replace(&mut *state, nothing) else {
                    return None;
                };
                drop(stop);
                thread.join().ok()?
            }
        };
        *state = State::Over(Box::new(seen.clone()));
        Some(seen)
    }
}

impl Observation {
    fn nothing() -> Self {
        Self {
            service: Err("the machine was not observed".to_owned()),
            processes: None,
            own: Duration::ZERO,
            machine: None,
            capacity: None,
            runs: None,
        }
    }
}

/// The state of the observing thread.
struct Look {
    proc: PathBuf,
    own: u32,
    clock: Arc<dyn Clock>,
    service: Service,
    beacon: Option<Beacon>,
    reader: Reader,
    times: Times,
    /// Why the service's processes are unknown.
    unknown: Option<String>,
    machine: Option<CpuTimes>,
    own_before: Duration,
    runs: Option<Runs>,
    /// Time of the last read.
    last: Timestamp,
    /// When to search for new processes again.
    search_at: Timestamp,
}

impl Look {
    fn new(options: &Options, service: Service, own: u32, clock: Arc<dyn Clock>) -> Self {
        let mut reader = Reader::default();
        let machine = CpuTimes::read(&mut reader, &options.proc.join("stat"));
        let begun = uptime(&options.proc);
        let beacon = Beacon::raise(options, own);
        let now = clock.now();
        Self {
            proc: options.proc.clone(),
            own,
            clock,
            service,
            runs: beacon.as_ref().map(|_| Runs::default()),
            beacon,
            reader,
            times: Times::new(begun),
            unknown: None,
            machine,
            own_before: own_cpu_time(),
            last: now,
            search_at: now,
        }
    }

    /// Reads everything once.
    fn again(&mut self) {
        let now = self.clock.now();
        self.count_runs(now.since(self.last));
        self.last = now;
        if now >= self.search_at {
            self.search();
        } else {
            let known: Vec<u32> = self.times.alive().collect();
            let read = |pid: &u32| Process::read(&self.proc, *pid);
            let members: Vec<Process> = known.iter().filter_map(read).collect();
            self.times.take(&members);
        }
    }

    /// Finds the current processes of the service.
    fn search(&mut self) {
        let begun = self.clock.now();
        match self.members() {
            Ok(members) => {
                self.unknown = None;
                self.times.take(&members);
            }
            // A process that was found once is followed for as long as it lives.
            Err(_) if self.times.count() > 0 => self.times.take(&[]),
            Err(reason) => self.unknown = Some(reason),
        }
        let end = self.clock.now();
        let took = end.since(begun);
        self.search_at = end.after((took * SEARCH_SHARE).max(LOOK * SEARCH));
    }

    fn members(&self) -> Result<Vec<Process>, String> {
        if let Service::Own | Service::Unknown(_) = self.service {
            return Ok(Vec::new());
        }
        let all = table::read(&self.proc);
        if all.is_empty() {
            return Err("processes cannot be listed here".to_owned());
        }
        let roots = match &self.service {
            Service::Pids(pids) => pids.iter().copied().collect(),
            Service::Launched => table::children(&all, self.own),
            // Search the descriptors of all processes only once: it is expensive.
            _ if self.times.alive().next().is_some() => self.times.alive().collect(),
            Service::Listening(place) => listeners(&self.proc, place)?,
            Service::Own | Service::Unknown(_) => BTreeSet::new(),
        };
        let family = table::family(&all, &roots, self.own);
        let members = all.into_iter().filter(|one| family.contains(&one.pid));
        Ok(members.collect())
    }

    fn count_runs(&mut self, since: Duration) {
        let others = self.beacon.as_ref().map(|beacon| beacon.others(&self.proc));
        match (&mut self.runs, others) {
            (Some(runs), Some(Some(others))) => {
                runs.most = runs.most.max(others);
                runs.time += if others > 0 { since } else { Duration::ZERO };
            }
            (runs, _) => *runs = None,
        }
    }

    fn seen(&mut self) -> Observation {
        let own = own_cpu_time().saturating_sub(self.own_before);
        let stat = self.proc.join("stat");
        let between = self.machine.zip(CpuTimes::read(&mut self.reader, &stat));
        let span = |ticks: fn(CpuTimes) -> u64| {
            let (before, now) = between?;
            duration(ticks(now).checked_sub(ticks(before))?)
        };
        let is_found = self.times.count() > 0;
        let service = match (&self.service, &self.unknown) {
            (Service::Own, _) => Ok(own),
            (Service::Unknown(reason), _) => Err((*reason).to_owned()),
            (_, Some(reason)) => Err(reason.clone()),
            _ if is_found => duration(self.times.ticks()).ok_or_else(|| "too long".to_owned()),
            _ => Err("it has no process".to_owned()),
        };
        Observation {
            service,
            processes: is_found.then(|| self.times.count()),
            own,
            machine: span(|times| times.busy),
            capacity: span(|times| times.total),
            runs: self.runs,
        }
    }
}

/// The processes that listen at `place`, if they are the service itself.
fn listeners(proc: &Path, place: &ListenAddress) -> Result<BTreeSet<u32>, String> {
    let pid = Setting::ServicePid;
    let sockets = sockets::inodes(proc, place);
    if sockets.is_empty() {
        return Err(format!(
            "no socket listens on {place} in this network namespace: name the service with `{pid}`"
        ));
    }
    let mut found = sockets::holders(proc, &sockets);
    if found.is_empty() {
        return Err(format!(
            "the process that listens on {place} belongs to another user: name it with `{pid}`"
        ));
    }
    let forwarder = |pid: &u32| {
        let name = table::name(proc, *pid);
        name.filter(|name| FORWARDERS.contains(&name.as_str()))
    };
    let passes_on = found.iter().find_map(forwarder);
    found.retain(|pid| forwarder(pid).is_none());
    match passes_on {
        Some(name) if found.is_empty() => Err(format!(
            "`{name}` listens on {place} and passes queries on: name the service with `{pid}`"
        )),
        _ => Ok(found),
    }
}

/// Time since boot, in ticks.
fn uptime(proc: &Path) -> u64 {
    let text = std::fs::read_to_string(proc.join("uptime")).unwrap_or_default();
    let (seconds, parts) = text
        .split_ascii_whitespace()
        .next()
        .and_then(|seconds| seconds.split_once('.'))
        .unwrap_or_default();
    let number = |text: &str| text.parse::<u64>().unwrap_or(0);
    // Two decimals are hundredths of a second, which are ticks.
    number(seconds).saturating_mul(100) + number(parts)
}

fn duration(ticks: u64) -> Option<Duration> {
    let each = u64::try_from(TICK.as_millis()).ok()?;
    Some(Duration::from_millis(ticks.checked_mul(each)?))
}

fn own_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
    seconds + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests;
