//! `ipw export RUN…`.

use std::path::Path;

use ipw::export::{Choice, Export, ExportedFile, Format, Shape, Texts};
use ipw_core::text::printable;

use crate::args::{ExportArgs, ExportFormat};
use crate::error::{CliError, Exit};
use crate::screen;

pub(crate) fn run(args: &ExportArgs) -> Result<Exit, CliError> {
    let export = Export {
        format: match args.format {
            None | Some(ExportFormat::Parquet) => Format::Parquet,
            Some(ExportFormat::Csv) => Format::Csv,
            Some(ExportFormat::Jsonl) => Format::Jsonl,
        },
        choice: Choice {
            shape: if args.tidy {
                Shape::Tidy
            } else {
                Shape::Nested
            },
            columns: args.columns.clone(),
            texts: if args.no_text {
                Texts::LeftOut
            } else {
                Texts::Kept
            },
        },
        basis: args.basis.choice(),
        together: args.together,
        readings: !args.no_readings,
        overwrite: args.overwrite,
    };
    if args.output.as_deref() == Some(Path::new("-")) {
        refuse_unprintable(args, export.format)?;
        export.print(&args.runs, std::io::stdout())?;
    } else {
        let directory = args.output.as_deref().unwrap_or(Path::new(""));
        export.write(&args.runs, directory, tell)?;
    }
    Ok(Exit::Done)
}

fn tell(file: &ExportedFile) {
    let path = printable(&file.path.display().to_string());
    let bytes = file.bytes.map(|bytes| format!(", {}", size(bytes)));
    let (count, what) = (file.count, file.what);
    let bytes = bytes.unwrap_or_default();
    screen::print(&format!("{path}: {count} {what}{bytes}\n"));
}

fn refuse_unprintable(args: &ExportArgs, format: Format) -> Result<(), CliError> {
    if format == Format::Parquet {
        return Err(CliError::usage("Parquet cannot be printed")
            .help("use `--format csv` or `--format jsonl`, or name a directory with `-o DIR`"));
    }
    if args.runs.len() > 1 && !args.together {
        return Err(
            CliError::usage("several runs cannot be printed as one table")
                .help("add `--together`, which adds the run to each row"),
        );
    }
    Ok(())
}

/// Bytes in a readable unit.
fn size(bytes: u64) -> String {
    let (scale, unit) = match bytes {
        ..1_000 => return format!("{bytes} bytes"),
        1_000..1_000_000 => (1_000, "kB"),
        1_000_000..1_000_000_000 => (1_000_000, "MB"),
        _ => (1_000_000_000, "GB"),
    };
    format!("{}.{} {unit}", bytes / scale, bytes % scale * 10 / scale)
}
