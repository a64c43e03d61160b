//! Raw readings on their way to disk.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ipw_core::sink::{ReadingSink, SinkError};
use ipw_telemetry::Session;

/// How long a reading may wait in memory.
const INTERVAL: Duration = Duration::from_millis(500);

/// Takes a session's readings to disk, and tells the session what it may forget.
pub struct Recorder {
    /// `None` when it is over.
    rail: Option<Rail>,
}

/// The way to the recorder's thread, which ends when the sender is gone.
struct Rail {
    stop: SyncSender<()>,
    thread: JoinHandle<Result<(), SinkError>>,
}

/// A run whose future is dropped stores the readings so far.
impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(Rail { stop, thread }) = self.rail.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

impl Recorder {
    /// Starts the thread.
    pub fn start(session: Arc<Session>, mut sink: Box<dyn ReadingSink>) -> std::io::Result<Self> {
        let (stop, stopped) = sync_channel::<()>(0);
        let thread = std::thread::Builder::new()
            .name("ipw-readings".to_owned())
            .spawn(move || {
                let mut outcome = Ok(());
                loop {
                    let last = matches!(
                        stopped.recv_timeout(INTERVAL),
                        Err(RecvTimeoutError::Disconnected)
                    );
                    let readings = session.take_unsaved();
                    if let (Some(idle), Ok(())) = (session.take_unsaved_idle(), &outcome) {
                        outcome = sink.note_idle(&idle);
                    }
                    // The drift and the last look are known at the end alone.
                    let aligned = session.take_unsaved_alignment();
                    let aligned = aligned.or_else(|| last.then(|| session.aligned()));
                    let aligned = aligned.filter(|all| all.iter().any(Option::is_some));
                    if let (Some(aligned), Ok(())) = (aligned, &outcome) {
                        outcome = sink.note_alignment(&aligned);
                    }
                    // After a failure readings are still taken and let go: memory must not grow.
                    if outcome.is_ok() {
                        outcome = sink.append(&readings);
                    }
                    if let Some(until) = readings.iter().map(|reading| reading.at).max() {
                        session.saved(until);
                    }
                    if last {
                        return outcome;
                    }
                }
            })?;
        Ok(Self {
            rail: Some(Rail { stop, thread }),
        })
    }

    /// Takes what is left to disk and ends.
    pub fn finish(mut self) -> Result<(), SinkError> {
        let rail = self.rail.take();
        let Rail { stop, thread } = rail.expect("it is taken at the end alone");
        drop(stop);
        match thread.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
