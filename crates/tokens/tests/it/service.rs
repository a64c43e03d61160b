//! A service that sends no usage: texts in pieces, and the bytes on the wire in pieces of their own.

use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use ipw_clients::{Canceller, Client, ClientSpec, KeySource, Network, Request, connect};
use ipw_core::query::Query;
use ipw_core::reply::{Failure, Outcome, Reply};
use ipw_core::time::Timestamp;
use ipw_testkit::ManualClock;
use ipw_testkit::fuzz::Random;
use ipw_testkit::web::Asked;
use serde_json::{Map, Value, json};

/// What is to come back.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    pub(crate) reasoning: String,
    pub(crate) answer: String,
    /// Names and arguments.
    pub(crate) calls: Vec<(String, String)>,
}

/// The reply to a question, through the real client, where the service sends `texts` in events and
/// reads that are cut at random.
pub(crate) fn reply(texts: &Texts, random: &mut Random) -> Reply {
    let stream = stream(texts, random);
    let cuts = cuts(stream.len(), 40, random);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        serve(socket, &stream, &cuts).unwrap();
    });
    let reply = ask(&url);
    serving.join().unwrap();
    reply
}

fn ask(url: &str) -> Reply {
    let spec = ClientSpec {
        id: "openai".to_owned(),
        base_url: Some(url.to_owned()),
        params: ipw_core::params::Params::default(),
        key: KeySource::Default,
        insecure_key: false,
        network: Network::default(),
        connect_timeout: Duration::from_secs(5),
    };
    let client: Box<dyn Client> = connect(&spec, Arc::new(ManualClock::default())).unwrap();
    let query = Query::asking("a question".to_owned());
    let (_canceller, cancel) = Canceller::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(client.send(Request {
        query: &query,
        model: "m",
        system: None,
        parameters: &Map::new(),
        timeout: Duration::from_mins(1),
        first_token_timeout: None,
        idle_timeout: None,
        max_reply: ipw_clients::MAX_REPLY,
        cancel,
        witness: None,
    }))
}

fn serve(mut socket: TcpStream, stream: &[u8], cuts: &[usize]) -> std::io::Result<()> {
    Asked::read(&mut BufReader::new(&socket))?;
    socket.set_nodelay(true)?;
    write!(
        socket,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        stream.len()
    )?;
    for piece in cuts.windows(2) {
        socket.write_all(&stream[piece[0]..piece[1]])?;
        socket.flush()?;
    }
    Ok(())
}

/// The events: a text of several characters or of one in each, in the order that models have.
fn stream(texts: &Texts, random: &mut Random) -> Vec<u8> {
    let mut deltas = vec![json!({"role": "assistant"})];
    for piece in pieces(&texts.reasoning, random) {
        deltas.push(json!({"reasoning_content": piece}));
    }
    for piece in pieces(&texts.answer, random) {
        deltas.push(json!({"content": piece}));
    }
    for (index, (name, arguments)) in texts.calls.iter().enumerate() {
        let call = |more: Value| json!({"tool_calls": [{"index": index, "function": more}]});
        deltas.push(call(json!({"name": name, "arguments": ""})));
        for piece in pieces(arguments, random) {
            deltas.push(call(json!({"arguments": piece})));
        }
    }
    let events = deltas.into_iter().map(|delta| {
        let event = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
        format!("data: {event}\n\n")
    });
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let end = format!("data: {end}\n\ndata: [DONE]\n\n");
    events.chain([end]).collect::<String>().into_bytes()
}

/// The text, cut between characters.
fn pieces<'t>(text: &'t str, random: &mut Random) -> Vec<&'t str> {
    let mut places: Vec<_> = cuts(text.len(), 12, random);
    places.retain(|place| text.is_char_boundary(*place));
    places
        .windows(2)
        .map(|piece| &text[piece[0]..piece[1]])
        .collect()
}

/// Where something so long is cut: both ends, and up to `most` places between.
fn cuts(length: usize, most: usize, random: &mut Random) -> Vec<usize> {
    let mut places = vec![0, length];
    for _ in 0..random.below(most) {
        places.push(random.below(length.max(1)));
    }
    places.sort_unstable();
    places.dedup();
    places
}

/// A reply with that answer and without token counts.
pub(crate) fn answered(answer: &str) -> Reply {
    Reply {
        outcome: Outcome::Complete,
        error: None,
        answer: answer.to_owned(),
        ..Reply::unsent(Timestamp::ZERO, Failure::Empty, String::new())
    }
}

/// No parameters.
pub(crate) fn nothing() -> &'static Map<String, Value> {
    static NOTHING: OnceLock<Map<String, Value>> = OnceLock::new();
    NOTHING.get_or_init(Map::new)
}
