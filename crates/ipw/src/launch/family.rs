//! A process and all its descendants.

use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// How long they may take to end after the first signal.
const PATIENCE: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(20);

/// All descendants of this process, except those that existed before.
pub(super) struct Family {
    /// Process ids that existed before.
    strangers: Vec<i32>,
}

impl Family {
    /// Makes this process the subreaper: from now on it inherits orphans.
    pub(super) fn adopt() -> Self {
        #[cfg(target_os = "linux")]
        {
            // Best effort: without it, grandchildren whose parents have ended are out of reach.
            let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        }
        Self {
            strangers: descendants(),
        }
    }

    fn members(&self) -> Vec<i32> {
        let mut members = descendants();
        members.retain(|pid| !self.strangers.contains(pid));
        members
    }

    /// Ends all of them. Returns the number that had to be killed.
    pub(super) fn end(&self, first: &mut Child) -> usize {
        self.signal(first, Signal::TERM);
        let mut waited = Duration::ZERO;
        while self.is_alive(first) && waited < PATIENCE {
            std::thread::sleep(TICK);
            waited += TICK;
        }
        let left = self.members().len();
        // A process that is just forking may leave a child behind: repeat until none is left.
        for _ in 0..50 {
            if !self.is_alive(first) {
                break;
            }
            self.signal(first, Signal::KILL);
            std::thread::sleep(TICK);
        }
        let _ = first.wait();
        left
    }

    fn signal(&self, first: &Child, signal: Signal) {
        let mut members = self.members();
        members.extend(i32::try_from(first.id()));
        members.sort_unstable();
        members.dedup();
        for pid in members.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, signal);
        }
    }

    fn is_alive(&self, first: &mut Child) -> bool {
        matches!(first.try_wait(), Ok(None)) || !self.members().is_empty()
    }
}

/// Asks the kernel to end this process when its parent ends for any reason.
pub(super) fn end_with_parent() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::TERM));
    }
}

/// All descendants of this process, without zombies.
#[cfg(target_os = "linux")]
fn descendants() -> Vec<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let processes: Vec<(i32, i32)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            parent(&stat).map(|parent| (pid, parent))
        })
        .collect();
    let mut found = vec![own];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children = processes.iter().filter(|(_, of)| *of == parent);
        found.extend(children.map(|(pid, _)| *pid));
        next += 1;
    }
    found.remove(0);
    found
}

#[cfg(not(target_os = "linux"))]
fn descendants() -> Vec<i32> {
    Vec::new()
}

/// The parent id in `/proc/PID/stat`; `None` for a zombie. The second field, the name, may contain
/// any character.
#[cfg(target_os = "linux")]
fn parent(stat: &str) -> Option<i32> {
    let (_, behind) = stat.rsplit_once(')')?;
    let mut fields = behind.split_ascii_whitespace();
    let state = fields.next()?;
    (state != "Z").then_some(fields.next()?.parse().ok()?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name_and_zombies_are_none() {
        assert_eq!(parent("7 (a) b) c) S 3 7 7 0"), Some(3));
        assert_eq!(parent("7 (x) Z 3 7 7 0"), None);
        assert_eq!(parent("nonsense"), None);
    }
}
