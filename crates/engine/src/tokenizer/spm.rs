//! `SentencePiece`: merges neighbours whose joined text is a token, the best score first.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

/// How these vocabularies write a space.
pub(super) const SPACE: &str = "\u{2581}";

/// The tokens and scores of one vocabulary.
#[derive(Debug)]
pub(super) struct ScoreMerges {
    lookup: HashMap<String, u32>,
    scores: Vec<f32>,
    /// Fallback token of each byte, for characters that are not tokens.
    bytes: Vec<Option<u32>>,
    space_prefix: bool,
}

const NONE: usize = usize::MAX;

/// A span of the text; an empty one was merged into its left neighbour.
#[derive(Clone, Copy)]
struct Symbol {
    start: usize,
    length: usize,
    before: usize,
    after: usize,
}

/// Two neighbours and their joint length when added.
struct Candidate {
    score: f32,
    left: usize,
    right: usize,
    length: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let score = self.score.total_cmp(&other.score);
        score.then_with(|| other.left.cmp(&self.left))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

impl ScoreMerges {
    pub(super) fn new(
        lookup: HashMap<String, u32>,
        mut scores: Vec<f32>,
        unknown: Option<u32>,
        space_prefix: bool,
    ) -> Self {
        // Negative zero would otherwise sort before zero.
        for score in &mut scores {
            *score += 0.0;
        }
        let of = |byte: u8| {
            let token = lookup.get(&format!("<0x{byte:02X}>"));
            let plain = || lookup.get(char::from(byte).encode_utf8(&mut [0; 4]) as &str);
            let plain = || plain().filter(|_| byte.is_ascii());
            token.or_else(plain).copied().or(unknown)
        };
        Self {
            bytes: (0..=u8::MAX).map(of).collect(),
            lookup,
            scores,
            space_prefix,
        }
    }

    /// Adds the tokens of `text`. `begins`: the text starts here or follows a special token, so it may get
    /// a leading space.
    pub(super) fn encode(&self, text: &str, begins: bool, tokens: &mut Vec<u32>) {
        let prefix = if self.space_prefix && begins {
            SPACE
        } else {
            ""
        };
        let text = format!("{prefix}{}", text.replace(' ', SPACE));
        let mut symbols = symbols(&text);
        self.merge(&text, &mut symbols);
        for symbol in symbols.iter().filter(|symbol| symbol.length > 0) {
            let piece = &text[symbol.start..symbol.start + symbol.length];
            match self.lookup.get(piece) {
                Some(token) => tokens.push(*token),
                None => tokens.extend(piece.bytes().filter_map(|b| self.bytes[usize::from(b)])),
            }
        }
    }

    fn merge(&self, text: &str, symbols: &mut [Symbol]) {
        let mut candidates = BinaryHeap::new();
        for left in 0..symbols.len() {
            candidates.extend(self.candidate(text, symbols, left));
        }
        while let Some(best) = candidates.pop() {
            let (left, right) = (symbols[best.left], symbols[best.right]);
            let whole = left.length > 0 && right.length > 0;
            if !whole || left.length + right.length != best.length {
                continue; // One of the two has been merged since.
            }
            symbols[best.left].length = best.length;
            symbols[best.left].after = right.after;
            symbols[best.right].length = 0;
            if right.after != NONE {
                symbols[right.after].before = best.left;
            }
            if left.before != NONE {
                candidates.extend(self.candidate(text, symbols, left.before));
            }
            candidates.extend(self.candidate(text, symbols, best.left));
        }
    }

    /// The merge of `left` and its right neighbour, if their text is a token.
    fn candidate(&self, text: &str, symbols: &[Symbol], left: usize) -> Option<Candidate> {
        let first = symbols[left];
        let second = symbols.get(first.after)?;
        let length = first.length + second.length;
        let token = *self.lookup.get(&text[first.start..first.start + length])?;
        Some(Candidate {
            score: *self.scores.get(token as usize)?,
            left,
            right: first.after,
            length,
        })
    }
}

fn symbols(text: &str) -> Vec<Symbol> {
    let starts = text.char_indices().enumerate();
    let mut symbols: Vec<_> = starts
        .map(|(position, (start, character))| Symbol {
            start,
            length: character.len_utf8(),
            before: position.wrapping_sub(1),
            after: position + 1,
        })
        .collect();
    if let Some(last) = symbols.last_mut() {
        last.after = NONE;
    }
    symbols
}

/// The byte that `<0x0A>` names.
pub(super) fn byte(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    u8::from_str_radix(digits, 16).ok()
}
