//! An HTTP/2 service on `h2`'s own server, with faults on request.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Request, Response};
use ipw_core::time::{Clock, Timestamp};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// The reaction to one request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// These DATA frames, and the end.
    Says(Vec<Bytes>),
    /// The same, with a pause before each frame.
    Paced(Vec<Bytes>, Duration),
    /// The same, after a total number of requests has arrived.
    Together(usize, Vec<Bytes>),
    /// The same, with the end in trailers.
    Trails(Vec<Bytes>),
    /// This status and body, with `retry-after: 7`.
    Status(u16, &'static str),
    /// An interim head, and the rest after a pause.
    Interim(Vec<Bytes>, Duration),
    /// The stream's end without a head.
    Resets(Reason),
    /// The stream's end after these frames.
    ResetsAfter(Vec<Bytes>, Reason),
    /// A head with this many headers of this size.
    Heads(usize, usize),
    /// A head only; the stream stays open.
    Hangs,
    /// Closes the connection at once.
    Closes,
    /// An optional first frame, and then the second one forever.
    Floods(Option<Bytes>, Bytes),
    /// Interim heads forever.
    Hints,
    /// A reply, after which the connection accepts no more requests.
    SaysGoodbye(Vec<Bytes>),
}

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Number of its connection, from 0.
    pub(crate) connection: usize,
    /// Number of the request, from 0.
    pub(crate) number: usize,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
}

/// Record of what the service saw.
pub(crate) struct Log {
    clock: Arc<dyn Clock>,
    connections: AtomicUsize,
    asked: Mutex<Vec<Asked>>,
    count: watch::Sender<usize>,
    /// Times just before each DATA frame was sent, by request.
    sent: Mutex<Vec<(usize, Timestamp)>>,
    /// Streams that the client reset, by request.
    cancelled: Mutex<Vec<(usize, Reason)>>,
}

/// The service. Its thread ends with the test's process.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    log: Arc<Log>,
}

type Manner = Arc<dyn Fn(&Asked) -> Act + Send + Sync>;

/// Settings of connections.
#[derive(Clone, Default)]
pub(crate) struct Options {
    /// Limit of concurrent streams.
    pub(crate) streams: Option<u32>,
    pub(crate) tls: Option<TlsAcceptor>,
}

impl Served {
    pub(crate) fn start(
        options: Options,
        clock: Arc<dyn Clock>,
        manner: impl Fn(&Asked) -> Act + Send + Sync + 'static,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Log {
            clock,
            connections: AtomicUsize::new(0),
            asked: Mutex::default(),
            count: watch::channel(0).0,
            sent: Mutex::default(),
            cancelled: Mutex::default(),
        });
        let (kept, manner): (_, Manner) = (Arc::clone(&log), Arc::new(manner));
        thread::spawn(move || {
            runtime.block_on(async move {
                while let Ok((socket, _)) = listener.accept().await {
                    let _ = socket.set_nodelay(true);
                    let (log, manner) = (Arc::clone(&kept), Arc::clone(&manner));
                    let options = options.clone();
                    tokio::spawn(async move {
                        // Several tests have clients that disconnect early.
                        let _ = match &options.tls {
                            None => serve(socket, &options, &log, &manner).await,
                            Some(tls) => match tls.accept(socket).await {
                                Ok(stream) => serve(stream, &options, &log, &manner).await,
                                Err(_) => Ok(()),
                            },
                        };
                    });
                }
            });
        });
        Self { address, log }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.log.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.log.asked.lock().unwrap().clone()
    }

    pub(crate) fn sent(&self) -> Vec<(usize, Timestamp)> {
        self.log.sent.lock().unwrap().clone()
    }

    pub(crate) fn cancelled(&self) -> Vec<(usize, Reason)> {
        self.log.cancelled.lock().unwrap().clone()
    }
}

async fn serve(
    socket: impl AsyncRead + AsyncWrite + Unpin,
    options: &Options,
    log: &Arc<Log>,
    manner: &Manner,
) -> Result<(), h2::Error> {
    let number = log.connections.fetch_add(1, Ordering::SeqCst);
    let mut builder = h2::server::Builder::new();
    if let Some(most) = options.streams {
        builder.max_concurrent_streams(most);
    }
    let mut connection = builder.handshake::<_, Bytes>(socket).await?;
    while let Some(request) = connection.accept().await {
        let (request, mut respond) = request?;
        let asked = {
            let mut all = log.asked.lock().unwrap();
            let count = all.len();
            all.push(Asked {
                connection: number,
                number: count,
                path: request.uri().path().to_owned(),
                headers: request.headers().clone(),
            });
            log.count.send_replace(all.len());
            all.last().unwrap().clone()
        };
        match manner(&asked) {
            Act::Closes => return Ok(()),
            Act::Resets(reason) => respond.send_reset(reason),
            act => {
                if let Act::SaysGoodbye(_) = act {
                    connection.graceful_shutdown();
                }
                let log = Arc::clone(log);
                tokio::spawn(async move {
                    let _ = answer(request, respond, act, &log, asked.number).await;
                });
            }
        }
    }
    Ok(())
}

async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    act: Act,
    log: &Log,
    number: usize,
) -> Result<(), h2::Error> {
    let mut body = request.into_body();
    while let Some(piece) = poll_fn(|context| body.poll_data(context)).await {
        let length = piece?.len();
        body.flow_control().release_capacity(length)?;
    }
    let head = || Response::builder().header("content-type", "text/event-stream");
    let interim = || Response::builder().status(100).body(()).unwrap();
    let (frames, pause, end) = match act {
        Act::Status(status, text) => {
            let head = Response::builder()
                .status(status)
                .header("retry-after", "7");
            let mut stream = respond.send_response(head.body(()).unwrap(), false)?;
            return stream.send_data(Bytes::from_static(text.as_bytes()), true);
        }
        Act::Heads(count, size) => {
            let mut response = head().body(()).unwrap();
            for nth in 0..count {
                let name: http::HeaderName = format!("x-{nth}").parse().unwrap();
                let value = "v".repeat(size).parse().unwrap();
                response.headers_mut().insert(name, value);
            }
            respond.send_response(response, true)?;
            return Ok(());
        }
        Act::Hangs => (Vec::new(), Duration::ZERO, None),
        Act::Floods(..) | Act::Hints => return flood(respond, act).await,
        Act::Interim(frames, pause) => {
            respond.send_informational(interim())?;
            tokio::time::sleep(pause).await;
            (frames, Duration::ZERO, Some(Ok(false)))
        }
        Act::Together(count, frames) => {
            let mut there = log.count.subscribe();
            let _ = there.wait_for(|there| *there >= count).await;
            (frames, Duration::ZERO, Some(Ok(false)))
        }
        Act::ResetsAfter(frames, reason) => (frames, Duration::ZERO, Some(Err(reason))),
        Act::Paced(frames, pause) => (frames, pause, Some(Ok(false))),
        Act::Trails(frames) => (frames, Duration::ZERO, Some(Ok(true))),
        Act::Says(frames) | Act::SaysGoodbye(frames) => (frames, Duration::ZERO, Some(Ok(false))),
        Act::Closes | Act::Resets(_) => unreachable!("done before"),
    };
    let mut stream = respond.send_response(head().body(()).unwrap(), false)?;
    for frame in frames {
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        log.sent.lock().unwrap().push((number, log.clock.now()));
        send(&mut stream, frame).await?;
    }
    match end {
        Some(Ok(false)) => stream.send_data(Bytes::new(), true),
        Some(Ok(true)) => stream.send_trailers(HeaderMap::from_iter([(
            http::HeaderName::from_static("x-trailer"),
            http::HeaderValue::from_static("1"),
        )])),
        Some(Err(reason)) => {
            // After what was sent before, without replacing it.
            tokio::time::sleep(Duration::from_millis(100)).await;
            stream.send_reset(reason);
            Ok(())
        }
        None => {
            let reason = poll_fn(|context| stream.poll_reset(context)).await?;
            log.cancelled.lock().unwrap().push((number, reason));
            Ok(())
        }
    }
}

/// Far above any normal reply.
async fn flood(mut respond: SendResponse<Bytes>, act: Act) -> Result<(), h2::Error> {
    let Act::Floods(first, flood) = act else {
        loop {
            let hints = Response::builder().status(103).body(()).unwrap();
            respond.send_informational(hints)?;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let head = Response::builder().header("content-type", "text/event-stream");
    let mut stream = respond.send_response(head.body(()).unwrap(), false)?;
    if let Some(first) = first {
        send(&mut stream, first).await?;
    }
    loop {
        send(&mut stream, flood.clone()).await?;
    }
}

/// Sends one DATA frame when flow control allows it.
async fn send(stream: &mut SendStream<Bytes>, frame: Bytes) -> Result<(), h2::Error> {
    stream.reserve_capacity(frame.len());
    while stream.capacity() < frame.len() {
        match poll_fn(|context| stream.poll_capacity(context)).await {
            Some(more) => more?,
            None => return Ok(()),
        };
    }
    stream.send_data(frame, false)
}

/// A chat of these words, one event per frame.
pub(crate) fn chat(words: &[&str]) -> Vec<Bytes> {
    let mut frames: Vec<Bytes> = words
        .iter()
        .map(|word| {
            let event = serde_json::json!({"choices": [{"index": 0, "delta": {"content": word}}]});
            Bytes::from(format!("data: {event}\n\n"))
        })
        .collect();
    frames.push(Bytes::from_static(
        b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    ));
    frames
}
