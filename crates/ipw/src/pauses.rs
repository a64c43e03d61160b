//! Pauses of this process (suspended, or not scheduled), for the summary.

use ipw_core::reading::Window;
use ipw_core::row::{Fields, Row};
use ipw_core::telemetry::Pause;
use ipw_runner::pauses::Watch;
use ipw_store::Consumer;
use ipw_store::summary::ServerMetrics;

/// Observations of a run besides its rows.
pub(crate) struct SideObservations {
    /// The service's own metrics; `None` if they were not read.
    pub(crate) server_metrics: Option<ServerMetrics>,
    /// Windows in which this process did not run.
    pub(crate) pauses: Vec<Window>,
}

impl SideObservations {
    pub(crate) fn of(server_metrics: Option<ServerMetrics>, watch: Watch) -> Self {
        let pauses = watch.finish();
        Self {
            server_metrics,
            pauses,
        }
    }
}

/// Counts for each pause of a part the queries that were in flight.
pub(crate) struct PauseCounter<'a> {
    part: u32,
    pauses: &'a [Window],
    queries: Vec<u64>,
}

impl<'a> PauseCounter<'a> {
    pub(crate) fn of(part: u32, pauses: &'a [Window]) -> Self {
        Self {
            part,
            pauses,
            queries: vec![0; pauses.len()],
        }
    }

    pub(crate) fn into_pauses(self) -> Vec<Pause> {
        let pauses = self.pauses.iter().zip(self.queries);
        let pauses = pauses.map(|(pause, queries)| Pause {
            start_seconds: pause.start().seconds(),
            seconds: pause.length().as_secs_f64(),
            queries,
        });
        pauses.collect()
    }
}

impl Consumer for PauseCounter<'_> {
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
