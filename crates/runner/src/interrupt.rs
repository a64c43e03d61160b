//! Being told to stop: once to drain, twice to end at once.

use ipw_core::client::{Cancel, Canceller};
use tokio::sync::watch;

/// Tells a run to stop.
#[derive(Debug)]
pub struct Interrupter {
    draining: watch::Sender<bool>,
    canceller: Canceller,
}

/// A run's ear for its [`Interrupter`].
#[derive(Debug, Clone)]
pub struct Interrupt {
    draining: watch::Receiver<bool>,
    cancel: Cancel,
}

/// How far an interruption goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// Nothing new is sent; what is in flight may end.
    Drain,
    /// What is in flight ends now.
    AtOnce,
}

impl Interrupter {
    /// An interrupter and the run's ear for it.
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

    /// The first call drains, the second ends at once.
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
    /// Whether nothing new should be sent.
    pub fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Returns when the first interruption comes.
    pub async fn draining(&mut self) {
        if self.draining.wait_for(|draining| *draining).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// What ends a query in flight.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }
}
