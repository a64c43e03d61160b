//! Interrupts: the first one drains the run, the second one ends it at once.

use ipw_core::client::{Cancel, Canceller};
use tokio::sync::watch;

/// Interrupts a run.
#[derive(Debug)]
pub struct Interrupter {
    draining: watch::Sender<bool>,
    canceller: Canceller,
}

/// A run's receiver of interrupts from its [`Interrupter`].
#[derive(Debug, Clone)]
pub struct Interrupt {
    draining: watch::Receiver<bool>,
    cancel: Cancel,
}

/// The effect of an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// No new query is sent; queries in flight may finish.
    Drain,
    /// Queries in flight are cancelled.
    AtOnce,
}

impl Interrupter {
    /// An interrupter and the receiver for a run.
    pub fn new() -> (Self, Interrupt) {
        let (draining, receiver) = watch::channel(false);
        let (canceller, cancel) = Canceller::new();
        (
            Self {
                draining,
                canceller,
            },
            Interrupt {
                draining: receiver,
                cancel,
            },
        )
    }

    /// Drains at the first call, ends at once at the second.
    pub fn interrupt(&self) -> Force {
        if self.draining.send_replace(true) {
            self.canceller.cancel();
            Force::AtOnce
        } else {
            Force::Drain
        }
    }
}

impl Interrupt {
    /// Whether no new query should be sent.
    pub fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Returns at the first interrupt.
    pub async fn draining(&mut self) {
        if self.draining.wait_for(|draining| *draining).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Cancels queries in flight.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }
}
