//! A chat service behind hypercorn: HTTP/2 that somebody else wrote.
//!
//! The server ends when its standard input closes: no way for us to die leaves it behind.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::http::ask;
use crate::place::{lab, tail};
use crate::{Missing, Venv};

const PACKAGE: &str = "hypercorn==0.18.0";
const SERVE: &str = include_str!("../python/hypercorn_server.py");
/// How long it may take to start.
const PATIENCE: Duration = Duration::from_mins(2);

/// A running server; it ends with this value or with this process.
#[derive(Debug)]
pub struct Hypercorn {
    process: Child,
    authority: String,
    tls_port: u64,
}

impl Hypercorn {
    /// Starts it on free ports, over TLS as well where there is a certificate and its key.
    pub fn start(tls: Option<(&Path, &Path)>) -> Result<Self, Missing> {
        let venv = Venv::ensure("hypercorn", &[PACKAGE])?;
        let log = lab("logs")?.join(format!("hypercorn-{}.log", std::process::id()));
        Self::spawn(&venv, tls, &log).map_err(|why| {
            let talk = fs::read(&log).unwrap_or_default();
            let talk = tail(&String::from_utf8_lossy(&talk));
            let how = format!("read `{}`", log.display());
            Missing::new("the server hypercorn", format!("{why}\n{talk}"), &how)
        })
    }

    fn spawn(venv: &Venv, tls: Option<(&Path, &Path)>, log: &Path) -> Result<Self, String> {
        let log = File::options().create(true).append(true).open(log);
        let mut command = venv.command();
        command.args(["-c", SERVE]);
        if let Some((certificate, key)) = tls {
            command.arg(certificate).arg(key);
        }
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log.map_err(|error| error.to_string())?)
            .spawn()
            .map_err(|error| error.to_string())?;
        let stdout = process.stdout.take().expect("it was piped just now");
        // From here on dropping it ends the process, on every path.
        let mut server = Self {
            process,
            authority: String::new(),
            tls_port: 0,
        };
        let said = said(stdout)?;
        let address = said["address"].as_str().unwrap_or_default();
        address
            .trim_start_matches("http://")
            .clone_into(&mut server.authority);
        server.tls_port = said["tls_port"].as_u64().unwrap_or_default();
        server.seen()?;
        Ok(server)
    }

    /// Where it listens, without `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.authority)
    }

    /// Where it listens over TLS, by the name that the certificate must have.
    pub fn tls_url(&self) -> String {
        format!("https://localhost:{}", self.tls_port)
    }

    /// How many connections and requests for chats there were, and by which versions of HTTP.
    pub fn seen(&self) -> Result<Value, String> {
        let reply = ask(&self.authority, "/seen", None).map_err(|error| error.to_string())?;
        reply.json().map_err(|error| error.to_string())
    }
}

impl Drop for Hypercorn {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The first line that the server prints, read in a thread because a pipe has no timeout.
fn said(stdout: ChildStdout) -> Result<Value, String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let _ = BufReader::new(stdout).read_line(&mut line);
        let _ = sender.send(line);
    });
    let line = receiver
        .recv_timeout(PATIENCE)
        .map_err(|_| "it did not start in time".to_owned())?;
    serde_json::from_str(&line).map_err(|_| "it ended before it was ready".to_owned())
}
