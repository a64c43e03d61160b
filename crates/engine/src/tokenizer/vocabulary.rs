//! The vocabulary of a file, and its validation.

use std::collections::HashMap;

/// The vocabulary of a file, by the keys of `tokenizer.ggml`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Vocabulary {
    /// `model`: `gpt2` or `llama`.
    pub model: String,
    /// `pre`: how `gpt2` splits a text before merging; `None` means llama.cpp's `default`.
    pub pre: Option<String>,
    /// `tokens`.
    pub tokens: Vec<String>,
    /// `scores`: one per token for `llama`, else none.
    pub scores: Vec<f32>,
    /// `token_type`: one per token, or none if all are normal.
    pub kinds: Vec<i32>,
    /// `merges` of `gpt2`: two tokens separated by a space, the most frequent first.
    pub merges: Vec<String>,
    /// `bos_token_id`: begins a text.
    pub bos: Option<u32>,
    /// `eos_token_id`: ends a text.
    pub eos: Option<u32>,
    /// `eot_token_id`: ends a turn.
    pub eot: Option<u32>,
    /// `unknown_token_id`: used where `llama` has neither a token nor a byte.
    pub unknown: Option<u32>,
    /// `add_bos_token`; `None` means the default of this kind of vocabulary.
    pub add_bos: Option<bool>,
    /// `add_space_prefix` of `llama`; `None` means true.
    pub add_space_prefix: Option<bool>,
}

/// Why a vocabulary cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenizerError {
    /// The list of tokens is empty.
    #[error(
        "the vocabulary is empty\nhelp: the file was converted without its tokenizer; use another"
    )]
    Empty,
    /// The kind of vocabulary is not supported.
    #[error("unknown tokenizer model `{found}`\nhelp: supported are {known}")]
    Model {
        /// The value in the file.
        found: String,
        /// The supported values.
        known: String,
    },
    /// The pre-tokenizer is not supported.
    #[error("unknown pre-tokenizer `{found}`\nhelp: supported are {known}")]
    Pre {
        /// The value in the file.
        found: String,
        /// The supported values.
        known: String,
    },
    /// A list is not as long as the list of tokens.
    #[error("there are {found} `{list}` for {tokens} tokens")]
    Lengths {
        /// The key of the list.
        list: &'static str,
        /// Its length.
        found: usize,
        /// Number of tokens.
        tokens: usize,
    },
    /// Two tokens have the same text.
    #[error("the token `{text}` occurs twice")]
    Duplicate {
        /// Its text.
        text: String,
    },
    /// A key names a token that does not exist.
    #[error("`{key}` is {token}, but there are only {tokens} tokens")]
    OutOfRange {
        /// The key.
        key: &'static str,
        /// The token.
        token: u32,
        /// Number of tokens.
        tokens: usize,
    },
    /// A merge is not two texts separated by a space.
    #[error("the merge `{0}` is not two texts separated by a space")]
    Merge(String),
    /// A score is not a number.
    #[error("the score of token {0} is not a number")]
    Score(usize),
}

/// The purpose of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    Unknown,
    Control,
    UserDefined,
    /// Also llama.cpp's "undefined": neither is printed.
    Unused,
    Byte,
}

const MODELS: [&str; 2] = ["gpt2", "llama"];

impl Vocabulary {
    /// Adds the values that files leave out because llama.cpp has defaults for them.
    pub(super) fn complete(&mut self) {
        for (number, text) in self.tokens.iter_mut().enumerate() {
            if text.is_empty() {
                *text = format!("[EMPTY_{number}]");
            }
        }
        if self.model == "llama" {
            let tokens = self.tokens.len();
            let given = |id: u32| ((id as usize) < tokens).then_some(id);
            self.unknown = self.unknown.or(given(0));
            self.bos = self.bos.or(given(1));
            self.eos = self.eos.or(given(2));
        }
    }

    pub(super) fn check(&self) -> Result<(), TokenizerError> {
        let tokens = self.tokens.len();
        if tokens == 0 {
            return Err(TokenizerError::Empty);
        }
        if !MODELS.contains(&self.model.as_str()) {
            return Err(TokenizerError::Model {
                found: self.model.clone(),
                known: MODELS.map(|model| format!("`{model}`")).join(", "),
            });
        }
        // `llama` depends on scores; `gpt2` ignores them.
        let unscored = self.scores.is_empty() && self.model != "llama";
        for (list, found, absent) in [
            ("scores", self.scores.len(), unscored),
            ("token_type", self.kinds.len(), self.kinds.is_empty()),
        ] {
            if found != tokens && !absent {
                return Err(TokenizerError::Lengths {
                    list,
                    found,
                    tokens,
                });
            }
        }
        if let Some(number) = self.scores.iter().position(|score| score.is_nan()) {
            return Err(TokenizerError::Score(number));
        }
        for (key, token) in [
            ("bos_token_id", self.bos),
            ("eos_token_id", self.eos),
            ("eot_token_id", self.eot),
            ("unknown_token_id", self.unknown),
        ] {
            if let Some(token) = token.filter(|token| *token as usize >= tokens) {
                return Err(TokenizerError::OutOfRange { key, token, tokens });
            }
        }
        Ok(())
    }

    pub(super) fn token_kinds(&self) -> Vec<Kind> {
        let kind = |(number, text): (usize, &String)| {
            if super::special::ends_generation(text) {
                // As in llama.cpp: some files forget to mark these.
                return Kind::Control;
            }
            match self.kinds.get(number) {
                None | Some(1) => Kind::Normal,
                Some(2) => Kind::Unknown,
                Some(3) => Kind::Control,
                Some(4) => Kind::UserDefined,
                Some(6) => Kind::Byte,
                Some(_) => Kind::Unused,
            }
        };
        self.tokens.iter().enumerate().map(kind).collect()
    }

    /// Maps each text to its token; consumes the texts.
    pub(super) fn lookup(&mut self) -> Result<HashMap<String, u32>, TokenizerError> {
        let tokens = std::mem::take(&mut self.tokens);
        let mut lookup = HashMap::with_capacity(tokens.len());
        for (text, number) in tokens.into_iter().zip(0..) {
            if let Some(earlier) = lookup.insert(text, number) {
                let twice = |(_, token): &(String, u32)| *token == number;
                let text = lookup.into_iter().find(twice).map(|(text, _)| text);
                let text = text.unwrap_or_else(|| format!("{earlier}"));
                return Err(TokenizerError::Duplicate { text });
            }
        }
        Ok(lookup)
    }
}

#[cfg(test)]
mod tests {
    use super::{TokenizerError, Vocabulary};
    use crate::tokenizer::Tokenizer;

    type Change = fn(&mut Vocabulary);

    #[test]
    fn what_a_file_may_have_wrong_is_said() {
        let good = Vocabulary {
            model: "gpt2".to_owned(),
            pre: Some("smollm".to_owned()),
            tokens: ["a", "b", "ab"].map(str::to_owned).into(),
            merges: vec!["a b".to_owned()],
            ..Vocabulary::default()
        };
        let changes: [(Change, &str); 10] = [
            (|v| v.tokens.clear(), "the vocabulary is empty"),
            (
                |v| v.model = "bert".into(),
                "unknown tokenizer model `bert`\nhelp: supported are `gpt2`, `llama`",
            ),
            (
                |v| v.pre = Some("new".into()),
                "unknown pre-tokenizer `new`\nhelp: supported are `default`",
            ),
            (
                |v| v.kinds = vec![1],
                "there are 1 `token_type` for 3 tokens",
            ),
            (
                |v| v.scores = vec![0.0; 4],
                "there are 4 `scores` for 3 tokens",
            ),
            (
                |v| v.model = "llama".into(),
                "there are 0 `scores` for 3 tokens",
            ),
            (
                |v| v.scores = vec![0.0, f32::NAN, 1.0],
                "the score of token 1 is not a number",
            ),
            (|v| v.tokens[1] = "a".into(), "the token `a` occurs twice"),
            (
                |v| v.eos = Some(3),
                "`eos_token_id` is 3, but there are only 3 tokens",
            ),
            (
                |v| v.merges[0] = "ab".into(),
                "the merge `ab` is not two texts separated by a space",
            ),
        ];
        assert_eq!(
            Tokenizer::new(good.clone()).unwrap().encode("ab", true),
            [2]
        );
        for (change, message) in changes {
            let mut bad = good.clone();
            change(&mut bad);
            let error = Tokenizer::new(bad).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        assert_eq!(
            Tokenizer::new(Vocabulary::default()).unwrap_err(),
            TokenizerError::Empty
        );
    }
}
