//! A TCP socket that says when the kernel received what it read.
//!
//! On Linux every packet gets a software receive stamp (`SO_TIMESTAMPING`), which `recvmsg` returns
//! beside the bytes: it needs no privilege and lies below TLS. Elsewhere a read has no stamp. If one
//! read returns several packets, the stamp is that of the last.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use super::connection::Stream;
use super::stamps::WallTime;

/// A connected TCP socket.
pub(super) struct Socket {
    socket: TcpStream,
    /// When the last bytes that were read arrived.
    arrived: Option<WallTime>,
}

impl Socket {
    pub(super) fn new(socket: TcpStream) -> Self {
        // Without stamps of the kernel, reads are dated by this process.
        let _ = kernel::enable(&socket);
        Self {
            socket,
            arrived: None,
        }
    }
}

impl Stream for Socket {
    fn arrived(&self) -> Option<WallTime> {
        self.arrived
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.socket.poll_read_ready(context))?;
            let bytes = room.initialize_unfilled();
            let mut received = None;
            let tried = self.socket.try_io(Interest::READABLE, || {
                let (read, arrived) = kernel::receive(&self.socket, bytes)?;
                received = Some((read, arrived));
                if read > 0 && read < bytes.len() {
                    // The socket is empty: what comes next wakes this task, without a further call
                    // that only returns this error.
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Ok(())
            });
            if let Some((read, arrived)) = received {
                room.advance(read);
                self.arrived = arrived;
                return Poll::Ready(Ok(()));
            }
            match tried {
                Err(error) if is_passing(&error) => {}
                failed => return Poll::Ready(failed),
            }
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

/// Makes the kernel stamp packets from now on: it begins with the first socket that asks, a moment
/// later, and would leave the first packets of a run without a stamp.
pub(super) fn start_stamping() {
    kernel::start();
}

#[cfg(target_os = "linux")]
mod kernel {
    use std::io::{self, IoSliceMut};
    use std::net::UdpSocket;
    use std::os::fd::{AsFd, AsRawFd as _};
    use std::sync::OnceLock;

    use nix::sys::socket::{
        ControlMessageOwned, MsgFlags, TimestampingFlag, recvmsg, setsockopt, sockopt,
    };
    use nix::sys::time::TimeSpec;
    use tokio::net::TcpStream;

    use super::WallTime;

    /// Holds the stamping of the kernel on for as long as this process lives.
    static KEPT: OnceLock<Option<UdpSocket>> = OnceLock::new();

    /// Room for the control message: a header and three instants.
    const ROOM: usize = 64;

    /// Aligned as the kernel writes headers of control messages.
    #[repr(align(8))]
    struct Control([u8; ROOM]);

    pub(super) fn start() {
        KEPT.get_or_init(|| {
            let socket = UdpSocket::bind(("127.0.0.1", 0)).ok()?;
            enable(&socket).ok()?;
            Some(socket)
        });
    }

    /// Asks for a software stamp beside every read.
    pub(super) fn enable(socket: &impl AsFd) -> io::Result<()> {
        let software = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
        setsockopt(socket, sockopt::Timestamping, &software)?;
        Ok(())
    }

    pub(super) fn receive(
        socket: &TcpStream,
        bytes: &mut [u8],
    ) -> io::Result<(usize, Option<WallTime>)> {
        let mut control = Control([0; ROOM]);
        let mut slices = [IoSliceMut::new(bytes)];
        let message = recvmsg::<()>(
            socket.as_raw_fd(),
            &mut slices,
            Some(&mut control.0),
            MsgFlags::empty(),
        )?;
        let arrived = message.cmsgs().ok().and_then(|mut messages| {
            messages.find_map(|message| match message {
                ControlMessageOwned::ScmTimestampsns(stamps) => wall_time(stamps.system),
                _ => None,
            })
        });
        Ok((message.bytes, arrived))
    }

    /// The kernel writes zeros for a packet that it did not stamp.
    fn wall_time(stamp: TimeSpec) -> Option<WallTime> {
        let seconds = u64::try_from(stamp.tv_sec()).ok()?;
        let nanos = u64::try_from(stamp.tv_nsec()).ok()?;
        let whole = seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?;
        (whole > 0).then_some(WallTime(whole))
    }
}

#[cfg(not(target_os = "linux"))]
mod kernel {
    use std::io;

    use rustix::net::{RecvFlags, recv};
    use tokio::net::TcpStream;

    use super::WallTime;

    pub(super) fn start() {}

    pub(super) fn enable(_socket: &TcpStream) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn receive(
        socket: &TcpStream,
        bytes: &mut [u8],
    ) -> io::Result<(usize, Option<WallTime>)> {
        let (read, _) = recv(socket, bytes, RecvFlags::empty())?;
        Ok((read, None))
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
