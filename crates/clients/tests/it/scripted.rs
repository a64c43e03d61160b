//! A service that answers by path with what golden files hold, and keeps what it was asked.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Method and path.
    pub(crate) what: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Status, content type and body.
pub(crate) type Answer = (u16, &'static str, &'static str);

pub(crate) const STREAM: &str = "text/event-stream";
pub(crate) const JSON: &str = "application/json";
pub(crate) const NOT_FOUND: Answer = (404, JSON, r#"{"detail":"Not Found"}"#);

/// The service. Its thread ends with the test's process.
pub(crate) struct Scripted {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Scripted {
    /// Answers the requests in `answers`; all others with 404, as a server of `FastAPI` does.
    pub(crate) fn start(answers: &[(&'static str, Answer)]) -> Self {
        let answers = answers.to_vec();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that goes away early is no fault of the service.
                let _ = answer(&stream, &answers, &log);
            }
        });
        Self { url, asked }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// How often each endpoint was asked.
    pub(crate) fn times(&self, what: &str) -> usize {
        self.asked().iter().filter(|one| one.what == what).count()
    }
}

fn answer(
    mut stream: &TcpStream,
    answers: &[(&str, Answer)],
    log: &Mutex<Vec<Asked>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let what = line.rsplit_once(" HTTP").map_or("", |(what, _)| what);
    let mut asked = Asked {
        what: what.to_owned(),
        headers: Vec::new(),
        body: Value::Null,
    };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        let name = name.to_ascii_lowercase();
        asked.headers.push((name, value.to_owned()));
    }
    let length = asked
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    asked.body = serde_json::from_slice(&body).unwrap_or_default();
    let path = asked.what.split('?').next().unwrap_or_default().to_owned();
    log.lock().unwrap().push(asked);
    let found = answers.iter().find(|(known, _)| *known == path);
    let (status, kind, body) = found.map_or(NOT_FOUND, |(_, answer)| *answer);
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}
