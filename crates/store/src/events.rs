//! `events.jsonl`: the notices of a run, one JSON object a line.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use ipw_core::event::{Event, Notice, Observer};
use ipw_core::time::Timestamp;

use crate::disk::DiskFile;
use crate::{StoreError, file};

/// How long a notice may wait in memory.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Writes notices to a run's `events.jsonl`.
pub struct EventLog {
    file: BufWriter<DiskFile>,
    flushed: Timestamp,
}

impl EventLog {
    /// Opens the log of the run in `directory`.
    pub fn create(directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join("events.jsonl");
        // A resumed run goes on with the log that it has.
        let file = file::append(&path)?;
        Ok(Self {
            file: BufWriter::new(file),
            flushed: Timestamp::ZERO,
        })
    }

    fn write(&mut self, notice: &Notice) -> std::io::Result<()> {
        serde_json::to_writer(&mut self.file, notice)?;
        self.file.write_all(b"\n")?;
        let is_frequent = matches!(notice.event, Event::QueryFinished { .. });
        if !is_frequent || notice.at.since(self.flushed) >= LONGEST_WAIT {
            self.file.flush()?;
            self.flushed = notice.at;
        }
        Ok(())
    }
}

impl Observer for EventLog {
    fn notice(&mut self, notice: &Notice) {
        // Notices are best effort: a full disk shows in the rows, which are not.
        let _ = self.write(notice);
    }
}
