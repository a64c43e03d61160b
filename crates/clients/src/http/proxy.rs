//! The proxy that the environment names for a service, by curl's rules: lower case first, the
//! scheme's own variable before `ALL_PROXY`, and `NO_PROXY` before both. Services on this machine
//! are never reached through a proxy.

mod exempt;

use ipw_core::reply::Failure;
use percent_encoding::percent_decode_str;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use url::Url;

use super::connection::Stream;
use super::head::Head;
use super::{BaseUrl, HttpError};
use crate::network::NetworkError;

/// Limit for the answer to CONNECT, which consists of a head only.
const LARGEST_HEAD: usize = 64 << 10;

/// A proxy. `Debug` does not print its user and password.
#[derive(Clone)]
pub(crate) struct Proxy {
    host: String,
    port: u16,
    /// `host:port`, for messages.
    place: String,
    /// The environment variable that names it.
    variable: &'static str,
    /// Value of the `proxy-authorization` header.
    authorization: Option<String>,
}

impl Proxy {
    /// The proxy for `url`, if the environment names one and does not exempt the host.
    pub(crate) fn find(
        url: &BaseUrl,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, NetworkError> {
        if url.is_loopback() {
            return Ok(None);
        }
        let set = |name: &&str| variable(name).filter(|text| !text.trim().is_empty());
        if let Some(list) = ["no_proxy", "NO_PROXY"].iter().find_map(set)
            && exempt::is_exempt(&list, url.host(), url.port())
        {
            return Ok(None);
        }
        let names = if url.is_encrypted() {
            ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        } else {
            ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
        };
        let mut named = names.iter().map(|name| (*name, set(name)));
        match named.find_map(|(name, text)| Some((name, text?))) {
            Some((name, text)) => Self::parse(name, text.trim()).map(Some),
            None => Ok(None),
        }
    }

    fn parse(variable: &'static str, text: &str) -> Result<Self, NetworkError> {
        // The value may hold a secret: messages name only the variable.
        let wrong = |problem: &str| NetworkError::Proxy {
            variable: variable.to_owned(),
            problem: problem.to_owned(),
        };
        let full = if text.contains("://") {
            text.to_owned()
        } else {
            format!("http://{text}")
        };
        let url = Url::parse(&full)
            .map_err(|_| wrong("is not a URL\nhelp: write it like `http://proxy.example:3128`"))?;
        if url.scheme() != "http" {
            return Err(wrong(
                "is not an http proxy, the only kind that `ipw` supports\nhelp: name one like `http://proxy.example:3128`, or exempt the service with `NO_PROXY`",
            ));
        }
        let host = url.host_str().unwrap_or_default();
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        let port = url.port_or_known_default().unwrap_or(80);
        let place = place(&host, port);
        let decoded = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
        let has_user = !url.username().is_empty() || url.password().is_some();
        let authorization = has_user.then(|| {
            let mut user = decoded(url.username());
            user.push(b':');
            user.extend(decoded(url.password().unwrap_or_default()));
            format!("Basic {}", base64(&user))
        });
        Ok(Self {
            host,
            port,
            place,
            variable,
            authorization,
        })
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// `host:port`.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// The proxy as named in messages.
    pub(crate) fn named(&self) -> String {
        format!("the proxy `{}` (`{}`)", self.place, self.variable)
    }

    /// The header line with its end; empty without credentials.
    pub(crate) fn authorization_line(&self) -> String {
        match &self.authorization {
            Some(value) => format!("proxy-authorization: {value}\r\n"),
            None => String::new(),
        }
    }

    /// Opens a tunnel to `target` (`host:port`) over `stream`.
    pub(super) async fn tunnel(
        &self,
        stream: &mut Box<dyn Stream>,
        target: &str,
    ) -> Result<(), HttpError> {
        let failed = |what: String| HttpError::new(Failure::Connect, what);
        let lost = |error: String| failed(format!("no tunnel through {}: {error}", self.named()));
        let request = format!(
            "CONNECT {target} HTTP/1.1\r\nhost: {target}\r\nuser-agent: ipw/{}\r\n{}\r\n",
            env!("CARGO_PKG_VERSION"),
            self.authorization_line(),
        );
        let written = stream.write_all(request.as_bytes()).await;
        written.map_err(|error| lost(error.to_string()))?;
        let flushed = stream.flush().await;
        flushed.map_err(|error| lost(error.to_string()))?;
        let mut came = Vec::new();
        let (head, length) = loop {
            let read = stream.read_buf(&mut came).await;
            match read.map_err(|error| lost(error.to_string()))? {
                0 => return Err(lost("it closed the connection".to_owned())),
                _ if came.len() > LARGEST_HEAD => {
                    return Err(lost("the head of its answer does not end".to_owned()));
                }
                _ => {}
            }
            match Head::parse(&came).map_err(|error| lost(format!("not HTTP: {error}")))? {
                Some((head, length)) if head.is_interim() => drop(came.drain(..length)),
                Some(found) => break found,
                None => {}
            }
        };
        if !head.status.is_success() {
            let advice = match (head.status.code, &self.authorization) {
                (407, None) => "; it requires a user and a password in its URL",
                (407, Some(_)) => "; it does not accept the user and password in its URL",
                _ => "",
            };
            return Err(failed(format!(
                "{} refuses a tunnel to {target} ({}){advice}",
                self.named(),
                head.status
            )));
        }
        if came.len() > length {
            return Err(lost("it sent data before the request".to_owned()));
        }
        Ok(())
    }
}

/// `host:port`, with brackets around an IPv6 address.
pub(super) fn place(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// Base64 (RFC 4648 §4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, index| {
            bits << 8 | u32::from(group.get(index).copied().unwrap_or(0))
        });
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit <= group.len() {
                char::from(DIGITS[index as usize])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests;
