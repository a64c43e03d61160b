//! Synthetic data that resembles runs, with the same numbers every time.

use ipw_plot::{
    Arrangement, Axis, Band, Bar, Caption, CompareBars, Correctness, Curve, Density, Difference,
    Ecdf, Forest, Group, Heading, Interval, Mark, Origin, Panel, Pareto, PowerSource,
    PowerTimeline, Quantity, QueryOutcome, Run, Samples, Scatter, Segment, Slot, Span, StackedBars,
    Style, Subject, SweepCurves, SweepLine, Unit,
};

/// A figure with the name of its file.
pub(crate) type Drawing = (&'static str, Box<dyn Fn(&Style) -> String>);

/// Every figure.
pub(crate) fn figures() -> Vec<Drawing> {
    vec![
        ("ttft", drawing(ttft(), Scatter::svg)),
        ("energy", drawing(energy(), Scatter::svg)),
        ("power", drawing(power(), Scatter::svg)),
        ("latency-many", drawing(many(), Scatter::svg)),
        ("completion_tokens_kde", drawing(tokens(), Density::svg)),
        ("ecdf", drawing(ecdf(), Ecdf::svg)),
        (
            "timeline",
            drawing(timeline(Arrangement::Overlaid, 24), PowerTimeline::svg),
        ),
        (
            "timeline-stacked",
            drawing(timeline(Arrangement::Stacked, 900), PowerTimeline::svg),
        ),
        ("bars", drawing(bars(), StackedBars::svg)),
        ("correctness", drawing(correctness(), Correctness::svg)),
        ("forest", drawing(forest(), Forest::svg)),
        ("sweep", drawing(sweep(), SweepCurves::svg)),
        ("pareto", drawing(pareto(), Pareto::svg)),
        ("compare", drawing(compare(), CompareBars::svg)),
        (
            "empty",
            drawing(
                Scatter {
                    points: Vec::new(),
                    curves: Vec::new(),
                    ..ttft()
                },
                Scatter::svg,
            ),
        ),
    ]
}

fn drawing<T: 'static>(figure: T, svg: fn(&T, &Style) -> String) -> Box<dyn Fn(&Style) -> String> {
    Box::new(move |style| svg(&figure, style))
}

/// Pseudo-random numbers: a multiplicative generator (Lehmer).
struct Numbers(u64);

impl Numbers {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0 * 48_271 % 2_147_483_647;
        f64::from(u32::try_from(self.0).unwrap_or(1)) / 2_147_483_647.0
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    fn log_normal(&mut self, median: f64, sigma: f64) -> f64 {
        median * (self.normal() * sigma).exp()
    }
}

fn heading(title: &str, n: usize, interval: Option<&str>, method: &str) -> Heading {
    let caption = Caption {
        n: Some(n),
        interval: interval.map(str::to_owned),
        method: Some(method.to_owned()),
        notes: Vec::new(),
    };
    Heading::new(title, caption)
}

fn straight(numbers: &mut Numbers, n: usize, fit: (f64, f64), noise: f64) -> Vec<(f64, f64)> {
    (0..n)
        .map(|_| {
            let x = numbers.log_normal(180.0, 0.8).round().clamp(4.0, 2_000.0);
            (
                x,
                (fit.0 + fit.1 * x) * (1.0 + noise * numbers.normal()).max(0.2),
            )
        })
        .collect()
}

fn fitted(fit: (f64, f64), r_squared: f64, to: f64) -> Curve {
    let band = (0..=40)
        .map(|step| {
            let x = to * (f64::from(step) / 40.0).powi(3);
            let half = fit.0 * 0.1 + (x - 230.0).abs() * fit.1 * 0.02;
            let y = fit.0 + fit.1 * x;
            Band {
                at: x,
                low: y - half,
                high: y + half,
            }
        })
        .collect();
    Curve::linear(fit.0, fit.1, Some(r_squared), 0.0, to).with_band(band)
}

fn ttft() -> Scatter {
    let mut numbers = Numbers(11);
    Scatter {
        heading: heading(
            "Time to first token against prompt length: SmolLM2-135M on Ryzen 7 7840U",
            256,
            Some("95 % interval of the fit"),
            "stamped at the socket",
        ),
        x: Axis::linear("Prompt", Unit::Tokens),
        y: Axis::linear("Time to first token", Unit::Seconds),
        point: "query".to_owned(),
        points: straight(&mut numbers, 256, (0.021, 0.000_61), 0.12),
        curves: vec![fitted((0.021, 0.000_61), 0.913, 1_100.0)],
        origin: Origin::Measured,
    }
}

fn energy() -> Scatter {
    let mut numbers = Numbers(12);
    Scatter {
        heading: heading(
            "Energy against tokens: Qwen2.5-7B on a laptop without counters",
            180,
            Some("95 % interval of the fit"),
            "estimated from load and rated power",
        ),
        x: Axis::log("Prompt and completion", Unit::Tokens),
        y: Axis::log("Energy", Unit::Joules),
        point: "query".to_owned(),
        points: straight(&mut numbers, 180, (4.0, 0.31), 0.16),
        curves: vec![fitted((4.0, 0.31), 0.87, 1_500.0)],
        origin: Origin::Estimated,
    }
}

fn power() -> Scatter {
    let mut numbers = Numbers(13);
    let points = (0..640)
        .map(|_| {
            let x = numbers.log_normal(220.0, 0.7).clamp(8.0, 1_800.0);
            (x, 96.0 + 21.0 * x.ln() + 9.0 * numbers.normal())
        })
        .collect();
    Scatter {
        heading: heading(
            "Mean power against tokens: Llama-3.1-8B on one A100",
            640,
            None,
            "NVML energy counter, board power",
        ),
        x: Axis::linear("Prompt and completion", Unit::Tokens),
        y: Axis::linear("Power", Unit::Watts),
        point: "query".to_owned(),
        points,
        curves: vec![
            Curve::linear(184.0, 0.062, Some(0.61), 8.0, 1_800.0),
            Curve::logarithmic(96.0, 21.0, Some(0.78), 8.0, 1_800.0),
        ],
        origin: Origin::Measured,
    }
}

fn many() -> Scatter {
    let mut numbers = Numbers(14);
    Scatter {
        heading: heading(
            "Latency against completion length: 60,000 queries",
            60_000,
            Some("95 % interval of the fit"),
            "stamped at the socket",
        ),
        x: Axis::linear("Completion", Unit::Tokens),
        y: Axis::linear("Latency", Unit::Seconds),
        point: "query".to_owned(),
        points: straight(&mut numbers, 60_000, (0.2, 0.011), 0.14),
        curves: vec![fitted((0.2, 0.011), 0.94, 2_000.0)],
        origin: Origin::Measured,
    }
}

fn tokens() -> Density {
    let mut numbers = Numbers(15);
    let samples: Vec<f64> = (0..256)
        .map(|_| numbers.log_normal(170.0, 0.55).round())
        .collect();
    let count = 256.0;
    let mean = samples.iter().sum::<f64>() / count;
    let wide = 26.0;
    let curve = (0..512)
        .map(|step| {
            let x = f64::from(step) * 1.6;
            let bell = |sample: &f64| (-0.5 * ((x - sample) / wide).powi(2)).exp();
            (
                x,
                samples.iter().map(bell).sum::<f64>() / (count * wide * 2.506_628),
            )
        })
        .collect();
    let mut sorted = samples.clone();
    sorted.sort_by(f64::total_cmp);
    Density {
        heading: heading(
            "Completion length: SmolLM2-135M on starter",
            256,
            None,
            "Gaussian kernel, bandwidth 26 tokens",
        ),
        x: Axis::linear("Completion", Unit::Tokens),
        y: Axis::linear("Density", Unit::Other("share per token".to_owned())),
        curve,
        samples,
        mean: Some(mean),
        median: Some(sorted[128]),
    }
}

fn series(name: &str, seed: u64, n: usize, median: f64, slow: f64) -> Samples {
    let mut numbers = Numbers(seed);
    let mut values: Vec<f64> = (0..n)
        .map(|_| {
            let base = numbers.log_normal(median, 0.22);
            if numbers.uniform() < slow {
                base * 4.0
            } else {
                base
            }
        })
        .collect();
    values.sort_by(f64::total_cmp);
    let all = f64::from(u32::try_from(n).unwrap_or(1));
    let mark = |share: f64, spread: f64| {
        let at = values
            .iter()
            .enumerate()
            .find(|(index, _)| f64::from(u32::try_from(*index + 1).unwrap_or(0)) / all >= share);
        at.map(|(_, value)| Mark {
            share,
            at: Quantity::within(*value, value * (1.0 - spread), value * (1.0 + spread)),
        })
    };
    let marks = [mark(0.5, 0.02), mark(0.9, 0.05), mark(0.99, 0.14)]
        .into_iter()
        .flatten()
        .collect();
    let band = values
        .iter()
        .enumerate()
        .step_by(20)
        .map(|(index, value)| {
            let share = f64::from(u32::try_from(index).unwrap_or(0)) / all;
            let half = 1.96 * (share * (1.0 - share) / all).sqrt();
            Band {
                at: *value,
                low: (share - half).max(0.0),
                high: (share + half).min(0.9999),
            }
        })
        .collect();
    Samples {
        name: name.to_owned(),
        values,
        band,
        marks,
    }
}

fn ecdf() -> Ecdf {
    Ecdf {
        heading: heading(
            "Latency and its tail: closed loop, 8 in flight, Llama-3.1-8B on one A100",
            4_000,
            Some("95 % interval of shares and percentiles"),
            "stamped at the socket",
        ),
        x: Axis::log("Latency", Unit::Seconds),
        of: "queries".to_owned(),
        series: vec![
            series("from due time", 21, 2_000, 1.9, 0.02),
            series("from sending", 22, 2_000, 1.4, 0.008),
        ],
    }
}

fn source(name: &str, seed: u64, rest: f64, busy: f64, origin: Origin) -> PowerSource {
    let mut numbers = Numbers(seed);
    let slots = (0..600)
        .map(|index| {
            let at = f64::from(index) * 0.1;
            let load = if (5.0..52.0).contains(&at) {
                0.75 + 0.25 * (at * 0.9).sin()
            } else {
                0.0
            };
            let mean = rest + (busy - rest) * load + numbers.normal() * busy * 0.012;
            let half = match origin {
                Origin::Measured => busy * 0.02 + (busy - rest) * load * 0.1,
                Origin::Estimated => mean * 0.3,
            };
            let known = !(310..326).contains(&index) || origin == Origin::Estimated;
            Slot {
                at,
                mean: known.then_some(mean),
                range: known.then_some(Interval {
                    low: mean - half,
                    high: mean + half,
                }),
            }
        })
        .collect();
    PowerSource {
        name: name.to_owned(),
        slots,
        idle: Some(rest),
        origin,
    }
}

fn timeline(arrangement: Arrangement, queries: usize) -> PowerTimeline {
    let mut numbers = Numbers(31);
    let every = 46.0 / f64::from(u32::try_from(queries).unwrap_or(1));
    let spans = (0..u32::try_from(queries).unwrap_or(0))
        .map(|index| {
            let start = 5.0 + f64::from(index) * every;
            let ending = match index % 11 {
                4 => QueryOutcome::Truncated,
                9 => QueryOutcome::Failed,
                _ => QueryOutcome::Complete,
            };
            Span {
                start,
                end: start + numbers.log_normal(4.0, 0.4),
                ending,
            }
        })
        .collect();
    let mut sources = vec![
        source("GPU 0", 32, 58.0, 292.0, Origin::Measured),
        source("CPU package", 33, 22.0, 71.0, Origin::Measured),
    ];
    sources.push(source(
        "rest of the machine",
        34,
        30.0,
        44.0,
        Origin::Estimated,
    ));
    PowerTimeline {
        heading: heading(
            "Power over time: Llama-3.1-8B on one A100",
            queries,
            None,
            "NVML 50 ms, RAPL 10 ms; line: mean, band: minimum to maximum; gap: no reading",
        ),
        sources,
        arrangement,
        queries: spans,
    }
}

fn bars() -> StackedBars {
    let segment = |name: &str, value: f64, origin: Origin| Segment {
        name: name.to_owned(),
        value: value / 1_000.0,
        origin,
    };
    let bar = |name: &str, values: [f64; 4]| {
        let measured: f64 = values[..3].iter().sum::<f64>() / 1_000.0;
        let estimated = values[3] / 1_000.0;
        Bar {
            name: name.to_owned(),
            segments: vec![
                segment("prefill, GPU", values[0], Origin::Measured),
                segment("decode, GPU", values[1], Origin::Measured),
                segment("decode, CPU", values[2], Origin::Measured),
                segment("rest of the machine", values[3], Origin::Estimated),
            ],
            measured: Some(Interval {
                low: measured * 0.95,
                high: measured * 1.05,
            }),
            estimated: Some(Interval {
                low: estimated * 0.6,
                high: estimated * 1.4,
            }),
        }
    };
    StackedBars {
        heading: heading(
            "Energy per token by phase and source: Llama-3.1-8B on one A100",
            1_024,
            Some("95 % bootstrap interval of the sum"),
            "NVML and RAPL counters",
        ),
        bar: "Queries in flight".to_owned(),
        y: Axis::linear("Energy per token", Unit::JoulesPerToken),
        bars: vec![
            bar("1", [310.0, 1_840.0, 420.0, 390.0]),
            bar("4", [290.0, 760.0, 180.0, 160.0]),
            bar("16", [270.0, 330.0, 80.0, 70.0]),
            bar("64", [262.0, 196.0, 40.0, 35.0]),
        ],
    }
}

fn correctness() -> Correctness {
    let group = |name: &str, seed: u64, n: usize, median: f64| {
        let mut numbers = Numbers(seed);
        let mut values: Vec<f64> = (0..n).map(|_| numbers.log_normal(median, 0.6)).collect();
        values.sort_by(f64::total_cmp);
        let quartiles = Some([values[n / 4], values[n / 2], values[n * 3 / 4]]);
        Group {
            name: name.to_owned(),
            values,
            quartiles,
        }
    };
    Correctness {
        heading: heading(
            "Energy of right and of wrong answers: Qwen2.5-7B on starter",
            512,
            None,
            "RAPL counters, package and memory, above idle",
        ),
        x: Axis::log("Energy per query", Unit::Joules),
        groups: vec![
            group("correct", 41, 331, 38.0),
            group("wrong", 42, 181, 67.0),
        ],
        origin: Origin::Measured,
    }
}

fn forest() -> Forest {
    let subject = |name: &str, n: usize, value: f64| {
        let all = f64::from(u32::try_from(n).unwrap_or(1));
        let half = 1.96 * (value * (1.0 - value) / all).sqrt();
        Subject {
            name: name.to_owned(),
            value: Quantity::within(value, (value - half).max(0.0), (value + half).min(1.0)),
            n: Some(n),
        }
    };
    Forest {
        heading: heading(
            "Accuracy by subject: Qwen2.5-7B on starter",
            256,
            Some("95 % Wilson interval"),
            "graded by exact, numeric and choice",
        ),
        x: Axis::linear("Accuracy", Unit::Percent),
        row: "Subject".to_owned(),
        subjects: vec![
            subject("arithmetic", 48, 0.875),
            subject("geography", 40, 0.925),
            subject("logic", 32, 0.531),
            subject("reading comprehension", 36, 0.806),
            subject("physics", 28, 0.643),
            subject("history", 24, 0.792),
            subject("code", 24, 0.458),
            subject("chemistry", 24, 0.583),
        ],
        overall: Some(Quantity::within(0.727, 0.669, 0.778)),
    }
}

fn sweep() -> SweepCurves {
    let loads = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
    let line = |name: &str, values: [f64; 7], spread: f64, origin: Origin| SweepLine {
        name: name.to_owned(),
        points: loads
            .into_iter()
            .zip(values)
            .map(|(load, value)| {
                (
                    load,
                    Quantity::within(value, value * (1.0 - spread), value * (1.0 + spread)),
                )
            })
            .collect(),
        origin,
    };
    let measured = Origin::Measured;
    SweepCurves {
        heading: heading(
            "Sweep over concurrency: Llama-3.1-8B on one A100",
            200,
            Some("95 % interval per step"),
            "n per step; SLO: first token within 500 ms",
        ),
        load: Axis::log("Concurrency", Unit::Other("queries in flight".to_owned())),
        panels: vec![
            Panel {
                y: Axis::linear("Throughput", Unit::TokensPerSecond),
                lines: vec![
                    line(
                        "throughput",
                        [92.0, 180.0, 350.0, 660.0, 1_120.0, 1_350.0, 1_380.0],
                        0.03,
                        measured,
                    ),
                    line(
                        "goodput",
                        [92.0, 180.0, 348.0, 640.0, 1_010.0, 760.0, 190.0],
                        0.05,
                        measured,
                    ),
                ],
            },
            Panel {
                y: Axis::log("Latency", Unit::Seconds),
                lines: vec![
                    line("p50", [1.4, 1.45, 1.5, 1.6, 1.9, 3.1, 6.4], 0.03, measured),
                    line("p90", [1.9, 1.95, 2.1, 2.3, 2.9, 5.2, 11.0], 0.06, measured),
                    line("p99", [2.4, 2.5, 2.8, 3.3, 4.8, 10.0, 24.0], 0.15, measured),
                ],
            },
            Panel {
                y: Axis::linear("Energy per token", Unit::JoulesPerToken),
                lines: vec![
                    line(
                        "GPU",
                        [2.3, 1.3, 0.75, 0.44, 0.28, 0.23, 0.225],
                        0.04,
                        measured,
                    ),
                    line(
                        "rest",
                        [0.9, 0.5, 0.28, 0.16, 0.1, 0.08, 0.08],
                        0.3,
                        Origin::Estimated,
                    ),
                ],
            },
            Panel {
                y: Axis::linear("Mean power", Unit::Watts),
                lines: vec![line(
                    "GPU",
                    [212.0, 234.0, 262.0, 290.0, 313.0, 311.0, 310.0],
                    0.02,
                    measured,
                )],
            },
        ],
        knee: Some(22.0),
    }
}

fn pareto() -> Pareto {
    let run = |name: &str, group: &str, cost: f64, benefit: f64, origin: Origin| Run {
        name: name.to_owned(),
        group: group.to_owned(),
        cost: Quantity::within(cost, cost * 0.9, cost * 1.12),
        benefit: Quantity::within(benefit, benefit - 0.035, benefit + 0.032),
        origin,
    };
    let measured = Origin::Measured;
    Pareto {
        heading: heading(
            "Accuracy against energy: eleven runs on starter",
            256,
            Some("95 % intervals in both directions"),
            "hollow: estimated, with a separate front",
        ),
        x: Axis::log("Energy per query", Unit::JoulesPerQuery),
        y: Axis::linear("Accuracy", Unit::Percent),
        runs: vec![
            run("SmolLM2-135M Q4", "SmolLM2", 1.9, 0.41, measured),
            run("SmolLM2-360M Q4", "SmolLM2", 4.3, 0.52, measured),
            run("SmolLM2-1.7B Q4", "SmolLM2", 17.0, 0.63, measured),
            run("SmolLM2-1.7B Q8", "SmolLM2", 24.0, 0.64, measured),
            run("Qwen2.5-0.5B Q8", "Qwen2.5", 7.5, 0.55, measured),
            run("Qwen2.5-1.5B Q4", "Qwen2.5", 14.0, 0.66, measured),
            run("Qwen2.5-7B Q4", "Qwen2.5", 58.0, 0.79, measured),
            run("Qwen2.5-7B F16", "Qwen2.5", 130.0, 0.80, measured),
            run("Llama-3.2-3B Q4", "Llama", 33.0, 0.70, measured),
            run(
                "Llama-3.1-8B Q4 (laptop)",
                "Llama",
                71.0,
                0.75,
                Origin::Estimated,
            ),
            run(
                "Llama-3.2-1B Q4 (laptop)",
                "Llama",
                8.0,
                0.58,
                Origin::Estimated,
            ),
        ],
    }
}

fn compare() -> CompareBars {
    let row = |name: &str, change: f64, half: f64, lower_is_better: bool| Difference {
        name: name.to_owned(),
        change: Quantity::within(change, change - half, change + half),
        lower_is_better,
    };
    CompareBars {
        heading: heading(
            "Qwen2.5-7B Q4 against F16 on the same machine",
            256,
            Some("95 % paired bootstrap interval"),
            "tolerance 2 %",
        ),
        differences: vec![
            row("Energy per query", -0.31, 0.04, true),
            row("Energy per token", -0.29, 0.03, true),
            row("Latency p50", -0.22, 0.015, true),
            row("Latency p99", -0.09, 0.12, true),
            row("Time to first token", 0.07, 0.03, true),
            row("Throughput", 0.24, 0.02, false),
            row("Accuracy", -0.012, 0.03, false),
            row("Accuracy per joule", 0.41, 0.07, false),
        ],
        tolerance: Some(0.02),
    }
}
