//! How far a client's stamps lie behind the socket.
//!
//! Service and client share one clock. The lag of a chunk is the client's stamp minus the instant
//! just before the service's write call, so it holds the write, the wake-up and the read, which a
//! blocking socket pays as well.
//!
//! The bias of the time to first token is the client's (first token − sent) minus the service's
//! (just before the write of the first content − request read).

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use ipw_clients::{Canceller, Client, ClientSpec, KeySource, Network, Request, connect};
use ipw_core::params::Params;
use ipw_core::query::Query;
use ipw_core::time::{Clock, Timestamp};
use ipw_reference::{Exchange, Script, SendKind, Service};
use ipw_runner::SystemClock;
use serde_json::Map;
use tokio::task::JoinSet;

use super::raw::RawClient;
use super::spread::{Spread, at, micros, sorted};
use super::table::Table;
use super::{Effort, say_round};

const FIRST_TOKEN: Duration = Duration::from_millis(20);
/// Between tokens.
const GAP: Duration = Duration::from_millis(3);
/// The same with more streams, because two cores could not keep up with faster tokens.
const LONG_GAP: Duration = Duration::from_millis(100);
const TOKENS: usize = 64;
const LIMIT: Duration = Duration::from_mins(1);

/// What a client saw of one reply.
struct Seen {
    prompt: String,
    sent: Timestamp,
    chunks: Vec<Timestamp>,
}

/// One repetition of one client, in microseconds.
struct Lags {
    p50: f64,
    p99: f64,
    bias: f64,
    beyond_script: f64,
}

/// One repetition of both.
struct Round {
    client: Lags,
    raw: Lags,
}

/// Number of streams at once, and of replies that each sends one after the other.
#[derive(Clone, Copy)]
struct Load {
    streams: usize,
    replies: usize,
    gap: Duration,
}

pub(crate) fn run(effort: Effort) -> anyhow::Result<String> {
    let loads = [
        (1, 24, GAP),
        (16, 4, GAP),
        (64, 3, GAP),
        (1000, 1, LONG_GAP),
    ]
    .map(|(streams, replies, gap)| Load {
        streams,
        replies: effort.choose(replies.min(2), replies),
        gap,
    });
    let rounds = effort.choose(2, 7);
    let mut measured: [Vec<Round>; 4] = Default::default();
    for round in 0..rounds {
        say_round("stamps", round, rounds);
        for (load, rounds) in loads.into_iter().zip(&mut measured) {
            let raw = measure(load, ask_raw)?;
            let client = measure(load, ask_client)?;
            rounds.push(Round { client, raw });
        }
    }
    let mut lags = Table::new(
        "Lag of a stamp behind the service's write, µs",
        ["streams", "who", "p50", "p99", "p50 ratio", "p99 ratio"],
    );
    let mut bias = Table::new(
        "Time to first token beyond the service's own and beyond the script's 20 ms, median µs",
        ["streams", "who", "beyond the service's", "beyond 20 ms"],
    );
    for (load, rounds) in loads.iter().zip(&measured) {
        add_rows(load.streams, rounds, &mut lags, &mut bias);
    }
    Ok(format!("{lags}\n{bias}"))
}

fn add_rows(streams: usize, rounds: &[Round], lags: &mut Table, bias: &mut Table) {
    let ratio = |value: fn(&Lags) -> f64| {
        let ratio = Spread::over(rounds, |round| value(&round.client) / value(&round.raw));
        format!("{ratio:.2}")
    };
    let ratios = [ratio(|lags| lags.p50), ratio(|lags| lags.p99)];
    let one = || "1".to_owned();
    let raw = cells(rounds, |round| &round.raw);
    let client = cells(rounds, |round| &round.client);
    for (who, cells, [p50_ratio, p99_ratio]) in [
        ("raw socket", raw, [one(), one()]),
        ("client `openai`", client, ratios),
    ] {
        let [p50, p99, service, script] = cells;
        let (streams, who) = (streams.to_string(), who.to_owned());
        bias.row([streams.clone(), who.clone(), service, script]);
        lags.row([streams, who, p50, p99, p50_ratio, p99_ratio]);
    }
}

fn cells(rounds: &[Round], of: impl Fn(&Round) -> &Lags) -> [String; 4] {
    let values: [fn(&Lags) -> f64; 4] = [
        |lags| lags.p50,
        |lags| lags.p99,
        |lags| lags.bias,
        |lags| lags.beyond_script,
    ];
    values.map(|value| format!("{:.1}", Spread::over(rounds, |round| value(of(round)))))
}

type Ask = fn(&Service, &Arc<dyn Clock>, Load) -> anyhow::Result<Vec<Seen>>;

fn measure(load: Load, ask: Ask) -> anyhow::Result<Lags> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let script = Script {
        first_token: FIRST_TOKEN,
        gap: load.gap,
        ..Script::words(TOKENS)
    };
    let service = Service::start(Arc::clone(&clock), move |_| script.clone())?;
    let seen = ask(&service, &clock, load)?;
    let log = service.log();
    let told: HashMap<&str, &Exchange> = log.iter().filter_map(by_prompt).collect();
    let (mut lags, mut bias, mut beyond_script) = (Vec::new(), Vec::new(), Vec::new());
    for seen in &seen {
        let told = told.get(seen.prompt.as_str()).context("not in the log")?;
        let sends: Vec<_> = told.of(SendKind::Content).map(|send| send.at).collect();
        ensure!(
            sends.len() == TOKENS && seen.chunks.len() == TOKENS,
            "a reply of {TOKENS} chunks came as {}",
            seen.chunks.len()
        );
        let pairs = seen.chunks.iter().zip(&sends);
        lags.extend(pairs.map(|(stamp, at)| micros(stamp.since(*at))));
        let ours = micros(seen.chunks[0].since(seen.sent));
        bias.push(ours - micros(sends[0].since(told.arrived)));
        beyond_script.push(ours - micros(FIRST_TOKEN));
    }
    let lags = sorted(lags);
    Ok(Lags {
        p50: at(&lags, 0.5),
        p99: at(&lags, 0.99),
        bias: at(&sorted(bias), 0.5),
        beyond_script: at(&sorted(beyond_script), 0.5),
    })
}

fn by_prompt(exchange: &Exchange) -> Option<(&str, &Exchange)> {
    let body = &exchange.received.body;
    let prompt = body.pointer("/messages/0/content")?.as_str()?;
    Some((prompt, exchange))
}

/// One thread and one connection per stream.
fn ask_raw(service: &Service, clock: &Arc<dyn Clock>, load: Load) -> anyhow::Result<Vec<Seen>> {
    let stream = |stream: usize| -> anyhow::Result<Vec<Seen>> {
        let mut client = RawClient::connect(service.address(), Arc::clone(clock))?;
        let seen = (0..load.replies).map(|reply| {
            let prompt = prompt(stream, reply);
            let raw = client.ask(&prompt)?;
            Ok(Seen {
                prompt,
                sent: raw.sent,
                chunks: raw.chunks,
            })
        });
        seen.collect()
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..load.streams)
            .map(|number| scope.spawn(move || stream(number)))
            .collect();
        let mut seen = Vec::new();
        for thread in threads {
            seen.extend(thread.join().expect("a stream's thread does not panic")?);
        }
        Ok(seen)
    })
}

/// All streams on one thread, as the runner would have them.
fn ask_client(service: &Service, clock: &Arc<dyn Clock>, load: Load) -> anyhow::Result<Vec<Seen>> {
    let spec = ClientSpec {
        id: "openai".to_owned(),
        base_url: Some(service.url()),
        params: Params::default(),
        key: KeySource::Default,
        insecure_key: false,
        network: Network::default(),
        connect_timeout: Duration::from_secs(5),
    };
    let client: Arc<dyn Client> = connect(&spec, Arc::clone(clock))?.into();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut streams = JoinSet::new();
        for number in 0..load.streams {
            let client = Arc::clone(&client);
            streams.spawn(async move {
                let mut seen = Vec::new();
                for reply in 0..load.replies {
                    seen.push(ask_once(&*client, prompt(number, reply)).await?);
                }
                anyhow::Ok(seen)
            });
        }
        let mut seen = Vec::new();
        while let Some(stream) = streams.join_next().await {
            seen.extend(stream??);
        }
        Ok(seen)
    })
}

async fn ask_once(client: &dyn Client, prompt: String) -> anyhow::Result<Seen> {
    let (_canceller, cancel) = Canceller::new();
    let query = Query::asking(prompt);
    let request = Request {
        query: &query,
        model: "reference",
        system: None,
        parameters: &Map::new(),
        timeout: LIMIT,
        first_token_timeout: None,
        idle_timeout: None,
        max_reply: ipw_clients::MAX_REPLY,
        cancel,
        witness: None,
    };
    let timing = client.send(request).await.timing;
    Ok(Seen {
        sent: timing.sent.context("a query was not sent")?,
        chunks: timing.chunks,
        prompt: query.problem,
    })
}

fn prompt(stream: usize, reply: usize) -> String {
    format!("stream {stream}, reply {reply}")
}
