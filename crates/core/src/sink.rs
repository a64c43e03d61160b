//! Destinations of rows and readings.

use crate::alignment::ClockOffset;
use crate::attribution::Idle;
use crate::reading::Reading;
use crate::record::Record;

/// Stores rows. A row appended without an error is lost only if the process dies within the next
/// second.
pub trait Sink {
    /// Appends one row. It may wait for room, as rows are never dropped. After an error, no further
    /// row can be stored.
    fn append(&mut self, record: Record) -> Result<(), SinkError>;
}

/// Stores raw readings.
pub trait ReadingSink: Send {
    /// Appends readings and returns when they are on disk.
    fn append(&mut self, readings: &[Reading]) -> Result<(), SinkError>;

    /// Stores the idle power of the sources, in their order; `None` where it is unknown.
    fn note_idle(&mut self, idle: &[Option<Idle>]) -> Result<(), SinkError>;

    /// Stores the clock offsets of the sources, in their order; `None` for local sources.
    fn note_alignment(&mut self, aligned: &[Option<ClockOffset>]) -> Result<(), SinkError>;
}

/// Rows can no longer be stored.
#[derive(Debug, thiserror::Error)]
#[error("cannot store rows")]
pub struct SinkError(#[source] pub Box<dyn std::error::Error + Send + Sync>);
