//! A simulated RAPL zone: a known power trace, seen through a sensor with defects, written to files
//! that the real collector reads.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Power over time, in steps that repeat: the truth that joules are compared with.
#[derive(Debug, Clone)]
pub struct PowerTrace {
    /// Seconds and watts, one after the other, from the beginning again at the end.
    steps: Vec<(f64, f64)>,
}

impl PowerTrace {
    /// A trace of these steps.
    pub fn new(steps: &[(f64, f64)]) -> Self {
        assert!(
            steps.iter().all(|(seconds, _)| *seconds > 0.0),
            "steps take time"
        );
        Self {
            steps: steps.to_vec(),
        }
    }

    /// Seconds and watts of its steps.
    pub fn steps(&self) -> &[(f64, f64)] {
        &self.steps
    }

    /// Joules from 0 to `seconds`.
    pub fn energy(&self, seconds: f64) -> f64 {
        crate::trace::energy(&self.steps, seconds)
    }

    /// Joules between two moments.
    pub fn between(&self, start: f64, end: f64) -> f64 {
        self.energy(end) - self.energy(start)
    }
}

/// What is wrong with a sensor. The default is a good one.
#[derive(Debug, Clone)]
pub struct Defects {
    /// Seconds between two updates of the counter.
    pub period: f64,
    /// Joules of its smallest step.
    pub quantum: f64,
    /// Factor on everything it counts.
    pub gain: f64,
    /// The counter wraps after this many microjoules.
    pub range: u64,
    /// Moments at which it starts anew at zero.
    pub resets: Vec<f64>,
    /// Moments at which it jumps ahead, and by how many joules.
    pub jumps: Vec<(f64, f64)>,
    /// Stretches in which its file says nothing useful.
    pub garbled: Vec<(f64, f64)>,
    /// Stretches in which its file is not there.
    pub vanished: Vec<(f64, f64)>,
    /// It stands still before this moment.
    pub late_start: f64,
}

impl Default for Defects {
    fn default() -> Self {
        Self {
            period: 0.001,
            quantum: 61e-6,
            gain: 1.0,
            range: 262_143_328_850,
            resets: Vec::new(),
            jumps: Vec::new(),
            garbled: Vec::new(),
            vanished: Vec::new(),
            late_start: 0.0,
        }
    }
}

/// A sysfs tree with one RAPL package, driven by a trace.
pub struct SimulatedRapl {
    zone: PathBuf,
    trace: PowerTrace,
    defects: Defects,
}

impl SimulatedRapl {
    /// Makes the zone `package-<number>` below `root`, which stands for `/sys`.
    pub fn create(
        root: &Path,
        number: u32,
        trace: PowerTrace,
        defects: Defects,
    ) -> std::io::Result<Self> {
        let zone = root.join(format!("class/powercap/intel-rapl:{number}"));
        std::fs::create_dir_all(&zone)?;
        std::fs::write(zone.join("name"), format!("package-{number}\n"))?;
        std::fs::write(
            zone.join("max_energy_range_uj"),
            format!("{}\n", defects.range),
        )?;
        let sensor = Self {
            zone,
            trace,
            defects,
        };
        sensor.update(0.0)?;
        Ok(sensor)
    }

    /// Makes the files say what the sensor says `seconds` after its beginning.
    pub fn update(&self, seconds: f64) -> std::io::Result<()> {
        let path = self.zone.join("energy_uj");
        let within = |stretches: &[(f64, f64)]| {
            stretches
                .iter()
                .any(|(from, to)| (*from..*to).contains(&seconds))
        };
        if within(&self.defects.vanished) {
            return match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let text = if within(&self.defects.garbled) {
            format!("{:>20}\n", "n/a")
        } else {
            format!("{:020}\n", self.microjoules(seconds))
        };
        // In place and always as long: a reader sees the old value or the new one, as in sysfs.
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)?;
        file.write_all_at(text.as_bytes(), 0)
    }

    fn microjoules(&self, seconds: f64) -> u64 {
        let Defects {
            period,
            quantum,
            gain,
            range,
            late_start,
            ..
        } = self.defects;
        let updated = ((seconds / period).floor() * period).max(late_start);
        let reset = self
            .defects
            .resets
            .iter()
            .filter(|reset| **reset <= updated)
            .copied();
        let since = reset.fold(0.0, f64::max).max(late_start);
        let jumps = self.defects.jumps.iter();
        let jumped: f64 = jumps
            .filter(|(at, _)| (since..=updated).contains(at))
            .map(|(_, joules)| joules)
            .sum();
        let energy = self.trace.between(since, updated.max(since)) * gain + jumped;
        let counted = (energy / quantum).floor() * quantum;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a counter counts whole microjoules from zero"
        )]
        let microjoules = (counted * 1e6) as u64;
        microjoules % (range + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_knows_its_energy() {
        let trace = PowerTrace::new(&[(1.0, 10.0), (1.0, 30.0)]);
        assert!((trace.between(0.5, 1.5) - 20.0).abs() < 1e-9);
        assert!((trace.energy(4.0) - 80.0).abs() < 1e-9);
    }

    #[test]
    fn the_counter_is_a_staircase_that_wraps_and_resets() {
        let root = tempfile::tempdir().unwrap();
        let defects = Defects {
            period: 0.1,
            range: 4_999_999,
            resets: vec![2.0],
            ..Defects::default()
        };
        let trace = PowerTrace::new(&[(1.0, 10.0)]);
        let sensor = SimulatedRapl::create(root.path(), 0, trace, defects).unwrap();
        let read = |seconds: f64| {
            sensor.update(seconds).unwrap();
            let text = std::fs::read_to_string(sensor.zone.join("energy_uj")).unwrap();
            text.trim().parse::<u64>().unwrap()
        };
        assert_eq!(read(0.35), read(0.39));
        assert!(read(0.65) < read(0.45), "it wrapped at 5 J");
        assert!(read(2.05) < 600_000, "it began again at two seconds");
    }
}
