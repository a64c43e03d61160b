//! Where rows go.

use crate::alignment::Aligned;
use crate::attribution::Idle;
use crate::reading::Reading;
use crate::record::Record;

/// Takes rows for good: what was appended without an error is lost only with the last second
/// before the process dies.
pub trait Sink {
    /// Takes one row. It may wait until there is room (rows are never dropped); an error means that
    /// no further row can be taken.
    fn append(&mut self, record: Record) -> Result<(), SinkError>;
}

/// Takes raw readings for good.
pub trait ReadingSink: Send {
    /// Takes readings and returns when they are on disk.
    fn append(&mut self, readings: &[Reading]) -> Result<(), SinkError>;

    /// Takes note of what the sources draw with nobody in flight, in their order; `None` where that
    /// is not known.
    fn note_idle(&mut self, idle: &[Option<Idle>]) -> Result<(), SinkError>;

    /// Takes note of how the clocks of the sources lie against ours, in their order; `None` for
    /// those that are read here.
    fn note_alignment(&mut self, aligned: &[Option<Aligned>]) -> Result<(), SinkError>;
}

/// Rows can no longer be stored.
#[derive(Debug, thiserror::Error)]
#[error("cannot store rows")]
pub struct SinkError(#[source] pub Box<dyn std::error::Error + Send + Sync>);
