//! Any number behind a URL as a source: a field of a JSON reply, or a sample of a Prometheus page.
//!
//! Examples are smart plugs, BMCs of servers, and exporters of other tools. A device's own time is
//! not trusted: a reading is dated by the middle of its request, and the round-trip time bounds the
//! error ([`AlignmentMethod::RoundTrip`](ipw_core::alignment::AlignmentMethod)). A missed or late
//! request leaves a gap; nothing is interpolated.

mod collect;
mod json;
mod place;
mod preset;
mod probe;
mod spec;
pub(crate) mod text;
mod trips;
mod unit;
pub(crate) mod web;

use std::path::PathBuf;
use std::time::Duration;

use ipw_core::params::ParamError;
use ipw_core::time::Clock;
use ipw_telemetry::Collector;

pub use preset::{PresetInfo, known};
pub use spec::HttpSpec;

/// The id of the collector.
pub const ID: &str = "http";

/// Why a URL cannot be a source.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// An option is unknown or has the wrong type.
    #[error(transparent)]
    Option(#[from] ParamError),
    /// An option conflicts with the others or with the URL.
    #[error("`{option}` of `http`: {why}")]
    Clash {
        /// The option's name.
        option: &'static str,
        /// The reason.
        why: String,
    },
    /// The URL is invalid.
    #[error("the URL of an `http` source: {why}")]
    Url {
        /// The reason. The URL itself is left out: it may contain a secret.
        why: String,
    },
    /// A file that an option names is unusable.
    #[error("`{option}={path}`: {why}")]
    File {
        /// The option.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The server does not answer, or not as expected.
    #[error("{0}")]
    Answer(String),
}

/// Timing of a source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Timing {
    /// Averaging time of the device's power.
    averaging: Duration,
    /// Update period, if the user sets it.
    period: Option<Duration>,
    /// Poll interval, if the user sets it.
    interval: Option<Duration>,
}

/// Sends the first request, determines the update period (up to three seconds), and returns a
/// collector.
pub fn connect(spec: &HttpSpec, clock: &dyn Clock) -> Result<Box<dyn Collector>, HttpError> {
    Ok(Box::new(collect::Http::connect(spec, clock)?))
}
