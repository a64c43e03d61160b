//! Passes rows to the store first, then to the caller's own sinks.

use ipw_core::record::Record;
use ipw_core::sink::{Sink, SinkError};
use ipw_store::RunWriter;

/// The store comes first, so that a failing sink cannot cost a row on disk.
pub(crate) struct Tee {
    store: RunWriter,
    others: Vec<Box<dyn Sink + Send>>,
}

impl Tee {
    pub(crate) const fn new(store: RunWriter, others: Vec<Box<dyn Sink + Send>>) -> Self {
        Self { store, others }
    }

    pub(crate) fn into_inner(self) -> RunWriter {
        self.store
    }
}

impl Sink for Tee {
    fn append(&mut self, record: Record) -> Result<(), SinkError> {
        if self.others.is_empty() {
            return self.store.append(record);
        }
        self.store.append(record.clone())?;
        let mut others = self.others.iter_mut();
        others.try_for_each(|other| other.append(record.clone()))
    }
}
