//! Sends one reply: renders before the deadline, writes at it, and records both times.
//!
//! All pieces that are due leave in one write; a reply without delays is a single write. The next
//! piece is rendered before its wait, so that only the write follows the wake-up.

use std::io::{self, Write};
use std::time::Duration;

use ipw_core::time::Timestamp;

use crate::http::{self, Framing, Promise};
use crate::ledger::{Ledger, LogGuard, Send, SendKind};
use crate::pace::Pace;
use crate::plan::{End, Piece, Plan};
use crate::render::Context;
use crate::script::Fault;

/// Upper limit of one write, which bounds the memory of long replies.
const LARGEST_WRITE: usize = 64 << 10;

/// A reply in progress.
pub(crate) struct Reply<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) pace: Pace<'a>,
    pub(crate) ledger: &'a Ledger,
    pub(crate) arrived: Timestamp,
    pub(crate) promise: Promise,
    progress: Progress<'a>,
}

/// The record of a reply so far.
#[derive(Default)]
pub(crate) struct Progress<'a> {
    /// What was written, in order.
    pub(crate) sends: Vec<Send>,
    /// Whether the HTTP reply was written completely.
    pub(crate) completed: bool,
    /// Makes readers of the log wait until the exchange is logged.
    pub(crate) finishing: Option<LogGuard<'a>>,
    written: usize,
    bytes: Vec<u8>,
    event: Vec<u8>,
}

impl<'a> Reply<'a> {
    pub(crate) fn new(
        context: &'a Context<'a>,
        pace: Pace<'a>,
        ledger: &'a Ledger,
        arrived: Timestamp,
        promise: Promise,
    ) -> Self {
        Self {
            context,
            pace,
            ledger,
            arrived,
            promise,
            progress: Progress::default(),
        }
    }

    /// Sends the reply. An error means that the peer disconnected or the service stops.
    pub(crate) fn send(mut self, plan: &Plan<'_>) -> Progress<'a> {
        let sent = match plan {
            Plan::Silence(end) => self.end(*end),
            Plan::Status(status, body) => self.whole(*status, body.as_bytes(), Duration::ZERO),
            Plan::Whole => {
                let body = self.context.whole();
                self.whole(200, &body, self.context.script.duration())
            }
            Plan::Stream(pieces, end) => self.stream(pieces, *end),
        };
        let mut progress = self.progress;
        progress.completed = matches!(sent, Ok(true));
        progress.sends.truncate(progress.written);
        progress
    }

    fn whole(&mut self, status: u16, body: &[u8], due: Duration) -> io::Result<bool> {
        let due = self.arrived.after(due);
        let framing = Framing::Length(body.len());
        self.head(status, "application/json", framing, due);
        self.progress.bytes.extend_from_slice(body);
        self.note(due, SendKind::Body, 0);
        self.pace.until(due)?;
        self.last_flush()?;
        Ok(true)
    }

    fn stream(&mut self, pieces: &[Piece<'_>], end: End) -> io::Result<bool> {
        let script = self.context.script;
        let framing = if script.chunked {
            Framing::Chunked
        } else {
            Framing::UntilClose
        };
        let trickle = matches!(script.fault, Some(Fault::Trickle(_)));
        self.progress.sends.reserve(pieces.len() + 1);
        self.head(200, self.context.content_type(), framing, self.arrived);
        if trickle {
            self.flush()?;
        }
        let mut now = self.arrived;
        for piece in pieces {
            let due = self.arrived.after(piece.due);
            if due > now {
                now = self.pace.clock.now();
            }
            if due > now || trickle || self.progress.bytes.len() > LARGEST_WRITE {
                self.flush()?;
            }
            self.piece(piece, framing);
            self.note(due, piece.what.kind(), piece.what.tokens(script));
            if due > now {
                self.pace.until(due)?;
            }
        }
        if end != End::Proper {
            self.flush()?;
            return self.end(end);
        }
        if framing == Framing::Chunked {
            self.progress.bytes.extend_from_slice(b"0\r\n\r\n");
        }
        self.last_flush()?;
        Ok(true)
    }

    fn head(&mut self, status: u16, content_type: &str, framing: Framing, due: Timestamp) {
        let promise = self.promise;
        http::head(
            &mut self.progress.bytes,
            status,
            content_type,
            framing,
            promise,
        );
        self.note(due, SendKind::Head, 0);
    }

    fn piece(&mut self, piece: &Piece<'_>, framing: Framing) {
        let Progress { bytes, event, .. } = &mut self.progress;
        if framing != Framing::Chunked {
            self.context.piece(piece, bytes);
            return;
        }
        event.clear();
        self.context.piece(piece, event);
        http::put(bytes, &[&format!("{:x}\r\n", event.len())]);
        bytes.extend_from_slice(event);
        http::put(bytes, &["\r\n"]);
    }

    fn note(&mut self, due: Timestamp, kind: SendKind, tokens: u32) {
        self.progress.sends.push(Send {
            due,
            at: due,
            written: due,
            kind,
            tokens,
        });
    }

    fn last_flush(&mut self) -> io::Result<()> {
        self.progress.finishing = Some(self.ledger.finishing());
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.progress.bytes.is_empty() {
            return Ok(());
        }
        let at = self.pace.clock.now();
        let head = self.progress.written == 0;
        match self.context.script.fault {
            Some(Fault::Trickle(pause)) if !head => self.trickle(pause)?,
            _ => { self.pace.stream }.write_all(&self.progress.bytes)?,
        }
        let written = self.pace.clock.now();
        let progress = &mut self.progress;
        for send in &mut progress.sends[progress.written..] {
            send.at = at;
            send.written = written;
        }
        progress.written = progress.sends.len();
        progress.bytes.clear();
        Ok(())
    }

    fn trickle(&self, pause: Duration) -> io::Result<()> {
        for byte in &self.progress.bytes {
            { self.pace.stream }.write_all(std::slice::from_ref(byte))?;
            if !pause.is_zero() {
                self.pace.until(self.pace.clock.now().after(pause))?;
            }
        }
        Ok(())
    }

    fn end(&self, end: End) -> io::Result<bool> {
        match end {
            End::Proper | End::Close => {}
            End::Hang => self.pace.hang(),
            // With a linger time of zero, closing discards unsent data and sends RST.
            End::Reset => {
                rustix::net::sockopt::set_socket_linger(self.pace.stream, Some(Duration::ZERO))?;
            }
        }
        Ok(false)
    }
}
