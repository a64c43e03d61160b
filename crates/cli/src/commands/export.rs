//! `ipw export RUN…`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{BufWriter, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::Context;
use ipw_core::text::printable;
use ipw_store::export::{self, Choice, ExportError, Format, Labelled, Runs, Texts};
use ipw_store::file::Aside;
use ipw_store::{Run, StoreError};

use crate::args::{ExportArgs, ExportFormat};
use crate::error::{CliError, Exit};
use crate::screen;

/// What a file with all runs is called.
const TOGETHER: &str = "runs";

pub(crate) fn run(args: &ExportArgs) -> Result<Exit, CliError> {
    let format = match args.format {
        None | Some(ExportFormat::Parquet) => Format::Parquet,
        Some(ExportFormat::Csv) => Format::Csv,
        Some(ExportFormat::Jsonl) => Format::Jsonl,
    };
    let choice = Choice {
        columns: args.columns.clone(),
        texts: if args.no_text {
            Texts::LeftOut
        } else {
            Texts::Kept
        },
    };
    let is_printed = args.output.as_deref() == Some(Path::new("-"));
    if is_printed {
        refuse_unprintable(args, format)?;
    }
    let runs = open(&args.runs)?;
    let tables: Vec<Runs<'_>> = if args.together {
        vec![Runs::Together(&runs)]
    } else {
        runs.iter().map(Runs::Apart).collect()
    };
    for table in &tables {
        export::check(*table, &choice).map_err(explained)?;
    }
    if is_printed {
        return print(tables[0], &choice, format);
    }
    let directory = args.output.as_deref().unwrap_or(Path::new(""));
    let files = planned(&tables, format, directory, !args.no_readings);
    refuse_clashes(&files, args.overwrite)?;
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot create `{}`", directory.display()))
        .map_err(|error| CliError::from(error).help("name another directory with `-o DIR`"))?;
    for file in &files {
        file.write(&choice, format)?;
    }
    Ok(Exit::Done)
}

fn refuse_unprintable(args: &ExportArgs, format: Format) -> Result<(), CliError> {
    if format == Format::Parquet {
        return Err(CliError::usage("Parquet cannot be printed")
            .help("use `--format csv` or `--format jsonl`, or name a directory with `-o DIR`"));
    }
    if args.runs.len() > 1 && !args.together {
        return Err(
            CliError::usage("several runs cannot be printed as one table")
                .help("add `--together`, which tells their rows apart"),
        );
    }
    Ok(())
}

/// The runs by what they are called: the names of their directories, or what was typed where two
/// have the same name.
fn open(paths: &[PathBuf]) -> Result<Vec<Labelled>, CliError> {
    let mut seen = BTreeSet::new();
    let mut runs = Vec::new();
    for path in paths {
        let run = Run::open(path).map_err(|error| not_a_run(error, path))?;
        // A run that opened has a way to it.
        let place = path.canonicalize().unwrap_or_else(|_| path.clone());
        let label = stem(&place).to_string_lossy().into_owned();
        if !seen.insert(place) {
            let message = format!("`{}` is named twice", path.display());
            return Err(CliError::usage(message).help("name each run once"));
        }
        runs.push(Labelled { label, run });
    }
    let labels: Vec<_> = runs.iter().map(|run| run.label.clone()).collect();
    for run in &mut runs {
        if labels.iter().filter(|label| **label == run.label).count() > 1 {
            run.label = run.run.directory().to_string_lossy().into_owned();
        }
    }
    Ok(runs)
}

fn not_a_run(error: StoreError, path: &Path) -> CliError {
    let help = if path.join("sweep.json").exists() {
        format!("it is a sweep: name its runs, `{}/*_*`", path.display())
    } else {
        "name directories that `ipw profile` made".to_owned()
    };
    CliError::new(Exit::Usage, error).help(help)
}

/// The last name of a way.
fn stem(place: &Path) -> OsString {
    place.file_name().unwrap_or(place.as_os_str()).to_owned()
}

/// A file to be written.
struct Planned<'a> {
    path: PathBuf,
    runs: Runs<'a>,
    content: Content,
}

#[derive(Clone, Copy)]
enum Content {
    Rows,
    Readings,
}

fn planned<'a>(
    tables: &[Runs<'a>],
    format: Format,
    directory: &Path,
    with_readings: bool,
) -> Vec<Planned<'a>> {
    let mut files = Vec::new();
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
            files.push(Planned {
                path: directory.join(name),
                runs: *runs,
                content,
            });
        };
        let extension = format.extension();
        plan(&format!(".{extension}"), Content::Rows);
        if with_readings && has_readings {
            plan(&format!(".readings.{extension}"), Content::Readings);
        }
    }
    files
}

/// Nothing is written if something is in the way.
fn refuse_clashes(files: &[Planned<'_>], overwrite: bool) -> Result<(), CliError> {
    let mut seen = BTreeSet::new();
    for file in files {
        if !seen.insert(&file.path) {
            let message = format!("two runs would be written to `{}`", file.path.display());
            return Err(CliError::usage(message)
                .help("export them into different directories, or `--together`"));
        }
        if file.path.is_dir() {
            let message = format!("`{}` is a directory", file.path.display());
            return Err(CliError::usage(message).help("name another directory with `-o DIR`"));
        }
        if !overwrite && file.path.symlink_metadata().is_ok() {
            let path = file.path.clone();
            return Err(CliError::new(Exit::Exists, StoreError::Exists { path })
                .help("`--overwrite` replaces it, `-o DIR` writes elsewhere"));
        }
    }
    Ok(())
}

impl Planned<'_> {
    fn write(&self, choice: &Choice, format: Format) -> Result<(), CliError> {
        let path = &self.path;
        let (aside, file) = Aside::create(path).map_err(unwritable)?;
        let out = BufWriter::new(file);
        let (count, what) = match self.content {
            Content::Rows => (export::rows(self.runs, choice, format, out, path), "rows"),
            Content::Readings => (export::readings(self.runs, format, out, path), "readings"),
        };
        let count = count.map_err(explained)?;
        aside.replace().map_err(unwritable)?;
        let bytes = fs::metadata(path).map_or(String::new(), |it| format!(", {}", size(it.len())));
        let path = printable(&path.display().to_string());
        screen::print(&format!("{path}: {count} {what}{bytes}\n"));
        Ok(())
    }
}

/// Bytes in a unit that fits.
fn size(bytes: u64) -> String {
    let (scale, unit) = match bytes {
        ..1_000 => return format!("{bytes} bytes"),
        1_000..1_000_000 => (1_000, "kB"),
        1_000_000..1_000_000_000 => (1_000_000, "MB"),
        _ => (1_000_000_000, "GB"),
    };
    format!("{}.{} {unit}", bytes / scale, bytes % scale * 10 / scale)
}

fn print(runs: Runs<'_>, choice: &Choice, format: Format) -> Result<Exit, CliError> {
    let path = Path::new("standard output");
    match export::rows(runs, choice, format, std::io::stdout(), path) {
        // Whoever closed the pipe has seen enough.
        Err(ExportError::Write { source, .. }) if source.kind() == ErrorKind::BrokenPipe => {
            Ok(Exit::Done)
        }
        Err(error) => Err(explained(error)),
        Ok(_) => Ok(Exit::Done),
    }
}

fn explained(error: ExportError) -> CliError {
    match &error {
        ExportError::NoColumn { .. } => CliError::new(Exit::Usage, error).help(
            "dotted names without the model's, groups, `*` and `?` are understood; \
             docs/format.md lists the columns",
        ),
        ExportError::NothingLeft => {
            CliError::new(Exit::Usage, error).help("leave out `--no-text`, or name other columns")
        }
        ExportError::Write { source, .. } if is_full(source.kind()) => {
            CliError::new(Exit::Unexpected, error)
                .help("make room, or name a directory on another disk with `-o DIR`")
        }
        ExportError::Write { .. } => {
            CliError::new(Exit::Unexpected, error).help("name another directory with `-o DIR`")
        }
        ExportError::Run(_) | ExportError::Encode { .. } => CliError::new(Exit::Unexpected, error),
    }
}

fn unwritable(error: StoreError) -> CliError {
    CliError::new(Exit::Unexpected, error).help("name another directory with `-o DIR`")
}

fn is_full(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
    )
}
