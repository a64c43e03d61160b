//! Reads small kernel files into one reused buffer, so that a poll allocates nothing.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Maximum bytes read of a file. All used values are in the first lines, and `/proc/stat` of a
/// large machine is long.
const MOST: u64 = 4096;

/// A reusable buffer for small files.
#[derive(Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
}

impl Reader {
    /// The start of a file, if it is readable text.
    pub(crate) fn read(&mut self, path: &Path) -> Option<&str> {
        self.buffer.clear();
        let file = File::open(path).ok()?;
        file.take(MOST).read_to_end(&mut self.buffer).ok()?;
        std::str::from_utf8(&self.buffer).ok()
    }

    /// The single finite number in a file.
    pub(crate) fn number(&mut self, path: &Path) -> Option<f64> {
        let number: f64 = self.read(path)?.trim().parse().ok()?;
        number.is_finite().then_some(number)
    }
}

/// The entries of a directory named `prefix` followed by a number, sorted by number.
pub(crate) fn numbered(directory: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut found: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let number = name.to_str()?.strip_prefix(prefix)?.parse().ok()?;
            Some((number, entry.path()))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}
