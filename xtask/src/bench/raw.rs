//! The yardstick: a blocking socket that does nothing but ask, read and stamp.
//!
//! It keeps its connection, builds the request by hand, and looks at the bytes only to count chunks
//! with content and to see the end of the reply. It understands the reference service, no other.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use ipw_core::time::{Clock, Timestamp};
use serde_json::json;

/// What stands once in every chunk with content, and nowhere else.
const CONTENT: &str = r#""delta":{"content":""#;
const END_OF_BODY: &[u8] = b"\r\n0\r\n\r\n";

/// A connection to the service.
pub(crate) struct RawClient {
    stream: TcpStream,
    clock: Arc<dyn Clock>,
    piece: Vec<u8>,
    reply: Vec<u8>,
}

/// When things happened to one reply.
pub(crate) struct RawReply {
    /// Before the first byte of the request.
    pub(crate) sent: Timestamp,
    /// After the read that completed each chunk with content.
    pub(crate) chunks: Vec<Timestamp>,
    /// After the read that brought the end.
    pub(crate) end: Timestamp,
}

impl RawClient {
    pub(crate) fn connect(address: SocketAddr, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            clock,
            piece: vec![0; 16 << 10],
            reply: Vec::new(),
        })
    }

    /// Asks and reads the whole reply.
    pub(crate) fn ask(&mut self, prompt: &str) -> io::Result<RawReply> {
        let request = request(prompt);
        let mut chunks = Vec::new();
        self.reply.clear();
        let sent = self.clock.now();
        self.stream.write_all(request.as_bytes())?;
        loop {
            let count = self.stream.read(&mut self.piece)?;
            let end = self.clock.now();
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            // What a read cut in two counts for the read that completed it.
            let from = self.reply.len().saturating_sub(CONTENT.len() - 1);
            self.reply.extend_from_slice(&self.piece[..count]);
            let found = str::from_utf8(&self.reply[from..])
                .map_err(io::Error::other)?
                .matches(CONTENT)
                .count();
            chunks.extend(std::iter::repeat_n(end, found));
            if self.reply.ends_with(END_OF_BODY) {
                return Ok(RawReply { sent, chunks, end });
            }
        }
    }
}

fn request(prompt: &str) -> String {
    let body = json!({
        "model": "reference",
        "messages": [{"role": "user", "content": prompt}],
        "stream": true,
        "stream_options": {"include_usage": true},
    })
    .to_string();
    let length = body.len();
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: reference\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}
