//! Sweeps: one run per load, and the throughput curve over all of them.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context as _;
use ipw_analysis::metric::Metric;
use ipw_analysis::saturation::{Knee, LEAST_GAIN, Step, knee};
use ipw_core::plan::{Arrivals, Load, Process, Rate};
use ipw_core::rollup::is_estimated;
use ipw_core::slug::slug;
use ipw_findings::sweep::FILE;
pub use ipw_findings::sweep::{Point, SweepResult};
use ipw_store::file::replace;
use ipw_store::{Overview, Run};
use serde_json::json;

use crate::error::Error;

/// Limit on the steps of a search; each load is twice the previous one.
const DOUBLINGS: u32 = 12;

/// The loads to try.
#[derive(Debug, Clone, PartialEq)]
pub enum Sweep {
    /// Queries in flight.
    Concurrency(Vec<NonZeroUsize>),
    /// Queries per second.
    Rate(Vec<Rate>),
    /// Double the queries in flight until throughput stops growing.
    FindConcurrency,
    /// Double the rate until throughput stops growing.
    FindRate,
}

/// What to do after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Try the next load.
    GoOn,
    /// Stop here.
    Stop,
}

impl Sweep {
    /// What a load counts: `concurrency` or `rate`.
    pub const fn axis(&self) -> &'static str {
        match self {
            Self::Concurrency(_) | Self::FindConcurrency => "concurrency",
            Self::Rate(_) | Self::FindRate => "rate",
        }
    }

    /// Whether the sweep finds its own end.
    pub const fn is_search(&self) -> bool {
        matches!(self, Self::FindConcurrency | Self::FindRate)
    }

    /// The loads, in order.
    pub fn loads(&self) -> Vec<f64> {
        match self {
            Self::Concurrency(places) => places.iter().map(|places| real(places.get())).collect(),
            Self::Rate(rates) => rates.iter().map(|rate| rate.per_second()).collect(),
            Self::FindConcurrency | Self::FindRate => {
                (0..DOUBLINGS).map(|n| f64::from(1_u32 << n)).collect()
            }
        }
    }

    /// Sets one of the loads in a plan.
    pub fn set(&self, load: f64, plan: &mut Load) -> Result<(), Error> {
        match self {
            Self::Rate(_) | Self::FindRate => {
                let rate = Rate::try_from(load).map_err(Error::invalid)?;
                let cap = plan.arrivals.concurrency();
                plan.arrivals = match plan.arrivals.clone() {
                    trace @ Arrivals::Trace { .. } => trace,
                    Arrivals::Open {
                        process,
                        concurrency,
                        ..
                    } => Arrivals::Open {
                        rate,
                        process,
                        concurrency,
                    },
                    Arrivals::Sequential | Arrivals::Closed { .. } => Arrivals::Open {
                        rate,
                        process: Process::Poisson,
                        concurrency: cap.filter(|cap| cap.get() > 1),
                    },
                };
            }
            Self::Concurrency(_) | Self::FindConcurrency => {
                let places = places(load);
                match &mut plan.arrivals {
                    Arrivals::Open { concurrency, .. } | Arrivals::Trace { concurrency, .. } => {
                        *concurrency = Some(places);
                    }
                    arrivals if places.get() == 1 => *arrivals = Arrivals::Sequential,
                    arrivals => {
                        *arrivals = Arrivals::Closed {
                            concurrency: places,
                        };
                    }
                }
            }
        }
        Ok(())
    }

    /// Runs each step below `directory`, until a step returns [`Next::Stop`] or a search has found
    /// the knee. `step` gets the load and a directory for its run, and returns the directory of the
    /// run.
    pub fn run<E: From<Error>>(
        &self,
        directory: &Path,
        mut step: impl FnMut(f64, &Path) -> Result<(PathBuf, Next), E>,
    ) -> Result<SweepResult, E> {
        let create = || format!("cannot create `{}`", directory.display());
        std::fs::create_dir_all(directory)
            .with_context(create)
            .map_err(Error::from)?;
        let mut points: Vec<Point> = Vec::new();
        for load in self.loads() {
            let name = format!("{}_{}", self.axis(), slug(&load.to_string(), "load"));
            let (run, next) = step(load, &directory.join(name))?;
            points.push(point(load, &run)?);
            let is_found = self.is_search() && (is_past(&points) || grew(&points));
            if next == Next::Stop || is_found {
                break;
            }
        }
        Ok(SweepResult {
            axis: self.axis().to_owned(),
            knee: found(&points),
            points,
        })
    }
}

impl FromStr for Sweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        fn list<T: FromStr>(text: &str) -> Option<Vec<T>> {
            text.split(',').map(|one| one.trim().parse().ok()).collect()
        }
        let wrong =
            || format!("`{text}` is not a sweep: write `concurrency=1,2,4` or `rate=0.5,1,2`");
        let (axis, loads) = text.split_once('=').ok_or_else(wrong)?;
        match axis.trim() {
            "concurrency" => list(loads).map(Self::Concurrency).ok_or_else(wrong),
            "rate" => list(loads).map(Self::Rate).ok_or_else(wrong),
            _ => Err(wrong()),
        }
    }
}

/// Writes the result of a sweep into its directory, and returns the path.
pub fn store(swept: &SweepResult, directory: &Path) -> Result<PathBuf, Error> {
    let path = directory.join(FILE);
    let text = format!("{:#}\n", json!(swept));
    replace(&path, text.as_bytes(), false)
        .with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(path)
}

#[expect(clippy::cast_precision_loss, reason = "no machine has 2^52 places")]
fn real(places: usize) -> f64 {
    places as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it was a number of places"
)]
fn places(load: f64) -> NonZeroUsize {
    NonZeroUsize::new(load as usize).unwrap_or(NonZeroUsize::MIN)
}

/// Reads the point of a step from its summary.
fn point(load: f64, run: &Path) -> Result<Point, Error> {
    let opened = Run::open(run).context("reading the step's summary")?;
    let summary = opened.summary();
    let overview = summary.overview.as_ref();
    let told = summary.load.as_ref();
    let slo = told.and_then(|load| load.slo.as_ref());
    let mut basis = overview.into_iter().flat_map(|of| &of.energy.basis);
    let metric = |metric: Metric| summary.metrics?.get(metric);
    Ok(Point {
        load,
        is_steady: told.is_some_and(|load| load.steady.is_some()),
        requests_per_second: metric(Metric::RequestsPerSecond),
        tokens_per_second: metric(Metric::TokensPerSecond),
        goodput_requests_per_second: slo.and_then(|slo| slo.steady.requests_per_second),
        latency_p50: metric(Metric::LatencyP50),
        latency_p99: metric(Metric::LatencyP99),
        watts: metric(Metric::Watts),
        joules_per_output_token: metric(Metric::JoulesPerOutputToken),
        ipw: metric(Metric::Ipw),
        is_estimated: basis.any(|basis| is_estimated(basis)),
        accuracy: metric(Metric::Accuracy),
        failed: overview.map_or(0, Overview::failed),
        queue: told.and_then(|load| Some(load.queue?.verdict.label().to_owned())),
        directory: run.to_owned(),
    })
}

fn found(points: &[Point]) -> Knee {
    let steps: Vec<Step> = points
        .iter()
        .filter(|point| point.is_steady)
        .filter_map(|point| {
            Some(Step {
                load: point.load,
                throughput: point.requests_per_second?,
                goodput: point.goodput_requests_per_second,
                latency: point.latency_p50,
            })
        })
        .collect();
    knee(&steps, LEAST_GAIN)
}

/// Whether two loads beyond the knee gave no more throughput. A single one may be chance.
fn is_past(points: &[Point]) -> bool {
    match found(points) {
        Knee::Found { recommended, .. } => {
            let beyond = points.iter().filter(|point| point.load > recommended.load);
            beyond.count() >= 2
        }
        _ => false,
    }
}

/// Whether the queue grew during the last step.
pub fn grew(points: &[Point]) -> bool {
    points
        .last()
        .is_some_and(|point| point.queue.as_deref() == Some("growing"))
}
