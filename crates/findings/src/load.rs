//! What a run says of its load: latencies with intervals, the steady window, SLOs, the queue.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use ipw_analysis::efficiency::{Gains, Took};
use ipw_analysis::latency::{Latencies, Origin, Row};
use ipw_analysis::metric::Frame;
use ipw_analysis::saturation::queue_trend;
use ipw_analysis::slo::{self, Quantity, Slo, Tally};
use ipw_analysis::steady::{Flights, Load, NotSteady, Served, Window};
use ipw_core::plan::Load as Planned;
use ipw_core::record::{self, Record, SloCheck};
use ipw_core::time::Timestamp;
use ipw_store::instants::Instants;
use ipw_store::summary::{Gained, LoadSummary, SloKept};
use ipw_store::{Run, StoreError};

/// Longest time between a query's end and the start of the next one that does not end the window.
const DIP: f64 = 0.05;
/// Gaps between chunks that are kept at the most: more rows are thinned evenly.
const MOST_GAPS: u64 = 10_000_000;

/// What came out.
#[derive(Debug, Clone)]
pub struct Findings {
    /// What the summary says of the load.
    pub load: LoadSummary,
    /// What energy and time gave: part of `efficiency`.
    pub derived: Gained,
    /// Which time counts for the metrics.
    pub frame: Frame,
}

/// Where a plan's SLO counts from unless it says: an open loop's users come by the plan.
pub fn origin(load: &Planned) -> Origin {
    if load.arrivals.is_open() {
        Origin::Planned
    } else {
        Origin::Sent
    }
}

/// What checks every row against the limits of the plan; `None` without limits.
pub fn slo_check(load: &Planned) -> Option<SloCheck> {
    let slo = Slo::parse(load.slo.as_deref()?, origin(load)).ok()?;
    Some(Arc::new(move |record| kept(&slo, record)))
}

fn kept(slo: &Slo, record: &Record) -> record::SloMark {
    let timing = &record.reply.timing;
    let seconds = |instant: Timestamp| instant.seconds();
    let chunks: Vec<f64> = timing.chunks.iter().copied().map(seconds).collect();
    let verdict = slo.verdict(&Row {
        part: record.part,
        due: Some(seconds(record.due)),
        start: Some(seconds(timing.start)),
        sent: timing.sent.map(seconds),
        first_token: timing.first_token.map(seconds),
        first_answer_token: timing.first_answer_token.map(seconds),
        end: Some(seconds(timing.end)),
        chunks: &chunks,
        output_tokens: record.reply.tokens.output,
        is_answered: record.reply.outcome.is_answered(),
    });
    let names = |quantities: Vec<Quantity>| quantities.into_iter().map(Quantity::name).collect();
    match verdict {
        slo::SloOutcome::Met => record::SloMark {
            is_met: Some(true),
            missed: Vec::new(),
        },
        slo::SloOutcome::Missed { missed } => record::SloMark {
            is_met: Some(false),
            missed: names(missed),
        },
        slo::SloOutcome::Unknown { .. } => record::SloMark::default(),
        slo::SloOutcome::Failed => record::SloMark {
            is_met: Some(false),
            missed: vec!["failed"],
        },
    }
}

/// Reads the rows twice: once for the windows, once for what lies in them.
pub fn findings(run: &Run, plan: &Planned) -> Result<Findings, StoreError> {
    let mut flights = Flights::default();
    let mut chunks = 0;
    run.for_each(|instants| {
        flights.push(&row(instants));
        chunks += instants.chunks.len() as u64;
    })?;
    let mut thinned = Thinned::of(chunks);
    let kind = kind(plan);
    let (windows, not_steady) = split(flights.windows(kind));
    let frame = Frame::of(&flights, Some(kind));
    let mut latencies = Latencies::default();
    let mut served = Served::within(windows.clone());
    let slo = plan
        .slo
        .as_deref()
        .and_then(|text| Slo::parse(text, origin(plan)).ok());
    let (mut tally, mut inside) = (slo.clone().map(Tally::new), slo.map(Tally::new));
    let (mut whole, mut steady) = (Gains::default(), Gains::default());
    run.for_each(|instants| {
        let row = &row(instants);
        served.push(row);
        let window = windows.get(&row.part);
        let is_inside = window
            .zip(row.end)
            .is_some_and(|(window, end)| window.holds(end));
        let took = took(instants);
        whole.push(&took);
        if is_inside {
            steady.push(&took);
        }
        for tally in tally
            .iter_mut()
            .chain(inside.iter_mut().filter(|_| is_inside))
        {
            tally.push(row);
        }
        latencies.push(&thinned.row(instants));
    })?;
    let seconds: f64 = windows.values().map(Window::seconds).sum();
    let queue = plan.arrivals.is_open().then(|| {
        let (part, window) = windows.first_key_value()?;
        Some(queue_trend(
            &flights.spans(*part),
            window.from,
            window.until,
        ))
    });
    let load = LoadSummary {
        load: in_words(plan),
        latency: latencies.finish(),
        gaps_of_every: thinned.of_every,
        steady: served.finish(),
        not_steady,
        queue: queue.flatten(),
        slo: tally.zip(inside).map(|(tally, inside)| SloKept {
            objectives: plan.slo.clone().unwrap_or_default(),
            counted_from: origin(plan),
            whole: tally.finish(None),
            steady: inside.finish((seconds > 0.0).then_some(seconds)),
        }),
    };
    Ok(Findings {
        load,
        derived: Gained {
            whole: whole.finish(),
            steady: (!windows.is_empty()).then(|| steady.finish()),
        },
        frame,
    })
}

/// How the plan sends queries, as the steady window asks.
pub fn kind(plan: &Planned) -> Load {
    match plan.arrivals.concurrency() {
        Some(places) if !plan.arrivals.is_open() => Load::Closed {
            concurrency: places.get() as u64,
            tolerance: DIP,
        },
        _ => Load::Open {
            ramp: plan.ramp.as_secs_f64(),
        },
    }
}

/// Rows of which only so many keep their chunks that all gaps fit into memory.
pub struct Thinned {
    of_every: u64,
    number: u64,
}

impl Thinned {
    /// For the rows of this run.
    pub fn new(run: &Run) -> Result<Self, StoreError> {
        let mut chunks = 0;
        run.for_each(|instants| chunks += instants.chunks.len() as u64)?;
        Ok(Self::of(chunks))
    }

    fn of(chunks: u64) -> Self {
        Self {
            of_every: chunks.div_ceil(MOST_GAPS).max(1),
            number: 0,
        }
    }

    /// Only every so many queries keep their chunks.
    pub fn of_every(&self) -> u64 {
        self.of_every
    }

    /// The next row.
    pub fn row<'a>(&mut self, instants: &Instants<'a>) -> Row<'a> {
        let is_kept = self.number.is_multiple_of(self.of_every);
        self.number += 1;
        let whole = row(instants);
        Row {
            chunks: if is_kept { whole.chunks } else { &[] },
            ..whole
        }
    }
}

type Windows = BTreeMap<u32, Window>;

fn split(windows: BTreeMap<u32, Result<Window, NotSteady>>) -> (Windows, BTreeMap<u32, NotSteady>) {
    let mut found = Windows::new();
    let mut missing = BTreeMap::new();
    for (part, window) in windows {
        match window {
            Ok(window) => drop(found.insert(part, window)),
            Err(reason) => drop(missing.insert(part, reason)),
        }
    }
    (found, missing)
}

/// How queries are sent.
pub fn in_words(plan: &Planned) -> String {
    use ipw_core::plan::Arrivals;
    let capped = |concurrency: &Option<std::num::NonZeroUsize>| {
        concurrency.map_or(String::new(), |most| format!(", at most {most} at a time"))
    };
    let mut words = match &plan.arrivals {
        Arrivals::Sequential => "one after the other".to_owned(),
        Arrivals::Closed { concurrency } => format!("{concurrency} at a time"),
        Arrivals::Open {
            rate,
            process,
            concurrency,
        } => format!(
            "{} a second, {process}{}",
            rate.per_second(),
            capped(concurrency)
        ),
        Arrivals::Trace { concurrency, .. } => format!("by a trace{}", capped(concurrency)),
    };
    if !plan.ramp.is_zero() {
        let _ = write!(words, ", growing for {:?}", plan.ramp);
    }
    words
}

/// The instants of a row, as latencies are computed from them.
pub fn row<'a>(instants: &Instants<'a>) -> Row<'a> {
    Row {
        part: instants.part,
        due: instants.due,
        start: instants.start,
        sent: instants.sent,
        first_token: instants.first_token,
        first_answer_token: instants.first_answer_token,
        end: instants.end,
        chunks: instants.chunks,
        output_tokens: instants.output_tokens,
        is_answered: instants.is_answered,
    }
}

fn took(instants: &Instants<'_>) -> Took {
    let time = instants.end.zip(instants.start);
    Took {
        joules: instants.joules,
        seconds: time
            .filter(|_| instants.is_answered)
            .map(|(end, start)| end - start),
        output_tokens: instants.output_tokens,
        flops: instants.flops,
    }
}
