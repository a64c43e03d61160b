//! Locks: one process fetches a file at a time.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use crate::progress::{Progress, Report};

/// A lock that is released when dropped, or when the process ends for any reason.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock. If another process holds it, reports that and waits.
    pub fn take(path: &Path, report: Report<'_>) -> io::Result<Self> {
        let file = open(path)?;
        if !is_free(&file)? {
            report(Progress::Waiting {
                lock: path.to_owned(),
            });
            file.lock()?;
        }
        Ok(Self { _file: file })
    }

    /// Takes the lock if it is free.
    pub fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let file = open(path)?;
        Ok(is_free(&file)?.then_some(Self { _file: file }))
    }
}

/// Locks the file; `false` if another process holds the lock.
fn is_free(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        // A file system without locks: the checksum still protects the result.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_taker_is_told_and_gets_it_later() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("locks").join("m");
        let first = Lock::take(&path, &mut |_| panic!("the lock is free")).unwrap();
        assert!(Lock::try_take(&path).unwrap().is_none());
        std::thread::scope(|scope| {
            let (sender, receiver) = std::sync::mpsc::channel();
            let path = &path;
            let second = scope.spawn(move || {
                Lock::take(path, &mut |progress| sender.send(progress).unwrap()).unwrap()
            });
            let told = receiver.recv().unwrap();
            assert_eq!(told, Progress::Waiting { lock: path.clone() });
            drop(first);
            drop(second.join().unwrap());
        });
        assert!(Lock::try_take(&path).unwrap().is_some());
    }
}
