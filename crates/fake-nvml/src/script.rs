//! The script: lines of a word and its values; `#` begins a comment.
//!
//! ```text
//! driver 580.95.05        version of the driver
//! init 9                  what `nvmlInit_v2` returns, 0 unless said
//! start 123               where the traces begin, in ns of CLOCK_MONOTONIC
//! clock FILE              the time is what FILE says, in seconds: no real clock
//! calls FILE              every call is noted there: its name, and the board or `-`
//! missing NAME …          functions that look as if they were missing
//! board                   begins a board; what follows is about it
//! name TEXT | uuid TEXT | pci TEXT | capability MAJOR MINOR
//! step SECONDS WATTS      power over time; the steps repeat
//! offset JOULES           what the counter had counted at the start
//! period SECONDS          between updates of the counter and of power
//! window SECONDS          what an instant power is averaged over
//! no_energy | no_power    no counter; no plain power
//! scope NAME FACTOR       instant power of `gpu`, `module` or `memory`, of the trace's
//! averaged NAME FACTOR    the same for average power
//! reset SECONDS           the counter begins anew
//! lost FROM TO            the board is lost meanwhile, and its handles are for good
//! energy_value FROM TO N  what the counter says meanwhile, in mJ
//! power_value FROM TO N   what every power says meanwhile, in mW
//! delay_ms N              every call for this board takes that long
//! mig on | off            neither: not supported
//! instance UUID           a MIG instance
//! ecc on | off            likewise
//! throttle BITS, limit WATTS, temperature N, use N, memory_use N, memory_mib N,
//! memory_used_mib N, clock_mhz N, memory_clock_mhz N, processes N, tensor PERCENT
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::SplitWhitespace;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use crate::clock::monotonic_nanos;

/// The script is read again after this long even if it looks the same.
const STALE: i64 = 1_000_000_000;

/// A machine.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) driver: String,
    pub(crate) init: u32,
    pub(crate) start: i64,
    pub(crate) clock: Option<PathBuf>,
    pub(crate) calls: Option<PathBuf>,
    pub(crate) missing: Vec<String>,
    pub(crate) boards: Vec<Board>,
}

/// A board.
#[derive(Debug, Default)]
pub(crate) struct Board {
    pub(crate) name: String,
    pub(crate) uuid: String,
    pub(crate) pci: String,
    pub(crate) capability: (i32, i32),
    pub(crate) steps: Vec<(f64, f64)>,
    pub(crate) offset: f64,
    pub(crate) period: f64,
    pub(crate) window: f64,
    pub(crate) has_energy: bool,
    pub(crate) has_power: bool,
    pub(crate) scopes: BTreeMap<u32, f64>,
    pub(crate) averaged: BTreeMap<u32, f64>,
    pub(crate) resets: Vec<f64>,
    pub(crate) lost: Vec<(f64, f64)>,
    pub(crate) energy_values: Vec<(f64, f64, u64)>,
    pub(crate) power_values: Vec<(f64, f64, u64)>,
    pub(crate) delay_ms: u64,
    pub(crate) mig: Option<bool>,
    pub(crate) instances: Vec<String>,
    pub(crate) ecc: Option<bool>,
    /// State that is one number; a state that is not there is not supported.
    pub(crate) state: BTreeMap<String, f64>,
}

const STATE: [&str; 11] = [
    "throttle",
    "limit",
    "temperature",
    "use",
    "memory_use",
    "memory_mib",
    "memory_used_mib",
    "clock_mhz",
    "memory_clock_mhz",
    "processes",
    "tensor",
];

impl Script {
    /// `None` if a line is not understood: a script with a mistake should be noticed.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut script = Self::default();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let Some((word, rest)) = line.split_once(' ').or(Some((line, ""))) else {
                continue;
            };
            if !word.is_empty() {
                script.take(word, rest.trim())?;
            }
        }
        Some(script)
    }

    fn take(&mut self, word: &str, rest: &str) -> Option<()> {
        match word {
            "driver" => rest.clone_into(&mut self.driver),
            "init" => self.init = rest.parse().ok()?,
            "start" => self.start = rest.parse().ok()?,
            "clock" => self.clock = Some(rest.into()),
            "calls" => self.calls = Some(rest.into()),
            "missing" => self
                .missing
                .extend(rest.split_whitespace().map(str::to_owned)),
            "board" => self.boards.push(Board {
                capability: (9, 0),
                period: 0.1,
                window: 0.1,
                has_energy: true,
                has_power: true,
                ..Board::default()
            }),
            _ => self.boards.last_mut()?.take(word, rest)?,
        }
        Some(())
    }
}

impl Board {
    fn take(&mut self, word: &str, rest: &str) -> Option<()> {
        let mut values = rest.split_whitespace();
        match word {
            "name" => rest.clone_into(&mut self.name),
            "uuid" => rest.clone_into(&mut self.uuid),
            "pci" => rest.clone_into(&mut self.pci),
            "capability" => self.capability = (next(&mut values)?, next(&mut values)?),
            "step" => self.steps.push((next(&mut values)?, next(&mut values)?)),
            "offset" => self.offset = next(&mut values)?,
            "period" => self.period = next(&mut values)?,
            "window" => self.window = next(&mut values)?,
            "no_energy" => self.has_energy = false,
            "no_power" => self.has_power = false,
            "scope" => {
                let scope = scope(values.next()?)?;
                self.scopes.insert(scope, next(&mut values)?);
            }
            "averaged" => {
                let scope = scope(values.next()?)?;
                self.averaged.insert(scope, next(&mut values)?);
            }
            "reset" => self.resets.push(next(&mut values)?),
            "lost" => self.lost.push((next(&mut values)?, next(&mut values)?)),
            "energy_value" => self.energy_values.push(stretch(&mut values)?),
            "power_value" => self.power_values.push(stretch(&mut values)?),
            "delay_ms" => self.delay_ms = next(&mut values)?,
            "mig" => self.mig = Some(rest == "on"),
            "instance" => self.instances.push(rest.to_owned()),
            "ecc" => self.ecc = Some(rest == "on"),
            state if STATE.contains(&state) => {
                self.state.insert(state.to_owned(), next(&mut values)?);
            }
            _ => return None,
        }
        Some(())
    }
}

fn next<T: std::str::FromStr>(values: &mut SplitWhitespace<'_>) -> Option<T> {
    values.next()?.parse().ok()
}

fn stretch(values: &mut SplitWhitespace<'_>) -> Option<(f64, f64, u64)> {
    Some((next(values)?, next(values)?, next(values)?))
}

/// The header's number of a scope.
fn scope(name: &str) -> Option<u32> {
    match name {
        "gpu" => Some(0),
        "module" => Some(1),
        "memory" => Some(2),
        _ => None,
    }
}

/// The script as it was last read.
struct Held {
    script: Arc<Script>,
    looks: Option<(SystemTime, u64)>,
    read: i64,
}

static HELD: Mutex<Option<Held>> = Mutex::new(None);

/// The script as it is now; the last good one while it is being written; `None` without any.
pub(crate) fn current() -> Option<Arc<Script>> {
    let path = path()?;
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let looks = fs::metadata(&path)
        .ok()
        .and_then(|about| Some((about.modified().ok()?, about.len())));
    let now = monotonic_nanos();
    let is_fresh = held
        .as_ref()
        .is_some_and(|held| held.looks == looks && now - held.read < STALE);
    if !is_fresh && let Some(script) = read(&path) {
        *held = Some(Held {
            script: Arc::new(script),
            looks,
            read: now,
        });
    }
    held.as_ref().map(|held| Arc::clone(&held.script))
}

fn read(path: &Path) -> Option<Script> {
    Script::parse(&fs::read_to_string(path).ok()?)
}

fn path() -> Option<PathBuf> {
    let named = std::env::var_os("IPW_FAKE_NVML").map(PathBuf::from);
    named.or_else(|| Some(crate::call::own_path()?.with_added_extension("script")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_and_a_mistake_in_it_is_noticed() {
        let script = Script::parse(
            "# two boards\ninit 9\nmissing a b\nboard\nname NVIDIA H100 80GB\nstep 0.5 100\n\
             scope module 1.5\nboard\nlost 1 2\nmig on\ntensor 40.5\n",
        )
        .unwrap();
        assert_eq!((script.init, script.boards.len()), (9, 2));
        assert_eq!(script.boards[0].name, "NVIDIA H100 80GB");
        assert_eq!(script.boards[0].scopes.get(&1), Some(&1.5));
        assert_eq!(script.boards[1].lost, [(1.0, 2.0)]);
        assert_eq!(script.boards[1].state.get("tensor"), Some(&40.5));
        for mistake in ["bored", "board\nstep 1", "board\nscope cpu 1", "init x"] {
            assert!(Script::parse(mistake).is_none(), "{mistake}");
        }
    }
}
