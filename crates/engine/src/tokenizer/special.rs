//! Special tokens: finding them in a prompt, and which of them end a reply.

use super::Vocabulary;
use super::vocabulary::Kind;

/// Texts of tokens that end generation in any vocabulary: llama.cpp's list.
const ENDS: [&str; 20] = [
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<｜end▁of▁sentence｜>",
    // A fill-in-the-middle model is done when it writes one of these.
    "<|fim_pad|>",
    "<fim-pad>",
    "<fim_pad>",
    "<|fim_repo|>",
    "<|repo_name|>",
    "<reponame>",
    "<|file_sep|>",
];

/// Whether a token with this text ends generation, independently of the file.
pub(super) fn ends_generation(text: &str) -> bool {
    text.starts_with(['<', '_']) && ENDS.contains(&text)
}

/// The special tokens of one vocabulary.
#[derive(Debug)]
pub(super) struct Special {
    /// Longest first: llama.cpp searches in this order.
    tokens: Vec<(String, u32)>,
    ends: Vec<u32>,
}

/// A part of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fragment<'t> {
    Text(&'t str),
    Token(u32),
}

impl Special {
    pub(super) fn new(vocabulary: &Vocabulary, kinds: &[Kind]) -> Self {
        let mut tokens = Vec::new();
        let mut ends: Vec<u32> = vocabulary.eos.into_iter().chain(vocabulary.eot).collect();
        for ((text, kind), token) in vocabulary.tokens.iter().zip(kinds).zip(0..) {
            if matches!(kind, Kind::Control | Kind::UserDefined | Kind::Unknown) {
                tokens.push((text.clone(), token));
            }
            if ends_generation(text) {
                ends.push(token);
            }
        }
        tokens.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        ends.sort_unstable();
        ends.dedup();
        Self { tokens, ends }
    }

    pub(super) fn is_end(&self, token: u32) -> bool {
        self.ends.binary_search(&token).is_ok()
    }

    /// Splits the text at special tokens; no text in between is empty.
    pub(super) fn partition<'t>(&self, text: &'t str) -> Vec<Fragment<'t>> {
        let mut fragments = Vec::new();
        if !text.is_empty() {
            fragments.push(Fragment::Text(text));
        }
        for (special, token) in &self.tokens {
            if !text.contains(special) {
                continue;
            }
            let mut cut = Vec::with_capacity(fragments.len() + 2);
            for fragment in fragments {
                match fragment {
                    Fragment::Text(text) => cut_out(text, special, *token, &mut cut),
                    Fragment::Token(_) => cut.push(fragment),
                }
            }
            fragments = cut;
        }
        fragments
    }
}

fn cut_out<'t>(text: &'t str, special: &str, token: u32, cut: &mut Vec<Fragment<'t>>) {
    for (number, between) in text.split(special).enumerate() {
        if number > 0 {
            cut.push(Fragment::Token(token));
        }
        if !between.is_empty() {
            cut.push(Fragment::Text(between));
        }
    }
}
