//! Getting a connection: name, address, socket, TLS.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ipw_core::reply::Failure;
use ipw_core::time::Clock;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::connection::{Connection, Stream};
use super::{BaseUrl, HttpError};

/// Makes connections to one service.
pub(crate) struct Connector {
    url: BaseUrl,
    limit: Duration,
    /// Made at the first https connection: reading the system's roots takes a while.
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl Connector {
    pub(crate) fn new(url: BaseUrl, limit: Duration) -> Self {
        Self {
            url,
            limit,
            tls: OnceLock::new(),
        }
    }

    /// A new connection, TLS included.
    pub(crate) async fn connect(&self, clock: &Arc<dyn Clock>) -> Result<Connection, HttpError> {
        let open = async {
            let socket = self.socket().await?;
            let stream: Box<dyn Stream> = if self.url.is_encrypted() {
                self.secure(socket).await?
            } else {
                Box::new(socket)
            };
            Ok(Connection::new(stream, Arc::clone(clock)))
        };
        timeout(self.limit, open).await.unwrap_or_else(|_| {
            let text = format!("no connection to {} within {:?}", self.place(), self.limit);
            Err(HttpError::new(Failure::Connect, text))
        })
    }

    async fn socket(&self) -> Result<TcpStream, HttpError> {
        let unknown = |cause: String| {
            let text = format!("cannot resolve the host `{}`: {cause}", self.url.host());
            HttpError::new(Failure::Dns, text)
        };
        let addresses: Vec<SocketAddr> = lookup_host((self.url.host(), self.url.port()))
            .await
            .map_err(|error| unknown(error.to_string()))?
            .collect();
        let mut last = unknown("it has no address".to_owned());
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(socket) => {
                    // A request waits for no acknowledgement.
                    let _ = socket.set_nodelay(true);
                    return Ok(socket);
                }
                Err(error) => {
                    let text = format!("cannot connect to {}: {error}", self.place());
                    last = HttpError::new(Failure::Connect, text);
                }
            }
        }
        Err(last)
    }

    async fn secure(&self, socket: TcpStream) -> Result<Box<dyn Stream>, HttpError> {
        let failed = |cause: String| {
            let text = format!("no TLS with {}: {cause}", self.place());
            HttpError::new(Failure::Tls, text)
        };
        let config = self.tls.get_or_init(tls_config).clone().map_err(failed)?;
        let name = ServerName::try_from(self.url.host().to_owned())
            .map_err(|error| failed(error.to_string()))?;
        let stream = TlsConnector::from(config)
            .connect(name, socket)
            .await
            .map_err(|error| failed(error.to_string()))?;
        Ok(Box::new(stream))
    }

    fn place(&self) -> String {
        format!("{}:{}", self.url.host(), self.url.port())
    }
}

fn tls_config() -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (usable, _) = roots.add_parsable_certificates(found.certs);
    if usable == 0 {
        let causes: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
        return Err(format!(
            "no root certificates on this system{}{}",
            if causes.is_empty() { "" } else { ": " },
            causes.join("; ")
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
