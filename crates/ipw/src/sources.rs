//! Opens sources of readings: this machine, monitors on other machines, values over HTTP, a
//! recorded run.

use std::sync::Arc;

use anyhow::Context as _;
use ipw_core::energy::Reason;
use ipw_core::params::Params;
use ipw_core::plan::SourceSpec;
use ipw_core::setting::Setting;
use ipw_core::source::{Role, Source};
use ipw_core::time::Clock;
use ipw_monitor::remote::{self, Address, RemoteError, RemoteSpec};
use ipw_scrape::http::{self, HttpSpec};
use ipw_telemetry::collectors::replay::Replay;
use ipw_telemetry::{Absent, Collector, Detection, Options, detect};

use crate::error::{Error, Kind};
use crate::secrets::refuse_secret;

/// The sources of this machine.
pub const LOCAL: &str = "local";
/// No source.
pub const NONE: &str = "none";
/// Prefix of a run whose readings are replayed.
pub const REPLAY: &str = "replay:";

/// The collectors of a run, and what is known about them.
pub struct SourceSet {
    /// Collectors to poll.
    pub collectors: Vec<Box<dyn Collector>>,
    /// Collectors that are not available on this machine, with the reason.
    pub absent: Vec<Absent>,
    /// Basis of the energy estimate for this machine.
    pub estimate: Option<String>,
    /// Why the service has no energy; `None` if it has.
    pub reason: Option<Reason>,
    /// Whether this machine runs the service or only the client.
    pub role: Role,
    /// Whether the service's machine is observed from here, so that it is this one.
    pub is_here: bool,
    /// Notes about sources on other machines.
    pub notes: Vec<String>,
}

/// Parses sources as users write them: separated by commas, each followed by its own `K=V` options.
pub fn parse(texts: &[String]) -> Result<Vec<SourceSpec>, Error> {
    let mut specs: Vec<SourceSpec> = Vec::new();
    for piece in texts.iter().flat_map(|text| text.split(',')) {
        let piece = piece.trim();
        let option = piece.split_once('=').filter(|_| !is_place(piece));
        match (option, specs.last_mut()) {
            (Some((key, value)), Some(spec)) => {
                refuse_secret(Setting::Telemetry, key, value)?;
                spec.params.insert(key.trim(), value.trim());
            }
            _ if piece.is_empty() => {}
            (Some((key, _)), None) => return Err(unknown(&format!("{key}=…"))),
            (None, _) => specs.push(SourceSpec {
                place: place(piece)?,
                params: Params::default(),
            }),
        }
    }
    let is_none = |spec: &SourceSpec| spec.place == NONE;
    if specs.len() > 1 && specs.iter().any(is_none) {
        return Err(Error::invalid(format!(
            "`{}` cannot be combined with other sources",
            Setting::Telemetry.to(NONE)
        )));
    }
    specs.iter().try_for_each(check)?;
    Ok(specs)
}

fn is_place(piece: &str) -> bool {
    let schemes = ["grpc://", "unix:", "http://", "https://", REPLAY];
    schemes.iter().any(|scheme| piece.starts_with(scheme))
}

/// Normalises a place to the form that the plan stores.
fn place(piece: &str) -> Result<String, Error> {
    let authority = piece.split_once("://").map_or("", |(_, rest)| rest);
    if authority
        .split(['/', '?'])
        .next()
        .is_some_and(|at| at.contains('@'))
    {
        return Err(Error::invalid(format!("`{}` has credentials in a URL", Setting::Telemetry))
            .with_help("flags are visible to all users of the machine: use `,basic-file=PATH` or `,token-file=PATH`"));
    }
    match piece {
        LOCAL | NONE => Ok(piece.to_owned()),
        _ if is_place(piece) => Ok(piece.to_owned()),
        // `HOST:PORT` is a monitor, as the original writes its target.
        _ if piece.contains(':') => Ok(format!("grpc://{piece}")),
        _ => Err(unknown(piece)),
    }
}

fn unknown(piece: &str) -> Error {
    Error::invalid(format!("`{}` is not a source", Setting::Telemetry.to(piece))).with_help(
        "use one of `local`, `grpc://HOST:PORT`, `unix:PATH`, `http://…` or `https://…`, `replay:RUN`, `none`; append options as in `,role=client,name=NAME`",
    )
}

/// The monitor at this address, written as in the original (`HOST:PORT`).
pub fn monitor(target: &str) -> Result<SourceSpec, Error> {
    let address = Address::parse(target).map_err(|error| failed(error, Kind::Invalid))?;
    Ok(SourceSpec {
        place: address.to_string(),
        params: Params::default(),
    })
}

/// Validates a source before anything is started.
pub fn check(spec: &SourceSpec) -> Result<(), Error> {
    match place_of(spec) {
        Place::Local | Place::None | Place::Replay(_) => {
            let reader = spec.params.reader(&spec.place);
            reader
                .finish()
                .map_err(|error| Error::new(Kind::Invalid, error))
        }
        Place::Monitor => RemoteSpec::parse(&spec.place, &spec.params)
            .map(|_| ())
            .map_err(|error| failed(error, Kind::Invalid)),
        Place::Value => value(spec).map(|_| ()),
    }
}

/// Parses a value over HTTP. It counts as the service's unless its role says otherwise.
fn value(spec: &SourceSpec) -> Result<HttpSpec, Error> {
    let mut params = spec.params.clone();
    if !params.contains("role") {
        params.insert("role", Role::Service.label());
    }
    HttpSpec::parse(&spec.place, &params).map_err(|error| {
        Error::new(Kind::Invalid, error)
            .with_help("add `preset=NAME`, `field=PATH` or `metric=NAME` to say what to read; see `ipw list collectors` for presets")
    })
}

enum Place<'a> {
    Local,
    None,
    Monitor,
    Value,
    Replay(&'a str),
}

fn place_of(spec: &SourceSpec) -> Place<'_> {
    match &*spec.place {
        LOCAL => Place::Local,
        NONE => Place::None,
        place => match place.strip_prefix(REPLAY) {
            Some(run) => Place::Replay(run),
            None if place.starts_with("http:") || place.starts_with("https:") => Place::Value,
            None => Place::Monitor,
        },
    }
}

/// Detects and opens all requested sources; by default those of this machine. `role` says whether
/// this machine runs the service.
pub fn attach(
    specs: &[SourceSpec],
    options: &Options,
    role: Role,
    clock: &Arc<dyn Clock>,
) -> Result<SourceSet, Error> {
    let mut attached = SourceSet {
        collectors: Vec::new(),
        absent: Vec::new(),
        estimate: None,
        reason: Some(Reason::NoSource),
        role,
        is_here: false,
        notes: Vec::new(),
    };
    let mut is_twice = false;
    for spec in specs {
        match place_of(spec) {
            Place::Monitor => is_twice |= attached.add_monitor(spec, clock)?,
            Place::Value => attached.add_value(spec, &**clock)?,
            Place::Replay(run) => attached.add_replay(run)?,
            Place::Local | Place::None => {}
        }
    }
    if specs.is_empty() || specs.iter().any(|spec| spec.place == LOCAL) {
        if is_twice && role == Role::Service {
            attached.role = Role::Client;
            attached.notes.push(
                "a monitor on this machine is read as well: its energy counts instead of the local readings"
                    .to_owned(),
            );
        }
        attached.add_local(options);
    }
    if attached.has_energy() {
        attached.reason = None;
    }
    Ok(attached)
}

impl SourceSet {
    /// Only the caller's own collectors, all counted as the service's.
    pub fn own(collectors: Vec<Box<dyn Collector>>) -> Self {
        let mut own = Self {
            collectors,
            absent: Vec::new(),
            estimate: None,
            reason: Some(Reason::NoSource),
            role: Role::Service,
            is_here: true,
            notes: Vec::new(),
        };
        own.reason = own.reason.filter(|_| !own.has_energy());
        own
    }

    fn add_local(&mut self, options: &Options) {
        let Detection {
            collectors,
            absent,
            estimate,
            reason,
        } = detect(options);
        self.collectors.extend(collectors);
        self.absent = absent;
        self.estimate = estimate;
        if self.role == Role::Service {
            self.is_here = true;
            self.reason = reason;
        }
    }

    /// Adds a monitor. Returns whether it runs on this machine.
    fn add_monitor(&mut self, spec: &SourceSpec, clock: &Arc<dyn Clock>) -> Result<bool, Error> {
        let spec = RemoteSpec::parse(&spec.place, &spec.params)
            .map_err(|error| failed(error, Kind::Invalid))?;
        let remote =
            remote::connect(&spec, clock).map_err(|error| failed(error, Kind::NoEnergy))?;
        self.refuse_twins(&remote)?;
        self.notes.extend_from_slice(remote.notes());
        let is_here = boot_id().is_some_and(|own| remote.is_on(&own));
        let counts = remote
            .sources()
            .iter()
            .any(|source| source.domain().is_some());
        let is_billed = is_here && counts && spec.role == Role::Service;
        self.collectors.push(Box::new(remote));
        Ok(is_billed)
    }

    fn add_value(&mut self, spec: &SourceSpec, clock: &dyn Clock) -> Result<(), Error> {
        let collector = http::connect(&value(spec)?, clock).map_err(|error| {
            Error::new(Kind::NoEnergy, error)
                .with_help("try the URL with `curl`, then check the options that say what to read")
        })?;
        let names: Vec<&str> = self.names().collect();
        let twin = collector
            .sources()
            .iter()
            .find(|source| names.contains(&&*source.name));
        if let Some(twin) = twin {
            return Err(
                Error::invalid(format!("two sources have the name `{}`", twin.name)).with_help(
                    format!(
                        "give each a name: `{}`",
                        Setting::Telemetry.to("http://…,name=NAME")
                    ),
                ),
            );
        }
        self.collectors.push(collector);
        Ok(())
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let sources = self.collectors.iter().flat_map(|known| known.sources());
        sources.map(|source| &*source.name)
    }

    fn add_replay(&mut self, run: &str) -> Result<(), Error> {
        let (sources, readings) = ipw_store::readings::read(run.as_ref())
            .with_context(|| format!("cannot replay the readings of `{run}`"))
            .map_err(|error| Error::new(Kind::Invalid, error))?;
        self.notes.push(format!(
            "readings are replayed from `{run}`: they say nothing about this service"
        ));
        self.collectors
            .push(Box::new(Replay::new(sources, readings)));
        Ok(())
    }

    /// Refuses two machines of one name: their sources would be merged.
    fn refuse_twins(&self, new: &remote::Remote) -> Result<(), Error> {
        let mut known = self.collectors.iter().flat_map(|known| known.sources());
        if known.any(|source| source.host.as_deref() == Some(new.host())) {
            return Err(Error::invalid(format!(
                "two monitors report the machine name `{}`",
                new.host()
            ))
            .with_help(format!(
                "give each a name: `{}`",
                Setting::Telemetry.to("grpc://HOST:PORT,name=NAME")
            )));
        }
        Ok(())
    }

    /// Sources whose energy counts as the service's.
    pub fn billed(&self) -> impl Iterator<Item = &Source> {
        self.collectors
            .iter()
            .filter(|collector| collector.role().unwrap_or(self.role) == Role::Service)
            .flat_map(|collector| collector.sources())
    }

    fn has_energy(&self) -> bool {
        self.billed().any(|source| source.domain().is_some())
    }
}

fn failed(error: RemoteError, kind: Kind) -> Error {
    let help = error.help();
    let kind = match error {
        RemoteError::Address { .. } | RemoteError::Params(_) | RemoteError::Token(_) => {
            Kind::Invalid
        }
        _ => kind,
    };
    let error = Error::new(kind, error);
    match help {
        Some(help) => error.with_help(help),
        None => error,
    }
}

/// Id of this boot, which identifies this machine while it runs.
fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<(String, String)>, String> {
        let specs = parse(&[text.to_owned()]).map_err(|error| format!("{error:?}"))?;
        let specs = specs.into_iter().map(|spec| {
            let params: Vec<String> = spec
                .params
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            (spec.place, params.join(" "))
        });
        Ok(specs.collect())
    }

    fn one(place: &str, params: &str) -> (String, String) {
        (place.to_owned(), params.to_owned())
    }

    #[test]
    fn several_sources_each_have_their_own_options() {
        assert_eq!(
            parsed("local,grpc://gpu1:50053,name=a,role=client, gpu2:7,unix:/run/x.sock").unwrap(),
            [
                one("local", ""),
                one("grpc://gpu1:50053", "name=a role=client"),
                one("grpc://gpu2:7", ""),
                one("unix:/run/x.sock", ""),
            ]
        );
        assert_eq!(parsed("none").unwrap(), [one("none", "")]);
        assert_eq!(parsed("").unwrap(), []);
    }

    #[test]
    fn what_is_no_source_or_no_option_is_named() {
        for (text, words) in [
            ("lokal", "`telemetry=lokal` is not a source"),
            ("name=x", "`telemetry=name=…` is not a source"),
            ("local,none", "cannot be combined"),
            ("local,role=client", "unknown parameter `role`"),
            ("grpc://a:1,rol=client", "did you mean `role`"),
            ("grpc://a:1,role=both", "`service` or `client`"),
            ("grpc://a:0", "not the address of a monitor"),
            ("grpc://me:pass@a:1", "credentials in a URL"),
            ("grpc://a:1,token=abc", "looks like a secret"),
            ("http://plug.lan/x,preset=shely", "shely"),
            ("http://plug.lan/x", "http"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
