//! The monitor's server: a session by script, readers over real sockets.

#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ipw_core::counter::Rollover;
use ipw_core::source::{Domain, Method, Quantity, Source};
use ipw_core::time::Clock;
use ipw_monitor::Token;
use ipw_monitor::pb::energy_monitor_client::EnergyMonitorClient;
use ipw_monitor::pb::{self, HealthRequest, StreamRequest, TelemetryReading, TimeRequest};
use ipw_monitor::server::{ListenError, Listener, Machine, Monitor};
use ipw_runner::SystemClock;
use ipw_telemetry::{PollError, Role, Session, Setup};
use ipw_testkit::collector::{ScriptedCollector, source};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_stream::StreamExt as _;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Streaming};

const INTERVAL: Duration = Duration::from_millis(5);

/// Counters that move at every poll, and tell how often they were asked.
fn moving(count: usize, polls: &Arc<AtomicU64>) -> ScriptedCollector {
    let quantity = Quantity::Energy {
        domain: Domain::CpuPackage,
        rollover: Rollover::Resets,
    };
    let source = |number: usize| Source {
        relative_sigma: Some(0.02),
        ..source(&format!("test/{number}"), quantity, Method::Counter)
    };
    let (polls, mut joules) = (Arc::clone(polls), 0.0);
    let sources = (0..count).map(source).collect();
    let mut collector = ScriptedCollector::new(sources, move |clock, take| {
        let polled = polls.fetch_add(1, Ordering::SeqCst);
        joules += 0.1;
        for place in 0..count {
            take(place, clock.now(), joules);
        }
        if polled == 3 {
            return Err(PollError::Retry("a passing fault".to_owned()));
        }
        Ok(())
    });
    collector.id = "test";
    collector
}

/// A monitor on a thread of its own.
struct Serving {
    address: SocketAddr,
    session: Arc<Session>,
    clock: Arc<dyn Clock>,
    polls: Arc<AtomicU64>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Options {
    sources: usize,
    token: Option<Token>,
    is_awake: bool,
}

impl Serving {
    fn start(options: Options) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let polls = Arc::new(AtomicU64::new(0));
        let setup = Setup {
            collectors: vec![Box::new(moving(options.sources.max(1), &polls))],
            interval: INTERVAL,
            role: Role::Service,
            absent: None,
        };
        let session = Arc::new(Session::start(setup, Arc::clone(&clock)).unwrap());
        let (stop, stopped) = oneshot::channel();
        let (here, address) = std::sync::mpsc::channel();
        let (held, time) = (Arc::clone(&session), Arc::clone(&clock));
        let thread = std::thread::spawn(move || {
            runtime().block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let listener = Listener::tcp(listener);
                let machine = Machine::default();
                let monitor = Monitor::new(held, time, &machine, INTERVAL, options.token);
                if options.is_awake {
                    monitor.keep_awake();
                }
                here.send(listener.address().unwrap()).unwrap();
                let stop = async {
                    let _ = stopped.await;
                };
                monitor.run(listener, stop).await;
            });
        });
        Self {
            address: address.recv().unwrap(),
            session,
            clock,
            polls,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint::from_shared(format!("http://{}", self.address)).unwrap()
    }

    async fn client(&self) -> EnergyMonitorClient<Channel> {
        EnergyMonitorClient::new(self.endpoint().connect().await.unwrap())
    }

    async fn stream(&self, with_readings: bool) -> Streaming<TelemetryReading> {
        let asked = StreamRequest { with_readings };
        let mut client = self.client().await;
        client.stream_telemetry(asked).await.unwrap().into_inner()
    }

    fn polls(&self) -> u64 {
        self.polls.load(Ordering::SeqCst)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(ended.is_none_or(|ended| ended.is_ok()) || std::thread::panicking());
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

async fn next(stream: &mut Streaming<TelemetryReading>) -> TelemetryReading {
    let bound = Duration::from_secs(30);
    let next = tokio::time::timeout(bound, stream.next()).await.unwrap();
    next.unwrap().unwrap()
}

async fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(done(), "waited in vain until {what}");
}

/// Waits for `count` ticks.
async fn ticks(count: u32) {
    tokio::time::sleep(INTERVAL * count).await;
}

#[test]
fn two_subscribers_get_the_same_readings_and_old_readers_get_none() {
    let serving = Serving::start(Options::default());
    runtime().block_on(async {
        let (mut one, mut two) = (serving.stream(true).await, serving.stream(true).await);
        let mut old = serving.stream(false).await;
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for _ in 0..100 {
            left.extend(next(&mut one).await.batch.unwrap().readings);
            right.extend(next(&mut two).await.batch.unwrap().readings);
            assert!(next(&mut old).await.batch.is_none());
        }
        let start = right[0].nanos;
        let common = |all: &[pb::Reading], end: i64| -> Vec<pb::Reading> {
            let within = |reading: &&pb::Reading| (start..end).contains(&reading.nanos);
            all.iter().filter(within).copied().collect()
        };
        let end = left.last().unwrap().nanos.min(right.last().unwrap().nanos);
        let (left, right) = (common(&left, end), common(&right, end));
        assert!(left.len() > 50, "{}", left.len());
        assert_eq!(left, right);
        for pair in left.windows(2) {
            assert_eq!(pair[1].previous_nanos, Some(pair[0].nanos));
            assert!((pair[1].value - pair[0].value - 0.1).abs() < 1e-9);
        }
    });
}

#[test]
fn instants_are_the_machines_own_and_faults_are_told_once() {
    let serving = Serving::start(Options::default());
    runtime().block_on(async {
        let before = SystemClock::start().anchor();
        let mut stream = serving.stream(true).await;
        let (mut faults, mut instances) = (Vec::new(), Vec::new());
        for _ in 0..40 {
            let message = next(&mut stream).await;
            let batch = message.batch.unwrap();
            let now = SystemClock::start().anchor();
            for reading in &batch.readings {
                let nanos = u64::try_from(reading.nanos).unwrap();
                assert!(nanos <= now.monotonic_nanos, "{nanos} of {now:?}");
            }
            assert_eq!(batch.polled_nanos.len(), 1);
            let stamp = u64::try_from(message.timestamp_nanos).unwrap();
            let minute = 60_000_000_000;
            assert!((before.unix_nanos - minute..now.unix_nanos + minute).contains(&stamp));
            faults.extend(batch.faults);
            instances.push(batch.instance);
        }
        assert_eq!(faults, ["test: a passing fault"]);
        instances.dedup();
        assert_eq!(instances.len(), 1);
        // Who comes later is told, too.
        let told = next(&mut serving.stream(true).await).await.batch.unwrap();
        assert_eq!((told.faults, told.readings.len()), (faults, 1));
    });
}

#[test]
fn nothing_is_polled_without_listeners() {
    let serving = Serving::start(Options::default());
    runtime().block_on(async {
        for _ in 0..2 {
            ticks(20).await;
            let resting = serving.polls();
            ticks(60).await;
            assert_eq!(serving.polls(), resting, "there is no subscriber");
            let (mut one, two) = (serving.stream(false).await, serving.stream(true).await);
            drop(two);
            for _ in 0..20 {
                next(&mut one).await;
            }
            assert!(serving.polls() >= resting + 10, "{}", serving.polls());
            drop(one);
            let polls = || serving.polls();
            let mut last = polls();
            wait_until("the session rests", || {
                std::thread::sleep(INTERVAL * 10);
                let is_at_rest = polls() == last;
                last = polls();
                is_at_rest
            })
            .await;
        }
    });
}

#[test]
fn a_session_with_another_reader_stays_awake_and_small() {
    let serving = Serving::start(Options {
        is_awake: true,
        ..Options::default()
    });
    runtime().block_on(async {
        wait_until("it was polled often", || serving.polls() > 100).await;
        assert!(serving.session.in_memory() < 50);
        drop(serving.stream(true).await);
        let before = serving.polls();
        wait_until("it goes on", || serving.polls() > before + 20).await;
    });
}

#[test]
fn a_slow_reader_is_told_what_it_missed_and_delays_no_other_reader() {
    let serving = Serving::start(Options {
        sources: 40,
        ..Options::default()
    });
    runtime().block_on(async {
        // Its window is full after a few messages.
        let narrow = serving
            .endpoint()
            .initial_stream_window_size(4096)
            .initial_connection_window_size(65_535);
        let mut narrow = EnergyMonitorClient::new(narrow.connect().await.unwrap());
        let asked = StreamRequest {
            with_readings: true,
        };
        let mut slow = narrow.stream_telemetry(asked).await.unwrap().into_inner();
        let mut quick = serving.stream(true).await;
        let (mut seen, mut skipped) = (0, 0);
        for _ in 0..110 {
            let batch = next(&mut quick).await.batch.unwrap();
            seen += batch.readings.len();
            skipped += batch.skipped;
        }
        assert_eq!(skipped, 0, "the quick one has lost nothing");
        assert!(seen > 40 * 100, "{seen}");
        let mut missed = 0;
        for _ in 0..70 {
            missed += next(&mut slow).await.batch.unwrap().skipped;
        }
        assert!(missed > 20, "{missed}");
        // It is back among the others.
        let last = next(&mut slow).await.batch.unwrap();
        assert_eq!(last.readings.len() % 40, 0);
    });
}

#[test]
fn health_describes_the_sources_as_they_are_on_disk() {
    let serving = Serving::start(Options::default());
    runtime().block_on(async {
        let mut client = serving.client().await;
        let health = client.health(HealthRequest {}).await.unwrap().into_inner();
        assert!(health.healthy);
        assert_eq!(health.platform, "test", "no platform that has a name");
        let monitor = health.monitor.unwrap();
        let source: Source = serde_json::from_str(&monitor.sources[0].about_json).unwrap();
        assert_eq!(Some(&source), serving.session.sources().next());
        assert_eq!(monitor.interval_nanos, 5_000_000);
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        assert_eq!(monitor.boot_id, boot.unwrap_or_default().trim());
        let clock = || {
            let now = serving.clock.now().nanos();
            i64::try_from(serving.clock.anchor().monotonic_nanos + now).unwrap()
        };
        for _ in 0..20 {
            let sent = clock();
            let time = client.time(TimeRequest {}).await.unwrap().into_inner();
            let instants = [sent, time.received_nanos, time.replied_nanos, clock()];
            assert!(instants.is_sorted(), "{instants:?}");
            assert_eq!(time.instance, monitor.instance);
        }
    });
}

#[test]
fn who_shows_no_token_or_another_learns_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    std::fs::write(&path, "correct-horse-battery\n").unwrap();
    let serving = Serving::start(Options {
        token: Some(Token::read(&path).unwrap()),
        ..Options::default()
    });
    runtime().block_on(async {
        let mut client = serving.client().await;
        for shown in [
            None,
            Some("Bearer wrong-horse-battery"),
            Some("Bearer"),
            Some("correct-horse-battery"),
        ] {
            let with = |message| {
                let mut request = Request::new(message);
                if let Some(shown) = shown {
                    let value = shown.parse().unwrap();
                    request.metadata_mut().insert("authorization", value);
                }
                request
            };
            let asked = StreamRequest::default();
            let refusal = client.stream_telemetry(with(asked)).await.unwrap_err();
            assert_eq!(refusal.code(), Code::Unauthenticated, "{shown:?}");
            assert!(refusal.message().contains("token file"), "{refusal}");
            assert!(!refusal.message().contains("horse"), "{refusal}");
        }
        assert!(client.health(HealthRequest {}).await.is_err());
        assert!(client.time(TimeRequest {}).await.is_err());
        ticks(10).await;
        let resting = serving.polls();
        ticks(20).await;
        assert_eq!(serving.polls(), resting, "no call was accepted");
        let mut request = Request::new(StreamRequest::default());
        let value = "Bearer correct-horse-battery".parse().unwrap();
        request.metadata_mut().insert("authorization", value);
        let stream = client.stream_telemetry(request).await.unwrap();
        next(&mut stream.into_inner()).await;
    });
}

#[test]
fn too_many_connections_are_closed_and_those_within_the_bound_go_on() {
    let serving = Serving::start(Options::default());
    runtime().block_on(async {
        let mut stream = serving.stream(true).await;
        next(&mut stream).await;
        let many: Vec<TcpStream> = (0..200)
            .map(|_| TcpStream::connect(serving.address).unwrap())
            .collect();
        let is_closed = |stream: &TcpStream| {
            stream.set_nonblocking(true).unwrap();
            let mut stream = stream;
            matches!(stream.read(&mut [0; 1]), Ok(0))
        };
        let closed = || many.iter().filter(|stream| is_closed(stream)).count();
        wait_until("those without a place are closed", || closed() == 73).await;
        for _ in 0..50 {
            next(&mut stream).await;
        }
        assert_eq!(closed(), 73, "127 beside the one that streams");
        drop(many);
        let health = async { serving.client().await.health(HealthRequest {}).await };
        let mut answered = health.await.is_ok();
        for _ in 0..500 {
            if answered {
                break;
            }
            ticks(2).await;
            let Ok(channel) = serving.endpoint().connect().await else {
                continue;
            };
            let mut client = EnergyMonitorClient::new(channel);
            answered = client.health(HealthRequest {}).await.is_ok();
        }
        assert!(answered, "places come free again");
    });
}

#[test]
fn garbage_and_oversized_requests_disturb_no_other_client() {
    let serving = Serving::start(Options::default());
    runtime().block_on(async {
        let mut stream = serving.stream(true).await;
        let mut random = ipw_testkit::fuzz::Random::new(11);
        for round in 0..40 {
            let mut raw = TcpStream::connect(serving.address).unwrap();
            if round % 2 == 0 {
                let _ = raw.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
            }
            let garbage: Vec<u8> = (0..2000)
                .map(|_| u8::try_from(random.below(256)).unwrap())
                .collect();
            let _ = raw.write_all(&garbage);
            next(&mut stream).await;
        }
        let huge = pb::HealthResponse {
            platform: "x".repeat(100_000),
            ..pb::HealthResponse::default()
        };
        let channel = serving.endpoint().connect().await.unwrap();
        let mut grpc = tonic::client::Grpc::new(channel);
        grpc.ready().await.unwrap();
        let path = "/energy.EnergyMonitor/Health".parse().unwrap();
        let codec = tonic_prost::ProstCodec::<pb::HealthResponse, pb::HealthResponse>::default();
        let refused = grpc.unary(Request::new(huge), path, codec).await;
        assert_eq!(refused.unwrap_err().code(), Code::OutOfRange);
        grpc.ready().await.unwrap();
        let path = "/energy.EnergyMonitor/Nothing".parse().unwrap();
        let codec = tonic_prost::ProstCodec::<HealthRequest, pb::HealthResponse>::default();
        let unknown = grpc
            .unary(Request::new(HealthRequest {}), path, codec)
            .await;
        assert_eq!(unknown.unwrap_err().code(), Code::Unimplemented);
        next(&mut stream).await;
    });
}

#[test]
fn a_monitor_that_ends_tells_its_listeners() {
    let mut serving = Serving::start(Options::default());
    runtime().block_on(async {
        let mut stream = serving.stream(true).await;
        next(&mut stream).await;
        serving.stop.take().unwrap().send(()).unwrap();
        let status = loop {
            match stream.next().await {
                Some(Ok(_)) => {}
                Some(Err(status)) => break status,
                None => panic!("it ended without a word"),
            }
        };
        assert_eq!(status.code(), Code::Unavailable);
        assert!(status.message().contains("stopping"), "{status}");
    });
}

#[test]
fn a_unix_socket_is_private_and_replaces_only_dead_ones() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("monitor.sock");
    runtime().block_on(async {
        // Left by a process that was killed.
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let listener = Listener::unix(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        match Listener::unix(&path).err().unwrap() {
            ListenError::Taken(named) => assert_eq!(named, path),
            other => panic!("{other}"),
        }
        assert!(path.exists(), "the living one was left alone");
        drop(listener);
        assert!(!path.exists());
        std::fs::write(&path, "precious").unwrap();
        match Listener::unix(&path).err().unwrap() {
            ListenError::NoSocket(named) => assert_eq!(named, path),
            other => panic!("{other}"),
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
        let nowhere = directory.path().join("no/such/place");
        assert!(matches!(
            Listener::unix(&nowhere),
            Err(ListenError::Refused { .. })
        ));
    });
}
