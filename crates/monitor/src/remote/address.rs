//! Addresses of monitors.

use std::fmt;
use std::path::PathBuf;

use super::RemoteError;

/// The original's default port.
pub const DEFAULT_PORT: u16 = 50053;

/// The address of a monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A TCP port.
    Tcp {
        /// Host name or address; IPv6 without brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// A Unix socket on this machine.
    Unix(PathBuf),
}

impl Address {
    /// Parses `grpc://host[:port]`, `host:port` or `unix:path`. As in the original, `http://` and a
    /// path after the port are ignored.
    pub fn parse(text: &str) -> Result<Self, RemoteError> {
        let wrong = |reason| RemoteError::Address {
            text: text.to_owned(),
            reason,
        };
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() {
                return Err(wrong("the path of the socket is missing"));
            }
            return Ok(Self::Unix(path.into()));
        }
        let rest = ["grpc://", "http://", "https://"]
            .iter()
            .find_map(|scheme| text.strip_prefix(scheme))
            .unwrap_or(text);
        let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if rest.contains('@') {
            return Err(wrong(
                "it contains credentials, which the process list would show",
            ));
        }
        let (host, port) = split(rest).ok_or_else(|| wrong("expected HOST:PORT"))?;
        let port = match port {
            None => DEFAULT_PORT,
            Some(port) => match port.parse() {
                Ok(port) if port > 0 => port,
                _ => return Err(wrong("the port is not a number from 1 to 65535")),
            },
        };
        if host.is_empty() || host.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(wrong("the host is missing"));
        }
        Ok(Self::Tcp {
            host: host.to_owned(),
            port,
        })
    }

    /// The address in tonic's form.
    pub(super) fn uri(&self) -> String {
        match self {
            Self::Tcp { host, port } if host.contains(':') => format!("http://[{host}]:{port}"),
            Self::Tcp { host, port } => format!("http://{host}:{port}"),
            Self::Unix(path) => format!("unix:{}", path.display()),
        }
    }

    /// The host as typed, if it identifies the machine: the end of a tunnel does not.
    pub(super) fn host(&self) -> Option<&str> {
        match self {
            Self::Unix(_) => None,
            Self::Tcp { host, .. } => {
                let is_here = host == "localhost" || host.starts_with("127.") || host == "::1";
                (!is_here).then_some(host)
            }
        }
    }
}

/// Splits host and port, with brackets around IPv6.
fn split(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, behind) = rest.split_once(']')?;
        return match behind.strip_prefix(':') {
            Some(port) => Some((host, Some(port))),
            None => behind.is_empty().then_some((host, None)),
        };
    }
    match text.rsplit_once(':') {
        // More than one colon without brackets: an IPv6 address.
        Some((host, _)) if host.contains(':') => Some((text, None)),
        Some((host, port)) => Some((host, Some(port))),
        None => Some((text, None)),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "grpc://[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "grpc://{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_original_and_people_write_them() {
        for (text, shown) in [
            ("grpc://gpu1:50060", "grpc://gpu1:50060"),
            ("gpu1", "grpc://gpu1:50053"),
            ("127.0.0.1:50053", "grpc://127.0.0.1:50053"),
            ("http://gpu1:7/energy", "grpc://gpu1:7"),
            ("[::1]:7", "grpc://[::1]:7"),
            ("::1", "grpc://[::1]:50053"),
            ("grpc://[fe80::1]", "grpc://[fe80::1]:50053"),
            ("unix:/run/ipw.sock", "unix:/run/ipw.sock"),
            ("unix:///run/ipw.sock", "unix:/run/ipw.sock"),
        ] {
            assert_eq!(Address::parse(text).unwrap().to_string(), shown, "{text}");
        }
        for text in [
            "",
            "grpc://",
            ":7",
            "gpu1:",
            "gpu1:0",
            "gpu1:70000",
            "gpu1:x",
            "unix:",
            "[::1",
            "a@b:1",
            "a b:1",
            "[::1]x",
        ] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_end_of_a_tunnel_does_not_say_which_machine_it_is() {
        let host = |text| Address::parse(text).unwrap().host().map(str::to_owned);
        assert_eq!(host("grpc://gpu1:1"), Some("gpu1".to_owned()));
        for here in ["localhost", "127.0.0.1:9", "[::1]:4", "unix:x"] {
            assert_eq!(host(here), None, "{here}");
        }
    }
}
