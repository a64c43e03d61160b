//! SIGINT, SIGTERM and SIGHUP: the first drains, the second stops at once.

use ipw_runner::Interrupter;
use ipw_runner::interrupt::Force;
use tokio::signal::unix::{SignalKind, signal};

use crate::screen;

/// Listens for as long as the runtime lives.
pub(crate) fn listen(interrupter: Interrupter, quiet: bool) -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    // A closed terminal must not cost measured rows.
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            let force = interrupter.interrupt();
            if !quiet {
                screen::talk(match force {
                    Force::Drain => {
                        "stopping after the queries in flight; interrupt again to stop at once"
                    }
                    Force::AtOnce => "stopping at once",
                });
            }
        }
    });
    Ok(())
}
