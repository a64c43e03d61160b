//! The base URL of a service, with or without `/v1` and trailing slash, or a Unix socket.

use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ipw_core::secret::masked_url;
use ipw_core::setting::Setting;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use url::{Host, Url};

use crate::ClientError;

/// The address of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    /// Scheme, authority and path, the path without a trailing slash.
    url: Url,
    host: String,
    /// The Unix socket used instead of host and port.
    socket: Option<PathBuf>,
    /// The URL as displayed; parsing it gives the same address.
    shown: String,
}

impl BaseUrl {
    /// Parses a URL as users write it.
    pub fn parse(text: &str) -> Result<Self, ClientError> {
        let wrong = |shown: &str, problem: &str| ClientError::Url {
            url: masked_url(shown).into_owned(),
            problem: problem.to_owned(),
        };
        let trimmed = text.trim();
        if let Some((socket, path)) = socket_and_path(trimmed) {
            let url = path
                .filter(|_| !socket.as_os_str().is_empty())
                .and_then(|path| Url::parse(&format!("http://localhost/{path}")).ok())
                .filter(|url| url.query().is_none() && url.fragment().is_none())
                .ok_or_else(|| {
                    let problem = "does not name a socket\nhelp: write it like `unix:/run/service.sock` or `http+unix://%2Frun%2Fservice.sock/v1`";
                    wrong(trimmed, problem)
                })?;
            return Ok(Self::at(url, "localhost".to_owned(), Some(socket)));
        }
        let url = Url::parse(trimmed)
            .ok()
            .filter(|url| url.has_host() || matches!(url.scheme(), "http" | "https"))
            .ok_or_else(|| {
                let shown = if trimmed.contains('@') {
                    "…"
                } else {
                    trimmed
                };
                wrong(
                    shown,
                    "is not a URL\nhelp: write it like `http://127.0.0.1:8080`",
                )
            })?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(
                "…@…",
                &format!(
                    "holds a user name or password\nhelp: give the key by `{}` or `{}`",
                    Setting::ApiKeyEnv.to("NAME"),
                    Setting::ApiKeyFile.to("PATH")
                ),
            ));
        }
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong(trimmed, "is neither http nor https"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong(
                trimmed,
                "has a query or a fragment, which a base URL cannot have",
            ));
        }
        let host = match url.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => return Err(wrong(trimmed, "has no host")),
        };
        Ok(Self::at(url, host, None))
    }

    fn at(url: Url, host: String, socket: Option<PathBuf>) -> Self {
        let path = url.path().trim_end_matches('/').to_owned();
        let shown = String::new();
        let mut base = Self {
            url,
            host,
            socket,
            shown,
        };
        base.set_path(&path);
        base
    }

    fn set_path(&mut self, path: &str) {
        self.url.set_path(path);
        self.shown = match (&self.socket, path) {
            (None, _) => self.url.as_str().trim_end_matches('/').to_owned(),
            (Some(socket), "" | "/v1") if socket.to_str().is_some() => {
                format!("unix:{}", socket.display())
            }
            (Some(socket), path) => {
                let socket = percent_encode(socket.as_os_str().as_bytes(), NON_ALPHANUMERIC);
                format!("http+unix://{socket}{path}")
            }
        };
    }

    /// Ensures that the path ends in `/v1`.
    #[must_use]
    pub fn with_v1(mut self) -> Self {
        let path = self.url.path().trim_end_matches('/');
        let path = path.strip_suffix("/chat/completions").unwrap_or(path);
        let path = format!("{}/v1", path.strip_suffix("/v1").unwrap_or(path));
        self.set_path(&path);
        self
    }

    /// Removes the first of `endings` that the path ends in.
    #[must_use]
    pub fn without(mut self, endings: &[&str]) -> Self {
        let path = self.url.path().trim_end_matches('/');
        let path = endings.iter().find_map(|ending| path.strip_suffix(ending));
        if let Some(path) = path.map(str::to_owned) {
            self.set_path(&path);
        }
        self
    }

    /// The host's name or address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The Unix socket used instead of host and port.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// The port, or the scheme's default.
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(80)
    }

    /// Whether the scheme is https.
    pub fn is_encrypted(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Whether the address is on this machine.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self
                .host
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }

    /// The value of the `Host` header.
    pub fn authority(&self) -> &str {
        let authority = self.url.authority();
        authority.rsplit('@').next().unwrap_or(authority)
    }

    /// The full path of `endpoint`.
    pub fn path_of(&self, endpoint: &str) -> String {
        format!("{}{endpoint}", self.url.path().trim_end_matches('/'))
    }

    /// The URL as displayed.
    pub fn as_str(&self) -> &str {
        &self.shown
    }
}

/// Parses `unix:/path` and `http+unix://%2Fpath/v1` into the socket and the URL's path; the path is
/// `None` if invalid.
fn socket_and_path(text: &str) -> Option<(PathBuf, Option<&str>)> {
    let of = |bytes: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(bytes));
    if let Some(rest) = text.strip_prefix("http+unix://") {
        let (socket, path) = rest.split_once('/').unwrap_or((rest, ""));
        let socket: Vec<u8> = percent_decode_str(socket).collect();
        let path = (!socket.contains(&0)).then_some(path);
        return Some((of(&socket), path));
    }
    let rest = text.strip_prefix("unix:")?;
    let socket = rest.strip_prefix("//").unwrap_or(rest);
    let path = (!socket.contains('\0')).then_some("");
    Some((of(socket.as_bytes()), path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_it_is_the_same_service() {
        for text in [
            "http://h:8080",
            "http://h:8080/",
            "http://h:8080/v1",
            "http://h:8080/v1/",
            "http://h:8080//",
            " http://h:8080/v1/chat/completions ",
        ] {
            let url = BaseUrl::parse(text).unwrap().with_v1();
            assert_eq!(
                url.path_of("/chat/completions"),
                "/v1/chat/completions",
                "{text}"
            );
            assert_eq!((url.authority(), url.port()), ("h:8080", 8080), "{text}");
        }
        let url = BaseUrl::parse("https://example.com/proxy/openai")
            .unwrap()
            .with_v1();
        assert_eq!(url.path_of("/models"), "/proxy/openai/v1/models");
        assert_eq!(url.as_str(), "https://example.com/proxy/openai/v1");
    }

    #[test]
    fn an_api_s_own_path_is_taken_off() {
        for (text, expected) in [
            ("http://h:1", "/api/chat"),
            ("http://h:1/api/", "/api/chat"),
            ("http://h:1/v1", "/api/chat"),
            ("http://h:1/front/api/chat", "/front/api/chat"),
            ("http://h:1/front", "/front/api/chat"),
        ] {
            let url = BaseUrl::parse(text).unwrap();
            let url = url.without(&["/api/chat", "/api", "/v1"]);
            assert_eq!(url.path_of("/api/chat"), expected, "{text}");
        }
    }

    #[test]
    fn hosts_ports_and_loopback() {
        for (text, host, port, loopback) in [
            ("http://127.0.0.1:1", "127.0.0.1", 1, true),
            ("http://localhost", "localhost", 80, true),
            ("http://[::1]:9", "::1", 9, true),
            ("https://example.com", "example.com", 443, false),
            ("http://127.evil.example", "127.evil.example", 80, false),
        ] {
            let url = BaseUrl::parse(text).unwrap();
            assert_eq!(
                (url.host(), url.port(), url.is_loopback()),
                (host, port, loopback)
            );
        }
    }

    #[test]
    fn a_socket_stands_for_host_and_port() {
        for (text, socket, path, shown) in [
            (
                "unix:/run/a b.sock",
                "/run/a b.sock",
                "/v1/models",
                "unix:/run/a b.sock",
            ),
            ("unix:///run/x", "/run/x", "/v1/models", "unix:/run/x"),
            (
                "http+unix://%2Frun%2Fx",
                "/run/x",
                "/v1/models",
                "unix:/run/x",
            ),
            (
                "http+unix://%2Frun%2Fx/front/v1/",
                "/run/x",
                "/front/v1/models",
                "http+unix://%2Frun%2Fx/front/v1",
            ),
        ] {
            let url = BaseUrl::parse(text).unwrap().with_v1();
            assert_eq!(url.socket(), Some(Path::new(socket)), "{text}");
            assert_eq!(url.path_of("/models"), path, "{text}");
            assert_eq!(url.as_str(), shown, "{text}");
            assert!(url.is_loopback() && !url.is_encrypted());
            assert_eq!(url.authority(), "localhost");
            assert_eq!(BaseUrl::parse(shown).unwrap().with_v1(), url);
        }
    }

    #[test]
    fn paths_and_ipv6_are_kept() {
        let url = BaseUrl::parse("https://[2001:db8::1]:8443/a%20b/v1").unwrap();
        let url = url.with_v1();
        assert_eq!((url.host(), url.port()), ("2001:db8::1", 8443));
        assert_eq!(url.authority(), "[2001:db8::1]:8443");
        assert_eq!(url.path_of("/models"), "/a%20b/v1/models");
        assert!(!url.is_loopback());
    }

    #[test]
    fn what_cannot_be_a_base_url_says_why() {
        for (text, says) in [
            ("localhost:8080", "is not a URL"),
            ("", "is not a URL"),
            ("ftp://x", "neither http nor https"),
            ("http://x/?a=b", "query"),
            ("http://user:secret@x", "user name or password"),
            ("user:secret@x", "is not a URL"),
            ("unix:", "does not name a socket"),
            ("http+unix:///v1", "does not name a socket"),
            ("http+unix://%00/v1", "does not name a socket"),
            ("http+unix://%2Fx/v1?a=b", "does not name a socket"),
        ] {
            let error = BaseUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
