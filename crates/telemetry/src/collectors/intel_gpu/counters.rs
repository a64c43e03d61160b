//! The counters of one board.

use std::path::PathBuf;
use std::time::Duration;

use ipw_core::hardware::Device;
use ipw_core::source::Source;
use ipw_core::time::{Clock, Timestamp};
use ipw_core::units::Joules;

use super::ID;
use crate::collectors::host::files::Reader;
use crate::collectors::sysfs::{is_asleep, silence};
use crate::{Collector, PollError};

/// A read takes the driver's lock and queries the board's firmware.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

/// The collector of one board's energy.
pub(super) struct Counters {
    sources: Vec<Source>,
    files: Vec<PathBuf>,
    device: [Device; 1],
    status: PathBuf,
    reader: Reader,
}

impl Counters {
    /// A collector of these files. `status` says whether the board is suspended.
    pub(super) fn new(counters: Vec<(Source, PathBuf)>, device: Device, status: PathBuf) -> Self {
        let (sources, files) = counters.into_iter().unzip();
        Self {
            sources,
            files,
            device: [device],
            status,
            reader: Reader::default(),
        }
    }
}

impl Collector for Counters {
    fn id(&self) -> &'static str {
        ID
    }

    fn sources(&self) -> &[Source] {
        &self.sources
    }

    fn devices(&self) -> &[Device] {
        &self.device
    }

    fn interval(&self, wanted: Duration) -> Duration {
        wanted.max(SHORTEST_INTERVAL)
    }

    fn poll(
        &mut self,
        clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError> {
        if is_asleep(&mut self.reader, &self.status) {
            return Ok(());
        }
        let mut is_heard = false;
        for (place, file) in self.files.iter().enumerate() {
            let microjoules = self.reader.read(file).and_then(microjoules);
            if let Some(microjoules) = microjoules {
                let energy = Joules::from_microjoules(microjoules);
                take(place, clock.now(), energy.joules());
                is_heard = true;
            }
        }
        if is_heard {
            Ok(())
        } else {
            Err(silence(self.files.iter().map(PathBuf::as_path)))
        }
    }
}

/// Parses a counter; all ones mean that the board is off.
fn microjoules(text: &str) -> Option<u64> {
    let value: u64 = text.trim().parse().ok()?;
    (value != u64::MAX).then_some(value)
}
