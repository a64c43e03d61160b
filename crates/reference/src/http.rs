//! A minimal HTTP/1.1: requests with a length or chunks, and heads of replies.

use std::io::{self, Read, Write};
use std::net::TcpStream;

const MOST_HEADERS: usize = 64;
const LONGEST_HEAD: usize = 64 << 10;
const LONGEST_BODY: usize = 64 << 20;

/// One request.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) keep_alive: bool,
}

enum Length {
    Bytes(usize),
    Chunked,
}

/// Reads the requests of one connection.
pub(crate) struct Reader<'a> {
    stream: &'a TcpStream,
    buffer: Vec<u8>,
    filled: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(stream: &'a TcpStream) -> Self {
        Self {
            stream,
            buffer: vec![0; 4096],
            filled: 0,
        }
    }

    /// The next request; `None` if the peer closed the connection between requests. An error of
    /// kind `InvalidData` means invalid or unsupported HTTP.
    pub(crate) fn next(&mut self) -> io::Result<Option<Request>> {
        let (mut request, head, length) = loop {
            if self.filled > 0
                && let Some(parsed) = parse_head(&self.buffer[..self.filled])?
            {
                break parsed;
            }
            if self.filled > LONGEST_HEAD {
                return Err(invalid("the head is too long"));
            }
            if !self.fill()? {
                return match self.filled {
                    0 => Ok(None),
                    _ => Err(io::ErrorKind::UnexpectedEof.into()),
                };
            }
        };
        self.consume(head);
        let expects = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case("expect") && value.eq_ignore_ascii_case("100-continue")
        };
        if request.headers.iter().any(expects) {
            { self.stream }.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        request.body = match length {
            Length::Bytes(bytes) => self.take(bytes)?,
            Length::Chunked => self.take_chunks()?,
        };
        Ok(Some(request))
    }

    fn fill(&mut self) -> io::Result<bool> {
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.filled * 2, 0);
        }
        loop {
            match { self.stream }.read(&mut self.buffer[self.filled..]) {
                Ok(read) => {
                    self.filled += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn fill_to(&mut self, bytes: usize) -> io::Result<()> {
        if bytes > LONGEST_BODY {
            return Err(invalid("the body is too long"));
        }
        while self.filled < bytes {
            if !self.fill()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }

    fn consume(&mut self, bytes: usize) {
        self.buffer.copy_within(bytes..self.filled, 0);
        self.filled -= bytes;
    }

    fn take(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        self.fill_to(bytes)?;
        let taken = self.buffer[..bytes].to_vec();
        self.consume(bytes);
        Ok(taken)
    }

    fn take_chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let size = self.chunk_size()?;
            if size == 0 {
                break;
            }
            if body.len().saturating_add(size) > LONGEST_BODY {
                return Err(invalid("the body is too long"));
            }
            body.extend(self.take(size)?);
            self.take(2)?;
        }
        while self.line()? > 2 {}
        Ok(body)
    }

    fn chunk_size(&mut self) -> io::Result<usize> {
        loop {
            let parsed = httparse::parse_chunk_size(&self.buffer[..self.filled])
                .map_err(|_| invalid("the chunk size is not a number"))?;
            if let httparse::Status::Complete((line, size)) = parsed {
                self.consume(line);
                return usize::try_from(size).map_err(|_| invalid("the chunk is too long"));
            }
            self.fill_to(self.filled + 1)?;
        }
    }

    /// Skips one line and returns its length with its end. Trailers are ignored.
    fn line(&mut self) -> io::Result<usize> {
        loop {
            let end = self.buffer[..self.filled]
                .iter()
                .position(|&byte| byte == b'\n');
            if let Some(end) = end {
                self.consume(end + 1);
                return Ok(end + 1);
            }
            self.fill_to(self.filled + 1)?;
        }
    }
}

fn parse_head(bytes: &[u8]) -> io::Result<Option<(Request, usize, Length)>> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let status = parsed
        .parse(bytes)
        .map_err(|error| invalid(&error.to_string()))?;
    let httparse::Status::Complete(head) = status else {
        return Ok(None);
    };
    let mut length = Length::Bytes(0);
    let mut keep_alive = parsed.version == Some(1);
    let mut kept = Vec::with_capacity(parsed.headers.len());
    for header in parsed.headers.iter() {
        let value = String::from_utf8_lossy(header.value).into_owned();
        if header.name.eq_ignore_ascii_case("content-length") {
            let bytes = value.trim().parse();
            length = Length::Bytes(bytes.map_err(|_| invalid("the length is not a number"))?);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            length = Length::Chunked;
        } else if header.name.eq_ignore_ascii_case("connection") {
            keep_alive = if keep_alive {
                !value.eq_ignore_ascii_case("close")
            } else {
                value.eq_ignore_ascii_case("keep-alive")
            };
        }
        kept.push((header.name.to_owned(), value));
    }
    let target = parsed.path.unwrap_or_default();
    let request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: target.split('?').next().unwrap_or_default().to_owned(),
        headers: kept,
        body: Vec::new(),
        keep_alive,
    };
    Ok(Some((request, head, length)))
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

/// How the end of a body is marked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Chunked,
    Length(usize),
    UntilClose,
}

/// What the reply's head says about the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Promise {
    KeepAlive,
    Close,
    /// Keep-alive is advertised, but the service closes the connection.
    Broken,
}

pub(crate) fn head(
    out: &mut Vec<u8>,
    status: u16,
    content_type: &str,
    framing: Framing,
    promise: Promise,
) {
    put(
        out,
        &["HTTP/1.1 ", &status.to_string(), " ", reason(status)],
    );
    put(out, &["\r\nContent-Type: ", content_type, "\r\n"]);
    match framing {
        Framing::Chunked => put(out, &["Transfer-Encoding: chunked\r\n"]),
        Framing::Length(bytes) => {
            put(out, &["Content-Length: ", &bytes.to_string(), "\r\n"]);
        }
        Framing::UntilClose => {}
    }
    match promise {
        Promise::KeepAlive => {}
        Promise::Close => put(out, &["Connection: close\r\n"]),
        Promise::Broken => put(out, &["Keep-Alive: timeout=5, max=100\r\n"]),
    }
    put(out, &["\r\n"]);
}

pub(crate) fn put(out: &mut Vec<u8>, texts: &[&str]) {
    for text in texts {
        out.extend_from_slice(text.as_bytes());
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        408 => "Request Timeout",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Scripted",
    }
}
