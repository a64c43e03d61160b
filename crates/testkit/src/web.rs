//! A small HTTP server on loopback that answers by a script, with bad manners on request.

#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

use std::io::{self, BufRead, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

/// A request as it came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// Method and path, with its query.
    pub what: String,
    /// What was asked for, with its query.
    pub path: String,
    /// The header `Range`.
    pub range: Option<String>,
    /// The header `Authorization`.
    pub authorization: Option<String>,
    /// Names, in lower case, and values.
    headers: Vec<(String, String)>,
    /// The body; null if it is no JSON.
    pub body: Value,
}

impl Asked {
    /// The next request of a connection; an error at its end.
    ///
    /// # Errors
    ///
    /// When the connection ends before the request does.
    pub fn read(reader: &mut impl BufRead) -> io::Result<Self> {
        let mut line = || {
            let mut line = String::new();
            match reader.read_line(&mut line)? {
                0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                _ => Ok(line),
            }
        };
        let first = line()?;
        let what = first.rsplit_once(" HTTP").map_or("", |(what, _)| what);
        let mut headers = Vec::new();
        while let Some((name, value)) = line()?.trim_end().split_once(": ") {
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let mut asked = Self {
            what: what.to_owned(),
            path: what.split(' ').nth(1).unwrap_or_default().to_owned(),
            headers,
            ..Self::default()
        };
        let length = asked.header("content-length");
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut body)?;
        asked.range = asked.header("range").map(str::to_owned);
        asked.authorization = asked.header("authorization").map(str::to_owned);
        asked.body = serde_json::from_slice(&body).unwrap_or_default();
        Ok(asked)
    }

    /// The header of that name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// What to answer.
#[derive(Debug, Clone)]
pub enum Reply {
    /// A file.
    File(Served),
    /// A status with these header lines and no body.
    Status(u16, Vec<String>),
    /// Nothing at all, until the other side gives up.
    Hang,
}

/// How the file is served.
#[derive(Debug, Clone, Default)]
pub struct Served {
    /// What is in it.
    pub content: Vec<u8>,
    /// The status, where it is another than 200 or that of a range.
    pub status: Option<u16>,
    /// Sends all of it, whatever was asked for.
    pub ignores_range: bool,
    /// The end of the connection is the end of the file.
    pub hides_length: bool,
    /// Closes the connection after this number of bytes of the body.
    pub cut_after: Option<usize>,
    /// More lines of the head.
    pub headers: Vec<String>,
}

impl Served {
    /// That content, served well.
    pub fn of(content: &[u8]) -> Self {
        Self {
            content: content.to_vec(),
            ..Self::default()
        }
    }

    /// With one more line in the head.
    #[must_use]
    pub fn header(mut self, line: impl Into<String>) -> Self {
        self.headers.push(line.into());
        self
    }

    /// Cuts the body off after a number of bytes.
    #[must_use]
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.cut_after = Some(bytes);
        self
    }
}

/// Sends the other side elsewhere.
pub fn redirect(location: &str) -> Reply {
    Reply::Status(302, vec![format!("Location: {location}")])
}

/// The server; it ends with this value.
pub struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    is_closing: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Server {
    /// Answers the request with the number `nth`, from 0, as `script` says.
    pub fn start(script: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let is_closing = Arc::new(AtomicBool::new(false));
        let (log, closing) = (Arc::clone(&asked), Arc::clone(&is_closing));
        let script = Arc::new(script);
        let accepting = thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if closing.load(Ordering::SeqCst) {
                    return;
                }
                let (log, script) = (Arc::clone(&log), Arc::clone(&script));
                // A client that goes away early is what several tests are about.
                thread::spawn(move || {
                    let _ = answer(stream, &log, &*script);
                });
            }
        });
        Self {
            address,
            asked,
            is_closing,
            accepting: Some(accepting),
        }
    }

    /// Always the same file.
    pub fn of(served: Served) -> Self {
        Self::start(move |_, _| Reply::File(served.clone()))
    }

    /// Its address, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The ranges that were asked for.
    pub fn ranges(&self) -> Vec<Option<String>> {
        self.asked().into_iter().map(|asked| asked.range).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_closing.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn answer(
    mut stream: TcpStream,
    log: &Mutex<Vec<Asked>>,
    script: &dyn Fn(&Asked, usize) -> Reply,
) -> io::Result<()> {
    let asked = Asked::read(&mut BufReader::new(stream.try_clone()?))?;
    let nth = {
        let mut log = log.lock().unwrap();
        log.push(asked.clone());
        log.len() - 1
    };
    match script(&asked, nth) {
        Reply::Hang => {
            stream.set_read_timeout(Some(Duration::from_secs(20)))?;
            let _ = io::copy(&mut stream, &mut io::sink());
            Ok(())
        }
        Reply::Status(status, headers) => {
            let headers: String = headers.iter().flat_map(|line| [line, "\r\n"]).collect();
            write!(
                stream,
                "HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n{headers}\r\n"
            )
        }
        Reply::File(served) => serve(&mut stream, &served, asked.range.as_deref()),
    }
}

fn serve(stream: &mut TcpStream, served: &Served, range: Option<&str>) -> io::Result<()> {
    let total = served.content.len();
    let start = range.filter(|_| !served.ignores_range).and_then(|range| {
        range
            .strip_prefix("bytes=")?
            .strip_suffix('-')?
            .parse()
            .ok()
    });
    let mut head = match start {
        Some(start) if start >= total => {
            format!("HTTP/1.1 416 X\r\nContent-Range: bytes */{total}\r\nContent-Length: 0\r\n")
        }
        Some(start) => format!(
            "HTTP/1.1 206 X\r\nContent-Range: bytes {start}-{}/{total}\r\n",
            total - 1
        ),
        None => format!("HTTP/1.1 {} X\r\n", served.status.unwrap_or(200)),
    };
    let body = served.content.get(start.unwrap_or(0)..).unwrap_or_default();
    if !served.hides_length && !body.is_empty() {
        head.push_str(&["Content-Length: ", &body.len().to_string(), "\r\n"].concat());
    }
    for line in &served.headers {
        head.extend([line, "\r\n"]);
    }
    write!(stream, "{head}Connection: close\r\n\r\n")?;
    stream.write_all(&body[..served.cut_after.unwrap_or(body.len()).min(body.len())])?;
    stream.flush()
}
