//! `ipw runs [DIR]`: the runs below a directory, newest first. It reads summaries, not rows.

mod table;

use std::path::Path;

use ipw_core::text::{printable, with_causes};
use ipw_core::time::{Clock, Timestamp};
use ipw_findings::leaderboard::Filter;
use ipw_findings::runs::{self, Entry, FoundRun};
use ipw_runner::SystemClock;
use serde::Serialize;
use serde_json::json;

use crate::args::RunsArgs;
use crate::error::{CliError, Exit};
use crate::screen;

/// Version of the JSON.
const FORMAT_VERSION: u32 = 1;

/// A directory that looks like a run and cannot be read.
#[derive(Debug, Serialize)]
struct DamagedRun {
    directory: String,
    reason: String,
}

/// The runs below a directory.
struct Listing {
    runs: Vec<Entry>,
    damaged: Vec<DamagedRun>,
    filtered_out: u64,
}

pub(crate) fn run(args: &RunsArgs) -> Result<Exit, CliError> {
    let filter = Filter::parse(&args.filter).map_err(CliError::usage)?;
    let help = "name a directory with runs below it; `ipw profile` creates runs in `./runs`";
    let found = runs::below(&args.directory)
        .map_err(|error| CliError::new(Exit::Usage, error).help(help))?;
    if found.is_empty() {
        let error = CliError::usage(format!("no run below `{}`", args.directory.display()));
        return Err(error.help(help));
    }
    show(&args.directory, found, &filter, args.json);
    Ok(Exit::Done)
}

/// Prints the runs that were found.
pub(super) fn show(root: &Path, found: Vec<FoundRun>, filter: &Filter, is_json: bool) {
    let now = SystemClock::start().anchor().unix_seconds(Timestamp::ZERO);
    let listing = Listing::of(root, found, filter, now);
    let text = if is_json {
        let listing = json!({
            "format_version": FORMAT_VERSION,
            "ipw": env!("CARGO_PKG_VERSION"),
            "runs": listing.runs,
            "damaged": listing.damaged,
            "filtered_out": listing.filtered_out,
        });
        screen::json(&listing)
    } else {
        table::text(&listing, screen::width())
    };
    screen::print(&text);
}

impl Listing {
    fn of(root: &Path, found: Vec<FoundRun>, filter: &Filter, now: f64) -> Self {
        let mut listing = Self {
            runs: Vec::new(),
            damaged: Vec::new(),
            filtered_out: 0,
        };
        for one in found {
            let (path, read) = match one {
                FoundRun::Unreadable { path, reason } => (path, Err(reason)),
                FoundRun::Run(path) => {
                    let read = Entry::read(&path, root, now);
                    (path, read.map_err(|error| with_causes(&error)))
                }
            };
            match read {
                Ok(entry) if filter.takes(&entry.facts) => listing.runs.push(entry),
                Ok(_) => listing.filtered_out += 1,
                Err(reason) => listing.damaged.push(DamagedRun {
                    directory: printable(&path.display().to_string()),
                    reason: printable(&reason),
                }),
            }
        }
        let begun = |entry: &Entry| entry.facts.started_at.unwrap_or(f64::NEG_INFINITY);
        listing
            .runs
            .sort_by(|left, right| begun(right).total_cmp(&begun(left)));
        listing
    }
}
