//! The monitor's socket, and its limit of connections.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net as unix;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::fs::Mode;
use rustix::process::umask;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;
use tokio_stream::Stream;
use tonic::transport::server::Connected;

/// Maximum number of concurrent connections; more are closed at once.
const MOST_CONNECTIONS: usize = 128;
/// How long a connection may take to send the HTTP/2 preface.
const PREFACE: Duration = Duration::from_secs(10);
/// Length of the preface in bytes.
const PREFACE_LENGTH: usize = 24;
/// Pause when the system has no file descriptor left.
const BREATH: Duration = Duration::from_millis(100);

/// A listening socket.
pub struct Listener {
    socket: Socket,
    /// The file of a Unix socket, removed at the end.
    _file: Option<SocketFile>,
}

enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Why a Unix socket cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another process listens there.
    #[error("another process listens on `{0}`")]
    Taken(PathBuf),
    /// The path exists and is not a socket.
    #[error("`{0}` exists and is not a socket")]
    NoSocket(PathBuf),
    /// The system refuses.
    #[error("cannot listen on `{path}`")]
    Refused {
        /// The path of the socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl Listener {
    /// Wraps a TCP socket that is already listening.
    pub fn tcp(listener: TcpListener) -> Self {
        Self {
            socket: Socket::Tcp(listener),
            _file: None,
        }
    }

    /// Creates a socket at `path` that only this user can open, from the start. A stale socket
    /// without a listener is replaced. For a moment all files that this process creates are
    /// private, because the umask is per process. Must be called inside a runtime.
    pub fn unix(path: &Path) -> Result<Self, ListenError> {
        let refused = |source| ListenError::Refused {
            path: path.to_owned(),
            source,
        };
        make_way(path)?;
        let others = umask(Mode::RWXG | Mode::RWXO);
        let bound = unix::UnixListener::bind(path);
        umask(others);
        let listener = bound.map_err(refused)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(refused)?;
        let file = SocketFile::at(path).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        Ok(Self {
            socket: Socket::Unix(UnixListener::from_std(listener).map_err(refused)?),
            _file: Some(file),
        })
    }

    /// The address, for TCP.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().ok(),
            Socket::Unix(_) => None,
        }
    }

    async fn accept(&self) -> io::Result<Box<dyn Io>> {
        match &self.socket {
            Socket::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // If the peer has already left, that is noticed later.
                let _ = stream.set_nodelay(true);
                Ok(Box::new(stream))
            }
            Socket::Unix(listener) => Ok(Box::new(listener.accept().await?.0)),
        }
    }

    /// The accepted connections within the limit.
    pub(super) fn incoming(self) -> impl Stream<Item = io::Result<Connection>> {
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        futures_util::stream::unfold((self, places), async |(listener, places)| {
            loop {
                let stream = match listener.accept().await {
                    Ok(stream) => stream,
                    Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                    Err(_) => {
                        tokio::time::sleep(BREATH).await;
                        continue;
                    }
                };
                // Beyond the limit the connection is dropped, and so closed.
                if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
                    let admitted = Connection::new(stream, place);
                    return Some((Ok(admitted), (listener, places)));
                }
            }
        })
    }
}

/// Removes a socket that no process listens on.
fn make_way(path: &Path) -> Result<(), ListenError> {
    let refused = |source| ListenError::Refused {
        path: path.to_owned(),
        source,
    };
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(refused(error)),
    };
    if !about.file_type().is_socket() {
        return Err(ListenError::NoSocket(path.to_owned()));
    }
    match unix::UnixStream::connect(path) {
        Ok(_) => Err(ListenError::Taken(path.to_owned())),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(refused)
        }
        Err(error) => Err(refused(error)),
    }
}

/// The file of our socket; removed when dropped, unless another process has replaced it.
struct SocketFile {
    path: PathBuf,
    inode: (u64, u64),
}

impl SocketFile {
    fn at(path: &Path) -> io::Result<Self> {
        let about = fs::symlink_metadata(path)?;
        Ok(Self {
            path: path.to_owned(),
            inode: (about.dev(), about.ino()),
        })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|about| (about.dev(), about.ino()) == self.inode);
        if is_ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// An accepted connection, which counts against the limit and must send the preface in time.
pub(super) struct Connection {
    stream: Box<dyn Io>,
    /// Deadline for the preface, and the number of bytes of it so far.
    waiting: Option<(Pin<Box<Sleep>>, usize)>,
    _place: OwnedSemaphorePermit,
}

impl Connection {
    fn new(stream: Box<dyn Io>, place: OwnedSemaphorePermit) -> Self {
        Self {
            stream,
            waiting: Some((Box::pin(tokio::time::sleep(PREFACE)), 0)),
            _place: place,
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let Some((deadline, seen)) = &mut self.waiting else {
            return polled;
        };
        *seen += buffer.filled().len() - before;
        if *seen >= PREFACE_LENGTH {
            self.waiting = None;
        } else if polled.is_pending() && deadline.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
        polled
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
