//! The script that the library follows.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::system;

/// The machine of a script.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    pub(crate) version: u32,
    pub(crate) clock: Option<PathBuf>,
    pub(crate) start: u64,
    pub(crate) slow: u64,
    pub(crate) overlap: Option<PathBuf>,
    pub(crate) statuses: BTreeMap<String, u32>,
    pub(crate) boards: Vec<Board>,
}

/// Which field has the power.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field {
    Current,
    Average,
    Neither,
}

/// One board.
#[derive(Debug, Clone)]
pub(crate) struct Board {
    pub(crate) bdf_id: u64,
    pub(crate) name: String,
    pub(crate) statuses: BTreeMap<String, u32>,
    pub(crate) power: Field,
    pub(crate) resolution: f32,
    steps: Vec<(f64, f64)>,
    period: f64,
    count: u64,
    rate: f64,
    is_frozen: bool,
    resets: Vec<f64>,
    lost: Vec<(f64, f64)>,
}

/// A line that is not understood.
#[derive(Debug)]
pub(crate) struct Nonsense;

impl Script {
    /// The file that the environment names, else the one beside this library.
    pub(crate) fn read() -> Result<Self, Nonsense> {
        let named = std::env::var_os("IPW_FAKE_AMDSMI").map(PathBuf::from);
        let path = named.or_else(system::script_beside).ok_or(Nonsense)?;
        let text = std::fs::read_to_string(path).map_err(|_| Nonsense)?;
        Self::parse(&text).ok_or(Nonsense)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut script = Self {
            version: 26,
            ..Self::default()
        };
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let (word, values) = line.split_once(' ').unwrap_or((line, ""));
            script.take(word, values.trim())?;
        }
        Some(script)
    }

    fn take(&mut self, word: &str, values: &str) -> Option<()> {
        match word {
            "" => {}
            "version" => self.version = values.parse().ok()?,
            "clock" => self.clock = Some(values.into()),
            "start" => self.start = values.parse().ok()?,
            "slow" => self.slow = values.parse().ok()?,
            "overlap" => self.overlap = Some(values.into()),
            "status" => {
                let (function, status) = values.split_once(' ')?;
                let statuses = self
                    .boards
                    .last_mut()
                    .map_or(&mut self.statuses, |board| &mut board.statuses);
                statuses.insert(function.to_owned(), status.trim().parse().ok()?);
            }
            "board" => self.boards.push(Board::parse(values)?),
            _ => self.boards.last_mut()?.take(word, values)?,
        }
        Some(())
    }

    /// The first board of the same place on the bus, whatever the function.
    pub(crate) fn socket(&self, place: usize) -> usize {
        let is_same = |board: &Board| board.bdf_id & !7 == self.boards[place].bdf_id & !7;
        self.boards.iter().position(is_same).unwrap_or(place)
    }
}

impl Board {
    /// `0000:03:00.0 AMD Instinct MI300X`.
    fn parse(values: &str) -> Option<Self> {
        let (bdf, name) = values.split_once(' ').unwrap_or((values, ""));
        let (rest, function) = bdf.split_once('.')?;
        let mut parts = rest.split(':').map(|part| u64::from_str_radix(part, 16));
        let (domain, bus, device) = (
            parts.next()?.ok()?,
            parts.next()?.ok()?,
            parts.next()?.ok()?,
        );
        let function: u64 = function.parse().ok()?;
        Some(Self {
            bdf_id: (domain << 32) | (bus << 8) | (device << 3) | function,
            name: name.trim().to_owned(),
            statuses: BTreeMap::new(),
            power: Field::Current,
            resolution: 15.3,
            steps: vec![(1.0, 100.0)],
            period: 0.001,
            count: 1_000_000,
            rate: 1.0,
            is_frozen: false,
            resets: Vec::new(),
            lost: Vec::new(),
        })
    }

    fn take(&mut self, word: &str, values: &str) -> Option<()> {
        match word {
            "steps" => {
                let step = |step: &str| {
                    let (seconds, watts) = step.split_once(':')?;
                    Some((seconds.parse().ok()?, watts.parse().ok()?))
                };
                self.steps = values.split_whitespace().map(step).collect::<Option<_>>()?;
            }
            "period" => self.period = values.parse().ok()?,
            "resolution" => self.resolution = values.parse().ok()?,
            "count" => self.count = values.parse().ok()?,
            "rate" => self.rate = values.parse().ok()?,
            "frozen" => self.is_frozen = true,
            "reset" => self.resets.push(values.parse().ok()?),
            "lost" => {
                let (from, to) = values.split_once(' ')?;
                self.lost
                    .push((from.parse().ok()?, to.trim().parse().ok()?));
            }
            "power" => {
                self.power = match values {
                    "current" => Field::Current,
                    "average" => Field::Average,
                    "none" => Field::Neither,
                    _ => return None,
                }
            }
            _ => return None,
        }
        Some(())
    }

    pub(crate) fn is_lost(&self, seconds: f64) -> bool {
        let mut lost = self.lost.iter();
        lost.any(|(from, to)| (*from..*to).contains(&seconds))
    }

    /// Joules from 0 to `seconds`.
    fn energy(&self, seconds: f64) -> f64 {
        crate::trace::energy(&self.steps, seconds)
    }

    /// The value of the counter.
    pub(crate) fn counts(&self, seconds: f64) -> u64 {
        if self.is_frozen {
            return self.count;
        }
        let updated = (seconds.max(0.0) / self.period).floor() * self.period;
        let resets = self.resets.iter().copied();
        let reset = resets.filter(|reset| *reset <= updated).fold(0.0, f64::max);
        let joules = (self.energy(updated) - self.energy(reset)) * self.rate;
        let counted = whole(joules * 1e6 / f64::from(self.resolution));
        let start = if reset > 0.0 { 1 } else { self.count };
        start.saturating_add(counted)
    }

    /// The power at a moment, in whole watts.
    pub(crate) fn watts(&self, seconds: f64) -> u32 {
        let round: f64 = self.steps.iter().map(|(length, _)| length).sum();
        let mut left = seconds.max(0.0) % round;
        for (length, watts) in &self.steps {
            if left < *length {
                return u32::try_from(whole(*watts)).unwrap_or(u32::MAX);
            }
            left -= length;
        }
        0
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counters and watts are whole and not negative"
)]
fn whole(value: f64) -> u64 {
    value as u64
}
