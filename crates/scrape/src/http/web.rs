//! One timed request: when it was sent, and when the head of its reply arrived.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ipw_core::text::printable;
use ipw_core::time::{Clock, Timestamp};
use ureq::http::Response;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, Timeout};
use url::{Host, Url};

use super::HttpError;
use super::spec::Access;

/// Maximum size of a reply.
const LONGEST_REPLY: u64 = 4 * 1024 * 1024;
/// Timeout of a request. A slower one yields no reading, and the end of a run waits no longer.
const PATIENCE: Duration = Duration::from_secs(4);
const CONNECTING: Duration = Duration::from_secs(3);
const MOST_REDIRECTS: u32 = 3;

/// Requests one URL repeatedly, over one connection if the server keeps it open.
pub(crate) struct Asker {
    agent: Agent,
    url: Url,
    /// A secret: never shown.
    authorization: Option<String>,
    accept: &'static str,
}

/// A reply.
pub(crate) struct Answer {
    pub(crate) text: String,
    /// When the request was sent.
    pub(crate) asked: Timestamp,
    /// When the head of the reply arrived.
    pub(crate) answered: Timestamp,
}

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum RequestError {
    /// The server is unreachable or denies access.
    Away(String),
    /// The reply is unusable.
    Useless(String),
}

impl RequestError {
    pub(crate) fn words(self) -> String {
        match self {
            Self::Away(words) | Self::Useless(words) => words,
        }
    }
}

impl Asker {
    pub(super) fn new(url: &Url, access: &Access, accept: &'static str) -> Result<Self, HttpError> {
        Ok(Self {
            agent: agent(url, access)?,
            url: url.clone(),
            authorization: authorization(url, access)?,
            accept,
        })
    }

    /// Requests without a secret.
    pub(crate) fn plain(url: &Url, accept: &'static str) -> Result<Self, HttpError> {
        Self::new(url, &Access::default(), accept)
    }

    /// Requests once. Follows redirects to the same host only: a secret must go nowhere else.
    pub(crate) fn ask(&self, clock: &dyn Clock) -> Result<Answer, RequestError> {
        let mut url = self.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let asked = clock.now();
            let response = self.call(&url)?;
            let answered = clock.now();
            if let Some(next) = redirected(&response, &url)? {
                url = next;
                continue;
            }
            let text = self.body(response)?;
            return Ok(Answer {
                text,
                asked,
                answered,
            });
        }
        Err(self.useless(&format!("more than {MOST_REDIRECTS} redirects")))
    }

    fn call(&self, url: &Url) -> Result<Response<Body>, RequestError> {
        let mut request = self.agent.get(url.as_str()).header("Accept", self.accept);
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        request
            .call()
            .map_err(|error| RequestError::Away(format!("{}: {}", self.shown(), explained(&error))))
    }

    fn body(&self, mut response: Response<Body>) -> Result<String, RequestError> {
        let status = response.status();
        if !status.is_success() {
            let words = format!("{}: answered {status}", self.shown());
            return Err(if status.is_server_error() {
                RequestError::Useless(words)
            } else {
                RequestError::Away(words)
            });
        }
        let body = response.body_mut().with_config().limit(LONGEST_REPLY);
        let bytes = body
            .read_to_vec()
            .map_err(|error| self.useless(&explained(&error)))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn useless(&self, why: &str) -> RequestError {
        RequestError::Useless(format!("{}: {why}", self.shown()))
    }

    /// The URL as shown in messages.
    pub(super) fn shown(&self) -> String {
        format!("`{}`", printable(self.url.as_str()))
    }
}

/// The target of a redirect; an error if that is another host or unencrypted.
fn redirected(response: &Response<Body>, from: &Url) -> Result<Option<Url>, RequestError> {
    if !response.status().is_redirection() {
        return Ok(None);
    }
    let location = response.headers().get("location");
    let location = location.and_then(|value| value.to_str().ok());
    let next = location.and_then(|location| from.join(location).ok());
    let is_same = |next: &Url| {
        let is_safer = from.scheme() == "http" && next.scheme() == "https";
        next.origin() == from.origin() || (is_safer && next.host_str() == from.host_str())
    };
    match next {
        Some(next) if is_same(&next) => Ok(Some(next)),
        next => {
            let next = next.map_or("nowhere".to_owned(), |next| {
                format!("`{}`", printable(next.host_str().unwrap_or_default()))
            });
            let from = printable(from.as_str());
            let words = format!("`{from}`: sends us to {next}, which is not followed");
            Err(RequestError::Away(words))
        }
    }
}

fn explained(error: &ureq::Error) -> String {
    match error {
        ureq::Error::HostNotFound => "cannot resolve the host".to_owned(),
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
            format!("no connection within {} s", CONNECTING.as_secs())
        }
        ureq::Error::Timeout(_) => format!("no complete reply within {} s", PATIENCE.as_secs()),
        ureq::Error::BodyExceedsLimit(_) => {
            format!("the reply is longer than {} MiB", LONGEST_REPLY >> 20)
        }
        ureq::Error::Io(error) => error.to_string(),
        error => error.to_string(),
    }
}

fn agent(url: &Url, access: &Access) -> Result<Agent, HttpError> {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("ipw/", env!("CARGO_PKG_VERSION")))
        .accept_encoding("identity")
        .timeout_global(Some(PATIENCE))
        .timeout_resolve(Some(CONNECTING))
        .timeout_connect(Some(CONNECTING))
        // Devices are on the local network, and a proxy would distort the round trip.
        .proxy(None);
    if url.scheme() == "https" {
        let tls = TlsConfig::builder()
            .root_certs(roots(access)?)
            .disable_verification(access.is_unverified)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
        config = config.tls_config(tls.build());
    }
    Ok(config.build().new_agent())
}

/// The trusted certificate authorities: the user's own, or the system's.
fn roots(access: &Access) -> Result<RootCerts, HttpError> {
    let Some(path) = &access.ca_file else {
        let found = rustls_native_certs::load_native_certs();
        let certificates: Vec<_> = found
            .certs
            .iter()
            .map(|certificate| Certificate::from_der(certificate).to_owned())
            .collect();
        return Ok(RootCerts::new_with_certs(&certificates));
    };
    let pem = read("ca-file", path)?;
    let certificates: Vec<_> = parse_pem(pem.as_bytes())
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        return Err(unusable("ca-file", path, "it contains no certificate"));
    }
    Ok(RootCerts::new_with_certs(&certificates))
}

/// The value of the `Authorization` header.
fn authorization(url: &Url, access: &Access) -> Result<Option<String>, HttpError> {
    let (option, path) = match (&access.token_file, &access.basic_file) {
        (Some(path), _) => ("token-file", path),
        (None, Some(path)) => ("basic-file", path),
        (None, None) => return Ok(None),
    };
    if url.scheme() != "https" && !is_loopback(url) {
        let why = "a secret does not travel in the clear beyond this machine: take `https`, or a \
                   tunnel (`ssh -L`)";
        return Err(HttpError::Clash {
            option,
            why: why.to_owned(),
        });
    }
    let text = read(option, path)?;
    let secret = text.lines().next().unwrap_or_default().trim();
    if secret.is_empty()
        || !secret
            .chars()
            .all(|character| matches!(character, ' '..='~'))
    {
        return Err(unusable(option, path, "its first line is not a secret"));
    }
    if option == "token-file" {
        return Ok(Some(format!("Bearer {secret}")));
    }
    if !secret.contains(':') {
        return Err(unusable(
            option,
            path,
            "its first line is not `user:password`",
        ));
    }
    Ok(Some(format!("Basic {}", base64(secret.as_bytes()))))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

fn read(option: &'static str, path: &Path) -> Result<String, HttpError> {
    fs::read_to_string(path).map_err(|error| unusable(option, path, &error.to_string()))
}

fn unusable(option: &'static str, path: &Path, why: &str) -> HttpError {
    HttpError::File {
        option,
        path: PathBuf::from(path),
        why: why.to_owned(),
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let at = |place: usize| u32::from(three.get(place).copied().unwrap_or_default());
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for (place, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let letter = LETTERS[(bits >> shift & 63) as usize];
            text.push(if place <= three.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_standards() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("user:pass~word", "dXNlcjpwYXNzfndvcmQ="),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded, "{plain}");
        }
    }
}
