//! The table of runs on a terminal.

use std::fmt::Write as _;

use ipw_analysis::metric::Unit;
use ipw_core::quantity::grouped;
use ipw_core::text::{excerpt, printable};
use ipw_findings::runs::Entry;
use ipw_findings::written::{self, UNKNOWN};

use super::Listing;
use crate::grid::{Elastic, Grid};

/// Width of a cell at most; directories may be wider.
const WIDEST: usize = 28;
/// Least width of a run's name or directory before a column is left out.
const ENOUGH: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    /// The name; the directory of a run without one.
    Run,
    Model,
    Client,
    Load,
    Queries,
    Accuracy,
    Joules,
    Ipw,
    Age,
    Status,
    /// Only if the first column has names.
    Directory,
}

const ALL: [Column; 11] = [
    Column::Run,
    Column::Model,
    Column::Client,
    Column::Load,
    Column::Queries,
    Column::Accuracy,
    Column::Joules,
    Column::Ipw,
    Column::Age,
    Column::Status,
    Column::Directory,
];
/// Columns to leave out on a narrow terminal, in this order.
const SPARED: [Column; 8] = [
    Column::Directory,
    Column::Client,
    Column::Joules,
    Column::Queries,
    Column::Model,
    Column::Load,
    Column::Age,
    Column::Accuracy,
];

pub(super) fn text(listing: &Listing, width: usize) -> String {
    let mut out = String::new();
    if !listing.runs.is_empty() {
        table(&mut out, &listing.runs, width);
    }
    if !listing.damaged.is_empty() {
        let lead = if out.is_empty() { "" } else { "\n" };
        let _ = writeln!(out, "{lead}Damaged:");
    }
    for one in &listing.damaged {
        let line = format!("{}: {}", one.directory, one.reason);
        let line = written::wrapped(&line, width.max(40) - 2, "    ");
        let _ = writeln!(out, "  {line}");
    }
    if listing.filtered_out > 0 {
        let lead = if out.is_empty() { "" } else { "\n" };
        let count = listing.filtered_out;
        let _ = writeln!(out, "{lead}{count} left out by `--filter`");
    }
    out
}

fn table(out: &mut String, runs: &[Entry], width: usize) {
    let has_names = runs.iter().any(|run| run.facts.name.is_some());
    let shown = ALL.into_iter();
    let shown = shown.filter(|column| *column != Column::Directory || has_names);
    let widest = |column: Column| {
        let cells = runs.iter().map(|run| column.text(run).chars().count());
        let title = column.title().chars().count();
        (column, cells.max().unwrap_or(0).max(title))
    };
    let elastic = Elastic {
        column: Column::Run,
        enough: ENOUGH,
    };
    let grid = Grid::fit(shown.map(widest), &SPARED, &elastic, width);
    grid.line(out, Column::is_number, |column, _| {
        column.title().to_owned()
    });
    for run in runs {
        grid.line(out, Column::is_number, |column, room| {
            let text = column.text(run);
            if column == Column::Run && run.facts.name.is_none() {
                tail(&text, room)
            } else {
                text
            }
        });
    }
    if runs.iter().any(|run| run.facts.energy.is_estimated()) {
        out.push_str("~ estimated, not measured\n");
    }
}

/// The end of a path, where runs differ.
fn tail(path: &str, room: usize) -> String {
    let beyond = path.chars().count().saturating_sub(room);
    if beyond == 0 {
        return path.to_owned();
    }
    let end: String = path.chars().skip(beyond + 1).collect();
    format!("…{end}")
}

impl Column {
    const fn title(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Model => "model",
            Self::Client => "client",
            Self::Load => "load",
            Self::Queries => "queries",
            Self::Accuracy => "accuracy",
            Self::Joules => "J",
            Self::Ipw => "IPW",
            Self::Age => "age",
            Self::Status => "status",
            Self::Directory => "directory",
        }
    }

    const fn is_number(self) -> bool {
        matches!(
            self,
            Self::Queries | Self::Accuracy | Self::Joules | Self::Ipw | Self::Age
        )
    }

    fn text(self, run: &Entry) -> String {
        let facts = &run.facts;
        let cell = |text: Option<&str>| text.map_or(UNKNOWN.to_owned(), short);
        let mark = if facts.energy.is_estimated() { "~" } else { "" };
        let energy = |unit: Unit, value: Option<f64>| {
            let shown = value.map(|value| format!("{mark}{}", unit.show(value)));
            shown.unwrap_or_else(|| UNKNOWN.to_owned())
        };
        match self {
            Self::Run => facts.name.as_deref().map_or(run.place.clone(), short),
            Self::Model => short(&facts.model),
            Self::Client => cell(facts.client.as_deref()),
            Self::Load => cell(facts.load.as_deref().map(load).as_deref()),
            Self::Queries => grouped(run.queries),
            Self::Accuracy => Unit::Share.known(run.accuracy),
            Self::Joules => energy(Unit::Joules, run.joules),
            Self::Ipw => energy(Unit::PerWatt, run.ipw),
            Self::Age => run.age_seconds.map_or(UNKNOWN.to_owned(), age),
            Self::Status => run.status().to_owned(),
            Self::Directory => run.place.clone(),
        }
    }
}

fn short(text: &str) -> String {
    excerpt(&printable(text), WIDEST)
}

/// The usual loads in short.
fn load(words: &str) -> String {
    match words {
        "one after the other" => "sequential".to_owned(),
        words => words.replace(", poisson", ""),
    }
}

fn age(seconds: f64) -> String {
    let (size, unit) = match seconds {
        seconds if seconds < 60.0 => (1.0, "s"),
        seconds if seconds < 3600.0 => (60.0, "min"),
        seconds if seconds < 86_400.0 => (3600.0, "h"),
        _ => (86_400.0, "d"),
    };
    format!("{:.0} {unit}", (seconds / size).floor())
}

#[cfg(test)]
mod tests {
    use super::super::DamagedRun;
    use super::*;
    use ipw_findings::comparison::{Facts, How};

    fn entry(name: Option<&str>, place: &str) -> Entry {
        Entry {
            facts: Facts {
                name: name.map(str::to_owned),
                model: "smollm2-135m".to_owned(),
                client: Some("openai".to_owned()),
                load: Some("one after the other".to_owned()),
                status: Some("complete".to_owned()),
                energy: How::Estimated,
                ..Facts::default()
            },
            place: place.to_owned(),
            queries: 160,
            accuracy: Some(0.325),
            joules: Some(201.4),
            ipw: Some(0.0703),
            age_seconds: Some(7300.0),
        }
    }

    fn listing(runs: Vec<Entry>) -> Listing {
        let damaged = vec![DamagedRun {
            directory: "runs/broken".to_owned(),
            reason: "it has no `state.json`".to_owned(),
        }];
        Listing {
            runs,
            damaged,
            filtered_out: 2,
        }
    }

    #[test]
    fn the_list_fits_the_terminal_and_the_important_columns_stay() {
        let place = "profile_EPYC9654_smollm2_135m_starter_openai_c4";
        let listing = listing(vec![entry(Some("baseline"), place), entry(None, place)]);
        for width in [60, 80, 120, 200] {
            let text = text(&listing, width);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{width}: {text}");
            for part in [
                "baseline",
                "openai_c4",
                "~0.0703",
                "complete",
                "runs/broken",
            ] {
                assert!(text.contains(part), "{width} {part}: {text}");
            }
        }
        let usual = text(&listing, 80);
        for part in ["smollm2-135m", "sequential", "32.5 %", "2 h"] {
            assert!(usual.contains(part), "{part}: {usual}");
        }
        let wide = text(&listing, 200);
        assert!(
            wide.contains("directory") && wide.contains("~201 J"),
            "{wide}"
        );
    }

    #[test]
    fn ages_have_one_unit() {
        for (seconds, wanted) in [
            (0.2, "0 s"),
            (59.9, "59 s"),
            (61.0, "1 min"),
            (7199.0, "1 h"),
            (200_000.0, "2 d"),
        ] {
            assert_eq!(age(seconds), wanted);
        }
    }
}
