//! Runs the reference service from the command line:
//! `cargo run --release -p ipw-reference --example reference -- --port 8000 --first-token 20ms --gap 5ms --tokens 64`.
//!
//! `--log` keeps every exchange in memory; at the end of stdin it prints how late the chunks were.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use ipw_core::time::{Anchor, Clock, Timestamp};
use ipw_reference::{Exchange, Options, Script, SendKind, Service};

struct ProcessClock {
    start: Instant,
    unix: Duration,
}

impl ProcessClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this program is the caller that owns the clock"
    )]
    fn start() -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            start: Instant::now(),
            unix: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?,
        })
    }
}

impl Clock for ProcessClock {
    fn now(&self) -> Timestamp {
        Timestamp::ZERO.after(self.start.elapsed())
    }

    fn anchor(&self) -> Anchor {
        Anchor {
            unix_nanos: u64::try_from(self.unix.as_nanos()).unwrap_or(u64::MAX),
            monotonic_nanos: 0,
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = Options {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, 8000)),
        log: false,
        ..Options::default()
    };
    let mut script = Script::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("`{flag}` needs a value"));
        match flag.as_str() {
            "--port" => options.address.set_port(value()?.parse()?),
            "--first-token" => script.first_token = humantime::parse_duration(&value()?)?,
            "--gap" => script.gap = humantime::parse_duration(&value()?)?,
            "--tokens" => script.tokens = ipw_reference::words(value()?.parse()?),
            "--tokens-per-chunk" => script.tokens_per_chunk = value()?.parse()?,
            "--log" => options.log = true,
            _ => return Err(format!("unknown flag `{flag}`").into()),
        }
    }
    let clock = Arc::new(ProcessClock::start()?);
    let service = Service::start_with(options, clock, move |_| script.clone())?;
    let mut out = std::io::stdout();
    writeln!(out, "{} until the end of stdin", service.url())?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    writeln!(
        out,
        "{} requests, {} completed",
        service.requests(),
        service.completed()
    )?;
    let mut lateness = lateness(&service.log());
    lateness.sort();
    if let (Some(median), Some(p99)) = (
        lateness.get(lateness.len() / 2),
        lateness.get(lateness.len() * 99 / 100),
    ) {
        writeln!(out, "late by {median:?} (p50), {p99:?} (p99)")?;
    }
    Ok(())
}

fn lateness(log: &[Exchange]) -> Vec<Duration> {
    log.iter()
        .flat_map(|exchange| exchange.of(SendKind::Content))
        .map(|send| send.at.since(send.due))
        .collect()
}
