//! What the machine draws with the model loaded and nobody asking, before and after the queries
//! (docs/method.md §6).

use std::sync::OnceLock;
use std::time::Duration;

use ipw_core::attribution::Idle;
use ipw_core::event::Event;
use ipw_core::reading::Window;
use ipw_telemetry::Session;

use crate::dispatch::Dispatch;
use crate::{Interrupt, Notices};

/// Between the last query and the idle time: clocks and fans need a moment to notice.
const SETTLE: Duration = Duration::from_millis(500);

/// What each source drew, in the order of the sources; `None` where that is not known.
pub type Drawn = Vec<Option<Idle>>;

/// Idle before and after the queries, as far as it was looked at.
#[derive(Debug, Default)]
pub struct Idled {
    /// Before the first query.
    pub before: OnceLock<Drawn>,
    /// After the last one.
    pub after: OnceLock<Drawn>,
}

/// Looks before the queries: from then on they are told apart from idle.
pub(crate) async fn before(
    dispatch: &Dispatch<'_>,
    session: &Session,
    idled: &Idled,
    notices: &Notices,
) {
    if let Some(drawn) = look(dispatch, session, notices).await {
        session.set_idle(drawn.clone());
        let _ = idled.before.set(drawn);
    }
}

/// Looks after the queries, to see whether it drifted.
pub(crate) async fn after(
    dispatch: &Dispatch<'_>,
    session: &Session,
    idled: &Idled,
    notices: &Notices,
) {
    if let Some(drawn) = look(dispatch, session, notices).await {
        let _ = idled.after.set(drawn);
    }
}

/// `None` where nothing measures, nobody wants to know, or somebody is in a hurry.
async fn look(dispatch: &Dispatch<'_>, session: &Session, notices: &Notices) -> Option<Drawn> {
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

/// `None` as soon as it was told to stop.
async fn pause(interrupt: &mut Interrupt, length: Duration) -> Option<()> {
    tokio::select! {
        biased;
        () = interrupt.draining() => None,
        () = tokio::time::sleep(length) => Some(()),
    }
}
