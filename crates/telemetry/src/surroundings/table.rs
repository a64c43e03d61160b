//! The processes of this machine, from `/proc/PID/stat`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// One process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) group: u32,
    /// Start time in ticks since boot. With the pid it identifies a process: pids are reused.
    pub(super) started: u64,
    /// CPU time of the process, in ticks.
    pub(super) own: u64,
    /// CPU time of its children that ended and were waited for, with theirs, in ticks.
    pub(super) children: u64,
}

impl Process {
    /// Parses a line. The second field, the name, may contain anything, brackets and blanks
    /// included.
    fn parse(stat: &str) -> Option<Self> {
        let (pid, _) = stat.split_once(' ')?;
        let (_, behind) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = behind.split_ascii_whitespace().collect();
        // `proc_pid_stat(5)` counts fields from 1; `fields` starts at the third.
        let field = |number: usize| fields.get(number - 3).copied();
        let ticks = |number: usize| field(number)?.parse::<u64>().ok();
        Some(Self {
            pid: pid.parse().ok()?,
            parent: field(4)?.parse().ok()?,
            group: field(5)?.parse().ok()?,
            started: ticks(22)?,
            own: ticks(14)?.checked_add(ticks(15)?)?,
            // Signed in the kernel; negative only on broken kernels.
            children: ticks(16).unwrap_or(0).checked_add(ticks(17).unwrap_or(0))?,
        })
    }

    pub(super) fn read(proc: &Path, pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(proc.join(format!("{pid}/stat"))).ok()?)
    }
}

/// The pids of all visible processes.
pub(super) fn numbers(proc: &Path) -> Vec<u32> {
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// All visible processes.
pub(super) fn read(proc: &Path) -> Vec<Process> {
    let numbers = numbers(proc).into_iter();
    numbers.filter_map(|pid| Process::read(proc, pid)).collect()
}

/// The name of a process. Its user may choose it freely.
pub(super) fn name(proc: &Path, pid: u32) -> Option<String> {
    let text = fs::read_to_string(proc.join(format!("{pid}/comm"))).ok()?;
    Some(text.trim_end().to_owned())
}

/// The processes `roots`, the members of their process groups, and all descendants. `own` and its
/// descendants are excluded. The group of `own` is ignored: a script may have started both.
pub(super) fn family(all: &[Process], roots: &BTreeSet<u32>, own: u32) -> BTreeSet<u32> {
    let of = |pid: u32| all.iter().find(|process| process.pid == pid);
    let own_group = of(own).map(|process| process.group);
    let groups: BTreeSet<u32> = roots
        .iter()
        .filter_map(|root| of(*root).map(|process| process.group))
        .filter(|group| Some(*group) != own_group && *group != 0)
        .collect();
    let is_first =
        |process: &&Process| roots.contains(&process.pid) || groups.contains(&process.group);
    let mut found: BTreeSet<u32> = all.iter().filter(is_first).map(|first| first.pid).collect();
    found.remove(&own);
    let mut next: Vec<u32> = found.iter().copied().collect();
    while let Some(parent) = next.pop() {
        let children = all.iter().filter(|process| process.parent == parent);
        for child in children.filter(|child| child.pid != own) {
            if found.insert(child.pid) {
                next.push(child.pid);
            }
        }
    }
    found
}

/// The children of `own`. Where orphans are reparented to `own`, everything that it started
/// descends from them.
pub(super) fn children(all: &[Process], own: u32) -> BTreeSet<u32> {
    let children = all.iter().filter(|process| process.parent == own);
    children.map(|process| process.pid).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, group: u32) -> Process {
        Process {
            pid,
            parent,
            group,
            started: 1,
            own: 0,
            children: 0,
        }
    }

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let stat = "42 (a) b (c) S 7 40 40 0 -1 4194304 1 2 3 4 500 60 30 5 20 0 9 0 777 1 1";
        let expected = Process {
            pid: 42,
            parent: 7,
            group: 40,
            started: 777,
            own: 560,
            children: 35,
        };
        assert_eq!(Process::parse(stat), Some(expected));
        for nonsense in [
            "",
            "42",
            "42 (x) S 1",
            "x (y) S 1 1 1 0 0 0 0 0 0 0 1 1 1 1 0 0 0 0 1",
        ] {
            assert_eq!(Process::parse(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_family_is_its_group_and_what_descends_from_it() {
        // A launcher (10) with a router (11) and a shard (12) in its group, a worker below the
        // shard in a separate group, and this process (20) from another shell.
        let all = [
            process(1, 0, 1),
            process(10, 1, 10),
            process(11, 10, 10),
            process(12, 10, 10),
            process(13, 12, 13),
            process(20, 2, 20),
            process(30, 1, 30),
        ];
        let found = family(&all, &BTreeSet::from([11]), 20);
        assert_eq!(found, BTreeSet::from([10, 11, 12, 13]));
    }

    #[test]
    fn the_group_of_this_process_and_its_own_children_are_left_out() {
        // A script (5) started a service (6), this process (7), and something else (8).
        let all = [
            process(5, 1, 5),
            process(6, 5, 5),
            process(7, 5, 5),
            process(8, 5, 5),
            process(9, 7, 5),
            process(16, 6, 5),
        ];
        assert_eq!(
            family(&all, &BTreeSet::from([6]), 7),
            BTreeSet::from([6, 16])
        );
        // The service is the parent of this process.
        assert_eq!(
            family(&all, &BTreeSet::from([5]), 7),
            BTreeSet::from([5, 6, 8, 16])
        );
        // The service was launched by this process.
        assert_eq!(family(&all, &children(&all, 7), 7), BTreeSet::from([9]));
    }
}
