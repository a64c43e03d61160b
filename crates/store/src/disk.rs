//! The one place where the store changes the disk: every open, write, sync, rename and removal.
//!
//! As with `SQLite`'s VFS, a shim can stand between the store and the system. Tests mount one over a
//! directory to fail, shorten or record the n-th call (docs/decisions/0012). Where none is mounted,
//! as in the product, a call costs one relaxed load of an atomic more.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A call that is about to be made.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The file or directory concerned.
    pub path: &'a Path,
    /// The operation.
    pub kind: Kind<'a>,
}

/// An operation on a file or directory.
#[derive(Debug, Clone, Copy)]
pub enum Kind<'a> {
    /// Open an existing file.
    Open,
    /// Open a file, creating it if missing.
    OpenOrCreate,
    /// Create a file that must not exist.
    Create,
    /// Write at this offset; `None` appends.
    Write(Option<u64>, &'a [u8]),
    /// Sync the content of a file to disk.
    Sync,
    /// Sync the entries of a directory to disk.
    SyncDirectory,
    /// Rename, replacing what has the new name.
    RenameTo(&'a Path),
    /// Remove a file, or a directory with its content.
    Remove,
    /// Create a directory.
    MakeDirectory,
}

/// Intercepts calls between the store and the system.
pub trait Shim: Send + Sync {
    /// Lets a call through, or fails it in place of the system. For a write, returns how many bytes
    /// go through.
    fn pass(&self, call: &Call<'_>) -> io::Result<usize>;
}

/// A mounted shim. Dropping it unmounts the shim.
#[must_use]
pub struct ShimGuard(Arc<dyn Shim>);

static COUNT: AtomicUsize = AtomicUsize::new(0);
static SHIMS: Mutex<Vec<(PathBuf, Arc<dyn Shim>)>> = Mutex::new(Vec::new());

/// Mounts a shim over all calls below `root`.
pub fn mount(root: &Path, shim: Arc<dyn Shim>) -> ShimGuard {
    let mut shims = SHIMS.lock().unwrap_or_else(PoisonError::into_inner);
    shims.push((root.to_owned(), Arc::clone(&shim)));
    COUNT.store(shims.len(), Ordering::SeqCst);
    ShimGuard(shim)
}

impl Drop for ShimGuard {
    fn drop(&mut self) {
        let mut shims = SHIMS.lock().unwrap_or_else(PoisonError::into_inner);
        shims.retain(|(_, shim)| !Arc::ptr_eq(shim, &self.0));
        COUNT.store(shims.len(), Ordering::SeqCst);
    }
}

/// Passes a call to the mounted shim, if there is one.
fn pass(path: &Path, kind: Kind<'_>) -> io::Result<usize> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return Ok(usize::MAX);
    }
    let shims = SHIMS.lock().unwrap_or_else(PoisonError::into_inner);
    let found = shims
        .iter()
        .find(|(root, _)| path.starts_with(root))
        .map(|(_, shim)| Arc::clone(shim));
    drop(shims);
    found.map_or(Ok(usize::MAX), |shim| shim.pass(&Call { path, kind }))
}

/// A file that is written.
#[derive(Debug)]
pub struct DiskFile {
    file: File,
    path: PathBuf,
}

impl DiskFile {
    /// Makes a file that must not be there.
    pub(crate) fn create_new(path: &Path) -> io::Result<Self> {
        pass(path, Kind::Create)?;
        let file = File::create_new(path)?;
        Ok(Self::over(file, path))
    }

    /// An open file.
    pub(crate) fn over(file: File, path: &Path) -> Self {
        Self {
            file,
            path: path.to_owned(),
        }
    }

    /// Says under which name it goes on.
    pub(crate) fn moved_to(&mut self, path: &Path) {
        path.clone_into(&mut self.path);
    }

    /// Writes all bytes at `offset`.
    pub(crate) fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let allowed = pass(&self.path, Kind::Write(Some(offset), bytes))?;
            let part = &bytes[..allowed.min(bytes.len())];
            match self.file.write_at(part, offset) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    offset += written as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits until its content is on the disk.
    pub fn sync(&self) -> io::Result<()> {
        pass(&self.path, Kind::Sync)?;
        self.file.sync_data()
    }

    pub(crate) fn try_lock(&self) -> Result<(), TryLockError> {
        self.file.try_lock()
    }
}

impl Write for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let allowed = pass(&self.path, Kind::Write(None, bytes))?;
        self.file.write(&bytes[..allowed.min(bytes.len())])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Opens a file as `options` say, which is one `kind` of call or the other.
pub(crate) fn open(path: &Path, options: &OpenOptions, kind: Kind<'_>) -> io::Result<File> {
    pass(path, kind)?;
    options.open(path)
}

/// Gives a file or directory another name in the same directory.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    pass(from, Kind::RenameTo(to))?;
    fs::rename(from, to)
}

/// Removes a file.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    pass(path, Kind::Remove)?;
    fs::remove_file(path)
}

/// Removes a directory, if nothing is in it.
pub(crate) fn remove_empty(path: &Path) -> io::Result<()> {
    pass(path, Kind::Remove)?;
    fs::remove_dir(path)
}

/// Removes a directory with all that is in it.
pub(crate) fn remove_all(path: &Path) -> io::Result<()> {
    pass(path, Kind::Remove)?;
    fs::remove_dir_all(path)
}

/// Makes a directory, with the mode that the umask leaves of `mode`, and those above it as usual.
/// With `durable`, the names of all that were made are on the disk afterwards.
pub(crate) fn make_directory(path: &Path, mode: u32, durable: bool) -> io::Result<()> {
    if let Some(parent) = path.parent().filter(|parent| !is_there(parent)) {
        match make_directory(parent, 0o777, durable) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => made?,
        }
    }
    pass(path, Kind::MakeDirectory)?;
    fs::DirBuilder::new().mode(mode).create(path)?;
    if durable { sync_name(path) } else { Ok(()) }
}

fn is_there(directory: &Path) -> bool {
    directory.as_os_str().is_empty() || directory.exists()
}

/// Waits until the name of a file or directory is on the disk, or that it is gone.
pub(crate) fn sync_name(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|path| !path.as_os_str().is_empty());
    let path = parent.unwrap_or(Path::new("."));
    pass(path, Kind::SyncDirectory)?;
    match File::open(path)?.sync_all() {
        // File systems that cannot sync directories say so in these words.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        done => done,
    }
}
