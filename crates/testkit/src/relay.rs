//! A network that takes its time: what goes in comes out later, each way by its own delay.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ipw_core::time::{Clock, Timestamp};

/// Passes connections on, late.
pub struct Relay {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl Relay {
    /// Passes connections on to `to`: what goes there is `there` late, what comes back `back`.
    pub fn start(
        to: SocketAddr,
        there: Duration,
        back: Duration,
        clock: &Arc<dyn Clock>,
    ) -> std::io::Result<Self> {
        let clock = Arc::clone(clock);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let acceptor = thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if told.load(Ordering::Relaxed) {
                    return;
                }
                // A connection that leads nowhere is closed, as a network would.
                if let Ok(far) = TcpStream::connect(to) {
                    let _ = join(&near, &far, there, &clock);
                    let _ = join(&far, &near, back, &clock);
                }
            }
        });
        Ok(Self {
            address,
            stop,
            acceptor: Some(acceptor),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

/// Takes what comes from one to the other, each piece after `delay`.
fn join(
    from: &TcpStream,
    to: &TcpStream,
    delay: Duration,
    clock: &Arc<dyn Clock>,
) -> std::io::Result<()> {
    let (mut from, to) = (from.try_clone()?, to.try_clone()?);
    to.set_nodelay(true)?;
    let (send, pieces) = channel();
    let (reading, writing) = (Arc::clone(clock), Arc::clone(clock));
    thread::spawn(move || read(&mut from, &send, &*reading));
    thread::spawn(move || write(&to, &pieces, delay, &*writing));
    Ok(())
}

type Piece = (Timestamp, Vec<u8>);

fn read(from: &mut TcpStream, pieces: &Sender<Piece>, clock: &dyn Clock) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length) = from.read(&mut buffer) {
        let piece = buffer[..length].to_vec();
        if pieces.send((clock.now(), piece)).is_err() || length == 0 {
            return;
        }
    }
}

fn write(mut to: &TcpStream, pieces: &Receiver<Piece>, delay: Duration, clock: &dyn Clock) {
    for (came, piece) in pieces {
        thread::sleep(came.after(delay).since(clock.now()));
        if piece.is_empty() || to.write_all(&piece).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
