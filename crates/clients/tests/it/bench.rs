use std::sync::Arc;
use std::time::Duration;

use ipw_clients::{Canceller, Client, ClientSpec, KeySource, Network, Request, connect};
use ipw_core::params::Params;
use ipw_core::query::Query;
use ipw_core::reply::Reply;
use ipw_core::time::Clock;
use ipw_reference::{Options, Script, Service, words};
use ipw_runner::SystemClock;
use serde_json::{Map, Value};

pub(crate) const PROMPT: &str = "three little words";
/// All clients that reach a service.
pub(crate) const CLIENTS: [&str; 2] = ["openai", "ollama"];
/// Longer than any passing test.
pub(crate) const AMPLE: Duration = Duration::from_mins(1);

/// Parameters of a query.
pub(crate) struct Ask {
    pub(crate) system: Option<&'static str>,
    pub(crate) parameters: Map<String, Value>,
    pub(crate) timeout: Duration,
    pub(crate) first_token_timeout: Option<Duration>,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) max_reply: u64,
    pub(crate) cancel_after: Option<Duration>,
}

impl Default for Ask {
    fn default() -> Self {
        Self {
            system: None,
            parameters: Map::new(),
            timeout: AMPLE,
            first_token_timeout: None,
            idle_timeout: None,
            max_reply: ipw_clients::MAX_REPLY,
            cancel_after: None,
        }
    }
}

/// A client and its service.
pub(crate) struct Bench {
    pub(crate) service: Service,
    pub(crate) client: Box<dyn Client>,
    pub(crate) runtime: tokio::runtime::Runtime,
}

impl Bench {
    pub(crate) fn new(id: &str, script: impl Fn(u64) -> Script + Send + Sync + 'static) -> Self {
        Self::with(id, Options::default(), script)
    }

    pub(crate) fn openai(script: impl Fn(u64) -> Script + Send + Sync + 'static) -> Self {
        Self::new("openai", script)
    }

    pub(crate) fn ollama(script: impl Fn(u64) -> Script + Send + Sync + 'static) -> Self {
        Self::new("ollama", script)
    }

    pub(crate) fn with(
        id: &str,
        options: Options,
        script: impl Fn(u64) -> Script + Send + Sync + 'static,
    ) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let script = move |received: &ipw_reference::Received| script(received.number);
        let service = Service::start_with(options, Arc::clone(&clock), script).unwrap();
        let client = connect(&spec(id, &service.url()), clock).unwrap();
        Self {
            service,
            client,
            runtime: runtime(),
        }
    }

    pub(crate) fn ask(&self) -> Reply {
        self.ask_so(Ask::default())
    }

    pub(crate) fn ask_with(
        &self,
        parameters: &Map<String, Value>,
        timeout: Duration,
        cancel_after: Option<Duration>,
    ) -> Reply {
        self.ask_so(Ask {
            parameters: parameters.clone(),
            timeout,
            cancel_after,
            ..Ask::default()
        })
    }

    pub(crate) fn ask_so(&self, ask: Ask) -> Reply {
        self.runtime.block_on(send(self.client.as_ref(), ask))
    }
}

pub(crate) async fn send(client: &dyn Client, ask: Ask) -> Reply {
    let (canceller, cancel) = Canceller::new();
    let query = query();
    let request = Request {
        query: &query,
        model: "reference",
        system: ask.system,
        parameters: &ask.parameters,
        timeout: ask.timeout,
        first_token_timeout: ask.first_token_timeout,
        idle_timeout: ask.idle_timeout,
        max_reply: ask.max_reply,
        cancel,
        witness: None,
    };
    let send = client.send(request);
    let Some(after) = ask.cancel_after else {
        return send.await;
    };
    let stop = async {
        tokio::time::sleep(after).await;
        canceller.cancel();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        reply = send => reply,
        () = stop => unreachable!("it waits for ever"),
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

pub(crate) fn spec(id: &str, url: &str) -> ClientSpec {
    ClientSpec {
        id: id.to_owned(),
        base_url: Some(url.to_owned()),
        params: Params::default(),
        key: KeySource::Default,
        insecure_key: false,
        network: Network::default(),
        connect_timeout: Duration::from_secs(5),
    }
}

fn query() -> Query {
    Query {
        index: 0,
        id: "0".to_owned(),
        problem: PROMPT.to_owned(),
        messages: Vec::new(),
        turn: None,
        answer: None,
        subject: None,
        metadata: Map::new(),
        parameters: Map::new(),
    }
}

pub(crate) fn text(count: usize) -> String {
    words(count).concat()
}
