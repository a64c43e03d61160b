//! The original's energy monitor, in Python, with ways to misbehave.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use crate::{Missing, Venv};

const SCRIPT: &str = include_str!("original.py");
const PACKAGES: [&str; 3] = ["grpcio==1.85.1", "grpcio-tools==1.85.1", "protobuf==7.36.2"];

/// gRPC for Python, with what makes code from a .proto.
pub fn grpc() -> Result<Venv, Missing> {
    Venv::ensure("grpc", &PACKAGES)
}

/// A server that speaks the original's protocol; it ends when it is dropped.
#[derive(Debug)]
pub struct Original {
    process: Child,
    port: u16,
}

impl Original {
    /// Starts one on a free port of loopback; the script says which modes there are.
    pub fn start(mode: &str) -> Result<Self, Missing> {
        Self::start_at(mode, 0)
    }

    /// Starts one at this port.
    pub fn start_at(mode: &str, port: u16) -> Result<Self, Missing> {
        let failed = |why: String| {
            let how = "look at what it said above";
            Missing::new("the original's monitor", why, how)
        };
        let mut process = grpc()?
            .command()
            .args(["-c", SCRIPT, mode, &port.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let mut line = String::new();
        if let Some(out) = process.stdout.take() {
            let read = BufReader::new(out).read_line(&mut line);
            read.map_err(|error| failed(error.to_string()))?;
        }
        let port = line.trim().parse();
        let port = port.map_err(|_| failed(format!("it said `{}`", line.trim())))?;
        Ok(Self { process, port })
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
