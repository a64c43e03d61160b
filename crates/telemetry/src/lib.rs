//! What the hardware reports: collectors, the sampler that polls them, and the session that keeps
//! their readings.
//!
//! Plain threads with absolute deadlines; nothing here touches the async runtime. To add a
//! collector, add a file in `collectors/`, a line in [`detect`], and an entry in its list.

mod collector;
pub mod collectors;
mod detect;
mod sampler;
mod self_test;
mod series;
mod session;
pub mod surroundings;

pub use collector::{Collector, Gpus, Options, PollError};
pub use detect::{CollectorInfo, Detection, detect, known};
pub use ipw_core::source::Role;
pub use ipw_core::telemetry::{Absent, SelfTest};
pub use sampler::Poller;
pub use session::{Session, Setup, Ticket};
