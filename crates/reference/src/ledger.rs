//! What was really received and sent: counters and the log of exchanges.
//!
//! An exchange is logged once, at its end: the measured path takes the lock once per request. A
//! peer can see the last byte slightly before that. Readers therefore wait for exchanges that are
//! about to be logged (see [`Ledger::settle`]), so that reading a reply and then the log is no
//! race.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use ipw_core::time::Timestamp;
use serde_json::Value;

/// A chat request as received.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// Number of the chat request, from 0.
    pub number: u64,
    /// The path without its query.
    pub path: String,
    /// The headers in order, with names as sent.
    pub headers: Vec<(String, String)>,
    /// The body as JSON.
    pub body: Value,
}

impl Received {
    /// The value of the header `name`, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(written, _)| written.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// A chat request and what was sent for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The request.
    pub received: Arc<Received>,
    /// Number of the TCP connection, from 0.
    pub connection: u64,
    /// When the whole request had been read.
    pub arrived: Timestamp,
    /// The pieces of the reply, in order.
    pub sends: Vec<Send>,
    /// Whether the HTTP reply was written completely; an error reply counts, a cut one does not.
    pub completed: bool,
}

impl Exchange {
    /// The sends of one kind.
    pub fn of(&self, kind: SendKind) -> impl Iterator<Item = &Send> {
        self.sends.iter().filter(move |send| send.kind == kind)
    }
}

/// One piece of a reply; pieces of one write share `at` and `written`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Send {
    /// When the script scheduled it.
    pub due: Timestamp,
    /// Just before the write call.
    pub at: Timestamp,
    /// Just after the write call.
    pub written: Timestamp,
    /// Kind of the piece.
    pub kind: SendKind,
    /// Number of tokens in it.
    pub tokens: u32,
}

/// Kind of a piece of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendKind {
    /// The status line and headers.
    Head,
    /// The chunk with the role.
    Role,
    /// A chunk of reasoning tokens.
    Reasoning,
    /// A chunk of answer tokens, huge and invalid ones included.
    Content,
    /// The chunk with the finish reason.
    Finish,
    /// The chunk with the usage.
    Usage,
    /// `[DONE]`, or Ollama's last object.
    Done,
    /// An error event.
    Error,
    /// An event that is not JSON.
    Garbage,
    /// A complete body: an unstreamed completion, or the body of an error status.
    Body,
}

const NO_PANIC: &str = "no holder of this lock panics";

/// A peer that does not read can block a last write forever; readers of the log stop waiting then.
const SETTLE: Duration = Duration::from_secs(1);
const SETTLE_STEP: Duration = Duration::from_micros(50);

#[derive(Default)]
struct ExchangeLog {
    exchanges: Vec<Exchange>,
    waiting: usize,
}

#[derive(Default)]
pub(crate) struct Ledger {
    requests: AtomicU64,
    completed: AtomicU64,
    finishing: AtomicU64,
    ended: Mutex<ExchangeLog>,
    pushed: Condvar,
    others: Mutex<Vec<String>>,
}

impl Ledger {
    /// Counts a chat request and returns its number.
    pub(crate) fn arrived(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::SeqCst)
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    pub(crate) fn completed(&self) -> u64 {
        self.settle();
        self.completed.load(Ordering::SeqCst)
    }

    pub(crate) fn other(&self, request: String) {
        self.others.lock().expect(NO_PANIC).push(request);
    }

    pub(crate) fn others(&self) -> Vec<String> {
        self.others.lock().expect(NO_PANIC).clone()
    }

    /// Marks an exchange as about to be logged, before its last write.
    pub(crate) fn finishing(&self) -> LogGuard<'_> {
        self.finishing.fetch_add(1, Ordering::SeqCst);
        LogGuard(self)
    }

    pub(crate) fn count_completed(&self) {
        self.completed.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn push(&self, exchange: Exchange) {
        let mut ended = self.ended.lock().expect(NO_PANIC);
        ended.exchanges.push(exchange);
        if ended.waiting > 0 {
            self.pushed.notify_all();
        }
    }

    /// The finished exchanges, by arrival.
    pub(crate) fn log(&self) -> Vec<Exchange> {
        self.settle();
        Self::snapshot(&self.ended.lock().expect(NO_PANIC))
    }

    /// The log once it has `count` exchanges, or as it is after `within`.
    pub(crate) fn logged(&self, count: usize, within: Duration) -> Vec<Exchange> {
        let mut ended: MutexGuard<'_, ExchangeLog> = self.ended.lock().expect(NO_PANIC);
        ended.waiting += 1;
        let (mut ended, _) = self
            .pushed
            .wait_timeout_while(ended, within, |ended| ended.exchanges.len() < count)
            .expect(NO_PANIC);
        ended.waiting -= 1;
        Self::snapshot(&ended)
    }

    fn snapshot(ended: &ExchangeLog) -> Vec<Exchange> {
        let mut exchanges = ended.exchanges.clone();
        exchanges.sort_by_key(|exchange| exchange.received.number);
        exchanges
    }

    fn settle(&self) {
        let mut waited = Duration::ZERO;
        while self.finishing.load(Ordering::SeqCst) > 0 && waited < SETTLE {
            thread::sleep(SETTLE_STEP);
            waited += SETTLE_STEP;
        }
    }
}

/// Held from before the last write of an exchange until it is logged.
pub(crate) struct LogGuard<'a>(&'a Ledger);

impl Drop for LogGuard<'_> {
    fn drop(&mut self) {
        self.0.finishing.fetch_sub(1, Ordering::SeqCst);
    }
}
