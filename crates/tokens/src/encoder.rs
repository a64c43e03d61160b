//! Counts the tokens of a text.

/// A tokenizer, as far as counting needs one.
pub(crate) trait Encoder: Send + Sync {
    /// Number of tokens; `None` if it cannot be determined.
    ///
    /// The text of a special token counts as that token, as in the tokenizer's own library.
    fn count(&self, text: &str, role: Role) -> Option<u64>;
}

/// The role of a text, which decides about additional tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A part of a reply: no additional tokens.
    Reply,
    /// A plain prompt: the tokenizer adds its own.
    Prompt,
    /// The output of a chat template, which has already added them.
    Rendered,
}
