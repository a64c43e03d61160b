//! `ipw monitor`: serves this machine's readings over gRPC.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ipw_core::source::{Method, Source};
use ipw_core::text::printable;
use ipw_core::time::Clock;
use ipw_monitor::Token;
use ipw_monitor::server::{ListenError, Listener, Machine, Monitor};
use ipw_runner::SystemClock;
use ipw_telemetry::collectors::host::system_info;
use ipw_telemetry::{Detection, Role, Session, Setup, detect};

use crate::args::{MonitorArgs, Span};
use crate::error::{CliError, Exit};
use crate::listen::{Place, Signals};
use crate::{prometheus, screen};

const HOST: &str = "127.0.0.1";
const PORT: u16 = 50_053;
const INTERVAL: Duration = Duration::from_millis(50);
/// Readings at shorter intervals can reveal what the machine computes (PLATYPUS).
const FINEST: Duration = Duration::from_millis(50);
/// At shorter intervals, sampling itself would affect the measurement.
const SHORTEST: Duration = Duration::from_millis(1);
/// At longer intervals, sources would count as silent between two readings.
const LONGEST: Duration = Duration::from_mins(1);
/// Connections that the system holds until they are accepted.
const BACKLOG: u32 = 256;

pub(crate) fn run(args: &MonitorArgs) -> Result<Exit, CliError> {
    let interval = interval(args)?;
    let token = token(args)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        // Report a taken address before opening the hardware.
        let listener = listen(args, token.is_some())?;
        let mut signals = Signals::new().context("cannot listen for signals")?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let (session, machine) = look(args, interval, &clock)?;
        screen::print(&format!("listening on {}\n", target(args, &listener)));
        screen::talk(&about(args, &session, &machine, &listener));
        if interval < FINEST {
            screen::talk(
                "note: readings finer than 50 ms can reveal what this machine computes (PLATYPUS): \
                 do not share them",
            );
        }
        let exporter = prometheus::serve(args.prometheus, token.clone(), &session, &clock)?;
        let monitor = Monitor::new(Arc::clone(&session), clock, &machine, interval, token);
        if exporter.is_some() {
            monitor.keep_awake();
        }
        monitor.run(listener, signals.next()).await;
        drop(exporter);
        session.stop();
        Ok(Exit::Done)
    })
}

fn interval(args: &MonitorArgs) -> Result<Duration, CliError> {
    let asked = args.interval.or(args.collection_interval_ms);
    let Some(Span(interval)) = asked else {
        return Ok(INTERVAL);
    };
    if (SHORTEST..=LONGEST).contains(&interval) {
        return Ok(interval);
    }
    let words = format!("`--interval {interval:?}` is out of bounds");
    Err(CliError::usage(words).help("use 1ms to 1m; 50ms suits most uses"))
}

fn token(args: &MonitorArgs) -> Result<Option<Token>, CliError> {
    let Some(path) = &args.token_file else {
        return Ok(None);
    };
    let token = Token::read(path).map_err(|error| {
        CliError::new(Exit::Usage, error).help(format!(
            "create one: (umask 077; head -c 24 /dev/urandom | base64 > {})",
            path.display()
        ))
    })?;
    if Token::is_open_to_others(path) {
        let path = printable(&path.display().to_string());
        screen::talk(&format!(
            "warning: other users can read the token in `{path}`; run `chmod 600 {path}`"
        ));
    }
    Ok(Some(token))
}

/// Detects the sources, and starts the session that reads them.
fn look(
    args: &MonitorArgs,
    interval: Duration,
    clock: &Arc<dyn Clock>,
) -> Result<(Arc<Session>, Machine), CliError> {
    let options = args.hardware.options(!args.no_estimate);
    let Detection {
        collectors,
        absent,
        estimate,
        reason,
    } = detect(&options);
    let setup = Setup {
        collectors,
        interval,
        role: Role::Service,
        absent: reason,
    };
    let session = Session::start(setup, Arc::clone(clock)).context("cannot start the samplers")?;
    let machine = Machine {
        system: system_info(&options),
        absent,
        estimate,
    };
    Ok((Arc::new(session), machine))
}

fn listen(args: &MonitorArgs, has_token: bool) -> Result<Listener, CliError> {
    if let Some(path) = &args.unix {
        return Listener::unix(path).map_err(refused_at);
    }
    let host = args.bind_address.as_deref().unwrap_or(HOST);
    let place = Place::find("--bind-address", host, args.port.unwrap_or(PORT))?;
    if !place.address.ip().to_canonical().is_loopback() && !has_token {
        let words = format!("`--bind-address {host}` is open to other machines and needs a token");
        return Err(CliError::usage(words).help(
            "add `--token-file PATH`, a file with the token in its first line, or stay on loopback \
             and use `ssh -L`",
        ));
    }
    let listener = place.bind()?.listen(BACKLOG);
    Ok(Listener::tcp(
        listener.map_err(|error| place.refused(error))?,
    ))
}

fn refused_at(error: ListenError) -> CliError {
    let help = match &error {
        ListenError::Taken(_) => {
            "another monitor may use this socket: connect to it, or choose another path"
        }
        ListenError::NoSocket(_) => "choose a path that does not exist yet",
        ListenError::Refused { .. } => "the directory must exist and belong to you",
    };
    let exit = match &error {
        ListenError::Taken(_) => Exit::Unexpected,
        ListenError::NoSocket(_) | ListenError::Refused { .. } => Exit::Usage,
    };
    CliError::new(exit, error).help(help)
}

/// The address as `--telemetry` takes it.
fn target(args: &MonitorArgs, listener: &Listener) -> String {
    match (&args.unix, listener.address()) {
        (Some(path), _) => format!("unix:{}", printable(&path.display().to_string())),
        (None, Some(address)) => format!("grpc://{address}"),
        (None, None) => "nowhere".to_owned(),
    }
}

/// The sources it reads, and warnings.
fn about(args: &MonitorArgs, session: &Session, machine: &Machine, listener: &Listener) -> String {
    let names = |wanted: fn(&Source) -> bool| {
        let names: Vec<&str> = session
            .sources()
            .filter(|source| wanted(source))
            .map(|source| &*source.name)
            .collect();
        names.join(", ")
    };
    let measured = names(Source::is_measured_energy);
    let mut text = if measured.is_empty() {
        "no source here measures energy (see `ipw doctor`)".to_owned()
    } else {
        format!("measured: {measured}")
    };
    if let Some(estimate) = &machine.estimate {
        let of = names(|source| source.method == Method::Estimated);
        let _ = write!(text, "\nestimated: {of} ({})", printable(estimate));
        text.push_str("; clients of the original project see \"not available\"");
    }
    let states = names(|source| source.domain().is_none());
    if !states.is_empty() {
        let _ = write!(text, "\nstate: {states}");
    }
    let is_near = |address: SocketAddr| address.ip().to_canonical().is_loopback();
    if args.unix.is_none() && !listener.address().is_some_and(is_near) {
        text.push_str(
            "\nwarning: the token and the readings are not encrypted: on a shared network, listen on \
             loopback and use `ssh -L`",
        );
    }
    if args.prometheus.is_none() {
        text.push_str("\nsources are read only while a client is connected");
    }
    text
}
