//! `ipw monitor`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{HardwareArgs, ListenAddress, Span};

#[derive(Debug, Args)]
pub(crate) struct MonitorArgs {
    /// Port to listen on; 0 picks a free one [default: 50053]
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Address to listen on; beyond loopback it needs `--token-file` [default: 127.0.0.1]
    #[arg(long, value_name = "HOST")]
    pub(crate) bind_address: Option<String>,
    /// Listen on a Unix socket that only this user can open, instead of a port
    #[arg(long, value_name = "PATH", conflicts_with_all = ["port", "bind_address"])]
    pub(crate) unix: Option<PathBuf>,
    /// Time between messages, and between readings [default: 50ms]
    #[arg(long, value_name = "DURATION")]
    pub(crate) interval: Option<Span>,
    /// `--interval` in milliseconds, as in the original project
    #[arg(
        long,
        value_name = "N",
        value_parser = milliseconds,
        conflicts_with = "interval"
    )]
    pub(crate) collection_interval_ms: Option<Span>,
    /// Require the first line of this file as a token from every reader
    #[arg(long, value_name = "PATH")]
    pub(crate) token_file: Option<PathBuf>,
    /// Also serve all sources to Prometheus at this address; they are then read all the time
    #[arg(long, value_name = "ADDR")]
    pub(crate) prometheus: Option<ListenAddress>,
    #[command(flatten)]
    pub(crate) hardware: HardwareArgs,
    /// Do not estimate power where it is not measured
    #[arg(long)]
    pub(crate) no_estimate: bool,
}

fn milliseconds(text: &str) -> Result<Span, String> {
    let number = text.parse::<u32>().ok().filter(|number| *number > 0);
    let number = number.ok_or("expected a whole number of milliseconds above zero, such as 50")?;
    Ok(Span(Duration::from_millis(number.into())))
}
