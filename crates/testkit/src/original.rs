//! The original's energy monitor, in Python, with ways to misbehave.

use crate::spawned::{self, Spawned};
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
    _process: Spawned,
    port: u16,
}

impl Original {
    /// Starts one on a free port of loopback; the script says which modes there are.
    pub fn start(mode: &str) -> Result<Self, Missing> {
        Self::start_at(mode, 0)
    }

    /// Starts one at this port.
    pub fn start_at(mode: &str, port: u16) -> Result<Self, Missing> {
        let mut command = grpc()?.command();
        command.args(["-c", SCRIPT, mode, &port.to_string()]);
        let log = spawned::log("original")?;
        let started = Spawned::start(&mut command, &log).and_then(|(process, said)| {
            let port = said.as_u64().and_then(|port| port.try_into().ok());
            Ok(Self {
                _process: process,
                port: port.ok_or_else(|| format!("it said `{said}`"))?,
            })
        });
        started.map_err(|why| spawned::missing("the original's monitor", &why, &log))
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }
}
