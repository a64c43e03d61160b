//! The seam between the sampler and the hardware.

use std::time::Duration;

use crate::alignment::Aligned;
use crate::hardware::{Device, SystemInfo};
use crate::source::{Role, Source};
use crate::time::{Clock, Timestamp};
use crate::units::Watts;

/// Reads one kind of hardware.
///
/// Collectors are polled on threads of their own; a poll may wait for the device. One that panics is
/// not polled again.
pub trait Collector: Send {
    /// Names it in sources and faults.
    fn id(&self) -> &'static str;

    /// What it reports; the same for as long as it lives.
    fn sources(&self) -> &[Source];

    /// The devices that its sources belong to, as they were found.
    fn devices(&self) -> &[Device] {
        &[]
    }

    /// Whose machine it looks at, where it knows; `None` leaves it to the session.
    fn role(&self) -> Option<Role> {
        None
    }

    /// The machine that it looks at, if that is another than this.
    fn system(&self) -> Option<&SystemInfo> {
        None
    }

    /// How the instants of its readings were brought to this clock, as of the last poll; `None` for
    /// what is read here.
    fn aligned(&self) -> Option<Aligned> {
        None
    }

    /// How long a reading is on its way, beyond the time between two of them.
    fn delay(&self) -> Duration {
        Duration::ZERO
    }

    /// How far the stamp of a value can be from the moment at which it was taken; `None` where that
    /// is not known.
    fn dated_within(&self) -> Option<Duration> {
        None
    }

    /// An upper bound of the power of the source at `place`, where the device gives one.
    fn largest(&self, _place: usize) -> Option<Watts> {
        None
    }

    /// How often it wants to be polled when the user asked for `wanted`: never faster than makes
    /// sense for the device.
    fn interval(&self, wanted: Duration) -> Duration;

    /// Collectors of the same circle share a polling thread while their polls are fast. `None`: a
    /// thread of its own.
    fn circle(&self) -> Option<&'static str> {
        None
    }

    /// Reads what there is now. `take` gets the place of the source in [`Collector::sources`], the
    /// instant at which its value was taken, and the value: joules of a counter, watts of power, else
    /// the unit of the gauge. A source without a new value may be left out.
    fn poll(
        &mut self,
        clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError>;
}

/// What the sampler should do about a poll that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PollError {
    /// Try again next time: this was a passing fault.
    #[error("{0}")]
    Retry(String),
    /// The device is gone for now; try less often.
    #[error("{0}")]
    Gone(String),
}
