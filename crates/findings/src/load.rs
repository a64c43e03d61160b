//! Findings about the load of a run: latencies with intervals, the steady window, SLOs, the queue.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use ipw_analysis::efficiency::DerivedTally;
use ipw_analysis::latency::{Latencies, Origin};
use ipw_analysis::saturation::queue_trend;
use ipw_analysis::slo::{self, Quantity, Slo, Tally};
use ipw_analysis::steady::{Load, NotSteady, SteadyTally, Window};
use ipw_core::plan::Load as Planned;
use ipw_core::record::{self, Record, SloCheck};
use ipw_core::row::{Fields, Row};
use ipw_core::time::Timestamp;
use ipw_store::Consumer;
use ipw_store::summary::{DerivedMetrics, LoadSummary, SloKept};

use crate::survey::Survey;

/// Longest gap between a query's end and the next start that does not end the steady window.
const DIP: f64 = 0.05;
/// Limit on gaps between chunks kept in memory. Above it, rows are sampled evenly.
const MOST_GAPS: u64 = 10_000_000;

/// Findings about the load.
#[derive(Debug, Clone)]
pub struct Findings {
    /// The load part of the summary.
    pub load: LoadSummary,
    /// Energy and time per unit of work: part of `efficiency`.
    pub derived: DerivedMetrics,
}

/// Default start of a plan's SLO: the planned send for an open loop, whose users arrive by the
/// plan.
pub fn origin(load: &Planned) -> Origin {
    if load.arrivals.is_open() {
        Origin::Planned
    } else {
        Origin::Sent
    }
}

/// Checks every row against the limits of the plan; `None` without limits.
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
        ..Row::default()
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

/// Gathers [`Findings`] row by row.
pub struct Loading<'a> {
    plan: &'a Planned,
    survey: &'a Survey,
    windows: Windows,
    not_steady: BTreeMap<u32, NotSteady>,
    thinned: ChunkSampler,
    latencies: Latencies,
    served: SteadyTally,
    /// SLO attainment over all rows, and over those that ended while the load was full.
    kept: Option<(Tally, Tally)>,
    whole: DerivedTally,
    steady: DerivedTally,
    is_again: bool,
}

impl<'a> Loading<'a> {
    /// An empty gatherer for the surveyed run.
    pub fn of(survey: &'a Survey, plan: &'a Planned) -> Self {
        let (windows, not_steady) = split(survey.flights.windows(kind(plan)));
        let slo = plan.slo.as_deref();
        let slo = slo.and_then(|text| Slo::parse(text, origin(plan)).ok());
        Self {
            thinned: ChunkSampler::of(survey.chunks),
            latencies: Latencies::default(),
            served: SteadyTally::within(windows.clone()),
            kept: slo.map(|slo| (Tally::new(slo.clone()), Tally::new(slo))),
            whole: DerivedTally::default(),
            steady: DerivedTally::default(),
            is_again: false,
            plan,
            survey,
            windows,
            not_steady,
        }
    }

    /// The findings over all rows.
    pub fn finish(self) -> Findings {
        let Self { plan, windows, .. } = self;
        let seconds: f64 = windows.values().map(Window::seconds).sum();
        let queue = plan.arrivals.is_open().then(|| {
            let (part, window) = windows.first_key_value()?;
            Some(queue_trend(
                &self.survey.flights.spans(*part).collect::<Vec<_>>(),
                window.from,
                window.until,
            ))
        });
        let load = LoadSummary {
            load: in_words(plan),
            latency: self.latencies.finish(),
            gaps_of_every: self.thinned.of_every,
            steady: self.served.finish(),
            not_steady: self.not_steady,
            queue: queue.flatten(),
            slo: self.kept.map(|(whole, inside)| SloKept {
                objectives: plan.slo.clone().unwrap_or_default(),
                counted_from: origin(plan),
                whole: whole.finish(None),
                steady: inside.finish((seconds > 0.0).then_some(seconds)),
            }),
        };
        Findings {
            load,
            derived: DerivedMetrics {
                whole: self.whole.finish(),
                steady: (!windows.is_empty()).then(|| self.steady.finish()),
            },
        }
    }
}

impl Consumer for Loading<'_> {
    fn fields(&self) -> Fields {
        let latency = Fields::SPAN | Fields::LATENCY | Fields::CHUNKS | Fields::TOKENS;
        if self.is_again {
            latency
        } else {
            latency | Fields::ENERGY | Fields::FLOPS
        }
    }

    fn row(&mut self, row: &Row<'_>) {
        self.served.push(row);
        self.latencies.push(&self.thinned.row(row));
        if self.is_again {
            return;
        }
        let window = self.windows.get(&row.part);
        let is_inside = window
            .zip(row.end)
            .is_some_and(|(window, end)| window.holds(end));
        self.whole.push(row);
        if is_inside {
            self.steady.push(row);
        }
        if let Some((whole, inside)) = &mut self.kept {
            whole.push(row);
            if is_inside {
                inside.push(row);
            }
        }
    }

    fn wants_more(&mut self) -> bool {
        self.thinned.restart();
        self.is_again = self.latencies.wants_more() | self.served.wants_more();
        self.is_again
    }
}

/// How the plan sends queries, as the steady window needs it.
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

/// Selects rows that keep their chunks, so that all gaps fit into memory.
pub struct ChunkSampler {
    of_every: u64,
    number: u64,
}

impl ChunkSampler {
    /// For a run with this number of chunks.
    pub fn of(chunks: u64) -> Self {
        Self {
            of_every: chunks.div_ceil(MOST_GAPS).max(1),
            number: 0,
        }
    }

    /// The distance between two queries that keep their chunks.
    pub fn of_every(&self) -> u64 {
        self.of_every
    }

    /// Starts again at the first row.
    pub fn restart(&mut self) {
        self.number = 0;
    }

    /// Advances to the next row.
    pub fn row<'a>(&mut self, row: &Row<'a>) -> Row<'a> {
        let is_kept = self.number.is_multiple_of(self.of_every);
        self.number += 1;
        Row {
            chunks: if is_kept { row.chunks } else { &[] },
            ..*row
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

/// How queries are sent, in words.
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
