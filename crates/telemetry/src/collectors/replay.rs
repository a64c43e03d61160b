//! Plays back the readings of a recorded run at their original instants.
//!
//! Live results can thus be computed again from disk through the same session. Polls that did not
//! change a counter were not recorded. `previous` gives the last of them, and it is played too, so
//! that gaps stay exactly as they were.

use std::time::Duration;

use ipw_core::reading::Reading;
use ipw_core::source::Source;
use ipw_core::time::{Clock, Timestamp};

use crate::{Collector, PollError};

/// Plays recorded readings.
pub struct Replay {
    sources: Vec<Source>,
    /// Instants, source indices and values, in the order of the instants.
    events: Vec<(Timestamp, usize, f64)>,
    played: usize,
}

impl Replay {
    /// Plays these readings of these sources.
    pub fn new(sources: Vec<Source>, readings: impl IntoIterator<Item = Reading>) -> Self {
        let mut last: Vec<Option<f64>> = vec![None; sources.len()];
        let mut events = Vec::new();
        for reading in readings {
            let source = usize::from(reading.source.0);
            let Some(before) = last.get_mut(source) else {
                continue;
            };
            if let (Some(previous), Some(value)) = (reading.previous, *before)
                && sources[source].domain().is_some()
            {
                events.push((previous, source, value));
            }
            events.push((reading.at, source, reading.value));
            *before = Some(reading.value);
        }
        events.sort_by_key(|(at, _, _)| *at);
        Self {
            sources,
            events,
            played: 0,
        }
    }
}

impl Collector for Replay {
    fn id(&self) -> &'static str {
        "replay"
    }

    fn sources(&self) -> &[Source] {
        &self.sources
    }

    fn interval(&self, wanted: Duration) -> Duration {
        wanted
    }

    fn poll(
        &mut self,
        clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError> {
        let now = clock.now();
        while let Some((at, source, value)) = self.events.get(self.played) {
            if *at > now {
                break;
            }
            take(*source, *at, *value);
            self.played += 1;
        }
        Ok(())
    }
}
