//! Extra headers, for gateways in front of a service: read from a file or the environment, never
//! from a flag, and never printed.

use std::fmt;

use ipw_core::client::Network;
use ipw_core::secret;

use crate::http::BaseUrl;
use crate::network::NetworkError;

/// Headers for framing and transport, and those that `ipw` sets itself.
const OURS: [&str; 14] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
const HELP: &str = "\nhelp: write one `Name: value` in a line";

/// Header lines. `Debug` does not print them.
#[derive(Default)]
pub(crate) struct Headers {
    /// Ready to send, each with its line end.
    lines: String,
    names: Vec<String>,
}

impl fmt::Debug for Headers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Headers(…)")
    }
}

impl Headers {
    /// Reads the headers of `network` and checks that they may go to `url`.
    pub(crate) fn resolve(
        network: &Network,
        url: &BaseUrl,
        insecure: bool,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, NetworkError> {
        let mut headers = Self::default();
        if let Some(path) = &network.header_file {
            let text = std::fs::read(path).map_err(|source| NetworkError::File {
                what: "header file",
                path: path.clone(),
                source,
            })?;
            for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
                let from = || format!("in line {} of `{}`", number + 1, path.display());
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                if !line.trim_ascii().is_empty() && !line.starts_with(b"#") {
                    headers.add(line, from)?;
                }
            }
        }
        for name in &network.header_env {
            let from = || format!("in the environment variable `{name}`");
            let line = variable(name).unwrap_or_default();
            headers.add(line.as_bytes(), from)?;
        }
        if !headers.names.is_empty() && !url.is_encrypted() && !url.is_loopback() && !insecure {
            return Err(NetworkError::Unencrypted {
                host: url.host().to_owned(),
            });
        }
        Ok(headers)
    }

    /// Adds one line. Errors never contain the line itself.
    fn add(&mut self, line: &[u8], from: impl Fn() -> String) -> Result<(), NetworkError> {
        let wrong = |problem: String| NetworkError::Header {
            from: from(),
            problem,
        };
        if line.trim_ascii().is_empty() {
            return Err(wrong(format!("is empty or not set{HELP}")));
        }
        let text = std::str::from_utf8(line)
            .ok()
            .filter(|text| text.chars().all(|c| c == '\t' || matches!(c, ' '..='~')));
        let Some(text) = text else {
            return Err(wrong(
                "contains characters that headers do not allow: line breaks, control characters or non-ASCII".to_owned(),
            ));
        };
        let parts = text
            .split_once(':')
            .map(|(name, value)| (name, value.trim()));
        let Some((name, value)) = parts.filter(|(name, value)| is_token(name) && !value.is_empty())
        else {
            return Err(wrong(format!("is not a name, a colon and a value{HELP}")));
        };
        let name = name.to_ascii_lowercase();
        if let Some(ours) = OURS.iter().find(|ours| **ours == name) {
            return Err(wrong(format!(
                "is `{ours}`, which `ipw` sets itself or which would break the request\nhelp: remove it"
            )));
        }
        if self.has(&name) {
            return Err(wrong("appears twice\nhelp: remove one".to_owned()));
        }
        secret::remember(value);
        // A scheme in front, such as `Bearer`, is not part of the secret.
        secret::remember(value.rsplit(' ').next().unwrap_or_default());
        self.lines.extend([name.as_str(), ": ", value, "\r\n"]);
        self.names.push(name);
        Ok(())
    }

    /// Whether a header of that name (in lower case) is present.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    pub(crate) fn lines(&self) -> &str {
        &self.lines
    }
}

/// Whether `name` is a valid header name (RFC 9110 §5.6.2).
fn is_token(name: &str) -> bool {
    let is_mark = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const SECRET: &str = "very-secret";

    fn of_file(content: &[u8], url: &str, insecure: bool) -> Result<Headers, NetworkError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let network = Network {
            header_file: Some(file.path().to_owned()),
            ..Network::default()
        };
        let url = BaseUrl::parse(url).unwrap();
        Headers::resolve(&network, &url, insecure, &|_| None)
    }

    fn of_variable(value: Option<&str>) -> Result<Headers, NetworkError> {
        let network = Network {
            header_env: vec!["GATEWAY".to_owned()],
            ..Network::default()
        };
        let url = BaseUrl::parse("https://example.com").unwrap();
        let value = value.map(str::to_owned);
        Headers::resolve(&network, &url, false, &|_| value.clone())
    }

    #[test]
    fn lines_of_a_file_and_a_variable_become_headers() {
        let headers = of_file(
            b"# for the gateway\r\nX-Team: a b\r\n\nX-Token:very-secret\t\n",
            "https://example.com",
            false,
        )
        .unwrap();
        assert_eq!(headers.lines(), "x-team: a b\r\nx-token: very-secret\r\n");
        assert!(headers.has("x-token") && !headers.has("authorization"));
        assert_eq!(format!("{headers:?}"), "Headers(…)");
        let headers = of_variable(Some("Authorization: Basic dTpw")).unwrap();
        assert_eq!(headers.lines(), "authorization: Basic dTpw\r\n");
    }

    #[test]
    fn hostile_lines_are_refused_and_never_shown() {
        for (content, says) in [
            ("very-secret", "not a name, a colon and a value"),
            ("X Token: very-secret", "not a name"),
            (": very-secret", "not a name"),
            ("X-Token:", "not a name"),
            ("X-Token: very-secret\rInjected: 1", "characters"),
            ("X-Token: very-secret\0", "characters"),
            ("X-Token: very-secret\u{e9}", "characters"),
            ("Host: very-secret", "`host`"),
            ("Content-Length: 5", "`content-length`"),
            ("Transfer-Encoding: chunked", "`transfer-encoding`"),
            ("CONNECTION: very-secret", "`connection`"),
            ("a: very-secret\nA: very-secret", "line 2"),
            ("\nb: 1\nvery-secret", "line 3"),
        ] {
            let error = of_file(content.as_bytes(), "https://example.com", false);
            let error = error.unwrap_err().to_string();
            assert!(error.contains(says), "{content:?}: {error}");
            assert!(!error.contains(SECRET), "{error}");
        }
        for (value, says) in [
            (None, "not set"),
            (Some(" "), "empty"),
            (Some("A: very-secret\r\nHost: evil"), "characters"),
            (Some("A: very-secret\nB: c"), "characters"),
        ] {
            let error = of_variable(value).unwrap_err().to_string();
            assert!(
                error.contains(says) && error.contains("`GATEWAY`"),
                "{error}"
            );
            assert!(!error.contains(SECRET), "{error}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        let error = of_file(b"a: \xff\xfe", "https://example.com", false).unwrap_err();
        assert!(error.to_string().contains("characters"), "{error}");
    }

    #[test]
    fn headers_do_not_travel_in_the_clear() {
        let far = "http://example.com";
        let refused = of_file(b"a: b", far, false);
        assert!(matches!(refused, Err(NetworkError::Unencrypted { .. })));
        assert!(of_file(b"a: b", far, true).is_ok());
        assert!(of_file(b"a: b", "http://127.0.0.1:1", false).is_ok());
        assert!(of_file(b"a: b", "unix:/tmp/x.sock", false).is_ok());
        assert!(of_file(b"", far, false).is_ok());
    }
}
