//! Which requests the server accepts.
//!
//! A web page from anywhere can make a browser send requests to loopback. With DNS rebinding, where
//! the page's own name resolves to 127.0.0.1, it could read the replies too. Such a request carries
//! that name as its `Host`, or the page's origin as its `Origin`: both are checked first.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{StatusCode, Uri};
use ipw_core::setting::Setting;
use ipw_core::text::{excerpt, printable};

use super::problem::Problem;

/// Maximum characters of a foreign name that an error repeats.
const SHOWN: usize = 100;

/// A host name or address, without a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName(String);

/// The text is not a host name or address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a host name or address (leave out the port and `http://`)")]
pub struct BadHostName(String);

impl HostName {
    /// The name in lower case, or the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses the value of `Host`: a name or an address, optionally with a port.
    fn of_authority(authority: &str) -> Option<Self> {
        let (host, port) = if let Some(bracketed) = authority.strip_prefix('[') {
            let (address, rest) = bracketed.split_once(']')?;
            address.parse::<Ipv6Addr>().ok()?;
            (
                address,
                rest.strip_prefix(':')
                    .or(Some(rest).filter(|rest| rest.is_empty()))?,
            )
        } else {
            match authority.split_once(':') {
                // An IPv6 address must be in brackets here.
                Some((_, port)) if port.contains(':') => return None,
                Some(split) => split,
                None => (authority, ""),
            }
        };
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
        host.parse().ok().filter(|_| is_port)
    }

    fn address(&self) -> Option<IpAddr> {
        let address: IpAddr = self.0.parse().ok()?;
        Some(address.to_canonical())
    }

    fn is_loopback(&self) -> bool {
        match self.address() {
            Some(address) => address.is_loopback(),
            None => self.0 == "localhost",
        }
    }
}

impl FromStr for HostName {
    type Err = BadHostName;

    fn from_str(text: &str) -> Result<Self, BadHostName> {
        let bare = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'));
        if let Ok(address) = bare.unwrap_or(text).parse::<IpAddr>() {
            return Ok(Self(address.to_string()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
        if name.is_empty() || !is_name {
            return Err(BadHostName(excerpt(&printable(text), SHOWN)));
        }
        Ok(Self(name))
    }
}

/// The hosts that requests may name: loopback, the address at which they arrive, and `allowed`.
#[derive(Debug, Default)]
pub(super) struct Guard {
    allowed: Vec<HostName>,
}

impl Guard {
    pub(super) fn allow(&mut self, host: HostName) {
        self.allowed.push(host);
    }

    /// Accepts or refuses a request that arrived at the address `at`.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap, at: IpAddr) -> Result<(), Problem> {
        let Some(host) = only(headers, &HOST)? else {
            return Err(Problem::bad("the header `Host` is missing"));
        };
        // An absolute URL in the request line counts as well as the header.
        let in_line = uri.authority().map(hyper::http::uri::Authority::as_str);
        for authority in [host].into_iter().chain(in_line) {
            if !HostName::of_authority(authority).is_some_and(|host| self.is_allowed(&host, at)) {
                return Err(foreign(authority));
            }
        }
        match only(headers, &ORIGIN)? {
            Some(origin) if !is_loopback_origin(origin) => {
                let shown = excerpt(&printable(origin), SHOWN);
                let message = format!("requests from pages of `{shown}` are not allowed");
                Err(Problem::new(StatusCode::FORBIDDEN, message).code("forbidden_origin"))
            }
            _ => Ok(()),
        }
    }

    fn is_allowed(&self, host: &HostName, at: IpAddr) -> bool {
        host.is_loopback()
            || host.address() == Some(at.to_canonical())
            || self.allowed.contains(host)
    }
}

fn foreign(authority: &str) -> Problem {
    let shown = excerpt(&printable(authority), SHOWN);
    let message = format!(
        "this server does not accept the host `{shown}`; start it with `ipw serve {}` to allow it",
        Setting::AllowHost.to("NAME")
    );
    Problem::new(StatusCode::FORBIDDEN, message).code("forbidden_host")
}

/// The single value of a header. Two values are refused: they may be an attempt to bypass the
/// check.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Problem> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    match (value.to_str(), values.next()) {
        (Ok(text), None) => Ok(Some(text)),
        _ => Err(Problem::bad(format!("cannot read the header `{name}`"))),
    }
}

fn is_loopback_origin(origin: &str) -> bool {
    let authority = ["http://", "https://"]
        .iter()
        .find_map(|scheme| origin.strip_prefix(scheme));
    authority
        .and_then(HostName::of_authority)
        .is_some_and(|host| host.is_loopback())
}
