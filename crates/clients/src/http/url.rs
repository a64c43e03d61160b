//! The base URL of a service, with or without `/v1` and trailing slash.

use std::net::IpAddr;

use url::{Host, Url};

use crate::ClientError;

/// Where a service is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    /// Scheme, authority and path, the path without a trailing slash.
    url: Url,
    host: String,
}

impl BaseUrl {
    /// Takes a URL as a person writes it.
    pub fn parse(text: &str) -> Result<Self, ClientError> {
        let wrong = |shown: &str, problem: &str| ClientError::Url {
            url: shown.to_owned(),
            problem: problem.to_owned(),
        };
        let trimmed = text.trim();
        let mut url = Url::parse(trimmed)
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
                "holds a user name or password\nhelp: give the key by `--api-key-env NAME` or `--api-key-file PATH`",
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
            None => return Err(wrong(trimmed, "names no host")),
        };
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self { url, host })
    }

    /// This URL with `/v1` at the end of its path, whether it was written or not.
    #[must_use]
    pub fn with_v1(mut self) -> Self {
        let path = self.url.path().trim_end_matches('/');
        let path = path.strip_suffix("/chat/completions").unwrap_or(path);
        let path = format!("{}/v1", path.strip_suffix("/v1").unwrap_or(path));
        self.url.set_path(&path);
        self
    }

    /// This URL without the first of `endings` that its path ends in.
    #[must_use]
    pub fn without(mut self, endings: &[&str]) -> Self {
        let path = self.url.path().trim_end_matches('/');
        let path = endings.iter().find_map(|ending| path.strip_suffix(ending));
        if let Some(path) = path.map(str::to_owned) {
            self.url.set_path(&path);
        }
        self
    }

    /// The host: a name or an address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, the scheme's own if none was written.
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(80)
    }

    /// Whether it is https.
    pub fn is_encrypted(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Whether it never leaves this machine.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self
                .host
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }

    /// The value of the Host header.
    pub fn authority(&self) -> &str {
        let authority = self.url.authority();
        authority.rsplit('@').next().unwrap_or(authority)
    }

    /// The path of `endpoint` below the base.
    pub fn path_of(&self, endpoint: &str) -> String {
        format!("{}{endpoint}", self.url.path().trim_end_matches('/'))
    }

    /// The URL as text.
    pub fn as_str(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }
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
    fn what_cannot_be_a_base_url_says_why() {
        for (text, says) in [
            ("localhost:8080", "is not a URL"),
            ("", "is not a URL"),
            ("ftp://x", "neither http nor https"),
            ("http://x/?a=b", "query"),
            ("http://user:secret@x", "user name or password"),
            ("user:secret@x", "is not a URL"),
        ] {
            let error = BaseUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
