//! Figures of large runs stay small files.

use ipw_plot::{
    Arrangement, Axis, Correctness, Density, Ecdf, Group, Heading, Interval, Origin, PowerSource,
    PowerTimeline, QueryOutcome, Samples, Scatter, Slot, Span, Style, Unit,
};

const MOST_BYTES: usize = 300_000;

fn value(index: u32) -> f64 {
    // Spread without order: fractional parts of multiples of the golden ratio.
    1.0 + 999.0 * (f64::from(index) * 0.618_033_988_75).fract()
}

fn values(count: u32) -> Vec<f64> {
    (0..count).map(value).collect()
}

fn scatter(points: u32) -> Scatter {
    Scatter {
        heading: Heading::default(),
        x: Axis::linear("Prompt", Unit::Tokens),
        y: Axis::linear("Latency", Unit::Seconds),
        point: "query".to_owned(),
        points: (0..points)
            .map(|index| (value(index), value(index * 7 + 3)))
            .collect(),
        curves: Vec::new(),
        origin: Origin::Measured,
    }
}

#[test]
fn a_scatter_stays_small_however_many_points() {
    for points in [5_000, 5_001, 20_000, 400_000] {
        let svg = scatter(points).svg(&Style::default());
        assert!(
            svg.len() < MOST_BYTES,
            "{points} points: {} bytes",
            svg.len()
        );
    }
}

#[test]
fn beyond_five_thousand_points_there_is_a_density_and_lone_points() {
    let mut scatter = scatter(50_000);
    // A cloud in a corner, and one query far from it.
    for point in &mut scatter.points {
        *point = (point.0 / 100.0, point.1 / 100.0);
    }
    scatter.points.push((900.0, 900.0));
    let svg = scatter.svg(&Style::default());
    assert!(svg.contains("h6v6h-6Z"), "no cell");
    assert_eq!(svg.matches("<circle").count(), 1, "the lone one");
    assert_eq!(
        self::scatter(5_000)
            .svg(&Style::default())
            .matches("<circle")
            .count(),
        5_000
    );
}

#[test]
fn the_other_figures_stay_small() {
    let samples = values(200_000);
    let ecdf = Ecdf {
        heading: Heading::default(),
        x: Axis::log("Latency", Unit::Seconds),
        of: "queries".to_owned(),
        series: vec![Samples {
            name: "all".to_owned(),
            values: samples.clone(),
            band: Vec::new(),
            marks: Vec::new(),
        }],
    };
    let density = Density {
        heading: Heading::default(),
        x: Axis::linear("Completion", Unit::Tokens),
        y: Axis::linear("Density", Unit::Other("share per token".to_owned())),
        curve: (0..512)
            .map(|step| (f64::from(step), value(step)))
            .collect(),
        samples: samples.clone(),
        mean: None,
        median: None,
    };
    let correctness = Correctness {
        heading: Heading::default(),
        x: Axis::log("Energy", Unit::Joules),
        groups: vec![Group {
            name: "correct".to_owned(),
            values: samples,
            quartiles: None,
        }],
        origin: Origin::Measured,
    };
    let slots = (0..200_000)
        .map(|index| Slot {
            at: f64::from(index) * 0.01,
            mean: Some(value(index)),
            range: Some(Interval {
                low: 0.0,
                high: 1_000.0,
            }),
        })
        .collect();
    let spans = (0..50_000)
        .map(|index| Span {
            start: f64::from(index) * 0.04,
            end: f64::from(index) * 0.04 + value(index) / 100.0,
            ending: QueryOutcome::Complete,
        })
        .collect();
    let timeline = PowerTimeline {
        heading: Heading::default(),
        sources: vec![PowerSource {
            name: "GPU".to_owned(),
            slots,
            idle: None,
            origin: Origin::Measured,
        }],
        arrangement: Arrangement::Stacked,
        queries: spans,
    };
    let style = Style::default();
    for (name, svg) in [
        ("ecdf", ecdf.svg(&style)),
        ("density", density.svg(&style)),
        ("correctness", correctness.svg(&style)),
        ("timeline", timeline.svg(&style)),
    ] {
        assert!(svg.len() < MOST_BYTES, "{name}: {} bytes", svg.len());
    }
}
