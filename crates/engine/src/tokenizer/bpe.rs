//! Byte-pair encoding: merges neighbours, the best pair of the whole word first.
//!
//! A heap of candidates over a linked list: a long word costs n log n, not n².

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::TokenizerError;
use super::alphabet::character;

/// The merges of one vocabulary. A *piece* is a token, or an intermediate text of merges.
#[derive(Debug)]
pub(super) struct Merges {
    /// The piece of each byte.
    bytes: Vec<u32>,
    /// Rank and result of a merge, by left and right piece.
    pairs: HashMap<(u32, u32), (u32, u32)>,
    /// Number of pieces that are tokens; the others follow them.
    tokens: u32,
    /// The output for the other pieces: the tokens of their ASCII characters, as in llama.cpp.
    spelled: Vec<Vec<u32>>,
    /// Words that become one token without merging; `None` for most vocabularies.
    whole: Option<HashMap<String, u32>>,
}

const NONE: usize = usize::MAX;
/// Marks a symbol that was merged into its left neighbour.
const GONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Symbol {
    piece: u32,
    before: usize,
    after: usize,
}

/// Rank, position, and the two pieces at the time it was added.
type Candidate = Reverse<(u32, usize, u32, u32)>;

#[derive(Default)]
struct Word {
    symbols: Vec<Symbol>,
    candidates: BinaryHeap<Candidate>,
}

impl Merges {
    pub(super) fn new(
        tokens: HashMap<String, u32>,
        merges: &[String],
        whole_words: bool,
    ) -> Result<Self, TokenizerError> {
        let mut pieces = Numbering::new(tokens);
        let bytes = (0..=u8::MAX)
            .map(|byte| pieces.of(character(byte).encode_utf8(&mut [0; 4])))
            .collect();
        let mut pairs = HashMap::with_capacity(merges.len());
        let mut joined = String::new();
        for (merge, rank) in merges.iter().zip(0..) {
            let (left, right) =
                halves(merge).ok_or_else(|| TokenizerError::Merge(merge.clone()))?;
            joined.clear();
            joined.extend([left, right]);
            let pair = (pieces.of(left), pieces.of(right));
            let into = pieces.of(&joined);
            // The first of two equal merges counts.
            pairs.entry(pair).or_insert((rank, into));
        }
        Ok(Self {
            bytes,
            pairs,
            tokens: pieces.tokens,
            spelled: pieces.spelled,
            whole: whole_words.then(|| {
                pieces.numbers.retain(|_, number| *number < pieces.tokens);
                pieces.numbers
            }),
        })
    }

    /// Adds the tokens of `words` to `tokens`.
    pub(super) fn encode(&self, words: &[&str], tokens: &mut Vec<u32>) {
        let mut word = Word::default();
        let mut text = String::new();
        for bytes in words.iter().map(|word| word.as_bytes()) {
            if let Some(whole) = &self.whole {
                text.clear();
                text.extend(bytes.iter().map(|byte| character(*byte)));
                if let Some(token) = whole.get(&text) {
                    tokens.push(*token);
                    continue;
                }
            }
            self.merge(bytes, &mut word);
            for symbol in word.symbols.iter().filter(|symbol| symbol.piece != GONE) {
                match symbol.piece.checked_sub(self.tokens) {
                    None => tokens.push(symbol.piece),
                    Some(other) => tokens.extend(&self.spelled[other as usize]),
                }
            }
        }
    }

    fn merge(&self, bytes: &[u8], word: &mut Word) {
        word.symbols.clear();
        let symbols = bytes.iter().enumerate().map(|(position, byte)| Symbol {
            piece: self.bytes[usize::from(*byte)],
            before: position.wrapping_sub(1),
            after: position + 1,
        });
        word.symbols.extend(symbols);
        if let Some(last) = word.symbols.last_mut() {
            last.after = NONE;
        }
        for left in 0..word.symbols.len() {
            self.note(left, word);
        }
        while let Some(Reverse((_, left, left_piece, right_piece))) = word.candidates.pop() {
            let Symbol { piece, after, .. } = word.symbols[left];
            if piece != left_piece || after == NONE || word.symbols[after].piece != right_piece {
                continue; // One of the two has been merged since.
            }
            let Some(&(_, into)) = self.pairs.get(&(left_piece, right_piece)) else {
                continue;
            };
            let next = word.symbols[after].after;
            word.symbols[after].piece = GONE;
            word.symbols[left].piece = into;
            word.symbols[left].after = next;
            if next != NONE {
                word.symbols[next].before = left;
            }
            let before = word.symbols[left].before;
            if before != NONE {
                self.note(before, word);
            }
            self.note(left, word);
        }
    }

    /// Adds the merge of `left` with its right neighbour, if there is one.
    fn note(&self, left: usize, word: &mut Word) {
        let Symbol { piece, after, .. } = word.symbols[left];
        if after == NONE {
            return;
        }
        let right = word.symbols[after].piece;
        if let Some(&(rank, _)) = self.pairs.get(&(piece, right)) {
            word.candidates.push(Reverse((rank, left, piece, right)));
        }
    }
}

/// The two texts of a merge; a leading space belongs to the first.
fn halves(merge: &str) -> Option<(&str, &str)> {
    let first = merge.chars().next()?.len_utf8();
    let space = first + merge[first..].find(' ')?;
    let (left, right) = (&merge[..space], &merge[space + 1..]);
    (!right.is_empty()).then_some((left, right))
}

/// Assigns numbers to texts: those of tokens, and new ones for other texts.
struct Numbering {
    numbers: HashMap<String, u32>,
    tokens: u32,
    next: u32,
    spelled: Vec<Vec<u32>>,
}

impl Numbering {
    fn new(numbers: HashMap<String, u32>) -> Self {
        let tokens = numbers.values().max().map_or(0, |last| last + 1);
        Self {
            numbers,
            tokens,
            next: tokens,
            spelled: Vec::new(),
        }
    }

    fn of(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let letters = text.chars().filter(char::is_ascii);
        let tokens = letters.filter_map(|letter| {
            let number = self.numbers.get(letter.encode_utf8(&mut [0; 4]) as &str);
            number.copied().filter(|number| *number < self.tokens)
        });
        let number = self.next;
        self.next += 1;
        self.spelled.push(tokens.collect());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}
