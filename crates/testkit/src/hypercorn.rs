//! A chat service behind hypercorn: HTTP/2 of an independent implementation.

use std::path::Path;

use serde_json::Value;

use crate::http::ask;
use crate::spawned::{self, Spawned};
use crate::{Missing, Venv};

const PACKAGE: &str = "hypercorn==0.18.0";
const SERVE: &str = include_str!("../python/hypercorn_server.py");

/// A running server; it ends with this value or with this process.
#[derive(Debug)]
pub struct Hypercorn {
    _process: Spawned,
    authority: String,
    tls_port: Option<u64>,
}

impl Hypercorn {
    /// Starts it on free ports, over TLS as well where there is a certificate and its key.
    pub fn start(tls: Option<(&Path, &Path)>) -> Result<Self, Missing> {
        let venv = Venv::ensure("hypercorn", &[PACKAGE])?;
        let log = spawned::log("hypercorn")?;
        Self::spawn(&venv, tls, &log)
            .map_err(|why| spawned::missing("the server hypercorn", &why, &log))
    }

    fn spawn(venv: &Venv, tls: Option<(&Path, &Path)>, log: &Path) -> Result<Self, String> {
        let mut command = venv.command();
        command.args(["-c", SERVE]);
        if let Some((certificate, key)) = tls {
            command.arg(certificate).arg(key);
        }
        let (process, said) = Spawned::start(&mut command, log)?;
        let server = Self {
            _process: process,
            authority: spawned::authority(&said)?,
            tls_port: said["tls_port"].as_u64(),
        };
        server.seen()?;
        Ok(server)
    }

    /// Where it listens, without `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.authority)
    }

    /// Where it listens over TLS, by the name that the certificate must have; `None` without one.
    pub fn tls_url(&self) -> Option<String> {
        self.tls_port
            .map(|port| format!("https://localhost:{port}"))
    }

    /// How many connections and requests for chats there were, and by which versions of HTTP.
    pub fn seen(&self) -> Result<Value, String> {
        let reply = ask(&self.authority, "/seen", None).map_err(|error| error.to_string())?;
        reply.json().map_err(|error| error.to_string())
    }
}
