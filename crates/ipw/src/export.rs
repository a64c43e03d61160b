//! Exports rows and readings of runs to other table formats.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ipw_core::rollup::Choice as Basis;
use ipw_core::setting::Setting;
use ipw_store::export::{self, ExportError, LabelledRun, Runs};
pub use ipw_store::export::{Choice, Format, Shape, Texts};
use ipw_store::file::Aside;
use ipw_store::{Run, StoreError};

use crate::error::{Error, Kind};

/// File stem of an export that holds all runs.
const TOGETHER: &str = "runs";

/// What to export, and how.
#[derive(Debug, Clone)]
pub struct Export {
    /// File format of the tables.
    pub format: Format,
    /// Which table, and which of its columns.
    pub choice: Choice,
    /// Basis of the headline energy; `None` keeps each run's own.
    pub basis: Option<Basis>,
    /// Whether all runs go into one table, with a column that identifies the run.
    pub together: bool,
    /// Whether raw readings are exported beside the rows. Never applies to the flat table.
    pub readings: bool,
    /// Whether existing files are replaced.
    pub overwrite: bool,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Number of rows or readings in the file.
    pub count: u64,
    /// `rows` or `readings`.
    pub what: &'static str,
    /// File size; `None` where the system does not report it.
    pub bytes: Option<u64>,
}

impl Export {
    /// Writes files into `directory`, named after the runs, and calls `written` after each. Writes
    /// nothing if a file would be overwritten without permission.
    pub fn write(
        &self,
        runs: &[PathBuf],
        directory: &Path,
        mut written: impl FnMut(&ExportedFile),
    ) -> Result<(), Error> {
        let runs = self.open(runs)?;
        let tables = self.tables(&runs)?;
        let files = self.planned(&tables, directory);
        refuse_clashes(&files, self.overwrite)?;
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot create `{}`", directory.display()))
            .map_err(|error| Error::from(error).with_help(elsewhere()))?;
        for file in &files {
            written(&file.write(&self.choice, self.format)?);
        }
        Ok(())
    }

    /// Writes the rows of one table to `out`. A closed pipe (`| head`) is not an error.
    pub fn print(&self, runs: &[PathBuf], out: impl Write + Send + 'static) -> Result<(), Error> {
        let runs = self.open(runs)?;
        let tables = self.tables(&runs)?;
        let [table] = tables.as_slice() else {
            return Err(Error::invalid("cannot print several runs as one table"));
        };
        let path = Path::new("standard output");
        match export::rows(*table, &self.choice, self.format, out, path) {
            Err(ExportError::Write { source, .. }) if source.kind() == ErrorKind::BrokenPipe => {
                Ok(())
            }
            Err(error) => Err(explained(error)),
            Ok(_) => Ok(()),
        }
    }

    fn open(&self, runs: &[PathBuf]) -> Result<Vec<LabelledRun>, Error> {
        let runs = open(runs)?.into_iter();
        let on = |LabelledRun { label, run }: LabelledRun| {
            let run = match self.basis {
                Some(basis) => crate::run::on(run, basis)?,
                None => run,
            };
            Ok(LabelledRun { label, run })
        };
        runs.map(on).collect()
    }

    /// The files to be written.
    fn planned<'a>(&self, tables: &[Runs<'a>], directory: &Path) -> Vec<PlannedFile<'a>> {
        let mut files = Vec::new();
        let is_tidy = self.choice.shape == Shape::Tidy;
        for runs in tables {
            let (name, has_readings) = match runs {
                Runs::Apart(one) => {
                    let place = one.run.directory();
                    let place = place.canonicalize().unwrap_or_else(|_| place.to_owned());
                    (stem(&place), export::has_readings(&one.run))
                }
                Runs::Together(all) => {
                    let has_readings = all.iter().any(|run| export::has_readings(&run.run));
                    (OsString::from(TOGETHER), has_readings)
                }
            };
            let mut plan = |ending: &str, content| {
                let mut name = name.clone();
                name.push(ending);
                files.push(PlannedFile {
                    path: directory.join(name),
                    runs: *runs,
                    content,
                });
            };
            let extension = self.format.extension();
            // Suffix, so that both tables of a run fit in one directory.
            let kind = if is_tidy { ".tidy" } else { "" };
            plan(&format!("{kind}.{extension}"), Content::Rows);
            if self.readings && has_readings && !is_tidy {
                plan(&format!(".readings.{extension}"), Content::Readings);
            }
        }
        files
    }

    fn tables<'a>(&self, runs: &'a [LabelledRun]) -> Result<Vec<Runs<'a>>, Error> {
        let tables: Vec<Runs<'_>> = if self.together {
            vec![Runs::Together(runs)]
        } else {
            runs.iter().map(Runs::Apart).collect()
        };
        for table in &tables {
            export::check(*table, &self.choice).map_err(explained)?;
        }
        Ok(tables)
    }
}

/// Help text for files that cannot be written.
fn elsewhere() -> String {
    format!(
        "choose another directory with `{}`",
        Setting::Output.to("DIR")
    )
}

/// Opens the runs and labels them with the names of their directories. Where two names are equal,
/// the label is the path as typed.
fn open(paths: &[PathBuf]) -> Result<Vec<LabelledRun>, Error> {
    let mut seen = BTreeSet::new();
    let mut runs = Vec::new();
    for path in paths {
        let run = Run::open(path).map_err(|error| not_a_run(error, path))?;
        // The run opened, so its path exists; the typed path is the fallback.
        let place = path.canonicalize().unwrap_or_else(|_| path.clone());
        let label = stem(&place).to_string_lossy().into_owned();
        if !seen.insert(place) {
            let message = format!("`{}` is named twice", path.display());
            return Err(Error::invalid(message).with_help("name each run once"));
        }
        runs.push(LabelledRun { label, run });
    }
    let labels: Vec<_> = runs.iter().map(|run| run.label.clone()).collect();
    for run in &mut runs {
        if labels.iter().filter(|label| **label == run.label).count() > 1 {
            run.label = run.run.directory().to_string_lossy().into_owned();
        }
    }
    Ok(runs)
}

fn not_a_run(error: StoreError, path: &Path) -> Error {
    let help = if path.join("sweep.json").exists() {
        format!("this is a sweep: name its runs, `{}/*_*`", path.display())
    } else {
        "name directories created by `ipw profile`".to_owned()
    };
    Error::new(Kind::Invalid, error).with_help(help)
}

/// The last component of a path.
fn stem(place: &Path) -> OsString {
    place.file_name().unwrap_or(place.as_os_str()).to_owned()
}

struct PlannedFile<'a> {
    path: PathBuf,
    runs: Runs<'a>,
    content: Content,
}

#[derive(Clone, Copy)]
enum Content {
    Rows,
    Readings,
}

/// Refuses to overwrite files, and to write two runs to one file, before anything is written.
fn refuse_clashes(files: &[PlannedFile<'_>], overwrite: bool) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for file in files {
        if !seen.insert(&file.path) {
            let message = format!(
                "two runs would be written to the same file `{}`",
                file.path.display()
            );
            return Err(Error::invalid(message).with_help(format!(
                "export them to different directories, or use `{}`",
                Setting::Together
            )));
        }
        if file.path.is_dir() {
            let message = format!("`{}` is a directory", file.path.display());
            return Err(Error::invalid(message).with_help(elsewhere()));
        }
        if !overwrite && file.path.symlink_metadata().is_ok() {
            let path = file.path.clone();
            return Err(
                Error::new(Kind::Exists, StoreError::Exists { path }).with_help(format!(
                    "use `{}` to replace it, or `{}` to write elsewhere",
                    Setting::Overwrite,
                    Setting::Output.to("DIR")
                )),
            );
        }
    }
    Ok(())
}

impl PlannedFile<'_> {
    fn write(&self, choice: &Choice, format: Format) -> Result<ExportedFile, Error> {
        let path = &self.path;
        let (aside, file) = Aside::create(path).map_err(unwritable)?;
        let out = BufWriter::new(file);
        let (count, what) = match self.content {
            Content::Rows => (export::rows(self.runs, choice, format, out, path), "rows"),
            Content::Readings => (export::readings(self.runs, format, out, path), "readings"),
        };
        let count = count.map_err(explained)?;
        aside.replace().map_err(unwritable)?;
        Ok(ExportedFile {
            path: path.clone(),
            count,
            what,
            bytes: fs::metadata(path).ok().map(|file| file.len()),
        })
    }
}

fn explained(error: ExportError) -> Error {
    match &error {
        ExportError::NoColumn { .. } => Error::new(Kind::Invalid, error).with_help(
            "use dotted names without the model's name, groups, `*` and `?`; \
             see docs/format.md for the columns, docs/sql.md for those of the flat table",
        ),
        ExportError::NothingLeft => Error::new(Kind::Invalid, error).with_help(format!(
            "remove `{}`, or name other columns",
            Setting::NoText
        )),
        ExportError::Write { source, .. } if is_full(source.kind()) => {
            Error::new(Kind::Unexpected, error).with_help(format!(
                "free some space, or choose a directory on another disk with `{}`",
                Setting::Output.to("DIR")
            ))
        }
        ExportError::Write { .. } => Error::new(Kind::Unexpected, error).with_help(elsewhere()),
        ExportError::Run(_) | ExportError::Encode { .. } => Error::new(Kind::Unexpected, error),
    }
}

fn unwritable(error: StoreError) -> Error {
    Error::new(Kind::Unexpected, error).with_help(elsewhere())
}

fn is_full(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
    )
}
