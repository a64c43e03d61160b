//! Parses the head of a request.

use std::io::{ErrorKind, Read};
use std::net::{IpAddr, TcpStream};
use std::time::Duration;

use ipw_core::time::Clock;

/// Maximum size of a head.
const LONGEST_HEAD: usize = 8 * 1024;
/// How long the rest of a request is read and discarded.
const DRAINING: Duration = Duration::from_millis(500);

/// A request.
pub(super) struct Request {
    pub(super) method: String,
    /// The path without its query.
    pub(super) path: String,
    pub(super) authorization: Option<String>,
    accept: String,
    host: String,
}

/// Why a request gets no page.
pub(super) enum RequestError {
    /// Nothing arrived in time.
    Silent,
    /// The status to reply with.
    Wrong(&'static str),
}

impl Request {
    /// Reads the head within this time.
    pub(super) fn read(
        stream: &mut TcpStream,
        clock: &dyn Clock,
        patience: Duration,
    ) -> Result<Self, RequestError> {
        let began = clock.now();
        let mut head = Vec::new();
        let mut buffer = [0; 2048];
        while end(&head).is_none() {
            if head.len() > LONGEST_HEAD {
                return Err(RequestError::Wrong("431 Request Header Fields Too Large"));
            }
            let left = patience.saturating_sub(clock.now().since(began));
            if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
                return Err(RequestError::Silent);
            }
            match stream.read(&mut buffer) {
                Ok(0) => return Err(RequestError::Silent),
                Ok(count) => head.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(RequestError::Silent),
            }
        }
        Self::parse(&String::from_utf8_lossy(&head)).ok_or(RequestError::Wrong("400 Bad Request"))
    }

    fn parse(head: &str) -> Option<Self> {
        let mut lines = head.lines();
        let mut first = lines.next()?.split(' ');
        let (method, target, version) = (first.next()?, first.next()?, first.next()?);
        if !version.starts_with("HTTP/1.") || method.is_empty() || first.next().is_some() {
            return None;
        }
        let mut request = Self {
            method: method.to_owned(),
            path: target.split('?').next()?.to_owned(),
            authorization: None,
            accept: String::new(),
            host: String::new(),
        };
        for line in lines.take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':')?;
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "authorization" => request.authorization = Some(value.to_owned()),
                "accept" => request.accept = value.to_ascii_lowercase(),
                "host" => value.clone_into(&mut request.host),
                _ => {}
            }
        }
        Some(request)
    }

    /// Whether the client accepts the newer format.
    pub(super) fn accepts_openmetrics(&self) -> bool {
        self.accept.contains("application/openmetrics-text")
    }

    /// Whether the client addresses this machine by a loopback name.
    pub(super) fn is_for_loopback(&self) -> bool {
        let host = match self.host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => &self.host,
        };
        let address = host.trim_start_matches('[').trim_end_matches(']');
        let is_loopback = address
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback());
        is_loopback || host.eq_ignore_ascii_case("localhost")
    }
}

/// The end of a head.
fn end(head: &[u8]) -> Option<usize> {
    let ends = |mark: &[u8]| head.windows(mark.len()).position(|window| window == mark);
    ends(b"\r\n\r\n").or_else(|| ends(b"\n\n"))
}

/// Reads and discards the rest of a request for a moment.
pub(super) fn drain(stream: &mut TcpStream, clock: &dyn Clock) {
    let began = clock.now();
    let mut buffer = [0; 2048];
    let mut heard = 0;
    while clock.now().since(began) < DRAINING && heard < 64 * LONGEST_HEAD {
        if stream.set_read_timeout(Some(DRAINING)).is_err() {
            return;
        }
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => heard += count,
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_far_as_it_matters() {
        let head = "GET /metrics?x=1 HTTP/1.1\r\nHost: localhost:9\r\nACCEPT: text/plain, \
                    application/OpenMetrics-text;version=1.0.0\r\nAuthorization: Bearer x\r\n\r\n";
        let request = Request::parse(head).unwrap();
        assert_eq!((&*request.method, &*request.path), ("GET", "/metrics"));
        assert_eq!(request.authorization.as_deref(), Some("Bearer x"));
        assert!(request.accepts_openmetrics() && request.is_for_loopback());
        for wrong in [
            "",
            "GET /metrics\r\n\r\n",
            "GET / HTTP/2\r\n\r\n",
            "GET / a HTTP/1.1\r\n\r\n",
        ] {
            assert!(Request::parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_foreign_name_of_this_machine_is_told_from_its_own() {
        for (host, is_own) in [
            ("127.0.0.1:9400", true),
            ("[::1]:9400", true),
            ("[::1]", true),
            ("LOCALHOST", true),
            ("localhost.evil.example:9400", false),
            ("evil.example", false),
            ("192.0.2.1:80", false),
            ("", false),
        ] {
            let head = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(
                Request::parse(&head).unwrap().is_for_loopback(),
                is_own,
                "{host}"
            );
        }
    }
}
