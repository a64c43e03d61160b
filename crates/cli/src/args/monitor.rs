//! `ipw monitor`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{HardwareArgs, ListenAddress, Span};

#[derive(Debug, Args)]
pub(crate) struct MonitorArgs {
    /// The port; 0 takes a free one [default: 50053]
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// The address; beyond loopback only with `--token-file` [default: 127.0.0.1]
    #[arg(long, value_name = "HOST")]
    pub(crate) bind_address: Option<String>,
    /// Listen at a socket that only this user can open, instead of a port
    #[arg(long, value_name = "PATH", conflicts_with_all = ["port", "bind_address"])]
    pub(crate) unix: Option<PathBuf>,
    /// Time between two messages, and between two readings [default: 50ms]
    #[arg(long, value_name = "D")]
    pub(crate) interval: Option<Span>,
    /// The same in milliseconds, as the original has it
    #[arg(
        long,
        value_name = "N",
        value_parser = milliseconds,
        conflicts_with = "interval"
    )]
    pub(crate) collection_interval_ms: Option<Span>,
    /// Answer only those who show the first line of this file as their token
    #[arg(long, value_name = "PATH")]
    pub(crate) token_file: Option<PathBuf>,
    /// Serve all sources to Prometheus at this address, too: then they are read all the time
    #[arg(long, value_name = "ADDR")]
    pub(crate) prometheus: Option<ListenAddress>,
    #[command(flatten)]
    pub(crate) hardware: HardwareArgs,
    /// Estimate nothing where nothing measures
    #[arg(long)]
    pub(crate) no_estimate: bool,
}

fn milliseconds(text: &str) -> Result<Span, String> {
    let number = text.parse::<u32>().ok().filter(|number| *number > 0);
    let number = number.ok_or("a whole number of milliseconds above zero, like 50")?;
    Ok(Span(Duration::from_millis(number.into())))
}
