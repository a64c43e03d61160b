//! Measures idle power before and after the queries: the model is loaded, and no query is in flight
//! (docs/method.md §6).

use std::sync::OnceLock;
use std::time::Duration;

use ipw_core::attribution::Idle;
use ipw_core::event::Event;
use ipw_core::reading::Window;
use ipw_telemetry::Session;

use crate::dispatch::Dispatch;
use crate::{Interrupt, Notices};

/// Delay after the last query, for clocks and fans to settle.
const SETTLE: Duration = Duration::from_millis(500);

/// Idle power of each source, in the order of the sources; `None` if unknown.
pub type IdlePowers = Vec<Option<Idle>>;

/// Idle power before and after the queries, if it was measured.
#[derive(Debug, Default)]
pub struct IdleMeasurements {
    /// Before the first query.
    pub before: OnceLock<IdlePowers>,
    /// After the last query.
    pub after: OnceLock<IdlePowers>,
}

/// Measures before the queries; attribution uses the result from then on.
pub(crate) async fn before(
    dispatch: &Dispatch<'_>,
    session: &Session,
    idled: &IdleMeasurements,
    notices: &Notices,
) {
    if let Some(drawn) = look(dispatch, session, notices).await {
        session.set_idle(drawn.clone());
        let _ = idled.before.set(drawn);
    }
}

/// Measures after the queries, to detect drift.
pub(crate) async fn after(
    dispatch: &Dispatch<'_>,
    session: &Session,
    idled: &IdleMeasurements,
    notices: &Notices,
) {
    if let Some(drawn) = look(dispatch, session, notices).await {
        let _ = idled.after.set(drawn);
    }
}

/// `None` without sources, with idle measurement turned off, or after an interrupt.
async fn look(dispatch: &Dispatch<'_>, session: &Session, notices: &Notices) -> Option<IdlePowers> {
    let length = dispatch.plan.telemetry.idle;
    if length.is_zero() || !session.is_measured() {
        return None;
    }
    let mut interrupt = dispatch.interrupt.clone();
    notices.send(Event::Idling {
        seconds: length.as_secs_f64(),
    });
    pause(&mut interrupt, SETTLE).await?;
    let start = dispatch.now();
    let ticket = session.watch(start);
    let waited = pause(&mut interrupt, length).await;
    let window = Window::new(start, dispatch.now());
    let drawn = window.map(|window| session.idle_over(window));
    session.release(ticket);
    waited.and(drawn)
}

/// Sleeps; `None` as soon as the run is interrupted.
async fn pause(interrupt: &mut Interrupt, length: Duration) -> Option<()> {
    tokio::select! {
        biased;
        () = interrupt.draining() => None,
        () = tokio::time::sleep(length) => Some(()),
    }
}
