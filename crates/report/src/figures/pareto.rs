//! Accuracy against energy, over comparable runs.

use std::path::{Path, PathBuf};

use ipw_analysis::metric::Metric;
use ipw_findings::comparison::How;
use ipw_findings::leaderboard::{Board, BoardRequest, Figure, Filter, Section};
use ipw_findings::runs::below;
use ipw_plot::{Axis, Caption, Heading, Origin, Pareto, Quantity, Run, Unit};

/// Ratio of the highest to the lowest energy from which the axis is logarithmic.
const WIDE: f64 = 20.0;

/// One figure per dataset and kind of energy that at least two runs share. Also lists the runs in
/// no figure, with the reason.
pub fn over(runs: &[PathBuf]) -> (Vec<Pareto>, Vec<String>) {
    // A sweep is a directory of runs.
    let found = |place: &PathBuf| below(place).unwrap_or_default();
    let found = runs.iter().flat_map(found).collect();
    let asked = BoardRequest {
        sort: Metric::Ipw,
        filter: &Filter::default(),
        basis: None,
        least_graded: 0,
    };
    let board = Board::of(Path::new(""), found, &asked);
    let left_out = board.not_ranked.iter();
    let left_out = left_out.map(|one| format!("`{}`: {}", one.directory, one.reason));
    let figures = board.sections.iter().filter_map(of).collect();
    (figures, left_out.collect())
}

fn quantity(figure: Figure) -> Option<Quantity> {
    let value = figure.value?;
    Some(match figure.ends() {
        Some((low, high)) => Quantity::within(value, low, high),
        None => Quantity::exact(value),
    })
}

/// Accuracy against energy per query; `None` unless two runs have both.
pub fn of(section: &Section) -> Option<Pareto> {
    let origin = match section.energy {
        How::Measured => Origin::Measured,
        How::Estimated | How::PartlyEstimated => Origin::Estimated,
        How::Unknown => return None,
    };
    let runs: Vec<Run> = section
        .runs
        .iter()
        .filter_map(|entry| {
            Some(Run {
                name: match entry.rank {
                    Some(rank) => format!("{rank} {}", entry.facts.model),
                    None => entry.facts.model.clone(),
                },
                group: entry.facts.hardware.clone().unwrap_or_default(),
                cost: quantity(entry.figure(Metric::JoulesPerQuery))?,
                benefit: quantity(entry.figure(Metric::Accuracy))?,
                origin,
            })
        })
        .collect();
    if runs.len() < 2 {
        return None;
    }
    let costs = || runs.iter().map(|run| run.cost.value);
    let least = costs().min_by(f64::total_cmp)?;
    let most = costs().max_by(f64::total_cmp)?;
    let x = if least > 0.0 && most / least >= WIDE {
        Axis::log("Energy per query", Unit::JoulesPerQuery)
    } else {
        Axis::linear("Energy per query", Unit::JoulesPerQuery)
    };
    let caption = Caption {
        n: Some(runs.len()),
        interval: Some("95 % intervals".to_owned()),
        method: Some(section.energy.words().to_owned()),
        notes: Vec::new(),
    };
    Some(Pareto {
        heading: Heading::new(
            &format!("Accuracy against energy: {}", section.dataset),
            caption,
        ),
        x,
        y: Axis::linear("Accuracy", Unit::Percent),
        runs,
    })
}
