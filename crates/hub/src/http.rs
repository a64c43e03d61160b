//! One request to the hub, with redirects followed by hand.
//!
//! By hand for two reasons: the token must go to the hub only, never to a redirect's target. And
//! the file's checksum and size are in the hub's own response, not in that of the storage behind
//! it.

use std::io::Read;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ureq::http::{HeaderMap, Response};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, Proxy, Timeout};
use url::{Host, Url};

use crate::hub::Patience;
use crate::token::Token;

const MOST_REDIRECTS: u32 = 10;

/// A response whose body is still to be read.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Entity tag of the file's version: the hub's, else the storage's.
    pub(crate) version: Option<String>,
    /// The hub's own entity tag, if it may be a checksum.
    pub(crate) hub_version: Option<String>,
    /// Size of the whole file according to the hub.
    pub(crate) linked_size: Option<u64>,
    pub(crate) content_length: Option<u64>,
    pub(crate) range: Option<ContentRange>,
    /// When to retry, if the server says.
    pub(crate) retry_after: Option<Duration>,
    /// The hub's error code.
    pub(crate) error_code: Option<String>,
    /// URL of the list's next page.
    pub(crate) next: Option<String>,
    pub(crate) body: Box<dyn Read>,
}

/// `Content-Range: bytes start-end/total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContentRange {
    /// `None` in `bytes */total`.
    pub(crate) start: Option<u64>,
    pub(crate) total: Option<u64>,
}

/// Requests `url` from `offset` on.
pub(crate) fn get(
    url: &Url,
    offset: u64,
    token: Option<&Token>,
    patience: &Patience,
) -> Result<Answer, String> {
    let mut at = url.clone();
    let mut hub_version = None;
    let mut linked_size = None;
    for _ in 0..=MOST_REDIRECTS {
        let is_hub = at.origin() == url.origin();
        let token = token.filter(|_| is_hub && may_carry_a_token(&at));
        let response = ask(&at, offset, token, patience)?;
        let headers = response.headers();
        if is_hub {
            hub_version = version(headers, "x-linked-etag")
                .or(hub_version)
                .or_else(|| version(headers, "etag"));
            linked_size = number(headers, "x-linked-size").or(linked_size);
        }
        let Some(next) = redirect(&response, &at)? else {
            return Ok(Answer {
                status: response.status().as_u16(),
                version: hub_version.clone().or_else(|| version(headers, "etag")),
                hub_version,
                linked_size,
                content_length: number(headers, "content-length"),
                range: text(headers, "content-range").and_then(ContentRange::parse),
                retry_after: number(headers, "retry-after").map(Duration::from_secs),
                error_code: text(headers, "x-error-code").map(str::to_owned),
                next: text(headers, "link").and_then(next_of),
                body: Box::new(response.into_body().into_reader()),
            });
        };
        at = next;
    }
    Err(format!("more than {MOST_REDIRECTS} redirects"))
}

fn ask(
    url: &Url,
    offset: u64,
    token: Option<&Token>,
    patience: &Patience,
) -> Result<Response<Body>, String> {
    let mut request = agent(url, patience)?.get(url.as_str());
    if offset > 0 {
        request = request.header("Range", format!("bytes={offset}-"));
    }
    if let Some(token) = token {
        request = request.header("Authorization", token.bearer());
    }
    request
        .call()
        .map_err(|error| explained(&error, url, patience))
}

fn agent(url: &Url, patience: &Patience) -> Result<Agent, String> {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("ipw/", env!("CARGO_PKG_VERSION")))
        // Ranges and lengths refer to the file, not to a compressed form of it.
        .accept_encoding("identity")
        .timeout_resolve(Some(patience.connect))
        .timeout_connect(Some(patience.connect))
        .timeout_send_request(Some(patience.idle))
        .timeout_recv_response(Some(patience.idle))
        .timeout_per_read(Some(patience.idle))
        // Loopback is never reached through a proxy, whatever the environment says.
        .proxy(if is_loopback(url) {
            None
        } else {
            Proxy::try_from_env()
        });
    if url.scheme() == "https" {
        let tls = TlsConfig::builder()
            .root_certs(roots()?)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
        config = config.tls_config(tls.build());
    }
    Ok(config.build().new_agent())
}

/// The system's trusted root certificates, read once.
fn roots() -> Result<RootCerts, String> {
    static ROOTS: OnceLock<RootCerts> = OnceLock::new();
    if let Some(roots) = ROOTS.get() {
        return Ok(roots.clone());
    }
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        return Err("this system has no root certificates".to_owned());
    }
    let certificates: Vec<_> = found
        .certs
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned())
        .collect();
    Ok(ROOTS
        .get_or_init(|| RootCerts::new_with_certs(&certificates))
        .clone())
}

fn redirect(response: &Response<Body>, from: &Url) -> Result<Option<Url>, String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = text(response.headers(), "location").ok_or("a redirect to nowhere")?;
    follow(from, location).map(Some)
}

fn follow(from: &Url, location: &str) -> Result<Url, String> {
    let next = from
        .join(location)
        .map_err(|error| format!("invalid redirect: {error}"))?;
    match (from.scheme(), next.scheme()) {
        (_, "https") | ("http", "http") => Ok(next),
        _ => Err(format!("a redirect from https to `{}`", next.scheme())),
    }
}

/// A secret is never sent unencrypted beyond this machine.
fn may_carry_a_token(url: &Url) -> bool {
    url.scheme() == "https" || is_loopback(url)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

fn explained(error: &ureq::Error, url: &Url, patience: &Patience) -> String {
    let host = url.host_str().unwrap_or_default();
    match error {
        ureq::Error::HostNotFound => format!("cannot resolve `{host}`"),
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
            let seconds = patience.connect.as_secs_f64();
            format!("`{host}` did not accept a connection within {seconds} s")
        }
        ureq::Error::Timeout(_) => {
            let seconds = patience.idle.as_secs_f64();
            format!("`{host}` sent nothing for {seconds} s")
        }
        ureq::Error::Io(error) => format!("cannot reach `{host}`: {error}"),
        error => format!("`{host}`: {error}"),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    text(headers, name)?.trim().parse().ok()
}

/// Whether a status may be temporary.
pub(crate) fn is_passing(status: u16) -> bool {
    status == 429 || status >= 500
}

/// The address in `<address>; rel="next"`.
fn next_of(link: &str) -> Option<String> {
    link.split(',').find_map(|one| {
        let (address, relation) = one.split_once(';')?;
        let is_next = relation.contains("rel=\"next\"");
        let address = address.trim().strip_prefix('<')?.strip_suffix('>')?;
        is_next.then(|| address.to_owned())
    })
}

/// An entity tag without its quotes. A weak one does not identify the bytes.
fn version(headers: &HeaderMap, name: &str) -> Option<String> {
    let tag = text(headers, name)?.trim();
    let tag = tag.strip_prefix('"')?.strip_suffix('"')?;
    (!tag.is_empty()).then(|| tag.to_owned())
}

impl ContentRange {
    fn parse(text: &str) -> Option<Self> {
        let (range, total) = text.trim().strip_prefix("bytes")?.trim().split_once('/')?;
        let start = range.split_once('-').map(|(start, _)| start.parse());
        Some(Self {
            start: start.transpose().ok()?,
            total: total.parse().ok(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_writes_them() {
        let range = |start, total| Some(ContentRange { start, total });
        for (text, expected) in [
            ("bytes 5-9/10", range(Some(5), Some(10))),
            ("bytes 5-9/*", range(Some(5), None)),
            ("bytes */10", range(None, Some(10))),
            ("bytes x-9/10", None),
            ("lines 5-9/10", None),
            ("bytes 5", None),
            ("", None),
        ] {
            assert_eq!(ContentRange::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn a_token_goes_encrypted_or_nowhere() {
        for (url, may) in [
            ("https://huggingface.co/x", true),
            ("http://127.0.0.1:8/x", true),
            ("http://[::1]:8/x", true),
            ("http://localhost/x", true),
            ("http://mirror.example/x", false),
        ] {
            assert_eq!(may_carry_a_token(&Url::parse(url).unwrap()), may, "{url}");
        }
    }

    #[test]
    fn a_redirect_does_not_leave_the_encrypted_world() {
        let from = Url::parse("https://hub.example/a/b").unwrap();
        let follow = |location| follow(&from, location).map(String::from);
        assert_eq!(follow("../c").unwrap(), "https://hub.example/c");
        assert_eq!(
            follow("https://cdn.example/x").unwrap(),
            "https://cdn.example/x"
        );
        assert!(follow("http://cdn.example/x").is_err());
        assert!(follow("file:///etc/passwd").is_err());
        assert!(follow("https://").is_err());
    }

    #[test]
    fn a_list_says_where_it_goes_on() {
        let next = |link| next_of(link).unwrap_or_default();
        assert_eq!(
            next("<https://h/x?cursor=a>; rel=\"next\""),
            "https://h/x?cursor=a"
        );
        assert_eq!(next("<a>; rel=\"prev\", <b>; rel=\"next\""), "b");
        assert_eq!(next("<a>; rel=\"prev\""), "");
        assert_eq!(next("nonsense"), "");
    }

    #[test]
    fn a_weak_tag_is_no_version() {
        let mut headers = HeaderMap::new();
        for (tag, expected) in [
            ("\"abc\"", Some("abc")),
            ("W/\"abc\"", None),
            ("\"\"", None),
            ("abc", None),
        ] {
            headers.insert("etag", tag.parse().unwrap());
            assert_eq!(version(&headers, "etag").as_deref(), expected, "{tag}");
        }
    }
}
