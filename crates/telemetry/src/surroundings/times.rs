//! CPU time of a changing set of processes.

use std::collections::BTreeMap;

use super::table::Process;

/// Pid and start time: together unique.
type Key = (u32, u64);

/// CPU time of one process, in ticks.
#[derive(Debug, Clone, Copy)]
struct Usage {
    parent: u32,
    /// CPU time of the process and its ended children when it was first seen.
    before: (u64, u64),
    /// The same at the last read.
    last: (u64, u64),
    is_alive: bool,
}

/// Adds up the CPU time of processes while they are observed. A process that ends counts up to its
/// last read, or up to its end if its parent waited for it and is observed too.
#[derive(Debug, Default)]
pub(super) struct Times {
    seen: BTreeMap<Key, Usage>,
    /// Start of the observation in ticks since boot: a process started later had used no CPU time.
    begun: u64,
}

impl Times {
    pub(super) fn new(begun: u64) -> Self {
        Self {
            seen: BTreeMap::new(),
            begun,
        }
    }

    /// Updates the times from the current processes.
    pub(super) fn take(&mut self, members: &[Process]) {
        for seen in self.seen.values_mut() {
            seen.is_alive = false;
        }
        for process in members {
            let now = (process.own, process.children);
            let is_new = process.started > self.begun;
            let before = if is_new { (0, 0) } else { now };
            let seen = self
                .seen
                .entry((process.pid, process.started))
                .or_insert(Usage {
                    parent: process.parent,
                    before,
                    last: now,
                    is_alive: true,
                });
            seen.last = (seen.last.0.max(now.0), seen.last.1.max(now.1));
            seen.is_alive = true;
        }
    }

    /// The processes that were alive at the last read.
    pub(super) fn alive(&self) -> impl Iterator<Item = u32> {
        let alive = self.seen.iter().filter(|(_, seen)| seen.is_alive);
        alive.map(|((pid, _), _)| *pid)
    }

    /// Number of processes seen so far.
    pub(super) fn count(&self) -> usize {
        self.seen.len()
    }

    /// CPU time used while observed.
    pub(super) fn ticks(&self) -> u64 {
        let seen = self.seen.iter();
        seen.map(|((pid, _), seen)| {
            let own = seen.last.0 - seen.before.0;
            own + self.unseen_children(*pid, seen)
        })
        .sum()
    }

    /// CPU time of children that ended between two reads: all ended children, minus what was
    /// counted for them or used before the observation.
    fn unseen_children(&self, pid: u32, parent: &Usage) -> u64 {
        let ended = self.seen.values();
        let ended = ended.filter(|child| child.parent == pid && !child.is_alive);
        let counted: u64 = ended.map(|child| child.last.0 + child.last.1).sum();
        (parent.last.1 - parent.before.1).saturating_sub(counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, started: u64, own: u64, children: u64) -> Process {
        Process {
            pid,
            parent: u32::from(pid != 1),
            group: 1,
            started,
            own,
            children,
        }
    }

    #[test]
    fn time_before_the_watch_is_not_counted_and_time_of_new_ones_is() {
        let mut times = Times::new(100);
        times.take(&[process(1, 5, 1000, 400)]);
        assert_eq!(times.ticks(), 0);
        times.take(&[process(1, 5, 1030, 400), process(2, 120, 7, 0)]);
        assert_eq!(times.ticks(), 37);
        // 3 is older than the observation and joins late.
        times.take(&[
            process(1, 5, 1030, 400),
            process(2, 120, 7, 0),
            process(3, 50, 90, 0),
        ]);
        assert_eq!(times.ticks(), 37);
    }

    #[test]
    fn children_that_end_are_counted_once_and_to_their_end() {
        let mut times = Times::new(100);
        times.take(&[process(1, 5, 10, 0), process(2, 50, 200, 0)]);
        times.take(&[
            process(1, 5, 10, 0),
            process(2, 50, 230, 0),
            process(3, 110, 4, 0),
        ]);
        assert_eq!(times.ticks(), 34);
        // 2 ends at 240, 3 at 9, and an unseen child at 6: the parent has waited for all of them.
        times.take(&[process(1, 5, 10, 255)]);
        assert_eq!(times.ticks(), 30 + 10 + 9 + 6);
        assert_eq!(times.alive().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let mut times = Times::new(100);
        times.take(&[process(2, 50, 500, 0)]);
        times.take(&[process(2, 150, 3, 0)]);
        assert_eq!((times.ticks(), times.count()), (3, 2));
    }
}
