//! `tokenizer.json`, read by Hugging Face's own crate.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Deserialize;
use serde::de::IgnoredAny;
use tokenizers::Tokenizer;

use crate::encoder::{Encoder, Role};

/// A tokenizer from a `tokenizer.json`.
pub(crate) struct Json(Tokenizer);

/// What every such file contains.
#[derive(Deserialize)]
struct Shape {
    model: Option<IgnoredAny>,
}

impl Json {
    /// Parses it. The error says why it is not a tokenizer.
    pub(crate) fn parse(content: &[u8]) -> Result<Self, String> {
        // For other JSON files, the crate's own message does not help.
        let shape: Shape =
            serde_json::from_slice(content).map_err(|error| format!("cannot parse it: {error}"))?;
        if shape.model.is_none() {
            return Err("it has no `model`".to_owned());
        }
        // The crate trusts its files, and this one may come from anywhere.
        let parsed = catch_unwind(|| Tokenizer::from_bytes(content));
        let parsed = parsed.map_err(|_| "its `model` makes no sense".to_owned())?;
        let mut tokenizer = parsed.map_err(|error| error.to_string())?;
        // Truncation and padding are for the model's input; counts need the full text.
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|error| error.to_string())?;
        let read = Self(tokenizer);
        if read.vocabulary() == 0 {
            return Err("it has no tokens".to_owned());
        }
        Ok(read)
    }

    /// Number of tokens, including added ones.
    pub(crate) fn vocabulary(&self) -> u64 {
        self.0.get_vocab_size(true) as u64
    }
}

impl Encoder for Json {
    fn count(&self, text: &str, role: Role) -> Option<u64> {
        // A chat template has already added the special tokens, as in `transformers`.
        let adds_special = role == Role::Prompt;
        // If a text makes the crate panic, only this count is lost, not the thread that stores
        // rows.
        let encoded = catch_unwind(AssertUnwindSafe(|| self.0.encode_fast(text, adds_special)));
        Some(encoded.ok()?.ok()?.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words, with one token before every prompt; cut to two tokens and filled up to nine.
    const WORDS: &str = r#"{
        "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": null,
                    "pad_id": 0, "pad_type_id": 0, "pad_token": "?"},
        "added_tokens": [{"id": 3, "content": "<s>", "single_word": false, "lstrip": false,
                          "rstrip": false, "normalized": false, "special": true}],
        "normalizer": null,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}}},
        "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"?": 0, "a": 1, "b": 2}, "unk_token": "?"}
    }"#;

    #[test]
    fn nothing_is_cut_filled_up_or_added_but_before_a_prompt() {
        let words = Json::parse(WORDS.as_bytes()).unwrap();
        assert_eq!(words.vocabulary(), 4);
        let count = |text, role| words.count(text, role).unwrap();
        assert_eq!(count("a b a other", Role::Reply), 4);
        assert_eq!(count("a b a other", Role::Prompt), 5);
        assert_eq!(count("<s>a b", Role::Rendered), 3);
        assert_eq!(count("", Role::Reply), 0);
    }

    #[test]
    fn what_is_no_tokenizer_is_refused_in_words() {
        let empty = WORDS.replace(r#"{"?": 0, "a": 1, "b": 2}"#, "{}");
        for (content, says) in [
            ("", "EOF"),
            ("[]", "cannot parse it: invalid length"),
            ("{\"model\": null}", "it has no `model`"),
            (r#"{"model": {"type": "Other"}}"#, "did not match"),
            (r#"{"config": 1}"#, "it has no `model`"),
        ] {
            let error = Json::parse(content.as_bytes()).map(drop).unwrap_err();
            assert!(error.contains(says), "{content}: {error}");
        }
        assert!(Json::parse(empty.replace("\"<s>\"", "\"\"").as_bytes()).is_err());
    }
}
