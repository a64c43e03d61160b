//! `ipw leaderboard DIR`: one row per run below a directory.

mod table;

use ipw_analysis::metric::Metric;
use ipw_findings::comparison::metric_named;
use ipw_findings::leaderboard::{Board, BoardRequest, Filter, submission};
use ipw_findings::runs;
use ipw_report::leaderboard::{html, markdown};
use serde_json::json;

use crate::args::{Format, LeaderboardArgs};
use crate::error::{CliError, Exit};
use crate::{output, screen};

/// Version of the JSON.
const FORMAT_VERSION: u32 = 1;

pub(crate) fn run(args: &LeaderboardArgs) -> Result<Exit, CliError> {
    let sort = args.sort.as_deref().map_or(Ok(Metric::Ipw), metric_named);
    let sort = sort.map_err(CliError::usage)?;
    let filter = Filter::parse(&args.filter).map_err(CliError::usage)?;
    let found = runs::below(&args.directory).map_err(|error| {
        CliError::new(Exit::Usage, error).help("name a directory with runs below it, at any depth")
    })?;
    if found.is_empty() {
        let error = CliError::usage(format!("no run below `{}`", args.directory.display()));
        return Err(error.help("`ipw profile` creates runs, by default in `./runs`"));
    }
    let asked = BoardRequest {
        sort,
        filter: &filter,
        basis: args.basis.choice(),
        least_graded: args.min_graded,
    };
    let board = Board::of(&args.directory, found, &asked);
    if let Some(path) = &args.submission {
        let listed = submission::of(&board).map_err(CliError::usage)?;
        output::put(Some(path), &format!("{listed:#}\n"))?;
    }
    let to = args.output.as_deref();
    output::put(to, &text(&board, Format::of(args.format, to)))?;
    Ok(Exit::Done)
}

fn text(board: &Board, format: Format) -> String {
    match format {
        Format::Table => table::text(board, screen::width()),
        Format::Md => markdown(board),
        Format::Html => html(board),
        Format::Json => {
            let board = json!({
                "format_version": FORMAT_VERSION,
                "ipw": env!("CARGO_PKG_VERSION"),
                "sort": board.sort,
                "better": board.sort.better(),
                "sections": board.sections,
                "not_ranked": board.not_ranked,
                "filtered_out": board.filtered_out,
            });
            screen::json(&board)
        }
    }
}
