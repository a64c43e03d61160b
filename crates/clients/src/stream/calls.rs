//! Assembles tool calls from the pieces of a stream.

use std::collections::BTreeMap;

use serde::Serialize;

/// The tool calls of one reply, by the service's index.
#[derive(Debug, Default)]
pub(crate) struct Calls(BTreeMap<u64, Call>);

/// `arguments` is the model's text; it may not be valid JSON.
#[derive(Debug, Default, Serialize)]
struct Call {
    id: Option<String>,
    name: String,
    arguments: String,
}

/// One event's part of a call.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct CallPiece<'a> {
    /// Without an index, a new id starts a new call, and other pieces belong to the last call.
    pub(crate) index: Option<u64>,
    pub(crate) id: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
    pub(crate) arguments: Option<&'a str>,
}

impl CallPiece<'_> {
    /// Whether the piece has text of the model: an id is made by the service.
    pub(crate) fn says_something(&self) -> bool {
        let is_text = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
        is_text(self.name) || is_text(self.arguments)
    }
}

impl Calls {
    pub(crate) fn take(&mut self, piece: CallPiece<'_>) {
        let id = piece.id.filter(|id| !id.is_empty());
        let index = piece.index.unwrap_or_else(|| self.place_of(id));
        let call = self.0.entry(index).or_default();
        if call.id.is_none() {
            call.id = id.map(str::to_owned);
        }
        // Some services repeat the name in every piece.
        if call.name.is_empty() {
            call.name.extend(piece.name);
        }
        call.arguments.extend(piece.arguments);
    }

    /// Adds a complete call.
    pub(crate) fn push(&mut self, id: Option<&str>, name: &str, arguments: &str) {
        let index = self.next();
        self.take(CallPiece {
            index: Some(index),
            id,
            name: Some(name),
            arguments: Some(arguments),
        });
    }

    /// The calls as JSON, for the row; `None` without calls.
    pub(crate) fn json(&self) -> Option<String> {
        let calls: Vec<_> = self.0.values().collect();
        (!calls.is_empty()).then(|| serde_json::to_string(&calls).expect("texts serialize"))
    }

    fn place_of(&self, id: Option<&str>) -> u64 {
        match self.0.last_key_value() {
            Some((last, call)) if id.is_none() || call.id.as_deref() == id => *last,
            _ => self.next(),
        }
    }

    fn next(&self) -> u64 {
        let last = self.0.last_key_value();
        last.map_or(0, |(last, _)| last.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece<'a>(index: Option<u64>, id: &'a str, name: &'a str, text: &'a str) -> CallPiece<'a> {
        CallPiece {
            index,
            id: Some(id),
            name: Some(name),
            arguments: Some(text),
        }
    }

    #[test]
    fn pieces_go_to_the_call_of_their_index() {
        let mut calls = Calls::default();
        assert_eq!(calls.json(), None);
        for part in [
            piece(Some(0), "a", "one", ""),
            piece(Some(1), "b", "two", "{"),
            piece(Some(0), "", "", "{}"),
            piece(Some(1), "", "two", "}"),
        ] {
            calls.take(part);
        }
        assert_eq!(
            calls.json().as_deref(),
            Some(
                r#"[{"id":"a","name":"one","arguments":"{}"},{"id":"b","name":"two","arguments":"{}"}]"#
            )
        );
    }

    #[test]
    fn without_an_index_a_new_id_is_a_new_call() {
        let mut calls = Calls::default();
        for part in [
            piece(None, "a", "one", "1"),
            piece(None, "", "", "2"),
            piece(None, "b", "two", "3"),
            piece(None, "b", "", "4"),
        ] {
            calls.take(part);
        }
        calls.push(None, "three", "5");
        assert_eq!(
            calls.json().as_deref(),
            Some(
                r#"[{"id":"a","name":"one","arguments":"12"},{"id":"b","name":"two","arguments":"34"},{"id":null,"name":"three","arguments":"5"}]"#
            )
        );
    }

    #[test]
    fn an_index_beyond_all_measure_does_no_harm() {
        let mut calls = Calls::default();
        calls.take(piece(Some(u64::MAX), "", "x", ""));
        calls.push(None, "y", "");
        assert!(calls.json().is_some());
    }
}
