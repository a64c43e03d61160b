//! Just enough HTTP to ask the lab's own server: one connection per request, no chunked replies.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// A generation on two slow cores takes a while.
const PATIENCE: Duration = Duration::from_mins(2);

/// What came back.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
}

impl Reply {
    /// The body as JSON.
    pub fn json(&self) -> Result<Value, HttpFailed> {
        serde_json::from_str(&self.body).map_err(|error| HttpFailed::Reply(error.to_string()))
    }
}

/// No reply came, or none that we read.
#[derive(Debug, thiserror::Error)]
pub enum HttpFailed {
    /// The connection failed.
    #[error("talking to the server")]
    Connection(#[from] io::Error),
    /// The reply is not as agreed.
    #[error("the reply cannot be read: {0}")]
    Reply(String),
}

/// Asks `authority` (`host:port`) for `path`; a body makes it a POST.
pub(crate) fn ask(authority: &str, path: &str, body: Option<&Value>) -> Result<Reply, HttpFailed> {
    let mut stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request(authority, path, body).as_bytes())?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply)?;
    parse(&String::from_utf8_lossy(&reply))
}

fn request(authority: &str, path: &str, body: Option<&Value>) -> String {
    let verb = if body.is_some() { "POST" } else { "GET" };
    let body = body.map(Value::to_string).unwrap_or_default();
    let length = body.len();
    format!(
        "{verb} {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn parse(reply: &str) -> Result<Reply, HttpFailed> {
    let unreadable = || HttpFailed::Reply(reply.chars().take(200).collect());
    let (head, body) = reply.split_once("\r\n\r\n").ok_or_else(unreadable)?;
    let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
    if head.to_lowercase().contains("transfer-encoding: chunked") {
        return Err(unreadable());
    }
    Ok(Reply {
        status: status.ok_or_else(unreadable)?,
        body: body.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_a_status_and_a_body() {
        let reply = parse("HTTP/1.1 503 Service Unavailable\r\nA: b\r\n\r\n{\"a\":1}").unwrap();
        assert_eq!(reply.status, 503);
        assert_eq!(reply.json().unwrap()["a"], 1);
    }

    #[test]
    fn what_we_do_not_read_is_an_error() {
        for reply in [
            "",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ] {
            assert!(parse(reply).is_err(), "{reply}");
        }
    }
}
