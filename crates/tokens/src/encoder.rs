//! From a text to a number of tokens.

/// A tokenizer, as far as counting needs one.
pub(crate) trait Encoder: Send + Sync {
    /// How many tokens the text has; `None` if it cannot be told.
    ///
    /// The text of a special token in it is that token, as the tokenizer's own makers have it.
    fn count(&self, text: &str, role: Role) -> Option<u64>;
}

/// What a text is, and so which tokens belong to it that are not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A part of a reply: none.
    Reply,
    /// A prompt as it is sent: those that the tokenizer adds.
    Prompt,
    /// What a chat template wrote: the template has added them already.
    Rendered,
}
