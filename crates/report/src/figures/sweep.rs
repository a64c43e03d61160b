//! Throughput, latency and energy over the loads of a sweep.

use ipw_analysis::saturation::Knee;
use ipw_findings::sweep::{Point, SweepResult};
use ipw_plot::{Axis, Caption, Heading, Origin, Panel, Quantity, SweepCurves, SweepLine, Unit};

use super::Drawing;

/// One panel for each metric that the steps have.
fn panels(swept: &SweepResult) -> Vec<Panel> {
    let origin = if swept.points.iter().any(|point| point.is_estimated) {
        Origin::Estimated
    } else {
        Origin::Measured
    };
    let line = |name: &str, of: fn(&Point) -> Option<f64>, origin| {
        let known = |point: &Point| Some((point.load, Quantity::exact(of(point)?)));
        let points: Vec<_> = swept.points.iter().filter_map(known).collect();
        (!points.is_empty()).then(|| SweepLine {
            name: name.to_owned(),
            points,
            origin,
        })
    };
    let panel = |y, lines: Vec<Option<SweepLine>>| {
        let lines: Vec<_> = lines.into_iter().flatten().collect();
        (!lines.is_empty()).then_some(Panel { y, lines })
    };
    let measured = Origin::Measured;
    [
        panel(
            Axis::linear("Queries served", Unit::QueriesPerSecond),
            vec![
                line("served", |point| point.requests_per_second, measured),
                line(
                    "within the SLO",
                    |point| point.goodput_requests_per_second,
                    measured,
                ),
            ],
        ),
        panel(
            Axis::linear("Time of a query", Unit::Seconds),
            vec![
                line("p50", |point| point.latency_p50, measured),
                line("p99", |point| point.latency_p99, measured),
            ],
        ),
        panel(
            Axis::linear("Output tokens", Unit::TokensPerSecond),
            vec![line(
                "output tokens",
                |point| point.tokens_per_second,
                measured,
            )],
        ),
        panel(
            Axis::linear("Energy per output token", Unit::JoulesPerToken),
            vec![line(
                "energy per output token",
                |point| point.joules_per_output_token,
                origin,
            )],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The curves; `None` if no step has data.
pub fn figure(swept: &SweepResult) -> Option<Drawing> {
    let panels = panels(swept);
    if panels.is_empty() {
        return None;
    }
    let (name, unit) = match swept.axis.as_str() {
        "rate" => ("Queries sent", Unit::QueriesPerSecond),
        _ => ("Queries in flight", Unit::Queries),
    };
    let what = "Effect of load";
    let figure = SweepCurves {
        heading: Heading::new(
            what,
            Caption {
                n: Some(swept.points.len()),
                interval: None,
                method: None,
                notes: vec!["one run per load; times from the planned send".to_owned()],
            },
        ),
        load: Axis::linear(name, unit),
        panels,
        knee: match swept.knee {
            Knee::Found { recommended, .. } => Some(recommended.load),
            Knee::NotReached { .. } | Knee::CannotTell { .. } => None,
        },
    };
    Some(Drawing::new("sweep", what, figure, SweepCurves::svg))
}
