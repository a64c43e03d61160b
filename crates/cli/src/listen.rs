//! Listening sockets, and the signals that end them.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};

use tokio::net::TcpSocket;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::{CliError, Exit};

/// An address to listen on.
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
            let error = cause.context(format!("cannot resolve the host `{host}`"));
            CliError::new(Exit::Usage, error)
                .help(format!("omit `{flag}` to listen on this machine"))
        };
        let mut found = (host, port)
            .to_socket_addrs()
            .map_err(|error| unknown(error.into()))?;
        let address = found
            .next()
            .ok_or_else(|| unknown(anyhow::anyhow!("the name has no address")))?;
        Ok(Self {
            host: host.to_owned(),
            address,
            flag,
        })
    }

    /// Binds the address without listening: clients are refused until the caller listens.
    pub(crate) fn bind(&self) -> Result<TcpSocket, CliError> {
        let bound = || {
            let socket = match self.address {
                SocketAddr::V4(_) => TcpSocket::new_v4()?,
                SocketAddr::V6(_) => TcpSocket::new_v6()?,
            };
            // Otherwise a port in TIME_WAIT counts as taken.
            socket.set_reuseaddr(true)?;
            socket.bind(self.address)?;
            Ok(socket)
        };
        bound().map_err(|error| self.refused(error))
    }

    /// The error for an address that cannot be bound.
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
                CliError::new(Exit::Unexpected, message).help("`--port 0` picks a free port")
            }
            ErrorKind::AddrNotAvailable => {
                let message = format!("`{host}` is not an address of this machine");
                let error = anyhow::Error::from(error).context(message);
                CliError::new(Exit::Usage, error)
                    .help(format!("omit `{flag}` to listen on loopback"))
            }
            _ => {
                let message = format!("cannot listen on {address}");
                let error = anyhow::Error::from(error).context(message);
                CliError::new(Exit::Unexpected, error).help("`--port 0` picks a free port")
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

    /// Returns when one of them arrives.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
