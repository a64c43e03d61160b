//! An `http` source as the user describes it: a URL and options, checked before the first request.

use std::path::PathBuf;
use std::time::Duration;

use ipw_core::duration::parse_positive;
use ipw_core::nearest::{did_you_mean, nearest};
use ipw_core::params::{ParamError, ParamReader, Params};
use ipw_core::secret::looks_secret;
use ipw_core::source::{Domain, Role};
use url::Url;

use super::json::Path;
use super::place::Place;
use super::preset::{self, Board, Grouping, Location, Preset};
use super::text::Selector;
use super::unit::{UNITS, Unit};
use super::{HttpError, ID, Timing};

/// A URL, and the values to read from it.
#[derive(Debug, Clone)]
pub struct HttpSpec {
    pub(super) url: Url,
    pub(super) wants: Vec<WantedValue>,
    pub(super) board: Option<Board>,
    pub(super) role: Option<Role>,
    pub(super) host: Option<String>,
    /// Distinguishes it from other `http` sources.
    pub(super) label: String,
    pub(super) timing: Timing,
    /// Documented update period of the device; `None` if unknown.
    pub(super) documented: Option<Duration>,
    pub(super) sigma: Option<f64>,
    pub(super) access: Access,
}

/// One value to read.
#[derive(Debug, Clone)]
pub(super) struct WantedValue {
    /// The last part of the source's name.
    pub(super) name: &'static str,
    pub(super) place: Place,
    pub(super) several: Multiplicity,
    pub(super) unit: Unit,
    pub(super) domain: Domain,
}

/// What several values at one place mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Multiplicity {
    /// An error.
    Refused,
    /// Parts of one value.
    Summed,
    /// Separate sources.
    Apart(Grouping),
}

/// Credentials and certificates: paths of files, never their content.
#[derive(Debug, Clone, Default)]
pub(super) struct Access {
    pub(super) token_file: Option<PathBuf>,
    pub(super) basic_file: Option<PathBuf>,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) is_unverified: bool,
}

/// Names of domains, in addition to the serialized ones.
const DOMAINS: [(&str, Domain); 12] = [
    ("platform", Domain::Platform),
    ("gpu", Domain::Gpu),
    ("cpu", Domain::CpuPackage),
    ("cpu_package", Domain::CpuPackage),
    ("cpu_core", Domain::CpuCore),
    ("cpu_uncore", Domain::CpuUncore),
    ("dram", Domain::Dram),
    ("module", Domain::Module),
    ("soc", Domain::Soc),
    ("ane", Domain::Ane),
    ("gpu_memory", Domain::GpuMemory),
    ("rail", Domain::Rail),
];

impl HttpSpec {
    /// Parses the URL and its options. Unknown or conflicting options are errors that name them.
    pub fn parse(url: &str, options: &Params) -> Result<Self, HttpError> {
        let mut url = checked(url)?;
        let mut reader = options.reader(ID);
        let preset = preset(&mut reader)?;
        let own = CustomValue::read(&mut reader)?;
        let only = reader.text("only");
        let domain = named(&mut reader, "domain", DOMAINS)?;
        let host = label(&mut reader, "host")?;
        let name = label(&mut reader, "name")?;
        let timing = Timing {
            averaging: span(&mut reader, "averaging")?.unwrap_or_default(),
            period: span(&mut reader, "period")?,
            interval: span(&mut reader, "interval")?,
        };
        let sigma = sigma(&mut reader)?;
        let roles = [("service", Role::Service), ("client", Role::Client)];
        let role = named(&mut reader, "role", roles)?;
        let access = Access::read(&mut reader)?;
        reader.finish()?;
        let wants = match preset {
            Some(preset) => {
                own.refuse_beside(preset)?;
                wants(preset, only.as_deref(), domain)?
            }
            None if only.is_some() => {
                return Err(clash(
                    "only",
                    "selects one value of a preset, and there is no preset",
                ));
            }
            None => vec![own.want(domain.unwrap_or(Domain::Platform))?],
        };
        if let Some(path) = preset.and_then(|preset| preset.path)
            && url.path() == "/"
            && url.query().is_none()
        {
            url = url
                .join(path)
                .map_err(|error| wrong_url(&error.to_string()))?;
        }
        Ok(Self {
            label: name.unwrap_or_else(|| authority(&url)),
            url,
            wants,
            board: preset.and_then(|preset| preset.board),
            role,
            host,
            timing,
            documented: preset.and_then(|preset| preset.period),
            sigma,
            access,
        })
    }

    /// The URL.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The role of its machine, if the user states it.
    pub fn role(&self) -> Option<Role> {
        self.role
    }

    /// Its machine, if the user states it.
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }
}

/// A value described by the user.
struct CustomValue {
    field: Option<Path>,
    metric: Option<Selector>,
    is_sum: Option<bool>,
    unit: Option<Unit>,
    is_counter: Option<bool>,
}

impl CustomValue {
    fn read(reader: &mut ParamReader<'_>) -> Result<Self, HttpError> {
        Ok(Self {
            field: reader.parsed("field", "a path such as `a.b[0].c` or `/a/b/0/c`")?,
            metric: reader.parsed("metric", "a metric such as `NAME{label=\"x\"}`")?,
            is_sum: reader.parsed("sum", "`true` or `false`")?,
            unit: named(
                reader,
                "unit",
                UNITS.iter().map(|unit| (unit.name(), *unit)),
            )?,
            is_counter: named(reader, "kind", [("counter", true), ("gauge", false)])?,
        })
    }

    /// Rejects these options beside a preset, which defines them.
    fn refuse_beside(&self, preset: &Preset) -> Result<(), HttpError> {
        let given = [
            ("field", self.field.is_some()),
            ("metric", self.metric.is_some()),
            ("sum", self.is_sum.is_some()),
            ("unit", self.unit.is_some()),
            ("kind", self.is_counter.is_some()),
        ];
        let given = given.into_iter().find(|(_, is_given)| *is_given);
        given.map_or(Ok(()), |(option, _)| {
            Err(clash(
                option,
                &format!("`preset={}` defines it", preset.name),
            ))
        })
    }

    fn want(self, domain: Domain) -> Result<WantedValue, HttpError> {
        let place = match (self.field, self.metric) {
            (Some(path), None) => Place::Field(path),
            (None, Some(selector)) => Place::Metric(selector),
            (Some(_), Some(_)) => return Err(clash("field", "`metric` is set too; use one")),
            (None, None) => {
                let why = "one of `preset`, `field` and `metric` must say where the value stands";
                return Err(clash("field", why));
            }
        };
        let Some(unit) = self.unit else {
            return Err(ParamError::Missing {
                owner: ID.to_owned(),
                name: "unit".to_owned(),
                meaning: format!("the unit of its values, one of {}", list(UNITS)),
            }
            .into());
        };
        if self
            .is_counter
            .is_some_and(|is_counter| is_counter != unit.is_energy())
        {
            let why = "a counter counts energy (`J`, `Wh`, …), a gauge shows anything else";
            return Err(clash("kind", why));
        }
        Ok(WantedValue {
            name: unit.quantity_name(),
            place,
            several: if self.is_sum == Some(true) {
                Multiplicity::Summed
            } else {
                Multiplicity::Refused
            },
            unit,
            domain,
        })
    }
}

impl Access {
    fn read(reader: &mut ParamReader<'_>) -> Result<Self, HttpError> {
        let access = Self {
            token_file: reader.text("token-file").map(PathBuf::from),
            basic_file: reader.text("basic-file").map(PathBuf::from),
            ca_file: reader.text("ca-file").map(PathBuf::from),
            is_unverified: named(reader, "tls", [("unverified", true)])?.unwrap_or_default(),
        };
        if access.token_file.is_some() && access.basic_file.is_some() {
            return Err(clash("token-file", "`basic-file` is set too; use one"));
        }
        if access.ca_file.is_some() && access.is_unverified {
            return Err(clash("ca-file", "`tls=unverified` ignores it; use one"));
        }
        Ok(access)
    }

    /// The required privilege, in words.
    pub(super) fn privilege(&self) -> String {
        let mut words = "network".to_owned();
        if self.token_file.is_some() {
            words.push_str(", a token");
        }
        if self.basic_file.is_some() {
            words.push_str(", a password");
        }
        if self.is_unverified {
            words.push_str("; the server's certificate was not verified");
        }
        words
    }
}

fn preset(reader: &mut ParamReader<'_>) -> Result<Option<&'static Preset>, HttpError> {
    let known = preset::known().map(|known| (known.name, known.name));
    let name = named(reader, "preset", known)?;
    Ok(name.and_then(preset::find))
}

fn wants(
    preset: &'static Preset,
    only: Option<&str>,
    domain: Option<Domain>,
) -> Result<Vec<WantedValue>, HttpError> {
    let values = preset.values.iter();
    let wanted = values.filter(|value| only.is_none_or(|only| only == value.name));
    let mut wants = Vec::new();
    for value in wanted {
        let place = match value.at {
            Location::Field(text) => text.parse().map(Place::Field),
            Location::Metric(text) => text.parse().map(Place::Metric),
        };
        wants.push(WantedValue {
            name: value.name,
            place: place.map_err(|()| clash("preset", "its table is not readable"))?,
            several: value
                .each
                .map_or(Multiplicity::Refused, Multiplicity::Apart),
            unit: value.unit,
            domain: domain.unwrap_or(value.domain),
        });
    }
    if wants.is_empty() {
        let names: Vec<&str> = preset.values.iter().map(|value| value.name).collect();
        let why = format!("`preset={}` has {}", preset.name, names.join(", "));
        return Err(clash("only", &why));
    }
    Ok(wants)
}

/// An option with a few possible values.
fn named<T: Copy>(
    reader: &mut ParamReader<'_>,
    option: &'static str,
    known: impl IntoIterator<Item = (&'static str, T)>,
) -> Result<Option<T>, HttpError> {
    let Some(text) = reader.text(option) else {
        return Ok(None);
    };
    let known: Vec<(&str, T)> = known.into_iter().collect();
    if let Some((_, value)) = known.iter().find(|(name, _)| *name == text) {
        return Ok(Some(*value));
    }
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let near = nearest(&text, names.iter().copied());
    let near = did_you_mean(near);
    Err(ParamError::IllTyped {
        owner: ID.to_owned(),
        name: option.to_owned(),
        value: text,
        expected: format!("one of {}{near}", names.join(", ")),
    }
    .into())
}

fn span(reader: &mut ParamReader<'_>, option: &'static str) -> Result<Option<Duration>, HttpError> {
    let Some(text) = reader.text(option) else {
        return Ok(None);
    };
    parse_positive(&text)
        .map(Some)
        .map_err(|error| clash(option, &error.to_string()))
}

fn sigma(reader: &mut ParamReader<'_>) -> Result<Option<f64>, HttpError> {
    let sigma: Option<f64> = reader.parsed("sigma", "a share such as `0.02`")?;
    if sigma.is_some_and(|sigma| !(0.0..=1.0).contains(&sigma)) {
        return Err(clash(
            "sigma",
            "a share between 0 and 1, such as `0.02` for 2 %",
        ));
    }
    Ok(sigma)
}

/// A name that becomes part of source names.
fn label(reader: &mut ParamReader<'_>, option: &'static str) -> Result<Option<String>, HttpError> {
    let text = reader.text(option);
    let is_plain = |text: &String| {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._:-".contains(letter);
        (1..=64).contains(&text.len()) && text.chars().all(is_plain)
    };
    if text.as_ref().is_some_and(|text| !is_plain(text)) {
        return Err(clash(
            option,
            "up to 64 letters, digits, `.`, `_`, `:` and `-`",
        ));
    }
    Ok(text)
}

/// A valid URL without a secret in it.
fn checked(text: &str) -> Result<Url, HttpError> {
    let url = Url::parse(text).map_err(|error| wrong_url(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong_url(
            "it must start with `http://` or `https://` and a host",
        ));
    }
    let is_secret = !url.username().is_empty()
        || url.password().is_some()
        || url
            .query_pairs()
            .any(|(name, value)| looks_secret(&name, &value));
    if is_secret {
        return Err(wrong_url(
            "a password or token in it would show in the process list and in files; put it into a \
             file (`basic-file=PATH`, `token-file=PATH`)",
        ));
    }
    Ok(url)
}

/// The host, with its port if that is not the default.
fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn list(units: &[Unit]) -> String {
    let names: Vec<&str> = units.iter().map(|unit| unit.name()).collect();
    names.join(", ")
}

fn clash(option: &'static str, why: &str) -> HttpError {
    HttpError::Clash {
        option,
        why: why.to_owned(),
    }
}

fn wrong_url(why: &str) -> HttpError {
    HttpError::Url {
        why: why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://plug.lan/";

    fn parse(url: &str, options: &[(&str, &str)]) -> Result<HttpSpec, String> {
        let options = options
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        HttpSpec::parse(url, &options).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_wrong_is_named() {
        let preset = ("preset", "tasmota");
        let field = ("field", "a");
        for (options, named) in [
            (&[preset, ("unt", "W")][..], "did you mean `unit`"),
            (&[("preset", "tasmotta")], "did you mean `tasmota`"),
            (&[field], "needs the parameter `unit`"),
            (&[field, ("unit", "Watt")], "`unit`"),
            (&[("field", "a..b"), ("unit", "W")], "`field`"),
            (&[("metric", "m{a}"), ("unit", "W")], "`metric`"),
            (
                &[field, ("metric", "m"), ("unit", "W")],
                "`metric` is set too",
            ),
            (&[("unit", "W")], "one of `preset`, `field` and `metric`"),
            (&[field, ("unit", "W"), ("kind", "counter")], "`kind`"),
            (&[field, ("unit", "J"), ("kind", "gauge")], "`kind`"),
            (&[preset, ("unit", "W")], "`preset=tasmota` defines it"),
            (&[preset, ("only", "heat")], "`only`"),
            (&[field, ("unit", "W"), ("only", "power")], "`only`"),
            (&[preset, ("period", "0s")], "`period`"),
            (&[preset, ("period", "soon")], "`period`"),
            (&[preset, ("sigma", "2")], "`sigma`"),
            (&[preset, ("sigma", "NaN")], "`sigma`"),
            (&[preset, ("domain", "gpus")], "did you mean `gpu`"),
            (&[preset, ("role", "server")], "`role`"),
            (&[preset, ("host", "a b")], "`host`"),
            (&[preset, ("tls", "off")], "`tls`"),
            (
                &[preset, ("token-file", "a"), ("basic-file", "b")],
                "`basic-file` is set too",
            ),
            (
                &[preset, ("ca-file", "a"), ("tls", "unverified")],
                "`ca-file`",
            ),
            (&[field, ("unit", "W"), ("sum", "yes")], "`sum`"),
        ] {
            let error = parse(URL, options).unwrap_err();
            assert!(error.contains(named), "{options:?}: {error}");
        }
    }

    #[test]
    fn a_url_with_a_secret_in_it_is_refused_and_not_repeated() {
        for url in [
            "http://admin:hunter22@plug.lan/",
            "http://hunter22@plug.lan/",
            "http://plug.lan/cm?user=admin&password=hunter22&cmnd=Status%208",
            "http://plug.lan/?token=hunter22",
        ] {
            let error = parse(url, &[("preset", "tasmota")]).unwrap_err();
            assert!(
                error.contains("basic-file") && !error.contains("hunter22"),
                "{error}"
            );
        }
        for url in ["", "plug.lan", "ftp://plug.lan/", "file:///etc/passwd"] {
            assert!(parse(url, &[("preset", "tasmota")]).is_err(), "{url}");
        }
    }

    #[test]
    fn a_preset_knows_where_to_ask_unless_the_url_says_it() {
        let asked = |url, preset| parse(url, &[("preset", preset)]).unwrap().url().to_owned();
        assert_eq!(asked(URL, "tasmota"), "http://plug.lan/cm?cmnd=Status%208");
        assert_eq!(
            asked("http://plug.lan/rpc/Switch.GetStatus?id=3", "shelly-gen2"),
            "http://plug.lan/rpc/Switch.GetStatus?id=3"
        );
        let spec = parse(
            "http://node1:9400",
            &[("preset", "dcgm"), ("role", "service")],
        )
        .unwrap();
        assert_eq!(
            (spec.label.as_str(), spec.role()),
            ("node1:9400", Some(Role::Service))
        );
    }
}
