//! Shared connections against `h2`'s own server: streams must not leak.

use std::time::Duration;

use ipw_core::time::Clock;
use ipw_runner::SystemClock;

use super::*;
use crate::http::BaseUrl;
use crate::served::{Act, Asked, Options, Served, chat};

const REQUEST: &[u8] = b"POST /v1/chat HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}";

struct Pair {
    served: Served,
    sharing: SharedConnections,
    connector: Connector,
    stamper: Arc<Stamper>,
}

impl Pair {
    fn new(manner: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let served = Served::start(Options::default(), Arc::clone(&clock), manner);
        let url = BaseUrl::parse(&served.url()).unwrap();
        Self {
            served,
            sharing: SharedConnections::default(),
            connector: Connector::new(url, Duration::from_secs(20)).speaking_http2(true),
            stamper: Arc::new(Stamper::new(clock)),
        }
    }

    async fn ask(&self) -> Result<HttpReply, HttpError> {
        let way = Way {
            connector: &self.connector,
            stamper: &self.stamper,
            witness: None,
        };
        let mut timing = Timing::begun(self.stamper.now());
        let mut exchange = Exchange::default();
        let sent = self.sharing.send(way, REQUEST, &mut timing, &mut exchange);
        sent.await
    }

    /// Streams still held on all connections.
    fn kept(&self) -> Vec<(usize, usize)> {
        let connections = lock(&self.sharing.connections);
        let all = connections.iter();
        all.map(|(_, connection)| connection.kept()).collect()
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

async fn read(mut answered: HttpReply) {
    while answered.body.next().await.unwrap().is_some() {}
    assert!(answered.body.is_over());
}

#[test]
fn nothing_is_left_of_ten_thousand_queries() {
    let pair = Pair::new(|asked| match asked.number % 10 {
        7 => Act::Trails(chat(&["a"])),
        8 => Act::Status(500, "broken"),
        9 => Act::Resets(h2::Reason::INTERNAL_ERROR),
        _ => Act::Says(chat(&["a"])),
    });
    runtime().block_on(async {
        for nth in 0..10_000 {
            match pair.ask().await {
                // Some are cancelled half way.
                Ok(answered) if nth % 100 > 0 => read(answered).await,
                _ => {}
            }
        }
        // Cancelled streams are reset, and forgotten a second later.
        for _ in 0..1000 {
            if pair.kept() == [(0, 0)] {
                return;
            }
            sleep(Duration::from_millis(10)).await;
            if let Ok(answered) = pair.ask().await {
                read(answered).await;
            }
        }
        panic!("streams are left: {:?}", pair.kept());
    });
    assert_eq!(pair.served.connections(), 1);
    assert!(pair.served.asked().len() >= 10_000);
}

#[test]
fn a_place_is_free_again_when_its_body_goes() {
    let pair = Pair::new(|_| Act::Hangs);
    runtime().block_on(async {
        let (first, second) = (pair.ask().await.unwrap(), pair.ask().await.unwrap());
        assert_eq!(pair.kept()[0].0, 2);
        drop(first);
        assert_eq!(pair.kept()[0].0, 1);
        drop(second);
        assert_eq!(pair.kept()[0].0, 0);
    });
}

#[test]
fn dropped_connections_are_closed() {
    let pair = Pair::new(|_| Act::Says(chat(&["a"])));
    runtime().block_on(async {
        let answered = pair.ask().await.unwrap();
        pair.sharing.clear();
        // Exchanges in flight still finish.
        read(answered).await;
        pair.ask().await.unwrap();
    });
    assert_eq!(pair.served.connections(), 2);
}
