//! The files of a run, opened without following a symbolic link, and replaced as a whole.
//!
//! A run directory may come from an untrusted source. A link in it could lead anywhere, and a pipe
//! could block forever: only regular files are opened. The run directory itself may be reached by a
//! link.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::StoreError;
use crate::disk::{self, DiskFile, Kind};
use crate::state::fresh_fingerprint;

/// What stands between the name of a file and the fingerprint while it is being written.
const MARK: &str = ".new-";

/// Replaces `path` by `content` atomically: readers see the old file or the new one. With
/// `durable`, content and name are synced to disk.
pub fn replace(path: &Path, content: &[u8], durable: bool) -> Result<(), StoreError> {
    replace_by(path, |file| {
        file.write_all(content)?;
        if durable { file.sync() } else { Ok(()) }
    })?;
    if durable { sync_name(path) } else { Ok(()) }
}

/// Like [`replace`], with content from a function.
pub fn replace_by(
    path: &Path,
    write: impl FnOnce(&mut DiskFile) -> io::Result<()>,
) -> Result<(), StoreError> {
    refuse_link(path)?;
    let (aside, mut file) = Aside::create(path)?;
    write(&mut file).map_err(StoreError::io("write", path))?;
    aside.replace()
}

/// Waits until the name of a file or directory is on the disk.
pub(crate) fn sync_name(path: &Path) -> Result<(), StoreError> {
    disk::sync_name(path).map_err(StoreError::io("sync", path))
}

/// Opens a file of a run for reading.
pub fn open(path: &Path) -> Result<File, StoreError> {
    opened(path, "open", OpenOptions::new().read(true), Kind::Open)
}

/// Opens a file of a run for appending; it is made if it is not there.
pub fn append(path: &Path) -> Result<DiskFile, StoreError> {
    let mut options = OpenOptions::new();
    let file = opened(
        path,
        "open",
        options.create(true).append(true),
        Kind::OpenOrCreate,
    )?;
    Ok(DiskFile::over(file, path))
}

/// Opens a file of a run for reading and writing; it is made if it is not there, and keeps its
/// content.
pub(crate) fn keep(path: &Path) -> Result<DiskFile, StoreError> {
    let mut options = OpenOptions::new();
    let options = options.create(true).read(true).write(true);
    let file = opened(path, "open", options, Kind::OpenOrCreate)?;
    Ok(DiskFile::over(file, path))
}

/// The content of a file of a run.
pub fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut content = Vec::new();
    let mut file = opened(path, "read", OpenOptions::new().read(true), Kind::Open)?;
    file.read_to_end(&mut content)
        .map_err(StoreError::io("read", path))?;
    Ok(content)
}

/// The content of a file of a run; `None` if there is no such file.
pub fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match read(path) {
        Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        content => content.map(Some),
    }
}

/// The directory `name` in a run, which is made if it is not there.
pub fn make_directory(run: &Path, name: &str) -> Result<PathBuf, StoreError> {
    directory(run, name, false)
}

/// The same; with `durable`, its name is on the disk afterwards.
pub(crate) fn directory(run: &Path, name: &str, durable: bool) -> Result<PathBuf, StoreError> {
    let path = run.join(name);
    refuse_link(&path)?;
    match disk::make_directory(&path, 0o777, durable) {
        // Its maker may have been killed before the name was on the disk.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {
            if durable {
                sync_name(&path)?;
            }
        }
        made => made.map_err(StoreError::io("create", &path))?,
    }
    Ok(path)
}

/// An error if a symbolic link has this name.
pub fn refuse_link(path: &Path) -> Result<(), StoreError> {
    if path.is_symlink() {
        return Err(StoreError::Link {
            path: path.to_owned(),
        });
    }
    Ok(())
}

fn opened(
    path: &Path,
    action: &'static str,
    options: &mut OpenOptions,
    kind: Kind<'_>,
) -> Result<File, StoreError> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let options = options.custom_flags(flags);
    let file = disk::open(path, options, kind).map_err(|error| {
        if path.is_symlink() {
            StoreError::Link {
                path: path.to_owned(),
            }
        } else {
            StoreError::io(action, path)(error)
        }
    })?;
    let is_file = file
        .metadata()
        .map_err(StoreError::io(action, path))?
        .is_file();
    if !is_file {
        let error = io::Error::new(ErrorKind::InvalidInput, "it is not a regular file");
        return Err(StoreError::io(action, path)(error));
    }
    Ok(file)
}

/// A file that is written under another name, with a dot in front, until it is whole. Dropped
/// before that, it is gone. While it is being written it is locked, which tells it from the
/// remains of a process that was killed.
pub struct Aside {
    path: PathBuf,
    aside: Option<PathBuf>,
}

impl Aside {
    /// Begins a file that will be called `path`.
    pub fn create(path: &Path) -> Result<(Self, DiskFile), StoreError> {
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!("{MARK}{}", fresh_fingerprint()));
        let aside = path.with_file_name(name);
        // Exclusive: neither a file nor a link of that name is opened.
        let file = DiskFile::create_new(&aside).map_err(StoreError::io("create", &aside))?;
        // Without locks, remains are not told apart and not removed.
        let _ = file.try_lock();
        let begun = Self {
            path: path.to_owned(),
            aside: Some(aside),
        };
        Ok((begun, file))
    }

    /// Gives the file its name, and takes the place of whatever has it.
    pub fn replace(mut self) -> Result<(), StoreError> {
        let Some(aside) = self.aside.take() else {
            return Ok(());
        };
        disk::rename(&aside, &self.path).map_err(|error| {
            self.aside = Some(aside);
            StoreError::io("replace", &self.path)(error)
        })
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if let Some(aside) = &self.aside {
            // If it stays, the next writer of the run removes it.
            let _ = disk::remove_file(aside);
        }
    }
}

/// Whether [`Aside`] gives files such names.
pub(crate) fn is_aside(name: &str) -> bool {
    let parts = name
        .strip_prefix('.')
        .and_then(|name| name.rsplit_once(MARK));
    parts.is_some_and(|(name, print)| !name.is_empty() && is_fingerprint(print, 16))
}

/// Whether `text` is `digits` hexadecimal digits, written as [`fresh_fingerprint`] writes them.
pub(crate) fn is_fingerprint(text: &str, digits: usize) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == digits && text.bytes().all(is_digit)
}
