//! Any input gives a readable SVG without NaN, infinity or open tags.

use ipw_plot::{
    Arrangement, Axis, Band, Bar, Caption, CompareBars, Correctness, Curve, Density, Difference,
    Ecdf, Forest, Group, Heading, Interval, Mark, Mode, Origin, Panel, Pareto, PowerSource,
    PowerTimeline, Quantity, QueryOutcome, Run, Samples, Scatter, Segment, Slot, Span, StackedBars,
    Style, Subject, SweepCurves, SweepLine, Unit,
};
use proptest::prelude::*;

const NUMBERS: [f64; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.0 + f64::EPSILON,
    1e-300,
    -1e-300,
    5e-324,
    1e300,
    -1e300,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    1e15,
    999_999.999_999,
    123.456,
    1e-9,
    86_400.0,
];

const WORDS: [&str; 9] = [
    "",
    "plain",
    "<script>alert('x')</script>",
    "a & b \"quoted\" 'twice' ]]>",
    "control \u{0}\u{1}\u{8}\u{b}\u{1f}\u{7f}\u{85}\u{fffe}\u{ffff} signs",
    "\u{202e}right to left\u{2066} עברית العربية",
    "two\nlines\tand a tab\r",
    "a name that is very long, far longer than any label that a figure has room for, and then some",
    "模型 🚀 ﷽",
];

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => prop::sample::select(NUMBERS.to_vec()),
        2 => -1e3..1e3_f64,
        1 => any::<f64>(),
    ]
}

fn numbers() -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![
        1 => Just(Vec::new()),
        1 => number().prop_map(|one| vec![one]),
        1 => (number(), 1..30_usize).prop_map(|(same, count)| vec![same; count]),
        5 => prop::collection::vec(number(), 0..40),
    ]
}

/// Numbers and texts for every figure.
#[derive(Debug, Clone)]
struct Input {
    one: Vec<f64>,
    other: Vec<f64>,
    words: Vec<&'static str>,
    log: bool,
    flip: bool,
    size: (f64, f64),
}

fn input() -> impl Strategy<Value = Input> {
    let words = prop::collection::vec(prop::sample::select(WORDS.to_vec()), 6);
    (
        numbers(),
        numbers(),
        words,
        any::<bool>(),
        any::<bool>(),
        (number(), number()),
    )
        .prop_map(|(one, other, words, log, flip, size)| Input {
            one,
            other,
            words,
            log,
            flip,
            size,
        })
}

impl Input {
    fn pairs(&self) -> Vec<(f64, f64)> {
        self.one
            .iter()
            .copied()
            .zip(self.other.iter().copied())
            .collect()
    }

    fn quantities(&self) -> Vec<Quantity> {
        let quantity = |(index, pair): (usize, (f64, f64))| {
            if index % 2 == 0 {
                Quantity::exact(pair.0)
            } else {
                Quantity::within(pair.0, pair.1, pair.0)
            }
        };
        self.pairs().into_iter().enumerate().map(quantity).collect()
    }

    fn bands(&self) -> Vec<Band> {
        self.pairs()
            .into_iter()
            .map(|(at, low)| Band { at, low, high: at })
            .collect()
    }

    fn word(&self, index: usize) -> String {
        self.words[index % self.words.len()].to_owned()
    }

    fn heading(&self) -> Heading {
        let caption = Caption {
            n: Some(self.one.len()),
            interval: Some(self.word(1)),
            method: Some(self.word(2)),
            notes: vec![self.word(3); 4],
        };
        Heading::new(&self.word(0), caption)
    }

    fn axis(&self, index: usize) -> Axis {
        let unit = match index % 5 {
            0 => Unit::Seconds,
            1 => Unit::Joules,
            2 => Unit::Percent,
            3 => Unit::Other(self.word(4)),
            _ => Unit::Watts,
        };
        Axis {
            name: self.word(index),
            unit,
            log: self.log,
        }
    }

    fn origin(&self, index: usize) -> Origin {
        if index.is_multiple_of(2) == self.flip {
            Origin::Measured
        } else {
            Origin::Estimated
        }
    }

    fn first(&self) -> Option<f64> {
        self.one.first().copied()
    }

    fn points_and_curves(&self, style: &Style) -> Vec<String> {
        let curve = |name: usize| Curve {
            name: self.word(name),
            points: self.pairs(),
            band: self.bands(),
        };
        let slope = self.first().unwrap_or(1.0);
        let scatter = Scatter {
            heading: self.heading(),
            x: self.axis(0),
            y: self.axis(1),
            point: self.word(5),
            points: self.pairs(),
            curves: vec![
                curve(1),
                Curve::linear(slope, slope, Some(slope), slope, 1.0),
                Curve::logarithmic(slope, slope, None, 0.0, slope),
            ],
            origin: self.origin(0),
        };
        let density = Density {
            heading: self.heading(),
            x: self.axis(2),
            y: self.axis(3),
            curve: self.pairs(),
            samples: self.one.clone(),
            mean: self.first(),
            median: self.other.first().copied(),
        };
        let samples = |name: usize, values: &[f64]| Samples {
            name: self.word(name),
            values: values.to_vec(),
            band: self.bands(),
            marks: self
                .quantities()
                .into_iter()
                .zip(&self.other)
                .map(|(at, share)| Mark { share: *share, at })
                .collect(),
        };
        let ecdf = Ecdf {
            heading: self.heading(),
            x: self.axis(0),
            of: self.word(2),
            series: vec![samples(1, &self.one), samples(2, &self.other)],
        };
        let group = |name: usize, values: &[f64]| Group {
            name: self.word(name),
            values: values.to_vec(),
            quartiles: self.first().map(|first| [first, count(values), first]),
        };
        let correctness = Correctness {
            heading: self.heading(),
            x: self.axis(1),
            groups: vec![group(0, &self.one), group(1, &self.other)],
            origin: self.origin(1),
        };
        vec![
            scatter.svg(style),
            density.svg(style),
            ecdf.svg(style),
            correctness.svg(style),
        ]
    }

    fn rows(&self, style: &Style) -> Vec<String> {
        let quantities = || self.quantities().into_iter().enumerate();
        let forest = Forest {
            heading: self.heading(),
            x: self.axis(2),
            row: self.word(1),
            subjects: quantities()
                .map(|(index, value)| Subject {
                    name: self.word(index),
                    value,
                    n: Some(index),
                })
                .collect(),
            overall: self.quantities().pop(),
        };
        let compare = CompareBars {
            heading: self.heading(),
            differences: quantities()
                .map(|(index, change)| Difference {
                    name: self.word(index),
                    change,
                    lower_is_better: index % 2 == 0,
                })
                .collect(),
            tolerance: self.first(),
        };
        let interval = self.first().map(|low| Interval {
            low,
            high: count(&self.one),
        });
        let bars = StackedBars {
            heading: self.heading(),
            bar: self.word(3),
            y: self.axis(1),
            bars: self
                .one
                .chunks(3)
                .enumerate()
                .map(|(index, values)| Bar {
                    name: self.word(index),
                    segments: values
                        .iter()
                        .enumerate()
                        .map(|(part, value)| Segment {
                            name: self.word(part),
                            value: *value,
                            origin: self.origin(part),
                        })
                        .collect(),
                    measured: interval,
                    estimated: interval,
                })
                .collect(),
        };
        vec![forest.svg(style), compare.svg(style), bars.svg(style)]
    }

    fn panels(&self, style: &Style) -> Vec<String> {
        let quantities = || self.quantities().into_iter();
        let line = |index: usize| SweepLine {
            name: self.word(index),
            points: self.other.iter().copied().zip(quantities()).collect(),
            origin: self.origin(index),
        };
        let sweep = SweepCurves {
            heading: self.heading(),
            load: self.axis(3),
            panels: (0..self.other.len() % 6)
                .map(|index| Panel {
                    y: self.axis(index),
                    lines: vec![line(index), line(index + 1)],
                })
                .collect(),
            knee: self.first(),
        };
        let pareto = Pareto {
            heading: self.heading(),
            x: self.axis(1),
            y: self.axis(2),
            runs: quantities()
                .zip(quantities().rev())
                .enumerate()
                .map(|(index, (cost, benefit))| Run {
                    name: self.word(index),
                    group: self.word(index / 2),
                    cost,
                    benefit,
                    origin: self.origin(index),
                })
                .collect(),
        };
        let source = |index: usize| PowerSource {
            name: self.word(index),
            slots: self
                .pairs()
                .into_iter()
                .enumerate()
                .map(|(order, (at, watts))| Slot {
                    at,
                    mean: (order % 5 != 4).then_some(watts),
                    range: (order % 3 == 0).then_some(Interval {
                        low: at,
                        high: watts,
                    }),
                })
                .collect(),
            idle: self.first(),
            origin: self.origin(index),
        };
        let timeline = PowerTimeline {
            heading: self.heading(),
            sources: vec![source(0), source(1), source(2)],
            arrangement: if self.log {
                Arrangement::Stacked
            } else {
                Arrangement::Overlaid
            },
            queries: self
                .pairs()
                .into_iter()
                .map(|(start, end)| Span {
                    start,
                    end,
                    ending: QueryOutcome::Failed,
                })
                .collect(),
        };
        vec![sweep.svg(style), pareto.svg(style), timeline.svg(style)]
    }
}

fn count(values: &[f64]) -> f64 {
    values.iter().map(|_| 1.0).sum()
}

fn check(svg: &str) {
    let document = roxmltree::Document::parse(svg).expect("a figure is XML");
    let geometry = [
        "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "width", "height", "d",
    ];
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        assert!(!node.has_tag_name("script"), "{svg}");
        for attribute in node.attributes() {
            let value = attribute.value();
            assert!(
                !value.contains("NaN") && !value.contains("inf"),
                "{value}\n{svg}"
            );
            if geometry.contains(&attribute.name()) {
                let numbers = value.split(|sign: char| sign.is_ascii_alphabetic() || sign == ' ');
                for number in numbers.filter(|number| !number.is_empty()) {
                    let parsed: f64 = number.parse().unwrap_or(f64::NAN);
                    assert!(parsed.abs() <= 1e5, "{}={value}", attribute.name());
                }
            }
            if ["width", "height", "r"].contains(&attribute.name()) {
                assert!(!value.starts_with('-'), "{}={value}", attribute.name());
            }
        }
        let text = node.text().unwrap_or_default();
        assert!(!text.contains("NaN") && !text.contains("∞"), "{text}");
        for number in text.split([' ', '[', ',', ']']) {
            assert!(
                number != "inf" && number != "-inf" && number != "−inf",
                "{text}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_goes_in_a_readable_figure_comes_out(input in input()) {
        let style = Style::new(if input.flip { Mode::Inline } else { Mode::Standalone })
            .with_prefix(&input.word(4))
            .with_size(input.size.0, input.size.1);
        let figures =
            [input.points_and_curves(&style), input.rows(&style), input.panels(&style)].concat();
        for svg in figures {
            check(&svg);
        }
    }
}
