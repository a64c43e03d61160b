//! Whole files, switched in by one rename.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::StoreError;

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
