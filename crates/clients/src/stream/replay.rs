//! Replays golden streams: whole, cut at every byte, and damaged.

use ipw_core::reply::{Outcome, ServiceTiming, TokenCounts, TokenSource};
use ipw_core::time::Timestamp;
use ipw_testkit::fuzz::{Random, damaged, rounds};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{Chat, Split as _};

/// Bytes that may break a stream's parser.
pub(crate) const PIECES: [&[u8]; 14] = [
    b"\n",
    b"\r",
    b"\n\n",
    b"data:",
    b"data: [DONE]\n\n",
    b"null",
    b"\"",
    b"{",
    b"}",
    b"[]",
    b"\xff",
    b"\xf0\x9f",
    b"\"error\":1,",
    b"\"finish_reason\":\"stop\"",
];

/// Everything that a stream yields.
#[derive(Debug, PartialEq)]
pub(crate) struct StreamContent {
    pub(crate) outcome: Outcome,
    pub(crate) error: Option<String>,
    pub(crate) answer: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Option<String>,
    pub(crate) finish_reason: Option<String>,
    pub(crate) chunks: usize,
    pub(crate) tokens: TokenCounts,
    pub(crate) source: Option<TokenSource>,
    pub(crate) note: Option<String>,
    pub(crate) timing: ServiceTiming,
}

/// Reads the pieces in order.
pub(crate) fn read<C: Chat>(pieces: &[&[u8]]) -> StreamContent {
    let mut chat = C::default();
    let mut splitter = C::Splitter::default();
    for (at, piece) in pieces.iter().enumerate() {
        let at = Timestamp::from_nanos(at as u64);
        splitter.push(piece, |data| chat.event(data, at)).unwrap();
    }
    splitter.finish(|data| chat.event(data, Timestamp::from_nanos(pieces.len() as u64)));
    let (outcome, error) = chat.outcome();
    let (tokens, source) = chat.tokens();
    let (note, timing) = (chat.token_note(), chat.service_timing());
    let came = chat.into_transcript();
    StreamContent {
        outcome,
        error,
        answer: came.answer,
        reasoning: came.reasoning,
        calls: came.calls.json(),
        finish_reason: came.finish_reason,
        chunks: came.chunks.len(),
        tokens,
        source,
        note,
        timing,
    }
}

/// Cuts a stream at every byte, with every line ending. A stream that ends early must not look like
/// another reply, and cuts between reads must change nothing.
pub(crate) fn survives_every_cut<C: Chat>(stream: &str) {
    for ending in ["\n", "\r\n", "\r"] {
        let stream = stream.replace('\n', ending);
        let bytes = stream.as_bytes();
        let whole = read::<C>(&[bytes]);
        let singly: Vec<_> = bytes.chunks(1).collect();
        assert_eq!(read::<C>(&singly), whole, "byte by byte");
        for cut in 0..bytes.len() {
            let (left, right) = bytes.split_at(cut);
            assert_eq!(read::<C>(&[left, right]), whole, "cut at {cut}");
            let early = read::<C>(&[left]);
            if early.outcome.is_answered() {
                assert!(whole.outcome.is_answered(), "ends at {cut}");
                assert_eq!(
                    (early.answer, early.reasoning, early.calls),
                    (
                        whole.answer.clone(),
                        whole.reasoning.clone(),
                        whole.calls.clone()
                    ),
                    "ends at {cut}"
                );
            }
        }
    }
}

/// Damages streams: reading must not panic, and an answered reply must match a plain parser.
pub(crate) fn survives_damage<C: Chat>(
    corpus: &[&str],
    pieces: &[&[u8]],
    plain: impl Fn(&[u8]) -> Option<String>,
) {
    let corpus: Vec<_> = corpus.iter().map(|stream| stream.as_bytes()).collect();
    let mut random = Random::new(12);
    for _ in 0..rounds(30_000) {
        let bytes = damaged(&mut random, &corpus, pieces);
        let (left, right) = bytes.split_at(random.below(bytes.len() + 1));
        let said = read::<C>(&[left, right]);
        if is_beyond_plain_means(&bytes) {
            continue;
        }
        if said.outcome.is_answered() {
            let shown = String::from_utf8_lossy(&bytes);
            assert_eq!(plain(&bytes), Some(said.answer), "{shown}");
        } else {
            assert!(matches!(said.outcome, Outcome::Failed(_)) && said.error.is_some());
        }
    }
}

/// Whether a number is too large for `serde_json::Value`, which the plain parser uses.
fn is_beyond_plain_means(bytes: &[u8]) -> bool {
    plain_events(bytes).iter().any(|event| {
        serde_json::from_slice::<IgnoredAny>(event).is_ok()
            && serde_json::from_slice::<Value>(event).is_err()
    })
}

/// The data of the events in `bytes`, by a simple parser of whole lines.
pub(crate) fn plain_events(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    let mut previous = 0;
    for &byte in bytes {
        match byte {
            b'\n' if previous == b'\r' => {}
            b'\n' | b'\r' => lines.push(Vec::new()),
            byte => lines.last_mut().unwrap().push(byte),
        }
        previous = byte;
    }
    lines.pop();
    let mut events: Vec<Vec<u8>> = Vec::new();
    let mut data: Option<Vec<u8>> = None;
    for line in lines {
        if line.is_empty() {
            events.extend(data.take());
        } else if line == b"data" || line.starts_with(b"data:") {
            let value = line.strip_prefix(b"data:").unwrap_or(b"");
            let value = value.strip_prefix(b" ").unwrap_or(value);
            data = Some(match data {
                Some(before) => [before.as_slice(), b"\n", value].concat(),
                None => value.to_vec(),
            });
        }
    }
    events.extend(data);
    events
}
