//! Writes raw readings to disk.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ipw_core::sink::{ReadingSink, SinkError};
use ipw_telemetry::Session;

/// How long readings may stay in memory.
const INTERVAL: Duration = Duration::from_millis(500);

/// Writes a session's readings to disk and lets the session forget them.
pub struct Recorder {
    /// `None` after the end.
    worker: Option<Worker>,
}

/// The recorder's thread, which ends when the sender is dropped.
struct Worker {
    stop: SyncSender<()>,
    thread: JoinHandle<Result<(), SinkError>>,
}

/// If a run's future is dropped, the readings so far are still stored.
impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(Worker { stop, thread }) = self.worker.take() {
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
                    // The drift and the last exchange are known only at the end.
                    let aligned = session.take_unsaved_alignment();
                    let aligned = aligned.or_else(|| last.then(|| session.aligned()));
                    let aligned = aligned.filter(|all| all.iter().any(Option::is_some));
                    if let (Some(aligned), Ok(())) = (aligned, &outcome) {
                        outcome = sink.note_alignment(&aligned);
                    }
                    // After a failure readings are still discarded: memory must not grow.
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
            worker: Some(Worker { stop, thread }),
        })
    }

    /// Writes the remaining readings and ends the thread.
    pub fn finish(mut self) -> Result<(), SinkError> {
        let worker = self.worker.take();
        let Worker { stop, thread } = worker.expect("taken only at the end");
        drop(stop);
        match thread.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
