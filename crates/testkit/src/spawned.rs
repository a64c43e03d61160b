//! A server of the lab: it says where it listens in one line of JSON, and ends when its standard
//! input closes, so that no way for us to die leaves it behind.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::Missing;
use crate::place::{lab, tail};

/// How long a server may take to start.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// A process that ends with this value.
#[derive(Debug)]
pub(crate) struct Spawned(pub(crate) Child);

impl Spawned {
    /// Starts `command`, its talk going to `log`, and waits for what it says.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<(Self, Value), String> {
        let log = File::options().create(true).append(true).open(log);
        let process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log.map_err(|error| error.to_string())?)
            .spawn()
            .map_err(|error| error.to_string())?;
        // From here on dropping it ends the process, on every path.
        let mut spawned = Self(process);
        let stdout = spawned.0.stdout.take().expect("it was piped just now");
        let said = first_line(stdout)?;
        Ok((spawned, said))
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first line that a server prints, read in a thread because a pipe has no timeout.
fn first_line(stdout: ChildStdout) -> Result<Value, String> {
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

/// The host and port in what a server said.
pub(crate) fn authority(said: &Value) -> Result<String, String> {
    let address = said["address"].as_str();
    address
        .and_then(|address| address.strip_prefix("http://"))
        .map(str::to_owned)
        .ok_or_else(|| format!("it does not say where it listens: {said}"))
}

/// Where a server of that name talks in this process.
pub(crate) fn log(name: &str) -> Result<PathBuf, Missing> {
    Ok(lab("logs")?.join(format!("{name}-{}.log", std::process::id())))
}

/// A server that could not be had, with the end of its log.
pub(crate) fn missing(what: &'static str, why: &str, log: &Path) -> Missing {
    let talk = fs::read(log).unwrap_or_default();
    let talk = tail(&String::from_utf8_lossy(&talk));
    let how = format!("read `{}`", log.display());
    Missing::new(what, format!("{why}\n{talk}"), &how)
}
