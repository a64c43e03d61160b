//! Connecting: name, address, socket, proxy and TLS, with a timestamp for each step.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ipw_core::reply::{Failure, Timing};
use ipw_core::time::Clock;
use ipw_core::witness::{ExchangeEvent, Witness};
use rustls::ClientConfig;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::connection::{Connection, Stream};
use super::socket::{self, Socket};
use super::stamps::Stamper;
use super::turn::FairSocket;
use super::{BaseUrl, HttpError, Proxy, http2, proxy, race, tls};

/// HTTP/2's ALPN protocol name.
const ALPN: &[u8] = b"h2";

pub(crate) struct Connector {
    url: BaseUrl,
    limit: Duration,
    proxy: Option<Proxy>,
    /// HTTP/2 only, instead of HTTP/1.1.
    http2: bool,
    /// Trusted in addition to the system's.
    authorities: Vec<CertificateDer<'static>>,
    /// Built on first use: loading the system's roots takes time that must not count for a
    /// connection.
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
}

/// A connection being established.
struct Opening<'a> {
    clock: &'a dyn Clock,
    timing: &'a mut Timing,
    witness: Option<&'a dyn Witness>,
}

impl Opening<'_> {
    fn tell(&self, sight: ExchangeEvent<'_>) {
        if let Some(witness) = self.witness {
            witness.saw(sight);
        }
    }
}

impl Connector {
    pub(crate) fn new(url: BaseUrl, limit: Duration) -> Self {
        Self {
            url,
            limit,
            proxy: None,
            http2: false,
            authorities: Vec::new(),
            tls: OnceLock::new(),
        }
    }

    /// Uses `proxy`, if any.
    pub(crate) fn through(mut self, proxy: Option<Proxy>) -> Self {
        self.proxy = proxy;
        self
    }

    /// Also trusts `authorities`.
    pub(crate) fn trusting(mut self, authorities: Vec<CertificateDer<'static>>) -> Self {
        self.authorities = authorities;
        self
    }

    /// Chooses between HTTP/2 and HTTP/1.1.
    pub(crate) fn speaking_http2(mut self, is_wanted: bool) -> Self {
        self.http2 = is_wanted;
        self
    }

    pub(crate) fn speaks_http2(&self) -> bool {
        self.http2
    }

    pub(super) fn url(&self) -> &BaseUrl {
        &self.url
    }

    /// Does slow one-time work ahead of the first connection.
    pub(crate) fn prepared(self) -> Self {
        socket::start_stamping();
        if self.url.is_encrypted() {
            // Connecting reports the error.
            let _ = self.config();
        }
        self
    }

    fn config(&self) -> &Result<Arc<ClientConfig>, String> {
        let protocols: &[&[u8]] = if self.http2 { &[ALPN] } else { &[] };
        self.tls
            .get_or_init(|| tls::config(&self.authorities, protocols))
    }

    /// The proxy to which plain requests are sent directly, without a tunnel.
    pub(crate) fn forwarder(&self) -> Option<&Proxy> {
        let proxy = self.proxy.as_ref();
        proxy.filter(|_| !self.url.is_encrypted())
    }

    /// Connects, with proxy and TLS; `timing` is updated at each step.
    pub(crate) async fn connect(
        &self,
        stamper: &Arc<Stamper>,
        timing: &mut Timing,
        witness: Option<&dyn Witness>,
    ) -> Result<Connection, HttpError> {
        let open = async {
            let stream = self.stream(stamper.clock(), timing, witness).await?;
            Ok(Connection::new(stream, Arc::clone(stamper)))
        };
        self.within_limit(open).await
    }

    /// Connects with HTTP/2 and waits for the service's settings.
    pub(super) async fn connect_http2(
        &self,
        stamper: &Arc<Stamper>,
        timing: &mut Timing,
        witness: Option<&dyn Witness>,
    ) -> Result<http2::Connection, HttpError> {
        let open = async {
            let stream = self.stream(stamper.clock(), timing, witness).await?;
            let opened = http2::Connection::open(stream, Arc::clone(stamper)).await;
            opened.map_err(|why| self.no_http2(&why))
        };
        self.within_limit(open).await
    }

    /// A byte stream to the service, through proxy and TLS.
    async fn stream(
        &self,
        clock: &dyn Clock,
        timing: &mut Timing,
        witness: Option<&dyn Witness>,
    ) -> Result<Box<dyn Stream>, HttpError> {
        let mut opening = Opening {
            clock,
            timing,
            witness,
        };
        let mut stream = match self.url.socket() {
            Some(path) => self.local(path, &mut opening).await?,
            None => self.socket(&mut opening).await?,
        };
        if self.url.is_encrypted() {
            if let Some(proxy) = &self.proxy {
                let target = proxy::place(self.url.host(), self.url.port());
                proxy.tunnel(&mut stream, &target).await?;
                let at = opening.clock.now();
                opening.timing.proxy = Some(at);
                opening.tell(ExchangeEvent::Tunnelled { at });
            }
            stream = self.secure(stream, &mut opening).await?;
        }
        Ok(stream)
    }

    async fn within_limit<T>(
        &self,
        open: impl Future<Output = Result<T, HttpError>>,
    ) -> Result<T, HttpError> {
        timeout(self.limit, open).await.unwrap_or_else(|_| {
            let what = if self.http2 { "HTTP/2 " } else { "" };
            let (place, limit) = (self.place(), self.limit);
            let text = format!("no {what}connection to {place} within {limit:?}");
            Err(HttpError::new(Failure::Connect, text))
        })
    }

    fn no_http2(&self, why: &str) -> HttpError {
        let text = format!("{} does not speak HTTP/2: {why}", self.place());
        HttpError::new(Failure::Protocol, text)
    }

    async fn local(
        &self,
        path: &Path,
        opening: &mut Opening<'_>,
    ) -> Result<Box<dyn Stream>, HttpError> {
        let socket = UnixStream::connect(path).await.map_err(|error| {
            let text = format!("cannot connect to {}: {error}", self.place());
            HttpError::new(Failure::Connect, text)
        })?;
        connected(opening, &path.display().to_string(), None);
        Ok(Box::new(FairSocket::new(socket)))
    }

    async fn socket(&self, opening: &mut Opening<'_>) -> Result<Box<dyn Stream>, HttpError> {
        let (host, port) = match &self.proxy {
            Some(proxy) => (proxy.host(), proxy.port()),
            None => (self.url.host(), self.url.port()),
        };
        let of = match &self.proxy {
            Some(proxy) => format!(" of {}", proxy.named()),
            None => String::new(),
        };
        let unknown = |cause: String| {
            let text = format!("cannot resolve the host `{host}`{of}: {cause}");
            HttpError::new(Failure::Dns, text)
        };
        let addresses: Vec<SocketAddr> = lookup_host((host, port))
            .await
            .map_err(|error| unknown(error.to_string()))?
            .collect();
        if host.parse::<IpAddr>().is_err() {
            let at = opening.clock.now();
            opening.timing.dns = Some(at);
            let addresses = &addresses;
            opening.tell(ExchangeEvent::Resolved { at, addresses });
        }
        if addresses.is_empty() {
            return Err(unknown("the name has no address".to_owned()));
        }
        let socket = race::first(addresses).await.map_err(|error| {
            let to = match &self.proxy {
                Some(proxy) => proxy.named(),
                None => self.place(),
            };
            HttpError::new(Failure::Connect, format!("cannot connect to {to}: {error}"))
        })?;
        // Small requests must not wait for acknowledgements.
        let _ = socket.set_nodelay(true);
        let peer = peer(&socket, opening.witness);
        connected(opening, &peer, self.proxy.as_ref().map(Proxy::place));
        Ok(Box::new(FairSocket::new(Socket::new(socket))))
    }

    async fn secure(
        &self,
        stream: Box<dyn Stream>,
        opening: &mut Opening<'_>,
    ) -> Result<Box<dyn Stream>, HttpError> {
        let failed = |cause: String| {
            let text = format!("no TLS with {}: {cause}", self.place());
            HttpError::new(Failure::Tls, text)
        };
        let config = self.config().clone().map_err(failed)?;
        let name = ServerName::try_from(self.url.host().to_owned())
            .map_err(|error| failed(error.to_string()))?;
        let stream = TlsConnector::from(config)
            .connect(name, stream)
            .await
            .map_err(|error| {
                if refuses_protocol(&error) {
                    self.no_http2("it refuses `h2` in the TLS handshake (ALPN)")
                } else {
                    failed(error.to_string())
                }
            })?;
        let at = opening.clock.now();
        opening.timing.tls = Some(at);
        if opening.witness.is_some() {
            let with = agreed(stream.get_ref().1);
            opening.tell(ExchangeEvent::Secured { at, with: &with });
        }
        if self.http2 && stream.get_ref().1.alpn_protocol() != Some(ALPN) {
            return Err(self.no_http2("it does not select `h2` in the TLS handshake (ALPN)"));
        }
        Ok(Box::new(stream))
    }

    /// The service and its proxy, for messages.
    fn place(&self) -> String {
        let service = match self.url.socket() {
            Some(path) => return format!("the socket `{}`", path.display()),
            None => format!("{}:{}", self.url.host(), self.url.port()),
        };
        match &self.proxy {
            Some(proxy) => format!("{service} through {}", proxy.named()),
            None => service,
        }
    }
}

/// Records the time at which the socket connected.
fn connected(opening: &mut Opening<'_>, peer: &str, proxy: Option<&str>) {
    let at = opening.clock.now();
    opening.timing.tcp = Some(at);
    opening.tell(ExchangeEvent::Connected { at, peer, proxy });
}

/// The remote address, or an empty text without a witness.
fn peer(socket: &TcpStream, witness: Option<&dyn Witness>) -> String {
    let address = witness.and_then(|_| socket.peer_addr().ok());
    address.map_or_else(String::new, |address| address.to_string())
}

/// Whether the handshake failed because the service supports none of the offered protocols.
fn refuses_protocol(error: &std::io::Error) -> bool {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    let alert = rustls::AlertDescription::NoApplicationProtocol;
    cause == Some(&rustls::Error::AlertReceived(alert))
}

/// The negotiated TLS version, cipher suite and protocol.
fn agreed(session: &rustls::ClientConnection) -> String {
    let version = session
        .protocol_version()
        .and_then(|version| version.as_str());
    let suite = session.negotiated_cipher_suite();
    let suite = suite.and_then(|suite| suite.suite().as_str());
    let protocol = session.alpn_protocol().map(String::from_utf8_lossy);
    let protocol = protocol.map(|name| format!("ALPN {name}"));
    [version, suite, protocol.as_deref()]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}
