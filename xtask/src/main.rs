//! `cargo xtask`: what people run by hand. One subcommand, one module.

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod demo;
mod endurance;
mod memcheck;
mod method;

/// What people run by hand.
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
    /// Damage what is read a million times over, and see that nothing panics
    Fuzz(endurance::FuzzArgs),
    /// A night of queries with faults and kills, as fast as it goes
    Night(endurance::NightArgs),
    /// Run the tests of the `unsafe` parts under valgrind
    Memcheck(memcheck::MemcheckArgs),
    /// Compare attribution with simulated truth, and write the table into docs/method.md
    Method(method::MethodArgs),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Demo(args) => demo::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Fuzz(args) => endurance::fuzz(&args),
        Command::Night(args) => endurance::night(&args),
        Command::Memcheck(args) => memcheck::run(&args),
        Command::Method(args) => method::run(&args),
    };
    done.unwrap_or_else(|error| {
        say(&format!("error: {error:#}"));
        ExitCode::FAILURE
    })
}

/// Says something to the person at the terminal.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
