//! The small file beside another that records how that one was checked.
//!
//! Hashing a large file takes longer than loading it, so it is done once. The record is valid while
//! the file has the same size and modification time.

use std::fmt::Write as _;
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The first line; a new format gets a new number.
const HEAD: &str = "ipw model 1";

/// How a file's content was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Its SHA-256 matches the catalogue.
    Catalogue,
    /// Its SHA-256 matches the hub's.
    Hub,
    /// Its length matches the hub's; there was no checksum.
    Length,
}

impl Check {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Catalogue, "catalogue"),
        (Self::Hub, "hub"),
        (Self::Length, "length"),
    ];

    fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(check, _)| *check == self);
        found.map_or("length", |(_, name)| name)
    }
}

/// The record of a checked file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its size.
    pub bytes: u64,
    /// Modification time, in nanoseconds since 1970.
    pub modified: u128,
    /// SHA-256 as computed from the file.
    pub sha256: String,
    /// What it was compared with.
    pub check: Check,
}

impl Record {
    /// The record of a file that was just checked.
    pub(crate) fn of(metadata: &Metadata, sha256: String, check: Check) -> io::Result<Self> {
        Ok(Self {
            bytes: metadata.len(),
            modified: modified(metadata)?,
            sha256,
            check,
        })
    }

    /// Whether the file is still the one that was checked.
    pub(crate) fn is_of(&self, metadata: &Metadata) -> bool {
        metadata.is_file()
            && metadata.len() == self.bytes
            && modified(metadata).is_ok_and(|modified| modified == self.modified)
    }

    /// Reads a record; `None` if it is missing or malformed.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path).ok()?;
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return None;
        }
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let bytes = field("bytes")?.parse().ok()?;
        let modified = field("modified")?.parse().ok()?;
        let sha256 = field("sha256")?.to_owned();
        let named = field("check")?;
        let (check, _) = Check::ALL.into_iter().find(|(_, name)| *name == named)?;
        Some(Self {
            bytes,
            modified,
            sha256,
            check,
        })
    }

    /// Writes it atomically.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = format!("{HEAD}\n");
        let _ = writeln!(text, "bytes {}", self.bytes);
        let _ = writeln!(text, "modified {}", self.modified);
        let _ = writeln!(text, "sha256 {}", self.sha256);
        let _ = writeln!(text, "check {}", self.check.name());
        let aside = path.with_extension("new");
        fs::write(&aside, text)?;
        fs::rename(&aside, path)
    }
}

fn modified(metadata: &Metadata) -> io::Result<u128> {
    let since = metadata.modified()?.duration_since(UNIX_EPOCH);
    Ok(since.map_or(0, |since| since.as_nanos()))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_record_counts_until_the_file_changes() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("m.gguf");
        let beside = directory.path().join("m.gguf.checked");
        fs::write(&file, "abc").unwrap();
        for (check, _) in Check::ALL {
            let found = fs::metadata(&file).unwrap();
            let record = Record::of(&found, "00ff".to_owned(), check).unwrap();
            record.write(&beside).unwrap();
            assert_eq!(Record::read(&beside), Some(record));
        }
        let record = Record::read(&beside).unwrap();
        assert!(record.is_of(&fs::metadata(&file).unwrap()));
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(9);
        let opened = File::options().write(true).open(&file).unwrap();
        opened.set_modified(later).unwrap();
        assert!(!record.is_of(&fs::metadata(&file).unwrap()));
        fs::write(&file, "abcd").unwrap();
        assert!(!record.is_of(&fs::metadata(&file).unwrap()));
    }

    #[test]
    fn a_record_that_makes_no_sense_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        assert_eq!(Record::read(&path), None);
        for text in [
            "",
            "ipw model 1",
            "ipw model 2\nbytes 1\nmodified 1\nsha256 a\ncheck hub\n",
            "ipw model 1\nbytes x\nmodified 1\nsha256 a\ncheck hub\n",
            "ipw model 1\nbytes 1\nmodified 1\nsha256 a\ncheck faith\n",
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(Record::read(&path), None, "{text:?}");
        }
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert_eq!(Record::read(&path), None);
    }
}
