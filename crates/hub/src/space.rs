//! Free disk space.

use std::io;
use std::path::Path;

use crate::error::CacheError;

/// Bytes that this user may still write to `directory`'s disk; `None` if unknown.
pub fn free(directory: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory).ok()?;
    // Some network file systems report no blocks at all: that is not a full disk.
    if found.f_blocks == 0 {
        return None;
    }
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Fails before the first byte if the file would not fit.
pub fn ensure(directory: &Path, needed: u64, kept: u64) -> Result<(), CacheError> {
    match free(directory) {
        Some(free) if free < needed => Err(full(directory, needed, kept)),
        _ => Ok(()),
    }
}

/// The error of a full disk.
pub fn full(directory: &Path, needed: u64, kept: u64) -> CacheError {
    CacheError::DiskFull {
        directory: directory.to_owned(),
        needed,
        free: free(directory),
        kept: (kept > 0).then_some(kept),
    }
}

/// Whether a write failed because the disk is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// A size in decimal units, as file managers and the hub show it.
pub fn in_words(bytes: u64) -> String {
    let units = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} bytes");
    }
    #[expect(clippy::cast_precision_loss, reason = "a display of three digits")]
    let mut value = bytes as f64 / 1e3;
    let mut unit = 0;
    // 999.95 would be shown as 1000.0.
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1e3;
        unit += 1;
    }
    format!("{value:.1} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_a_unit_that_fits() {
        assert_eq!(in_words(0), "0 bytes");
        assert_eq!(in_words(999), "999 bytes");
        assert_eq!(in_words(98_362_432), "98.4 MB");
        assert_eq!(in_words(999_999), "1.0 MB");
        assert_eq!(in_words(u64::MAX), "18446744.1 TB");
    }

    #[test]
    fn what_cannot_fit_is_refused_before_the_first_byte() {
        let directory = tempfile::tempdir().unwrap();
        assert!(free(directory.path()).is_some_and(|free| free > 0));
        assert!(ensure(directory.path(), 1, 0).is_ok());
        let error = ensure(directory.path(), u64::MAX, 0).unwrap_err();
        assert!(matches!(
            error,
            CacheError::DiskFull {
                free: Some(_),
                kept: None,
                ..
            }
        ));
    }
}
