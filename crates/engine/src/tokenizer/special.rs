//! Tokens that are not made of text: where their texts stand in a prompt, and which end a reply.

use super::Vocabulary;
use super::vocabulary::Kind;

/// The texts of tokens that end generation in any vocabulary that has them: llama.cpp's list.
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
    // A code model that fills a gap has left it when it writes one of these.
    "<|fim_pad|>",
    "<fim-pad>",
    "<fim_pad>",
    "<|fim_repo|>",
    "<|repo_name|>",
    "<reponame>",
    "<|file_sep|>",
];

/// Whether a token of this text ends generation, whatever else the file says of it.
pub(super) fn ends_generation(text: &str) -> bool {
    text.starts_with(['<', '_']) && ENDS.contains(&text)
}

/// The special tokens of one vocabulary.
#[derive(Debug)]
pub(super) struct Special {
    /// The longest first: llama.cpp looks for them in this order.
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

    /// The text, cut where texts of special tokens stand; none of the texts between is empty.
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
