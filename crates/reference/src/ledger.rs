//! What really happened: the counters and the log of exchanges.
//!
//! An exchange is pushed once, when it has ended, so that the measured path takes the lock once per
//! request. Between the last byte that the peer sees and that push lies a moment; readers wait it
//! out (see [`Ledger::settle`]), so that "read the reply, then look at the log" is no race.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use ipw_core::time::Timestamp;
use serde_json::Value;

/// One chat request as received.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// Its number over all chat requests, from 0.
    pub number: u64,
    /// The path without its query.
    pub path: String,
    /// The headers in their order, names as written.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
}

impl Received {
    /// The value of the header `name`, in whatever case it was written.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(written, _)| written.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// One chat request and what was sent for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The request.
    pub received: Arc<Received>,
    /// Which TCP connection, from 0.
    pub connection: u64,
    /// When the whole request had been read.
    pub arrived: Timestamp,
    /// What was sent, in order.
    pub sends: Vec<Send>,
    /// Whether the HTTP reply was written to its end; an error reply counts, a cut one does not.
    pub completed: bool,
}

impl Exchange {
    /// The sends of one kind.
    pub fn of(&self, kind: SendKind) -> impl Iterator<Item = &Send> {
        self.sends.iter().filter(move |send| send.kind == kind)
    }
}

/// One piece of a reply; pieces that left in one write share `at` and `written`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Send {
    /// When the script wanted it.
    pub due: Timestamp,
    /// Just before the write call.
    pub at: Timestamp,
    /// Just after it.
    pub written: Timestamp,
    /// What it was.
    pub kind: SendKind,
    /// How many tokens it carried.
    pub tokens: u32,
}

/// What a piece of a reply was.
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
    /// A whole body: a completion that is no stream, or the body of an error status.
    Body,
}

const NO_PANIC: &str = "no holder of this lock panics";

/// A peer that does not read can hold a last write for ever; readers of the log do not wait for it.
const SETTLE: Duration = Duration::from_secs(1);
const SETTLE_STEP: Duration = Duration::from_micros(50);

#[derive(Default)]
struct Ended {
    exchanges: Vec<Exchange>,
    waiting: usize,
}

/// The counters and the log of one service.
#[derive(Default)]
pub(crate) struct Ledger {
    requests: AtomicU64,
    completed: AtomicU64,
    finishing: AtomicU64,
    ended: Mutex<Ended>,
    pushed: Condvar,
    others: Mutex<Vec<String>>,
}

impl Ledger {
    /// Counts a chat request and gives it its number.
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

    /// Marks the time between the last write of an exchange and its entry here.
    pub(crate) fn finishing(&self) -> Finishing<'_> {
        self.finishing.fetch_add(1, Ordering::SeqCst);
        Finishing(self)
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

    /// The ended exchanges by arrival.
    pub(crate) fn log(&self) -> Vec<Exchange> {
        self.settle();
        Self::snapshot(&self.ended.lock().expect(NO_PANIC))
    }

    /// The log once it has `count` exchanges, or as it is `within` this time.
    pub(crate) fn logged(&self, count: usize, within: Duration) -> Vec<Exchange> {
        let mut ended: MutexGuard<'_, Ended> = self.ended.lock().expect(NO_PANIC);
        ended.waiting += 1;
        let (mut ended, _) = self
            .pushed
            .wait_timeout_while(ended, within, |ended| ended.exchanges.len() < count)
            .expect(NO_PANIC);
        ended.waiting -= 1;
        Self::snapshot(&ended)
    }

    fn snapshot(ended: &Ended) -> Vec<Exchange> {
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

/// Held from before the last write of an exchange until it is in the log.
pub(crate) struct Finishing<'a>(&'a Ledger);

impl Drop for Finishing<'_> {
    fn drop(&mut self) {
        self.0.finishing.fetch_sub(1, Ordering::SeqCst);
    }
}
