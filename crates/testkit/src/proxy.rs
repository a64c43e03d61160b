//! A small HTTP proxy on loopback that keeps what it was told, with bad manners on request.

#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What it does with a connection.
#[derive(Debug, Clone)]
pub enum Manner {
    /// Passes it on to this address, whatever name it was asked for.
    PassesTo(SocketAddr),
    /// Says this and closes.
    Says(String),
    /// Nothing at all, until the other side gives up.
    Hangs,
}

/// The proxy; its thread ends with the process.
pub struct Proxy {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Starts one on a free port.
    pub fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heads);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let (manner, log) = (manner.clone(), Arc::clone(&log));
                // A client that goes away early is what several tests are about.
                thread::spawn(move || {
                    let _ = serve(near, &manner, &log);
                });
            }
        });
        Self { address, heads }
    }

    /// Its host and port.
    pub fn place(&self) -> String {
        self.address.to_string()
    }

    /// The heads of what it was asked, one for each connection.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn serve(mut near: TcpStream, manner: &Manner, log: &Mutex<Vec<String>>) -> io::Result<()> {
    let (head, rest) = head(&mut near)?;
    log.lock().unwrap().push(head.clone());
    match manner {
        Manner::Hangs => {
            near.set_read_timeout(Some(Duration::from_secs(20)))?;
            let _ = io::copy(&mut near, &mut io::sink());
        }
        Manner::Says(text) => {
            near.write_all(text.as_bytes())?;
            near.shutdown(Shutdown::Write)?;
            let _ = io::copy(&mut near, &mut io::sink());
        }
        Manner::PassesTo(address) => {
            let mut far = TcpStream::connect(address)?;
            if head.starts_with("CONNECT ") {
                near.write_all(b"HTTP/1.1 200 Connection established\r\nvia: x\r\n\r\n")?;
            } else {
                far.write_all(origin_form(&[head.as_bytes(), &rest].concat()).as_slice())?;
            }
            let (mut back, mut here) = (far.try_clone()?, near.try_clone()?);
            let answers = thread::spawn(move || {
                let _ = io::copy(&mut back, &mut here);
                let _ = here.shutdown(Shutdown::Both);
            });
            let mut buffer = vec![0; 64 << 10];
            while let Ok(length @ 1..) = near.read(&mut buffer) {
                far.write_all(&origin_form(&buffer[..length]))?;
            }
            let _ = far.shutdown(Shutdown::Both);
            let _ = answers.join();
        }
    }
    Ok(())
}

/// The head of the first request, and what came behind it.
fn head(near: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    let (mut came, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let length = near.read(&mut buffer)?;
        came.extend_from_slice(&buffer[..length]);
        let end = came.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        if let Some(end) = end.map(|end| end + 4) {
            let rest = came.split_off(end);
            return Ok((String::from_utf8_lossy(&came).into_owned(), rest));
        }
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// A request as the service itself would get it: without scheme and host before the path.
fn origin_form(piece: &[u8]) -> Vec<u8> {
    for method in ["GET ", "POST "] {
        let start = format!("{method}http://");
        if let Some(rest) = piece.strip_prefix(start.as_bytes()) {
            let path = rest.iter().position(|byte| *byte == b'/').unwrap_or(0);
            return [method.as_bytes(), &rest[path..]].concat();
        }
    }
    piece.to_vec()
}
