//! The plainest of clients.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// What came back; status 0 for nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// What is asked beyond the path.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked<'a> {
    pub(crate) method: Option<&'a str>,
    pub(crate) host: Option<&'a str>,
    pub(crate) headers: &'a str,
}

pub(crate) fn get(address: SocketAddr, path: &str, asked: Asked<'_>) -> Answer {
    let host = asked
        .host
        .map_or_else(|| address.to_string(), str::to_owned);
    let method = asked.method.unwrap_or("GET");
    let headers = asked.headers;
    let request = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n");
    said(address, request.as_bytes())
}

/// What comes back for these bytes.
pub(crate) fn said(address: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let _ = stream.write_all(bytes);
    read(&mut stream)
}

pub(crate) fn read(stream: &mut TcpStream) -> Answer {
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply);
    let reply = String::from_utf8(reply).unwrap();
    let Some((head, body)) = reply.split_once("\r\n\r\n") else {
        return Answer::default();
    };
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = format!("Content-Length: {}", body.len());
    assert!(head.contains(&length), "{head}");
    Answer {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    }
}
