//! A leaderboard of runs that are not on disk, for the tests of this crate and of those that show it.

use ipw_analysis::metric::Metric;
use ipw_findings::comparison::{Facts, How};
use ipw_findings::leaderboard::{Board, Entry, Figure, NotRanked, Section};
use serde_json::Value;

fn figure(value: Option<f64>, ends: Option<(f64, f64)>) -> Figure {
    Figure {
        value,
        low: ends.map(|ends| ends.0),
        high: ends.map(|ends| ends.1),
    }
}

/// A run that is not on disk.
pub(crate) fn entry(model: &str, ipw: Option<f64>) -> Entry {
    Entry {
        rank: None,
        place: model.to_owned(),
        facts: Facts {
            model: model.to_owned(),
            directory: format!("runs/{model}"),
            dataset: Some("starter".to_owned()),
            dataset_name: Some("starter".to_owned()),
            hardware: Some("H".to_owned()),
            energy: How::Measured,
            queries: 10,
            ..Facts::default()
        },
        metrics: vec![
            (Metric::Ipw, figure(ipw, None)),
            (Metric::Accuracy, figure(Some(0.5), Some((0.2, 0.8)))),
            (Metric::JoulesPerQuery, figure(Some(2.0), Some((1.5, 2.5)))),
        ],
        marks: Vec::new(),
        submission: Value::Null,
        graded: 10,
        queries: (10, 1),
    }
}

/// A board of one section.
pub(crate) fn board(runs: Vec<Entry>) -> Board {
    let mut section = Section {
        dataset: "starter".to_owned(),
        energy: How::Measured,
        basis: Some("gpu".to_owned()),
        runs,
        too_few: Vec::new(),
    };
    section.rank(Metric::Ipw);
    Board {
        sort: Metric::Ipw,
        sections: vec![section],
        not_ranked: vec![NotRanked {
            directory: "runs/broken".to_owned(),
            reason: "it has no rows".to_owned(),
        }],
        filtered_out: 0,
    }
}
