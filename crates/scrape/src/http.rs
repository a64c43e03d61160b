//! Any number that stands behind a URL as a source: a field of a JSON reply, or a sample of a page
//! that Prometheus scrapes.
//!
//! Smart plugs, the controllers of servers, exporters of other tools. What a device calls its own
//! time is not trusted: a reading is dated by the middle of its request, and how long requests take
//! is the bound of that ([`How::RoundTrip`](ipw_core::alignment::How)). Whoever asks too seldom or
//! too late leaves a gap; nothing is filled in.

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

/// Why a URL is no source.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// An option is not known, or is of another type.
    #[error(transparent)]
    Option(#[from] ParamError),
    /// An option does not go with the others, or with the URL.
    #[error("`{option}` of `http`: {why}")]
    Clash {
        /// Its name.
        option: &'static str,
        /// Why.
        why: String,
    },
    /// The URL cannot be asked.
    #[error("the URL of an `http` source: {why}")]
    Url {
        /// Why; the URL itself may have a secret in it.
        why: String,
    },
    /// A file that an option names cannot be used.
    #[error("`{option}={path}`: {why}")]
    File {
        /// The option.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Nobody answers, or not with what was expected.
    #[error("{0}")]
    Answer(String),
}

/// What is known of the times of a source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Timing {
    /// How long the device averages its power.
    averaging: Duration,
    /// How often the device updates, as the user says.
    period: Option<Duration>,
    /// How often to ask, as the user says.
    interval: Option<Duration>,
}

/// Asks for the first time, finds out how often the device updates (up to three seconds), and is
/// ready to be polled.
pub fn connect(spec: &HttpSpec, clock: &dyn Clock) -> Result<Box<dyn Collector>, HttpError> {
    Ok(Box::new(collect::Http::connect(spec, clock)?))
}
