//! Where a command listens, and how long.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};

use tokio::net::TcpSocket;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::{CliError, Exit};

/// Where to listen.
pub(crate) struct Place {
    pub(crate) host: String,
    pub(crate) address: SocketAddr,
    /// The flag that names the host.
    flag: &'static str,
}

impl Place {
    /// The first address of `host`, which `flag` names.
    pub(crate) fn find(flag: &'static str, host: &str, port: u16) -> Result<Self, CliError> {
        let unknown = |cause: anyhow::Error| {
            let error = cause.context(format!("the host `{host}` has no address"));
            CliError::new(Exit::Usage, error)
                .help(format!("leave `{flag}` out to listen on this machine"))
        };
        let mut found = (host, port)
            .to_socket_addrs()
            .map_err(|error| unknown(error.into()))?;
        let address = found
            .next()
            .ok_or_else(|| unknown(anyhow::anyhow!("its name leads nowhere")))?;
        Ok(Self {
            host: host.to_owned(),
            address,
            flag,
        })
    }

    /// A socket at that place that does not listen yet.
    pub(crate) fn bind(&self) -> Result<TcpSocket, CliError> {
        let bound = || {
            let socket = match self.address {
                SocketAddr::V4(_) => TcpSocket::new_v4()?,
                SocketAddr::V6(_) => TcpSocket::new_v6()?,
            };
            // A port whose last user has just gone is free.
            socket.set_reuseaddr(true)?;
            socket.bind(self.address)?;
            Ok(socket)
        };
        bound().map_err(|error| self.refused(error))
    }

    /// What is to be said of a place that cannot be listened at.
    pub(crate) fn refused(&self, error: io::Error) -> CliError {
        let Self {
            host,
            address,
            flag,
        } = self;
        let port = address.port();
        match error.kind() {
            ErrorKind::AddrInUse => {
                let message = anyhow::anyhow!("port {port} is in use at {}", address.ip());
                CliError::new(Exit::Unexpected, message).help("`--port 0` takes a free one")
            }
            ErrorKind::AddrNotAvailable => {
                let message = format!("`{host}` is not an address of this machine");
                let error = anyhow::Error::from(error).context(message);
                CliError::new(Exit::Usage, error)
                    .help(format!("leave `{flag}` out to listen on loopback"))
            }
            _ => {
                let message = format!("cannot listen on {address}");
                let error = anyhow::Error::from(error).context(message);
                CliError::new(Exit::Unexpected, error).help("`--port 0` takes a free port")
            }
        }
    }
}

/// SIGINT and SIGTERM.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Returns when one of them comes.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
