//! Types of flag values.

use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use ipw_core::duration::{self, DurationError, parse_positive};
use ipw_core::size::{self, SizeError};
use serde::{Deserialize, Deserializer};

/// `K=V`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyValue {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl FromStr for KeyValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(Self {
                key: key.trim().to_owned(),
                value: value.to_owned(),
            }),
            _ => Err("expected NAME=VALUE".to_owned()),
        }
    }
}

/// A duration longer than zero, written with its unit: `90s`, `500ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Duration);

impl FromStr for Span {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        parse_positive(text).map(Self)
    }
}

/// A duration that may be zero, which turns the feature off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pause(pub(crate) Duration);

impl FromStr for Pause {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        duration::parse(text).map(Self)
    }
}

impl<'de> Deserialize<'de> for Pause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        as_written(deserializer)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        as_written(deserializer)
    }
}

/// A size in bytes above zero, written with its unit: `64KiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        size::parse(text).map(Self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        as_written(deserializer)
    }
}

/// Parses a key of `ipw.toml` like its flag: `duration = 60` fails as `--duration 60` does.
fn as_written<'de, D: Deserializer<'de>, T: FromStr<Err: std::fmt::Display>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let text = match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    text.parse().map_err(serde::de::Error::custom)
}

/// A table with text values.
pub(super) fn table_of_texts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<KeyValue>, D::Error> {
    table(deserializer, |value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    })
}

/// A table with typed values; each becomes JSON text.
pub(super) fn table_of_json<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<KeyValue>, D::Error> {
    table(deserializer, |value| value.to_string())
}

fn table<'de, D: Deserializer<'de>>(
    deserializer: D,
    text: impl Fn(serde_json::Value) -> String,
) -> Result<Vec<KeyValue>, D::Error> {
    let table = serde_json::Map::deserialize(deserializer)?;
    Ok(table
        .into_iter()
        .map(|(key, value)| KeyValue {
            key,
            value: text(value),
        })
        .collect())
}

/// The value of `--param`: JSON if it parses as JSON, else text.
pub(crate) fn json_or_text(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|_| serde_json::Value::String(text.to_owned()))
}

/// Idle power of a source, in watts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IdlePower {
    /// `None` for the only measured source.
    pub(crate) source: Option<String>,
    pub(crate) watts: f64,
}

impl FromStr for IdlePower {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (source, watts) = match text.rsplit_once('=') {
            Some((source, watts)) => (Some(source.to_owned()), watts),
            None => (None, text),
        };
        let number = watts.trim_end_matches('W').trim().parse().ok();
        let watts = number.filter(|watts: &f64| watts.is_finite() && *watts >= 0.0);
        let watts = watts.ok_or("expected watts, such as `50` or `rapl/package-0=50`")?;
        Ok(Self { source, watts })
    }
}

/// An address to listen on: a port on loopback, or an address with a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListenAddress(pub(crate) SocketAddr);

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let port = text.strip_prefix("localhost:").unwrap_or(text);
        let own = port
            .parse()
            .map(|port: u16| (Ipv4Addr::LOCALHOST, port).into());
        let address = own.or_else(|_| text.parse());
        let wrong =
            |_| "expected a port, or an address with a port, such as `127.0.0.1:9400`".to_owned();
        address.map(Self).map_err(wrong)
    }
}

/// Parses a finite number of zero or more.
pub(crate) fn at_least_zero(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok();
    let fits = amount.filter(|amount| amount.is_finite() && *amount >= 0.0);
    fits.ok_or_else(|| "expected a number of zero or more, such as 0.30".to_owned())
}

/// Parses a finite factor of one or more.
pub(crate) fn at_least_one(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok();
    let fits = factor.filter(|factor| factor.is_finite() && *factor >= 1.0);
    fits.ok_or_else(|| "expected a factor of one or more, such as 1.2".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_people_write_them() {
        assert_eq!("90s".parse(), Ok(Span(Duration::from_secs(90))));
        assert_eq!("0".parse(), Ok(Pause(Duration::ZERO)));
        for wrong in ["0", "0s", "-1", "2", "soon", "1e400", ""] {
            assert!(wrong.parse::<Span>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn idle_is_watts_with_or_without_a_name() {
        let named: IdlePower = "rapl/package-0=50.5".parse().unwrap();
        assert_eq!(
            (named.source.as_deref(), named.watts),
            (Some("rapl/package-0"), 50.5)
        );
        let alone: IdlePower = "50 W".parse().unwrap();
        assert_eq!((alone.source, alone.watts), (None, 50.0));
        for wrong in ["", "-1", "a=", "NaN", "inf", "a=b"] {
            assert!(wrong.parse::<IdlePower>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_port_alone_is_one_of_this_machine() {
        for (text, expected) in [
            ("9400", "127.0.0.1:9400"),
            ("localhost:0", "127.0.0.1:0"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            let address: ListenAddress = text.parse().unwrap();
            assert_eq!(address.0.to_string(), expected);
        }
        for wrong in ["", "127.0.0.1", "99999", "host:1", ":80"] {
            assert!(wrong.parse::<ListenAddress>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn pairs_need_a_name() {
        let pair: KeyValue = "a=b=c".parse().unwrap();
        assert_eq!((pair.key.as_str(), pair.value.as_str()), ("a", "b=c"));
        assert!("=x".parse::<KeyValue>().is_err());
        assert!("x".parse::<KeyValue>().is_err());
    }
}
