//! Texts to tokens and back, exactly as llama.cpp does it for the same file.
//!
//! Two kinds of vocabulary are known: byte-level pair encoding (`gpt2`) and the
//! merging by scores of `SentencePiece` (`llama`). What the file names and we do not know is an error: a wrong split of the text does
//! not fail, it only makes the model quietly worse.

mod alphabet;
mod bpe;
mod pieces;
mod special;
mod split;
mod spm;
mod utf8;
mod vocabulary;

pub use utf8::Utf8Joiner;
pub use vocabulary::{TokenizerError, Vocabulary};

use bpe::Merges;
use pieces::Pieces;
use special::{Fragment, Special};
use split::Splitter;
use spm::Scored;
use vocabulary::Kind;

/// Turns texts into the tokens of one vocabulary, and tokens into what they print.
#[derive(Debug)]
pub struct Tokenizer {
    texts: Pieces,
    printed: Pieces,
    special: Special,
    method: Method,
    bos: Option<u32>,
    eos: Option<u32>,
    adds_bos: bool,
    /// No token stands for more bytes of a text than this.
    longest: usize,
}

/// Without a byte fallback a character that the vocabulary lacks is one token.
const LONGEST_CHARACTER: usize = 4;

#[derive(Debug)]
enum Method {
    /// Boxed, as is the other: they are a few hundred bytes of tables each.
    Bpe(Box<(Splitter, Merges)>),
    Spm(Box<Scored>),
}

impl Tokenizer {
    /// Checks the vocabulary and prepares it.
    pub fn new(mut vocabulary: Vocabulary) -> Result<Self, TokenizerError> {
        vocabulary.complete();
        vocabulary.check()?;
        let kinds = vocabulary.token_kinds();
        let byte_level = vocabulary.model == "gpt2";
        let texts = Pieces::collect(
            vocabulary
                .tokens
                .iter()
                .map(|text| text.as_bytes().to_vec()),
        );
        let printed = vocabulary.tokens.iter().zip(&kinds);
        let printed =
            Pieces::collect(printed.map(|(text, kind)| printed_by(text, *kind, byte_level)));
        let count = u32::try_from(vocabulary.tokens.len()).unwrap_or(u32::MAX);
        let length = |pieces: &Pieces, token| pieces.get(token).map_or(0, <[u8]>::len);
        let longest = (0..count)
            .map(|token| length(&texts, token).max(length(&printed, token)))
            .fold(LONGEST_CHARACTER, usize::max);
        let special = Special::new(&vocabulary, &kinds);
        let (bos, eos) = (vocabulary.bos, vocabulary.eos);
        let (method, usually) = if byte_level {
            let rules = split::rules(vocabulary.pre.as_deref())?;
            let merges = Merges::new(vocabulary.lookup()?, &vocabulary.merges, rules.whole_words)?;
            let bpe = Box::new((Splitter::new(rules), merges));
            (Method::Bpe(bpe), rules.adds_bos)
        } else {
            let (lookup, scores) = (vocabulary.lookup()?, std::mem::take(&mut vocabulary.scores));
            let prefix = vocabulary.add_space_prefix.unwrap_or(true);
            let spm = Scored::new(lookup, scores, vocabulary.unknown, prefix);
            (Method::Spm(Box::new(spm)), true)
        };
        Ok(Self {
            texts,
            printed,
            special,
            method,
            bos,
            eos,
            adds_bos: vocabulary.add_bos.unwrap_or(usually),
            longest,
        })
    }

    /// The tokens of `text`; the texts of control and user-defined tokens in it become those tokens.
    ///
    /// With `add_bos` the token that begins a text comes first, unless the file says that its model
    /// wants none ([`adds_bos`](Self::adds_bos)).
    pub fn encode(&self, text: &str, add_bos: bool) -> Vec<u32> {
        let mut tokens = Vec::with_capacity(text.len() / 3 + 1);
        if add_bos && self.adds_bos {
            tokens.extend(self.bos);
        }
        let mut after_special = true;
        for fragment in self.special.partition(text) {
            match fragment {
                Fragment::Token(token) => tokens.push(token),
                Fragment::Text(text) => match &self.method {
                    Method::Bpe(bpe) => bpe.1.encode(&bpe.0.split(text), &mut tokens),
                    Method::Spm(spm) => spm.encode(text, after_special, &mut tokens),
                },
            }
            after_special = matches!(fragment, Fragment::Token(_));
        }
        tokens
    }

    /// The tokens of what a chat template wrote: one that begins the text itself needs no second
    /// beginning.
    pub fn encode_rendered(&self, text: &str) -> Vec<u32> {
        let bos = self.bos.and_then(|bos| self.piece(bos));
        let begun = bos.is_some_and(|bos| text.starts_with(bos));
        self.encode(text, !begun)
    }

    /// How many tokens `text` has at least; known at once, whatever its length.
    pub fn at_least(&self, text: &str) -> usize {
        text.len().div_ceil(self.longest)
    }

    /// What the token prints: nothing for control tokens, and for tokens that do not exist.
    pub fn bytes(&self, token: u32) -> &[u8] {
        self.printed.get(token).unwrap_or_default()
    }

    /// The token's own text in the vocabulary, as chat templates name it.
    pub fn piece(&self, token: u32) -> Option<&str> {
        std::str::from_utf8(self.texts.get(token)?).ok()
    }

    /// Whether the model says with it that it is done.
    pub fn is_end(&self, token: u32) -> bool {
        self.special.is_end(token)
    }

    /// The token that begins a text.
    pub fn bos(&self) -> Option<u32> {
        self.bos
    }

    /// The token that ends a text.
    pub fn eos(&self) -> Option<u32> {
        self.eos
    }

    /// Whether the model wants [`bos`](Self::bos) before a text that has none of its own.
    pub fn adds_bos(&self) -> bool {
        self.adds_bos && self.bos.is_some()
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there are none, which [`new`](Self::new) refuses.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn printed_by(text: &str, kind: Kind, byte_level: bool) -> Vec<u8> {
    match kind {
        Kind::UserDefined => text.as_bytes().to_vec(),
        Kind::Normal if byte_level => alphabet::decode(text),
        Kind::Normal => text.replace(spm::SPACE, " ").into_bytes(),
        Kind::Byte => spm::byte(text).into_iter().collect(),
        Kind::Control | Kind::Unknown | Kind::Unused => Vec::new(),
    }
}
