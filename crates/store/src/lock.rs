//! One process at a time writes a run.
//!
//! The lock is the system's own on an open file: it goes with the process, however that ends, so
//! there is no stale one to clean up.

use std::fs::TryLockError;
use std::path::Path;

use crate::disk::{self, DiskFile};
use crate::{StoreError, file, orphans};

const FILE: &str = ".lock";

/// A run that this process writes.
#[derive(Debug)]
pub(crate) struct Lock {
    _held: DiskFile,
}

impl Lock {
    /// Takes the lock of a run, and removes what a killed writer left in it.
    pub(crate) fn take(run: &Path) -> Result<Self, StoreError> {
        let path = run.join(FILE);
        let file = file::keep(&path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Busy {
                    path: run.to_owned(),
                });
            }
            Ok(()) => orphans::remove(run),
            // A file system without locks keeps no other writer out, and nothing is removed.
            Err(TryLockError::Error(_)) => {}
        }
        Ok(Self { _held: file })
    }

    /// Whether some process writes this run now.
    pub(crate) fn is_held(run: &Path) -> bool {
        let Ok(file) = file::open(&run.join(FILE)) else {
            return false;
        };
        matches!(file.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Releases the lock and removes its file.
    pub(crate) fn release(run: &Path) {
        // The file is empty: if it cannot be removed, it does no harm.
        let _ = disk::remove_file(&run.join(FILE));
    }
}
