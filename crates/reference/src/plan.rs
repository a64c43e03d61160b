//! Turns a script into the pieces of one reply and their times; renders and sends nothing.

use std::ops::Range;
use std::time::Duration;

use serde_json::Value;

use crate::ledger::SendKind;
use crate::script::{Fault, RoleChunk, Script};

/// The API of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    OpenAi,
    Ollama,
}

/// Options that the request asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplyOptions {
    pub(crate) stream: bool,
    pub(crate) usage: bool,
}

impl ReplyOptions {
    /// Reads a request body; the two dialects have opposite defaults for `stream`.
    pub(crate) fn of(body: &Value, dialect: Dialect) -> Self {
        let stream = body.get("stream").and_then(Value::as_bool);
        let usage = body
            .pointer("/stream_options/include_usage")
            .and_then(Value::as_bool);
        Self {
            stream: stream.unwrap_or(dialect == Dialect::Ollama),
            usage: usage.unwrap_or(dialect == Dialect::Ollama),
        }
    }
}

/// Content of a piece of a stream; ranges are of tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PieceContent<'a> {
    Role,
    Reasoning(Range<usize>),
    Content(Range<usize>),
    InvalidUtf8(Range<usize>),
    Huge(usize),
    Garbage,
    Finish,
    Usage,
    Done,
    Error(&'a str),
}

/// One piece of a stream, with its time after the arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub(crate) due: Duration,
    pub(crate) what: PieceContent<'a>,
}

/// How a reply ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Proper,
    Hang,
    Close,
    Reset,
}

/// The form of one reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Plan<'a> {
    /// Nothing at all, not even a head.
    Silence(End),
    /// This status and body, immediately.
    Status(u16, &'a str),
    /// The completion in one body, when its last token is due.
    Whole,
    Stream(Vec<Piece<'a>>, End),
}

impl<'a> Plan<'a> {
    pub(crate) fn of(script: &'a Script, dialect: Dialect, wishes: ReplyOptions) -> Self {
        match &script.fault {
            Some(Fault::Status(status, body)) => Self::Status(*status, body),
            Some(Fault::ResetBeforeHead) => Self::Silence(End::Reset),
            Some(Fault::HangBeforeHead) => Self::Silence(End::Hang),
            Some(Fault::NotAStream) => Self::Whole,
            _ if !wishes.stream => Self::Whole,
            fault => {
                let mut pieces = Vec::with_capacity(script.chunks() + 4);
                let end = stream(script, fault.as_ref(), &mut pieces, (dialect, wishes));
                Self::Stream(pieces, end)
            }
        }
    }
}

fn stream<'a>(
    script: &'a Script,
    fault: Option<&'a Fault>,
    pieces: &mut Vec<Piece<'a>>,
    (dialect, wishes): (Dialect, ReplyOptions),
) -> End {
    let mut push = |due, what| pieces.push(Piece { due, what });
    if fault == Some(&Fault::Empty) {
        push(script.first_token, PieceContent::Done);
        return End::Proper;
    }
    if dialect == Dialect::OpenAi && script.role_chunk != RoleChunk::None {
        push(Duration::ZERO, PieceContent::Role);
    }
    let (most, end) = match fault {
        Some(Fault::HangAfter(chunks)) => (*chunks, End::Hang),
        Some(Fault::CloseAfter(chunks)) => (*chunks, End::Close),
        Some(Fault::ResetAfter(chunks)) => (*chunks, End::Reset),
        Some(Fault::ErrorEventAfter(chunks, _)) => (*chunks, End::Proper),
        _ => (usize::MAX, End::Proper),
    };
    for (index, what) in chunks(script, fault).take(most).enumerate() {
        push(script.due(index), what);
    }
    if end != End::Proper {
        return end;
    }
    let last = script.duration();
    if let Some(Fault::ErrorEventAfter(chunks, message)) = fault {
        push(script.due(*chunks).min(last), PieceContent::Error(message));
        return end;
    }
    let legible = fault != Some(&Fault::Garbage);
    match dialect {
        Dialect::OpenAi => {
            if legible {
                push(last, PieceContent::Finish);
            }
            if legible && wishes.usage && script.usage {
                push(last, PieceContent::Usage);
            }
            push(last, PieceContent::Done);
        }
        Dialect::Ollama if legible => push(last, PieceContent::Done),
        Dialect::Ollama => {}
    }
    end
}

fn chunks<'a>(script: &Script, fault: Option<&'a Fault>) -> impl Iterator<Item = PieceContent<'a>> {
    let huge = match fault {
        Some(Fault::HugeEvent(bytes)) => Some(PieceContent::Huge(*bytes)),
        _ => None,
    };
    let (reasoning, tokens) = match huge {
        Some(_) => (0, 0),
        None => (script.reasoning.len(), script.tokens.len()),
    };
    let per_chunk = script.tokens_per_chunk.max(1);
    let content = split(tokens, per_chunk).map(move |range| match fault {
        Some(Fault::InvalidUtf8) if range.start == 0 => PieceContent::InvalidUtf8(range),
        _ => PieceContent::Content(range),
    });
    let reasoning = split(reasoning, per_chunk).map(PieceContent::Reasoning);
    let legible = reasoning.chain(content).map(move |what| match fault {
        Some(Fault::Garbage) => PieceContent::Garbage,
        _ => what,
    });
    huge.into_iter().chain(legible)
}

fn split(tokens: usize, per_chunk: usize) -> impl Iterator<Item = Range<usize>> {
    (0..tokens)
        .step_by(per_chunk)
        .map(move |start| start..(start + per_chunk).min(tokens))
}

impl PieceContent<'_> {
    /// The kind in the log.
    pub(crate) fn kind(&self) -> SendKind {
        match self {
            Self::Role => SendKind::Role,
            Self::Reasoning(_) => SendKind::Reasoning,
            Self::Content(_) | Self::InvalidUtf8(_) | Self::Huge(_) => SendKind::Content,
            Self::Garbage => SendKind::Garbage,
            Self::Finish => SendKind::Finish,
            Self::Usage => SendKind::Usage,
            Self::Done => SendKind::Done,
            Self::Error(_) => SendKind::Error,
        }
    }

    /// Number of tokens of `script` in it.
    pub(crate) fn tokens(&self, script: &Script) -> u32 {
        let tokens = match self {
            Self::Reasoning(range) | Self::Content(range) | Self::InvalidUtf8(range) => range.len(),
            Self::Huge(_) => script.tokens.len(),
            _ => 0,
        };
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::words;

    const ALL: ReplyOptions = ReplyOptions {
        stream: true,
        usage: true,
    };

    fn kinds(script: &Script, dialect: Dialect) -> Vec<SendKind> {
        let Plan::Stream(pieces, _) = Plan::of(script, dialect, ALL) else {
            panic!("not a stream");
        };
        pieces.iter().map(|piece| piece.what.kind()).collect()
    }

    #[test]
    fn reasoning_comes_first_and_the_last_chunk_may_be_short() {
        let script = Script {
            reasoning: words(1),
            tokens_per_chunk: 2,
            ..Script::words(3)
        };
        let Plan::Stream(pieces, End::Proper) = Plan::of(&script, Dialect::OpenAi, ALL) else {
            panic!("not a stream");
        };
        let whats: Vec<_> = pieces.into_iter().map(|piece| piece.what).collect();
        let expected = [
            PieceContent::Role,
            PieceContent::Reasoning(0..1),
            PieceContent::Content(0..2),
            PieceContent::Content(2..3),
            PieceContent::Finish,
            PieceContent::Usage,
            PieceContent::Done,
        ];
        assert_eq!(whats, expected);
    }

    #[test]
    fn ollama_has_neither_role_nor_finish_nor_usage_pieces() {
        use SendKind::{Content, Done};
        let script = Script::words(2);
        assert_eq!(kinds(&script, Dialect::Ollama), [Content, Content, Done]);
    }

    #[test]
    fn a_cut_keeps_what_was_before_it() {
        let cut = Script {
            fault: Some(Fault::CloseAfter(2)),
            ..Script::default()
        };
        let Plan::Stream(pieces, End::Close) = Plan::of(&cut, Dialect::Ollama, ALL) else {
            panic!("not a stream that is cut");
        };
        assert_eq!(pieces.len(), 2);
    }

    #[test]
    fn the_dialects_differ_in_what_an_absent_wish_means() {
        let body = serde_json::json!({});
        assert!(!ReplyOptions::of(&body, Dialect::OpenAi).stream);
        assert!(ReplyOptions::of(&body, Dialect::Ollama).stream);
    }
}
