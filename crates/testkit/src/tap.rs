//! A tap on the wire: connections pass as they are, and what went through is kept, to be read again
//! by plain means: whole messages, whole lines, dynamic JSON, and nothing of the product.

#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

/// What went one way over one connection.
type Bytes = Arc<Mutex<Vec<u8>>>;

/// The tap; its threads end with the process.
pub struct Tap {
    address: SocketAddr,
    wires: Arc<Mutex<Vec<(Bytes, Bytes)>>>,
}

impl Tap {
    /// Passes connections on to `url`.
    pub fn start(url: &str) -> Self {
        let to = url.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let wires = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&wires);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                // A connection that leads nowhere is closed, as a network would.
                if let Ok(far) = TcpStream::connect(&to) {
                    let wire = (Bytes::default(), Bytes::default());
                    pass(&near, &far, &wire.0);
                    pass(&far, &near, &wire.1);
                    kept.lock().unwrap().push(wire);
                }
            }
        });
        Self { address, wires }
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All whole exchanges so far, connection by connection.
    pub fn exchanges(&self) -> Vec<Exchange> {
        let wires = self.wires.lock().unwrap();
        let both = wires.iter().flat_map(|(there, back)| {
            let (there, back) = (there.lock().unwrap(), back.lock().unwrap());
            let pairs = messages(&there).into_iter().zip(messages(&back));
            pairs.collect::<Vec<_>>()
        });
        both.map(|(asked, answered)| Exchange::of(&asked, answered))
            .collect()
    }
}

fn pass(from: &TcpStream, to: &TcpStream, kept: &Bytes) {
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    let _ = to.set_nodelay(true);
    let kept = Arc::clone(kept);
    thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            // Kept before it goes on: who has read a reply finds it here.
            kept.lock().unwrap().extend_from_slice(&buffer[..length]);
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}

/// One request and its reply.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Method and path.
    pub what: String,
    /// What was asked; null if it is no JSON.
    pub asked: Value,
    /// The status.
    pub status: u16,
    /// The body of the reply.
    pub body: String,
}

impl Exchange {
    fn of(asked: &Message, answered: Message) -> Self {
        let first = |head: &str| head.lines().next().unwrap_or_default().to_owned();
        let what = first(&asked.head);
        let status = first(&answered.head);
        Self {
            what: what.rsplit_once(' ').unwrap().0.to_owned(),
            asked: serde_json::from_slice(&asked.body).unwrap_or_default(),
            status: status.split(' ').nth(1).unwrap().parse().unwrap(),
            body: String::from_utf8(answered.body).unwrap(),
        }
    }

    /// The prompt of a chat with one message, or of a completion.
    pub fn prompt(&self) -> Option<&str> {
        let message = self.asked.pointer("/messages/0/content");
        message.or_else(|| self.asked.get("prompt"))?.as_str()
    }

    /// What the events of the reply say.
    pub fn stream(&self) -> Stream {
        let data = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        let mut stream = Stream::default();
        for event in data.filter(|data| *data != "[DONE]") {
            stream.take(&serde_json::from_str(event).unwrap());
        }
        stream
    }
}

/// What a stream of OpenAI's chat or completions API says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stream {
    /// The texts that are not empty, one for each event that has one.
    pub texts: Vec<String>,
    /// Why it ended.
    pub finish: Option<String>,
    /// The last `usage`; null without one.
    pub usage: Value,
    /// The last `timings`; null where there are none.
    pub timings: Value,
}

impl Stream {
    fn take(&mut self, event: &Value) {
        for choice in event["choices"].as_array().into_iter().flatten() {
            let text = choice
                .pointer("/delta/content")
                .or_else(|| choice.get("text"));
            let text = text.and_then(Value::as_str).filter(|text| !text.is_empty());
            self.texts.extend(text.map(str::to_owned));
            if let Some(reason) = choice["finish_reason"].as_str() {
                self.finish = Some(reason.to_owned());
            }
        }
        for (kept, name) in [(&mut self.usage, "usage"), (&mut self.timings, "timings")] {
            if event[name].is_object() {
                *kept = event[name].clone();
            }
        }
    }
}

#[derive(Debug)]
struct Message {
    head: String,
    body: Vec<u8>,
}

/// The whole HTTP messages in `bytes`, one behind the other.
fn messages(mut bytes: &[u8]) -> Vec<Message> {
    let mut found = Vec::new();
    while let Some((message, rest)) = message(bytes) {
        found.push(message);
        bytes = rest;
    }
    found
}

fn message(bytes: &[u8]) -> Option<(Message, &[u8])> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let rest = &bytes[end + 4..];
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned())
    };
    let (body, rest) = if header("transfer-encoding").as_deref() == Some("chunked") {
        dechunked(rest)?
    } else {
        let length = header("content-length").map_or(Some(0), |text| text.parse().ok())?;
        (rest.get(..length)?.to_vec(), &rest[length..])
    };
    Some((Message { head, body }, rest))
}

fn dechunked(mut bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|two| two == b"\r\n")?;
        let length = std::str::from_utf8(&bytes[..end]).ok()?;
        let length = usize::from_str_radix(length, 16).ok()?;
        let chunk = &bytes[end + 2..];
        body.extend_from_slice(chunk.get(..length)?);
        bytes = chunk.get(length + 2..)?;
        if length == 0 {
            return Some((body, bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_one_behind_the_other_and_half_ones_are_none() {
        let bytes = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n\
            HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n\
            POST /b HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
        let found: Vec<_> = messages(bytes).into_iter().map(|one| one.body).collect();
        assert_eq!(found, [b"".to_vec(), b"abcde".to_vec(), b"{}".to_vec()]);
    }

    const ASKED: &str = "POST /x HTTP/1.1\r\nContent-Length: 14\r\n\r\n{\"prompt\":\"p\"}";
    const EVENTS: &str = "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":\"stop\"}],\"usage\":{\"n\":1}}\n\ndata: [DONE]\n\n";

    #[test]
    fn what_passes_is_the_same_and_is_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tap = Tap::start(&format!("http://{}", listener.local_addr().unwrap()));
        let length = EVENTS.len();
        let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{EVENTS}");
        let sent = reply.clone();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = vec![0; ASKED.len()];
            stream.read_exact(&mut asked).unwrap();
            stream.write_all(sent.as_bytes()).unwrap();
            asked
        });
        let mut stream = TcpStream::connect(tap.address).unwrap();
        stream.write_all(ASKED.as_bytes()).unwrap();
        let mut came = String::new();
        stream.read_to_string(&mut came).unwrap();
        assert_eq!(server.join().unwrap(), ASKED.as_bytes());
        assert_eq!(came, reply);
        let exchange = &tap.exchanges()[0];
        assert_eq!((exchange.what.as_str(), exchange.status), ("POST /x", 200));
        assert_eq!(exchange.prompt(), Some("p"));
        let expected = Stream {
            texts: vec!["a".to_owned()],
            finish: Some("stop".to_owned()),
            usage: serde_json::json!({"n": 1}),
            timings: Value::Null,
        };
        assert_eq!(exchange.stream(), expected);
    }
}
