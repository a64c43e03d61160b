//! Token counts of a real llama.cpp server: our counts must equal those on the wire, parsed a
//! second time, and the server's own counters.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ipw_clients::{Canceller, Client, Request, connect};
use ipw_core::query::Query;
use ipw_core::reply::{Outcome, Reply, TokenSource};
use ipw_core::time::Clock;
use ipw_runner::SystemClock;
use ipw_testkit::tap::{Stream, Tap};
use ipw_testkit::{LlamaServer, MODEL_NAME, or_skip};
use serde_json::{Map, Value, json};

use crate::bench::{AMPLE, runtime, spec};

const PROMPTS: usize = 200;
const IN_FLIGHT: usize = 8;
/// The end-of-sequence token of the lab's model.
const END: u32 = 2;
const APIS: [&str; 2] = ["chat", "completions"];

fn client(url: &str, api: &str) -> Box<dyn Client> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let mut spec = spec("llamacpp", url);
    spec.params.insert("api", api);
    connect(&spec, clock).unwrap()
}

async fn ask(client: &dyn Client, prompt: &str, parameters: Value) -> Reply {
    let (_canceller, cancel) = Canceller::new();
    let Value::Object(parameters) = parameters else {
        unreachable!("{parameters}")
    };
    client
        .send(Request {
            query: &Query::asking(prompt.to_owned()),
            model: MODEL_NAME,
            system: None,
            parameters: &parameters,
            timeout: AMPLE,
            first_token_timeout: None,
            idle_timeout: None,
            max_reply: ipw_clients::MAX_REPLY,
            cancel,
            witness: None,
        })
        .await
}

/// A different prompt for every number: ten kinds, twenty of each.
fn prompt(number: usize) -> String {
    let (kind, n) = (number % 10, number / 10);
    match kind {
        0 => format!("Name {n} things."),
        1 => format!("{n}?"),
        2 => format!("{n} words: {}", "more and more words ".repeat(5 + n)),
        3 => format!("Übersetze »Größe {n}« ins 日本語."),
        4 => format!("🌟🚀👩‍👩‍👧‍👦 {}", "🎉".repeat(n / 2) + &n.to_string()),
        5 => format!("fn f{n}(x: u8) -> u8 {{\n\tx + {n}\n}}\n\nassert_eq!(f{n}(1), "),
        6 => [" ", "\n", "\t", "."][n % 4].repeat(1 + n / 4),
        7 => format!("שלום مرحبا e\u{301}\u{302} n\u{303}o {n} \u{200b}\u{202e}"),
        8 => format!("<|im_end|>{n}<|endoftext|></s><|im_start|>user"),
        _ => format!(r#"{{"id": {n}, "list": [1, 2.5e3, null], "text": "\"\\"}}"#),
    }
}

/// From 4 to 12 tokens; every tenth ends at once.
fn parameters(number: usize) -> Value {
    let mut parameters = json!({"max_tokens": 4 + number * 7 % 9, "seed": number});
    if number % 10 == 9 {
        parameters["logit_bias"] = json!([[END, 1000]]);
    }
    parameters
}

/// Sends these prompts with the given number in flight.
async fn send_all(client: &dyn Client, numbers: &[usize], in_flight: usize) -> Vec<(usize, Reply)> {
    let next = AtomicUsize::new(0);
    let replies = Mutex::new(Vec::new());
    let worker = async || {
        while let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
            let reply = ask(client, &prompt(number), parameters(number)).await;
            replies.lock().unwrap().push((number, reply));
        }
    };
    if in_flight == 1 {
        worker().await;
    } else {
        assert_eq!(in_flight, IN_FLIGHT);
        tokio::join!(
            worker(),
            worker(),
            worker(),
            worker(),
            worker(),
            worker(),
            worker(),
            worker()
        );
    }
    replies.into_inner().unwrap()
}

/// The server's own counters.
fn counters(server: &LlamaServer) -> BTreeMap<String, u64> {
    let page = server.get("/metrics").unwrap().body;
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.strip_prefix("llamacpp:")?.split_once(' '));
    let counted = pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
    counted.collect()
}

/// Compares every count of the reply with the stream's usage and timings.
fn assert_counts(reply: &Reply, stream: &Stream, what: &str) {
    assert!(reply.outcome.is_answered(), "{what}: {:?}", reply.error);
    let Stream { usage, timings, .. } = stream;
    let tokens = reply.tokens;
    assert_eq!(tokens.input, usage["prompt_tokens"].as_u64(), "{what}");
    assert_eq!(tokens.output, usage["completion_tokens"].as_u64(), "{what}");
    let cached = usage["prompt_tokens_details"]["cached_tokens"].as_u64();
    assert_eq!(tokens.cached, cached, "{what}");
    let of = |name: &str| timings[name].as_u64().unwrap();
    assert_eq!(tokens.input, Some(of("prompt_n") + of("cache_n")), "{what}");
    assert_eq!(tokens.output, Some(of("predicted_n")), "{what}");
    assert_eq!(tokens.cached, Some(of("cache_n")), "{what}");
    assert_eq!(reply.token_source, Some(TokenSource::Usage), "{what}");
    assert_eq!(reply.token_note, None, "{what}");
    assert_eq!(reply.answer, stream.texts.concat(), "{what}");
    assert_eq!(reply.timing.chunks.len(), stream.texts.len(), "{what}");
    let is_cut = stream.finish.as_deref() == Some("length");
    assert_eq!(reply.outcome == Outcome::Truncated, is_cut, "{what}");
}

#[test]
fn the_tokens_of_two_hundred_prompts_are_what_a_real_server_says_on_the_wire() {
    let Some(server) = or_skip(LlamaServer::start(1)) else {
        return;
    };
    let different: HashSet<_> = (0..PROMPTS).map(prompt).collect();
    assert_eq!(different.len(), PROMPTS);
    let tap = Tap::start(&server.url());
    let before = counters(&server);
    let mut replies = Vec::new();
    for (half, api) in APIS.iter().enumerate() {
        let client = client(&tap.url(), api);
        for (quarter, in_flight) in [1, IN_FLIGHT].into_iter().enumerate() {
            // Every kind of prompt uses every API.
            let of = 2 * half + quarter;
            let numbers: Vec<_> = (0..PROMPTS).filter(|n| n / 10 % 4 == of).collect();
            let came = runtime().block_on(send_all(client.as_ref(), &numbers, in_flight));
            replies.extend(came);
        }
    }
    let after = counters(&server);
    assert_eq!(replies.len(), PROMPTS);
    let exchanges = tap.exchanges();
    let mut streams: HashMap<_, _> = exchanges
        .iter()
        .filter(|one| one.what.starts_with("POST "))
        .map(|one| (one.prompt().unwrap(), one.stream()))
        .collect();
    let mut finishes = BTreeMap::new();
    for (number, reply) in &replies {
        let stream = streams.remove(prompt(*number).as_str()).unwrap();
        assert_counts(reply, &stream, &format!("prompt {number}, {stream:?}"));
        *finishes.entry(stream.finish).or_insert(0) += 1;
    }
    assert!(streams.is_empty(), "{streams:?}");
    assert!(finishes.len() == 2, "both ends were seen: {finishes:?}");
    let sum = |of: fn(&Reply) -> Option<u64>| -> u64 {
        replies.iter().map(|(_, reply)| of(reply).unwrap()).sum()
    };
    let cached = sum(|reply| reply.tokens.cached);
    assert!(cached > 0, "prompts of a chat begin alike");
    let grown = |name: &str| after[name] - before[name];
    // A prompt's tokens are in two counters: processed, and cached.
    let read = sum(|reply| reply.tokens.input) - cached;
    assert_eq!(grown("prompt_tokens_total"), read);
    assert_eq!(grown("prompt_tokens_cached_total"), cached);
    let output = sum(|reply| reply.tokens.output);
    assert_eq!(grown("tokens_predicted_total"), output);
}

/// One reply and its stream, with deterministic sampling.
fn greedy(tap: &Tap, api: &str, prompt: &str, more: &Value) -> (Reply, Stream) {
    let mut parameters = Map::new();
    parameters.insert("temperature".to_owned(), json!(0));
    parameters.insert("cache_prompt".to_owned(), json!(false));
    parameters.extend(more.as_object().unwrap().clone());
    let client = client(&tap.url(), api);
    let reply = runtime().block_on(ask(client.as_ref(), prompt, Value::Object(parameters)));
    let stream = tap.exchanges().last().unwrap().stream();
    assert_counts(&reply, &stream, &format!("{api}, {more}: {stream:?}"));
    (reply, stream)
}

/// Tokens without a chunk.
fn silent(tap: &Tap, api: &str, more: &Value) -> (String, u64) {
    let (reply, stream) = greedy(tap, api, "Say hello.", more);
    let chunks = stream.texts.len() as u64;
    (
        stream.finish.unwrap(),
        reply.tokens.output.unwrap() - chunks,
    )
}

/// How many of `texts`, a token each, lie within the given bytes from `start` on.
fn tokens_of(texts: &[String], start: usize, length: usize) -> u64 {
    let mut end = 0;
    let ends = texts.iter().map(|text| {
        end += text.len();
        end
    });
    let behind = ends.filter(|end| *end > start);
    behind.take_while(|end| *end < start + length).count() as u64 + 1
}

/// Forces one text as the whole reply.
const GRAMMAR: &str = r#"root ::= "Hello there, my friend.""#;

#[test]
fn a_token_without_a_chunk_is_the_end_or_part_of_a_stop_text_or_of_a_character() {
    let Some(server) = or_skip(LlamaServer::start(1)) else {
        return;
    };
    let tap = Tap::start(&server.url());
    for api in APIS {
        let silent = |more: &Value| silent(&tap, api, more);
        let ends = |finish: &str, tokens| (finish.to_owned(), tokens);
        // The end token is counted and not sent; a limit leaves no room for it.
        let whole = json!({"max_tokens": 64, "grammar": GRAMMAR});
        let (reply, stream) = greedy(&tap, api, "Say hello.", &whole);
        assert_eq!(reply.answer, "Hello there, my friend.");
        assert_eq!(silent(&whole), ends("stop", 1), "{api}");
        let output = reply.tokens.output.unwrap();
        let exactly = json!({"max_tokens": output, "grammar": GRAMMAR});
        assert_eq!(silent(&exactly), ends("stop", 1), "{api}");
        let short = json!({"max_tokens": output - 1, "grammar": GRAMMAR});
        let (cut, _) = greedy(&tap, api, "Say hello.", &short);
        assert_eq!(
            (&cut.answer, &cut.outcome),
            (&reply.answer, &Outcome::Truncated)
        );
        assert_eq!(silent(&short), ends("length", 0), "{api}");
        let endless = json!({"max_tokens": 48, "ignore_eos": true});
        assert_eq!(silent(&endless), ends("length", 0), "{api}");
        // A reply of the end token alone has one token.
        let at_once = json!({"max_tokens": 8, "logit_bias": [[END, 1000]]});
        let (nothing, _) = greedy(&tap, api, "Say hello.", &at_once);
        assert_eq!(
            (nothing.answer.as_str(), nothing.tokens.output),
            ("", Some(1))
        );
        assert_eq!(nothing.outcome, Outcome::Complete);
        assert_eq!(nothing.timing.first_token, None);
        // A stop text is generated, counted and cut out: its tokens have no chunk.
        for stop in [",", ", my friend"] {
            let until = json!({"max_tokens": 64, "grammar": GRAMMAR, "stop": [stop]});
            let (stopped, _) = greedy(&tap, api, "Say hello.", &until);
            assert_eq!(
                (stopped.answer.as_str(), stopped.outcome),
                ("Hello there", Outcome::Complete)
            );
            let said = tokens_of(&stream.texts, stopped.answer.len(), stop.len());
            assert_eq!(silent(&until), ends("stop", said), "{api}: {stop}");
        }
        // A partial match is held back, and sent with the text after it.
        let nearly = json!({"max_tokens": 64, "grammar": GRAMMAR, "stop": [", my friends"]});
        let (held, stream) = greedy(&tap, api, "Say hello.", &nearly);
        assert_eq!(
            (&held.answer, held.tokens.output),
            (&reply.answer, Some(output))
        );
        assert!(
            stream.texts.iter().any(|text| text.contains(", my friend")),
            "{stream:?}"
        );
        // A character of several tokens is one chunk.
        let star = json!({"max_tokens": 64, "grammar": "root ::= \"🌟\""});
        let (finish, tokens) = silent(&star);
        assert!(finish == "stop" && tokens > 1, "{api}: {tokens}");
    }
    // An empty prompt: nothing is processed or generated.
    let (empty, _) = greedy(&tap, "completions", "", &json!({"max_tokens": 8}));
    assert_eq!(
        (empty.tokens.input, empty.tokens.output),
        (Some(0), Some(0))
    );
    assert_eq!(empty.outcome, Outcome::Truncated);
}
