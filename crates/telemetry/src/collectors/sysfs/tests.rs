//! A machine of our own for the tests of the boards, and what the boards have in common.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use ipw_core::time::Anchor;

use super::*;
use crate::Options;

/// A `/sys`, `/proc` and `/dev` of our own.
pub(crate) struct Machine(tempfile::TempDir);

impl Machine {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    /// `sys/…`, `proc/…` or `dev/…`.
    pub(crate) fn write(&self, file: &str, content: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn write_all(&self, directory: &str, files: &[(&str, &str)]) {
        for (file, content) in files {
            self.write(&format!("{directory}/{file}"), &format!("{content}\n"));
        }
    }

    pub(crate) fn remove(&self, file: &str) {
        let path = self.path(file);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            sysfs: self.path("sys"),
            proc: self.path("proc"),
            dev: self.path("dev"),
            estimate: false,
            ..Options::default()
        }
    }
}

/// A clock that advances by 100 ms at every read.
#[derive(Default)]
pub(crate) struct Ticks(AtomicU64);

impl Clock for Ticks {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.0.fetch_add(100_000_000, Ordering::Relaxed))
    }

    fn anchor(&self) -> Anchor {
        Anchor {
            unix_nanos: 0,
            monotonic_nanos: 0,
        }
    }
}

pub(crate) fn names(collector: &dyn Collector) -> Vec<&str> {
    let sources = collector.sources().iter();
    sources.map(|source| source.name.as_str()).collect()
}

pub(crate) fn domains(collector: &dyn Collector) -> Vec<Option<Domain>> {
    collector.sources().iter().map(Source::domain).collect()
}

/// Name and value of what one poll says, rounded to millionths.
pub(crate) fn poll(collector: &mut dyn Collector) -> Result<Vec<(String, f64)>, PollError> {
    let mut heard = Vec::new();
    collector.poll(&Ticks::default(), &mut |index, _, value| {
        heard.push((index, (value * 1e6).round() / 1e6));
    })?;
    let named = |(index, value): (usize, f64)| (collector.sources()[index].name.clone(), value);
    Ok(heard.into_iter().map(named).collect())
}

/// What a poll should say.
pub(crate) fn said<const N: usize>(expected: [(&str, f64); N]) -> [(String, f64); N] {
    expected.map(|(name, value)| (name.to_owned(), value))
}

/// What a sensor's file may hold that is no number we could take.
pub(crate) const NONSENSE: [&str; 7] = ["", "\n", "N/A", "nan", "inf", "-1000", "1e300"];

fn one_file(machine: &Machine) -> Files {
    let value = Value::scaled(machine.path("sys/power"), 1e-6, POWER);
    let source = power("board/0".to_owned(), Domain::Soc, Duration::ZERO);
    Files::new("board", vec![(source, value)], Duration::from_millis(20))
}

#[test]
fn values_are_scaled_and_multiplied_and_what_cannot_be_is_left_out() {
    let machine = Machine::new();
    machine.write_all("sys", &[("volts", "5000"), ("amperes", "2500")]);
    let files = [machine.path("sys/volts"), machine.path("sys/amperes")];
    let product = Value::product(files, 1e-6);
    let mut reader = Reader::default();
    assert_eq!(product.read(&mut reader), Some(12.5));
    for nonsense in NONSENSE {
        machine.write("sys/amperes", nonsense);
        assert_eq!(product.read(&mut reader), None, "{nonsense:?}");
    }
}

#[test]
fn silence_is_retried_while_the_file_is_there_and_gone_until_it_is_back() {
    let machine = Machine::new();
    machine.write("sys/power", "1500000\n");
    let mut files = one_file(&machine);
    assert_eq!(poll(&mut files).unwrap(), said([("board/0", 1.5)]));
    machine.write("sys/power", "\n");
    let error = poll(&mut files).unwrap_err();
    assert!(matches!(&error, PollError::Retry(words) if words.contains("sys/power")));
    machine.remove("sys/power");
    let error = poll(&mut files).unwrap_err();
    assert!(matches!(&error, PollError::Gone(words) if words.contains("sys/power")));
    machine.write("sys/power", "2500000\n");
    assert_eq!(poll(&mut files).unwrap(), said([("board/0", 2.5)]));
}

#[test]
fn a_device_that_sleeps_is_left_alone_and_is_no_fault() {
    let machine = Machine::new();
    machine.write("sys/power", "1500000\n");
    machine.write("sys/status", "suspended\n");
    let mut files = one_file(&machine).unless_asleep(machine.path("sys/status"));
    assert_eq!(poll(&mut files).unwrap(), []);
    machine.write("sys/status", "active\n");
    assert_eq!(poll(&mut files).unwrap(), said([("board/0", 1.5)]));
    machine.remove("sys/status");
    assert_eq!(poll(&mut files).unwrap(), said([("board/0", 1.5)]));
}

#[test]
fn texts_lose_their_ends_and_empty_ones_are_none() {
    let machine = Machine::new();
    machine.write("sys/model", "NVIDIA Jetson\0");
    machine.write("sys/empty", " \n");
    assert_eq!(text(&machine.path("sys/model")).unwrap(), "NVIDIA Jetson");
    assert_eq!(text(&machine.path("sys/empty")), None);
    assert_eq!(text(Path::new("/nowhere/at/all")), None);
}

#[test]
fn a_collector_names_itself_and_keeps_its_pace() {
    let machine = Machine::new();
    let files = one_file(&machine);
    assert_eq!(files.id(), "board");
    assert_eq!(files.sources()[0].collector, "board");
    let interval = |millis| files.interval(Duration::from_millis(millis)).as_millis();
    assert_eq!((interval(5), interval(250)), (20, 250));
}
