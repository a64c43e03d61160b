//! When this process did not run, as the summary tells it.

use ipw_core::reading::Window;
use ipw_core::telemetry::Pause;
use ipw_runner::pauses::Watch;
use ipw_store::Run;
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

/// Each pause of this part, and how many of its queries were in flight.
pub(crate) fn told(run: &Run, part: u32, pauses: &[Window]) -> Vec<Pause> {
    if pauses.is_empty() {
        return Vec::new();
    }
    let mut queries = vec![0_u64; pauses.len()];
    // A run that cannot be read again says so elsewhere.
    let _ = run.for_each(|row| {
        let Some((start, end)) = row.start.zip(row.end).filter(|_| row.part == part) else {
            return;
        };
        for (pause, queries) in pauses.iter().zip(&mut queries) {
            let is_in_flight = start < pause.end().seconds() && end > pause.start().seconds();
            *queries += u64::from(is_in_flight);
        }
    });
    let pauses = pauses.iter().zip(queries).map(|(pause, queries)| Pause {
        start_seconds: pause.start().seconds(),
        seconds: pause.length().as_secs_f64(),
        queries,
    });
    pauses.collect()
}
