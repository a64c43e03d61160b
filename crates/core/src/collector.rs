//! The interface between the sampler and the hardware.

use std::time::Duration;

use crate::alignment::ClockOffset;
use crate::hardware::{Device, SystemInfo};
use crate::source::{Role, Source};
use crate::time::{Clock, Timestamp};
use crate::units::Watts;

/// Reads one kind of hardware.
///
/// Collectors are polled on threads of their own, so a poll may wait for the device. A collector
/// that panics is not polled again.
pub trait Collector: Send {
    /// Its id in sources and faults.
    fn id(&self) -> &'static str;

    /// The sources that it reports; constant over its lifetime.
    fn sources(&self) -> &[Source];

    /// The devices of its sources, as found at the start.
    fn devices(&self) -> &[Device] {
        &[]
    }

    /// The role of the machine that it reads; `None` leaves it to the session.
    fn role(&self) -> Option<Role> {
        None
    }

    /// The machine that it reads, if another than this.
    fn system(&self) -> Option<&SystemInfo> {
        None
    }

    /// Offset of its clock from this one, as of the last poll; `None` for a local collector.
    fn aligned(&self) -> Option<ClockOffset> {
        None
    }

    /// Delay of a reading in transit, beyond the polling interval.
    fn delay(&self) -> Duration {
        Duration::ZERO
    }

    /// Largest distance of a value's stamp from the moment of its measurement; `None` where that is
    /// unknown.
    fn dated_within(&self) -> Option<Duration> {
        None
    }

    /// An upper bound of the power of the source at `place`, where the device reports one.
    fn largest(&self, _place: usize) -> Option<Watts> {
        None
    }

    /// Its polling interval when the user asks for `wanted`; never shorter than the device
    /// supports.
    fn interval(&self, wanted: Duration) -> Duration;

    /// Collectors of the same circle share a polling thread while their polls are fast. `None` asks
    /// for a thread of its own.
    fn circle(&self) -> Option<&'static str> {
        None
    }

    /// Reads the current values and passes each to `take`, with the index of its source in
    /// [`Collector::sources`] and its instant. Units: joules of a counter, watts of power, else the
    /// unit of the gauge. A source without a new value may be left out.
    fn poll(
        &mut self,
        clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError>;
}

/// How the sampler should handle a failed poll.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PollError {
    /// A transient fault: try again at the next poll.
    #[error("{0}")]
    Retry(String),
    /// The device is gone for now; try less often.
    #[error("{0}")]
    Gone(String),
}
