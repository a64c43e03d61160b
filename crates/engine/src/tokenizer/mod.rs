//! Converts texts to tokens and back, exactly as llama.cpp does for the same file.
//!
//! Two kinds of vocabulary are supported: byte-pair encoding (`gpt2`) and merging by score as in
//! `SentencePiece` (`llama`). Anything else is an error: a wrong split of the text does not fail,
//! it makes replies silently worse.

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
use spm::ScoreMerges;
use vocabulary::Kind;

/// Converts texts to the tokens of one vocabulary and back.
#[derive(Debug)]
pub struct Tokenizer {
    texts: Pieces,
    printed: Pieces,
    special: Special,
    method: Method,
    bos: Option<u32>,
    eos: Option<u32>,
    adds_bos: bool,
    /// Upper bound for the bytes of a text that one token represents.
    longest: usize,
}

/// Without a byte fallback, a character missing from the vocabulary is one token.
const LONGEST_CHARACTER: usize = 4;

#[derive(Debug)]
enum Method {
    /// Boxed, as is the other: they are a few hundred bytes of tables each.
    Bpe(Box<(Splitter, Merges)>),
    Spm(Box<ScoreMerges>),
}

impl Tokenizer {
    /// Checks and prepares the vocabulary.
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
            let spm = ScoreMerges::new(lookup, scores, vocabulary.unknown, prefix);
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

    /// The tokens of `text`. Texts of control and user-defined tokens become those tokens.
    ///
    /// With `add_bos`, the BOS token comes first, unless the file states that the model uses none
    /// ([`adds_bos`](Self::adds_bos)).
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

    /// The tokens of a chat template's output. If it already starts with BOS, no second one is
    /// added.
    pub fn encode_rendered(&self, text: &str) -> Vec<u32> {
        let bos = self.bos.and_then(|bos| self.piece(bos));
        let begun = bos.is_some_and(|bos| text.starts_with(bos));
        self.encode(text, !begun)
    }

    /// A lower bound for the number of tokens of `text`, in constant time.
    pub fn at_least(&self, text: &str) -> usize {
        text.len().div_ceil(self.longest)
    }

    /// The bytes of a token; empty for control tokens and unknown ids.
    pub fn bytes(&self, token: u32) -> &[u8] {
        self.printed.get(token).unwrap_or_default()
    }

    /// The text of the token in the vocabulary, for chat templates.
    pub fn piece(&self, token: u32) -> Option<&str> {
        std::str::from_utf8(self.texts.get(token)?).ok()
    }

    /// Whether this token ends generation.
    pub fn is_end(&self, token: u32) -> bool {
        self.special.is_end(token)
    }

    /// The token that starts a text (BOS).
    pub fn bos(&self) -> Option<u32> {
        self.bos
    }

    /// The token that ends a text (EOS).
    pub fn eos(&self) -> Option<u32> {
        self.eos
    }

    /// Whether the model expects [`bos`](Self::bos) before a text that does not contain it.
    pub fn adds_bos(&self) -> bool {
        self.adds_bos && self.bos.is_some()
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Always false: [`new`](Self::new) refuses an empty vocabulary.
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
