//! Whole files, switched in by one rename.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::StoreError;
use crate::state::fresh_fingerprint;

/// Replaces `path` by `content`: a reader sees the old file or the new one, never half of one.
pub fn replace(path: &Path, content: &[u8], durable: bool) -> Result<(), StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let aside = path.with_file_name(format!(".{name}.new"));
    let write = || {
        let mut file = File::create(&aside)?;
        file.write_all(content)?;
        if durable { file.sync_data() } else { Ok(()) }
    };
    write().map_err(StoreError::io("write", &aside))?;
    fs::rename(&aside, path).map_err(StoreError::io("replace", path))
}

/// A file that is written under another name, with a dot in front, until it is whole. Dropped
/// before that, it is gone.
pub struct Aside {
    path: PathBuf,
    aside: Option<PathBuf>,
}

impl Aside {
    /// Begins a file that will be called `path`.
    pub fn create(path: &Path) -> Result<(Self, File), StoreError> {
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".new-{}", fresh_fingerprint()));
        let aside = path.with_file_name(name);
        let file = File::create_new(&aside).map_err(StoreError::io("create", &aside))?;
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
        fs::rename(&aside, &self.path).map_err(|error| {
            self.aside = Some(aside);
            StoreError::io("replace", &self.path)(error)
        })
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if let Some(aside) = &self.aside {
            // It is nobody's; at worst it stays.
            let _ = fs::remove_file(aside);
        }
    }
}
