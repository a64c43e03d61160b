//! `cargo xtask bench`: cost of the tool itself, measured and compared with its budgets.
//!
//! Every table holds a yardstick from the same run on the same machine, repetitions give a median
//! and a spread, and nothing is asserted: a busy machine makes wide spreads, not failures.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use crate::say;

mod attribute;
mod engine;
mod ipw;
mod load;
mod look;
mod monitor;
mod query;
mod raw;
mod sampling;
mod scoring;
mod spread;
mod stamps;
mod start_up;
mod store;
mod table;

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// What to measure
    #[arg(default_value = "all")]
    what: What,
    /// Small sizes and few rounds: to see that it works, not to quote
    #[arg(long)]
    quick: bool,
    /// Rows of the one run that `store-once`, `attribute-once` or `look-make` writes
    #[arg(long, hide = true, default_value_t = 0)]
    rows: u64,
    /// Where `look-make` leaves its run
    #[arg(long, hide = true, value_name = "DIR", default_value = "run")]
    keep: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Cost of a query beyond the service's own time
    Query,
    /// How far stamps lie behind the socket
    Stamps,
    /// Cost, size and memory of rows
    Store,
    /// Cost and punctuality of sampling, and windows over many readings
    Sampling,
    /// Requests per second beside wrk, punctuality, memory per stream
    Load,
    /// The energy of a run's rows once more
    Attribute,
    /// Analyses, figures, the page and exports of runs
    Look,
    /// The embedded engine beside llama.cpp
    Engine,
    /// What the monitor costs, by how many listen
    Monitor,
    /// What it takes to grade a reply
    Scoring,
    /// All of them
    All,
    /// One run in a process of its own, whose memory can be told apart
    #[value(hide = true)]
    StoreOnce,
    /// The same for energy
    #[value(hide = true)]
    AttributeOnce,
    /// One engine in a process of its own
    #[value(hide = true)]
    EngineOnce,
    /// The run that `look` looks at, to be kept
    #[value(hide = true)]
    LookMake,
}

/// How much to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effort {
    Quick,
    Full,
}

impl Effort {
    fn choose<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// Measures, and says it in Markdown.
type Benchmark = fn(Effort) -> anyhow::Result<String>;

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<ExitCode> {
    if args.what == What::StoreOnce {
        print(&store::once(args.rows)?);
        return Ok(ExitCode::SUCCESS);
    }
    if args.what == What::AttributeOnce {
        print(&attribute::once(args.rows)?);
        return Ok(ExitCode::SUCCESS);
    }
    if args.what == What::LookMake {
        look::make(&args.keep, args.rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.what == What::EngineOnce {
        print(&engine::once()?);
        return Ok(ExitCode::SUCCESS);
    }
    let effort = if args.quick {
        Effort::Quick
    } else {
        Effort::Full
    };
    let benchmarks: [(What, Benchmark); 10] = [
        (What::Query, query::run),
        (What::Stamps, stamps::run),
        (What::Store, store::run),
        (What::Sampling, sampling::run),
        (What::Load, load::run),
        (What::Attribute, attribute::run),
        (What::Look, look::run),
        (What::Engine, engine::run),
        (What::Scoring, scoring::run),
        (What::Monitor, monitor::run),
    ];
    for (what, measure) in benchmarks {
        if args.what == what || args.what == What::All {
            print(&measure(effort)?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// Says which round begins.
fn say_round(what: &str, round: usize, rounds: usize) {
    say(&format!("bench {what}: round {} of {rounds}", round + 1));
}
