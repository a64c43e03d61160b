//! Splits one CSV record into cells, fed piece by piece.

use memchr::{memchr, memchr2};

use crate::fault::Fault;

/// Limit of columns in one row, and of different columns in all rows.
pub(crate) const MOST_COLUMNS: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first byte of a cell.
    Start,
    /// In an unquoted cell.
    Bare,
    /// Between quotes.
    Quoted,
    /// After a quote that either closes the cell or is the first of two.
    Closed,
    /// After the end of the line.
    Complete,
}

/// The cells of one record.
#[derive(Debug)]
pub(crate) struct Cells {
    delimiter: u8,
    state: State,
    content: Vec<u8>,
    /// The end of each cell in the content, and whether the cell was quoted.
    ends: Vec<(usize, bool)>,
    is_quoted: bool,
    /// Bytes fed so far.
    fed: usize,
    /// Position and value of a byte that wrongly follows a closing quote.
    astray: Option<(usize, u8)>,
}

impl Cells {
    pub(crate) fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            state: State::Start,
            content: Vec::new(),
            ends: Vec::new(),
            is_quoted: false,
            fed: 0,
            astray: None,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.forget();
        self.state = State::Start;
        self.is_quoted = false;
        self.fed = 0;
        self.astray = None;
    }

    /// Drops the content but keeps the position, so that an over-long record still ends correctly.
    pub(crate) fn forget(&mut self) {
        self.content.clear();
        self.ends.clear();
    }

    /// Whether the end of the record was fed.
    pub(crate) fn is_complete(&self) -> bool {
        self.state == State::Complete
    }

    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of each cell, and whether it was quoted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], bool)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, is_quoted)| {
            let cell = &self.content[start..*end];
            start = *end;
            (cell, *is_quoted)
        })
    }

    pub(crate) fn feed(&mut self, mut piece: &[u8]) {
        while let [byte, rest @ ..] = piece {
            let plain = self.plain(piece);
            if plain > 0 {
                self.content.extend_from_slice(&piece[..plain]);
                self.fed += plain;
                piece = &piece[plain..];
            } else {
                self.step(*byte);
                self.fed += 1;
                piece = rest;
            }
        }
    }

    /// The number of leading bytes of `piece` that have no special meaning in this state.
    fn plain(&self, piece: &[u8]) -> usize {
        let next = match self.state {
            State::Bare => memchr2(self.delimiter, b'\n', piece),
            State::Quoted => memchr(b'"', piece),
            _ => Some(0),
        };
        next.unwrap_or(piece.len())
    }

    fn step(&mut self, byte: u8) {
        match (self.state, byte) {
            (State::Start, b'"') => {
                self.is_quoted = true;
                self.state = State::Quoted;
            }
            (State::Quoted, b'"') => self.state = State::Closed,
            (State::Closed, b'"') => {
                self.content.push(byte);
                self.state = State::Quoted;
            }
            (State::Quoted, byte) => self.content.push(byte),
            (_, byte) if byte == self.delimiter => self.end_cell(),
            (_, b'\n') => self.end_record(),
            (State::Closed, b' ' | b'\r') => {}
            (State::Closed, byte) => {
                self.astray.get_or_insert((self.fed, byte));
                self.content.push(byte);
                self.state = State::Bare;
            }
            (_, byte) => {
                self.content.push(byte);
                self.state = State::Bare;
            }
        }
    }

    fn end_cell(&mut self) {
        // One cell above the limit is kept, so that `fault` can see the excess.
        if self.ends.len() <= MOST_COLUMNS {
            self.ends.push((self.content.len(), self.is_quoted));
        }
        self.is_quoted = false;
        self.state = State::Start;
    }

    fn end_record(&mut self) {
        if self.state == State::Bare && self.content.ends_with(b"\r") {
            self.content.pop();
        }
        self.end_cell();
        self.state = State::Complete;
    }

    /// Marks the end of the input.
    pub(crate) fn finish(&mut self) {
        if !matches!(self.state, State::Quoted | State::Complete) {
            self.end_record();
        }
    }

    /// The fault in the quotes or the number of cells; `text` is the record as written.
    pub(crate) fn fault(&self, text: &[u8]) -> Option<Fault> {
        if self.state == State::Quoted {
            return Some(Fault::new(
                "a quote that ends the cell",
                "the end of the file",
            ));
        }
        if self.ends.len() > MOST_COLUMNS {
            let fault = Fault::new(format!("at most {MOST_COLUMNS} cells in a row"), "more");
            return Some(fault.help("leave out columns that are not needed"));
        }
        let (place, byte) = self.astray?;
        let fault = Fault::new(
            "the delimiter or the end of the line after a quote",
            match char::from(byte) {
                character if character.is_ascii_graphic() => format!("`{character}`"),
                _ => "something else".to_owned(),
            },
        )
        .help("write a quote inside of quotes twice");
        let is_first_line = memchr(b'\n', text.get(..place)?).is_none();
        Some(if is_first_line {
            fault.at_byte(text, place)
        } else {
            fault
        })
    }
}
