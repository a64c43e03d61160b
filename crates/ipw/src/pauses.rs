//! When this process did not run, as the summary tells it.

use ipw_core::reading::Window;
use ipw_core::row::{Fields, Row};
use ipw_core::telemetry::Pause;
use ipw_runner::pauses::Watch;
use ipw_store::Consumer;
use ipw_store::summary::ServerMetrics;

/// What was seen beside the rows of a run.
pub(crate) struct Beside {
    /// What the service said of itself.
    pub(crate) told: Option<ServerMetrics>,
    /// When this process did not run.
    pub(crate) pauses: Vec<Window>,
}

impl Beside {
    pub(crate) fn of(told: Option<ServerMetrics>, watch: Watch) -> Self {
        let pauses = watch.finish();
        Self { told, pauses }
    }
}

/// Each pause of a part, and how many of its queries were in flight.
pub(crate) struct Paused<'a> {
    part: u32,
    pauses: &'a [Window],
    queries: Vec<u64>,
}

impl<'a> Paused<'a> {
    pub(crate) fn of(part: u32, pauses: &'a [Window]) -> Self {
        Self {
            part,
            pauses,
            queries: vec![0; pauses.len()],
        }
    }

    pub(crate) fn told(self) -> Vec<Pause> {
        let pauses = self.pauses.iter().zip(self.queries);
        let told = pauses.map(|(pause, queries)| Pause {
            start_seconds: pause.start().seconds(),
            seconds: pause.length().as_secs_f64(),
            queries,
        });
        told.collect()
    }
}

impl Consumer for Paused<'_> {
    fn fields(&self) -> Fields {
        Fields::SPAN
    }

    fn row(&mut self, row: &Row<'_>) {
        let Some((start, end)) = row.start.zip(row.end).filter(|_| row.part == self.part) else {
            return;
        };
        for (pause, queries) in self.pauses.iter().zip(&mut self.queries) {
            let is_in_flight = start < pause.end().seconds() && end > pause.start().seconds();
            *queries += u64::from(is_in_flight);
        }
    }
}
