//! `cargo xtask`: tasks of developers. One subcommand, one module.

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod demo;
mod docs;
mod endurance;
mod fast;
mod memcheck;
mod method;

/// Tasks of developers
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Profile a real small model on this machine; everything it needs installs itself
    Demo(demo::DemoArgs),
    /// Measure speed and memory against the budgets of docs/benchmarks.md, and print tables
    Bench(bench::BenchArgs),
    /// Give every reader a million damaged inputs, and check that none panics
    Fuzz(endurance::FuzzArgs),
    /// Send a night's worth of queries with faults and kills, as fast as possible
    Night(endurance::NightArgs),
    /// Run the tests of the `unsafe` parts under valgrind
    Memcheck(memcheck::MemcheckArgs),
    /// Compare attribution with simulated truth, and write the table into docs/method.md
    Method(method::MethodArgs),
    /// Run the unit tests: about two minutes, no network, no Python, no browser
    Fast(fast::FastArgs),
    /// Check links, anchors, paragraphs and words of all pages, and build them as a book (mdbook)
    Docs(docs::DocsArgs),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Demo(args) => demo::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Fuzz(args) => endurance::fuzz(&args),
        Command::Night(args) => endurance::night(&args),
        Command::Memcheck(args) => memcheck::run(&args),
        Command::Method(args) => method::run(&args),
        Command::Fast(args) => fast::run(&args),
        Command::Docs(args) => docs::run(&args),
    };
    done.unwrap_or_else(|error| {
        say(&format!("error: {error:#}"));
        ExitCode::FAILURE
    })
}

/// Prints a line to standard error.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
