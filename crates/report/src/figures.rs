//! The figures of `ipw plot` and of the report, by id.

mod pareto;
mod power;
mod sweep;

use ipw_analysis::density;
use ipw_analysis::interval::wilson;
use ipw_analysis::percentile::Percentile;
use ipw_analysis::regression::{Fit, LinearFit as FitLine, Regressions, regressions};
use ipw_findings::look::{Line, Look};
use ipw_plot::{
    Axis, Band, Bar, Caption, Correctness, Curve, Density, Ecdf, Forest, Group, Heading, Mark,
    Mode, Origin, Quantity, Samples, Scatter, Segment, StackedBars, Style, Subject, Unit, png,
};

pub use pareto::{of as of_section, over};
pub use sweep::figure as of_sweep;

/// A figure that can be drawn in any style.
pub struct Drawing {
    /// Id that selects the figure.
    pub id: &'static str,
    /// What the figure shows.
    pub title: &'static str,
    draw: Box<dyn Fn(&Style) -> String>,
}

impl Drawing {
    /// A figure from its data and the function that draws it.
    pub fn new<T: 'static>(
        id: &'static str,
        title: &'static str,
        figure: T,
        svg: fn(&T, &Style) -> String,
    ) -> Self {
        Self {
            id,
            title,
            draw: Box::new(move |style| svg(&figure, style)),
        }
    }

    /// Draws the figure in this style.
    pub fn svg(&self, style: &Style) -> String {
        (self.draw)(style)
    }
}

/// File format of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picture {
    /// Scalable, and follows the reader's light or dark theme.
    Svg,
    /// Pixels.
    Png,
}

impl Picture {
    /// All formats.
    pub const ALL: [Self; 2] = [Self::Svg, Self::Png];

    /// Extension of the file name.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
        }
    }
}

/// Pixels per unit of the drawing: sharp in print at the usual column width.
const SCALE: f32 = 2.0;

/// A figure as the bytes of a file.
pub fn content(
    format: Picture,
    svg: impl Fn(&Style) -> String,
) -> Result<Vec<u8>, ipw_plot::PngError> {
    match format {
        Picture::Svg => Ok(svg(&Style::new(Mode::Standalone)).into_bytes()),
        Picture::Png => png(&svg(&Style::new(Mode::Light)), SCALE),
    }
}

/// Id and title of the figure of a sweep.
pub const SWEEP: (&str, &str) = ("sweep", "throughput, time and energy against load");
/// Id and title of the figure over several runs.
pub const PARETO: (&str, &str) = ("pareto", "accuracy against energy, over several runs");

/// All figures, by id and title.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALL.into_iter().chain([SWEEP, PARETO])
}

/// All figures of one run, by id and title.
pub const ALL: [(&str, &str); 10] = [
    ("ttft", "time to first token against tokens of the prompt"),
    ("latency", "time of a query against its tokens"),
    ("energy", "energy of a query against its tokens"),
    ("power", "power of a query against its tokens"),
    ("completion_tokens_kde", "distribution of reply lengths"),
    ("timeline", "power over time, with the queries"),
    ("latency_ecdf", "latencies with their tails"),
    ("energy_by_phase", "energy per token by phase"),
    ("correctness", "energy of right and of wrong answers"),
    ("subjects", "accuracy by subject"),
];

/// Number of points of a fit's band.
const BAND: u32 = 40;
/// Percentiles to mark on a distribution.
const MARKED: [f64; 3] = [0.5, 0.9, 0.99];

/// Draws the wanted figures that have data.
pub fn of(look: &Look<'_>, is_wanted: impl Fn(&str) -> bool) -> Vec<Drawing> {
    let fits = regressions(&look.lines);
    let wanted = ALL.iter().filter(|(id, _)| is_wanted(id));
    wanted
        .filter_map(|(id, _)| figure(id, look, &fits))
        .collect()
}

fn figure(id: &str, look: &Look<'_>, fits: &Regressions) -> Option<Drawing> {
    match id {
        "ttft" => ttft(look, fits),
        "latency" => latency(look, fits),
        "energy" => energy(look, fits),
        "power" => power(look, fits),
        "completion_tokens_kde" => replies(look),
        "timeline" => power::figure(look),
        "latency_ecdf" => ecdf(look),
        "energy_by_phase" => by_phase(look),
        "correctness" => correctness(look),
        _ => subjects(look),
    }
}

fn heading(look: &Look<'_>, what: &str, mut caption: Caption) -> Heading {
    if (look.lines.len() as u64) < look.overview.rows {
        let note = format!("drawn from a sample of {} rows", look.overview.rows);
        caption.notes.push(note);
    }
    let hardware = look.run.summary().hardware_label.as_deref();
    let hardware = hardware.unwrap_or("unknown hardware");
    Heading::new(
        &format!("{what}: {} on {hardware}", look.run.model()),
        caption,
    )
}

fn origin(look: &Look<'_>) -> Origin {
    if look.is_estimated() {
        Origin::Estimated
    } else {
        Origin::Measured
    }
}

/// How the joules were obtained, for captions.
fn method(look: &Look<'_>) -> Option<String> {
    let basis = &look.overview.energy.basis;
    (!basis.is_empty()).then(|| {
        let basis = basis.join(", ");
        if look.is_estimated() {
            format!("estimated from CPU time ({basis})")
        } else {
            format!("measured ({basis})")
        }
    })
}

/// A fit with its confidence band, over the range of its data.
fn curve(fit: &Fit, line: Option<&FitLine>) -> Option<Curve> {
    let (slope, intercept, line) = (fit.slope?, fit.intercept?, line?);
    let curve = Curve::linear(intercept, slope, fit.r2, line.from, line.until);
    let band = (0..=BAND).filter_map(|step| {
        let at = line.from + (line.until - line.from) * f64::from(step) / f64::from(BAND);
        let band = line.band(at)?;
        Some(Band {
            at,
            low: band.mean.low,
            high: band.mean.high,
        })
    });
    Some(curve.with_band(band.collect()))
}

/// Like [`curve`], with logarithmic x.
fn log_curve(fit: &Fit, line: Option<&FitLine>) -> Option<Curve> {
    let (slope, intercept, line) = (fit.slope?, fit.intercept?, line?);
    let (from, until) = (line.from.exp(), line.until.exp());
    Some(Curve::logarithmic(intercept, slope, fit.r2, from, until))
}

fn pairs(
    look: &Look<'_>,
    x: impl Fn(&Line) -> Option<f64>,
    y: impl Fn(&Line) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let pairs = look.lines.iter().filter_map(|line| x(line).zip(y(line)));
    pairs.collect()
}

struct Cloud {
    id: &'static str,
    what: &'static str,
    x: Axis,
    y: Axis,
    points: Vec<(f64, f64)>,
    curves: Vec<Option<Curve>>,
    method: Option<String>,
    origin: Origin,
}

fn scatter(look: &Look<'_>, cloud: Cloud) -> Option<Drawing> {
    if cloud.points.is_empty() {
        return None;
    }
    let curves: Vec<_> = cloud.curves.into_iter().flatten().collect();
    let caption = Caption {
        n: Some(cloud.points.len()),
        interval: (!curves.is_empty()).then(|| "band: 95 % interval of the fit".to_owned()),
        method: cloud.method,
        notes: Vec::new(),
    };
    let what = cloud.what;
    let heading = heading(look, what, caption);
    let figure = Scatter {
        heading,
        x: cloud.x,
        y: cloud.y,
        point: "query".to_owned(),
        points: cloud.points,
        curves,
        origin: cloud.origin,
    };
    Some(Drawing::new(cloud.id, what, figure, Scatter::svg))
}

fn ttft(look: &Look<'_>, fits: &Regressions) -> Option<Drawing> {
    let fit = curve(
        &fits.regressions.input_tokens_vs_ttft,
        fits.lines.input_tokens_vs_ttft.as_ref(),
    );
    scatter(
        look,
        Cloud {
            id: "ttft",
            what: "Time to first token against the prompt",
            x: Axis::linear("Prompt", Unit::Tokens),
            y: Axis::linear("Time to first token", Unit::Seconds),
            points: pairs(
                look,
                |line| line.input_tokens.get(),
                |line| line.first_token.get(),
            ),
            curves: vec![fit],
            method: None,
            origin: Origin::Measured,
        },
    )
}

fn latency(look: &Look<'_>, fits: &Regressions) -> Option<Drawing> {
    let fit = curve(
        &fits.regressions.total_tokens_vs_latency,
        fits.lines.total_tokens_vs_latency.as_ref(),
    );
    scatter(
        look,
        Cloud {
            id: "latency",
            what: "Time of a query against its tokens",
            x: Axis::linear("Prompt and reply", Unit::Tokens),
            y: Axis::linear("Time of the whole query", Unit::Seconds),
            points: pairs(look, Line::all_tokens, |line| line.total.get()),
            curves: vec![fit],
            method: None,
            origin: Origin::Measured,
        },
    )
}

fn energy(look: &Look<'_>, fits: &Regressions) -> Option<Drawing> {
    let fit = curve(
        &fits.regressions.total_tokens_vs_energy,
        fits.lines.total_tokens_vs_energy.as_ref(),
    );
    scatter(
        look,
        Cloud {
            id: "energy",
            what: "Energy of a query against its tokens",
            x: Axis::linear("Prompt and reply", Unit::Tokens),
            y: Axis::linear("Energy of a query", Unit::Joules),
            points: pairs(look, Line::all_tokens, |line| line.joules.get()),
            curves: vec![fit],
            method: method(look),
            origin: origin(look),
        },
    )
}

fn power(look: &Look<'_>, fits: &Regressions) -> Option<Drawing> {
    let (fit, line) = (&fits.regressions, &fits.lines);
    let curves = vec![
        curve(
            &fit.total_tokens_vs_power,
            line.total_tokens_vs_power.as_ref(),
        ),
        log_curve(
            &fit.total_tokens_vs_power_log,
            line.total_tokens_vs_power_log.as_ref(),
        ),
    ];
    scatter(
        look,
        Cloud {
            id: "power",
            what: "A query's share of the power against its tokens",
            x: Axis::linear("Prompt and reply", Unit::Tokens),
            y: Axis::linear("Share of the power", Unit::Watts),
            points: pairs(look, Line::all_tokens, |line| line.share_watts.get()),
            curves,
            method: method(look),
            origin: origin(look),
        },
    )
}

fn replies(look: &Look<'_>) -> Option<Drawing> {
    let lengths = look
        .lines
        .iter()
        .filter_map(|line| line.output_tokens.get());
    let samples: Vec<f64> = lengths.collect();
    let found = density::Density::of(samples.clone())?;
    let caption = Caption {
        n: Some(samples.len()),
        method: Some("Gaussian kernel, 0.9 σ n^−0.2".to_owned()),
        ..Caption::default()
    };
    let what = "Distribution of reply lengths";
    let heading = heading(look, what, caption);
    let figure = Density {
        heading,
        x: Axis::linear("Reply", Unit::Tokens),
        y: Axis::linear("Density", Unit::Other("per token".to_owned())),
        curve: found
            .x
            .iter()
            .copied()
            .zip(found.y.iter().copied())
            .collect(),
        samples,
        mean: Some(found.mean),
        median: Some(found.median),
    };
    Some(Drawing::new(
        "completion_tokens_kde",
        what,
        figure,
        Density::svg,
    ))
}

fn ecdf(look: &Look<'_>) -> Option<Drawing> {
    let series = |name: &str, get: fn(&Line) -> Option<f64>| {
        let values: Vec<f64> = look.lines.iter().filter_map(get).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let marks = MARKED.iter().filter_map(|share| {
            let Percentile::Known { value, low, high } = Percentile::of(&sorted, *share)? else {
                return None;
            };
            Some(Mark {
                share: *share,
                at: Quantity::within(value, low, high),
            })
        });
        Some(Samples {
            name: name.to_owned(),
            marks: marks.collect(),
            values,
            band: Vec::new(),
        })
        .filter(|samples| !samples.values.is_empty())
    };
    let series: Vec<_> = [
        series("first token", |line| line.first_token.get()),
        series("whole query", |line| line.total.get()),
    ]
    .into_iter()
    .flatten()
    .collect();
    let most = series.iter().map(|series| series.values.len()).max()?;
    let caption = Caption {
        n: Some(most),
        interval: Some("marks: percentiles with their 95 % intervals".to_owned()),
        method: Some("from the actual send".to_owned()),
        notes: Vec::new(),
    };
    let what = "Latencies";
    let heading = heading(look, what, caption);
    let figure = Ecdf {
        heading,
        x: Axis::log("Latency", Unit::Seconds),
        of: "queries".to_owned(),
        series,
    };
    Some(Drawing::new("latency_ecdf", what, figure, Ecdf::svg))
}

fn by_phase(look: &Look<'_>) -> Option<Drawing> {
    let origin = origin(look);
    let per_token = look.energy.per_token;
    let bar = |name: &str, segments: Vec<(&str, Option<f64>)>| {
        let segments: Vec<_> = segments
            .into_iter()
            .filter_map(|(name, value)| {
                Some(Segment {
                    name: name.to_owned(),
                    value: value?,
                    origin,
                })
            })
            .collect();
        (!segments.is_empty()).then(|| Bar {
            name: name.to_owned(),
            segments,
            measured: None,
            estimated: None,
        })
    };
    let bars: Vec<_> = [
        bar(
            "per input token, before the first token",
            vec![("prefill", per_token.prefill_joules_per_input_token)],
        ),
        bar(
            "per output token, from the first token on",
            vec![("decode", per_token.decode_joules_per_output_token)],
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    if bars.is_empty() {
        return None;
    }
    let rows = look.energy.phases.prefill.rows;
    let caption = Caption {
        n: usize::try_from(rows).ok(),
        method: method(look),
        ..Caption::default()
    };
    let what = "Energy per token by phase";
    let heading = heading(look, what, caption);
    let figure = StackedBars {
        heading,
        bar: "phase".to_owned(),
        y: Axis::linear("Energy per token", Unit::JoulesPerToken),
        bars,
    };
    Some(Drawing::new(
        "energy_by_phase",
        what,
        figure,
        StackedBars::svg,
    ))
}

fn correctness(look: &Look<'_>) -> Option<Drawing> {
    let group = |name: &str, wanted: bool| {
        let graded = look
            .lines
            .iter()
            .filter(|line| line.is_correct == Some(wanted));
        let mut values: Vec<f64> = graded.filter_map(|line| line.joules.get()).collect();
        values.sort_by(f64::total_cmp);
        let quartile = |share: f64| ipw_core::stats::quantile(&values, share);
        Group {
            name: name.to_owned(),
            quartiles: quartile(0.25)
                .zip(quartile(0.5))
                .zip(quartile(0.75))
                .map(|((low, middle), high)| [low, middle, high]),
            values,
        }
    };
    let groups = vec![group("right", true), group("wrong", false)];
    let n = groups.iter().map(|group| group.values.len()).sum();
    if n == 0 {
        return None;
    }
    let caption = Caption {
        n: Some(n),
        method: method(look),
        ..Caption::default()
    };
    let what = "Energy of right and of wrong answers";
    let heading = heading(look, what, caption);
    let figure = Correctness {
        heading,
        x: Axis::log("Energy of a query", Unit::Joules),
        groups,
        origin: origin(look),
    };
    Some(Drawing::new("correctness", what, figure, Correctness::svg))
}

fn subjects(look: &Look<'_>) -> Option<Drawing> {
    let share = |correct: u64, graded: u64| {
        let share = wilson(correct, graded)?;
        Some(Quantity::within(share.value, share.low, share.high))
    };
    let subjects: Vec<_> = look
        .subjects
        .iter()
        .filter_map(|(name, answers)| {
            Some(Subject {
                name: name.clone(),
                value: share(answers.correct, answers.graded)?,
                n: usize::try_from(answers.graded).ok(),
            })
        })
        .collect();
    if subjects.is_empty() {
        return None;
    }
    let verdicts = look.overview.verdicts;
    let graded = verdicts.correct + verdicts.wrong;
    let caption = Caption {
        n: usize::try_from(graded).ok(),
        interval: Some("95 % intervals (Wilson)".to_owned()),
        ..Caption::default()
    };
    let what = "Accuracy by subject";
    let heading = heading(look, what, caption);
    let figure = Forest {
        heading,
        x: Axis::linear("Right answers", Unit::Percent),
        row: "subject".to_owned(),
        subjects,
        overall: share(verdicts.correct, graded),
    };
    Some(Drawing::new("subjects", what, figure, Forest::svg))
}
