//! The language parts of a model file: its tokenizer and its chat template.

use std::io::{Read, Seek};

use crate::error::LoadError;
use crate::gguf::{Gguf, GgufError};
use crate::template::{CHATML, ChatTemplate};
use crate::tokenizer::{Tokenizer, Vocabulary};

/// The tokenizer; moves the vocabulary out of the file.
pub fn tokenizer<R: Read + Seek>(file: &mut Gguf<R>) -> Result<Tokenizer, LoadError> {
    let key = |name: &str| format!("tokenizer.ggml.{name}");
    let id = |file: &Gguf<R>, name: &str| -> Result<Option<u32>, LoadError> {
        let found = file.whole(&key(name))?;
        // A number that does not fit is reported as out of range.
        Ok(found.map(|id| u32::try_from(id).unwrap_or(u32::MAX)))
    };
    let missing = |name: &str| GgufError::Missing(key(name));
    let merges = match file.take_texts(&key("merges"))? {
        Some(merges) => merges,
        // Without merges every text would be tokenized byte by byte, and replies silently worse.
        None if file.text(&key("model"))? == Some("gpt2") => return Err(missing("merges").into()),
        None => Vec::new(),
    };
    #[expect(clippy::cast_possible_truncation, reason = "as the file has them")]
    let vocabulary = Vocabulary {
        model: file
            .text(&key("model"))?
            .ok_or_else(|| missing("model"))?
            .to_owned(),
        pre: file.text(&key("pre"))?.map(str::to_owned),
        bos: id(file, "bos_token_id")?,
        eos: id(file, "eos_token_id")?,
        eot: id(file, "eot_token_id")?,
        unknown: id(file, "unknown_token_id")?,
        add_bos: file.flag(&key("add_bos_token"))?,
        add_space_prefix: file.flag(&key("add_space_prefix"))?,
        tokens: file
            .take_texts(&key("tokens"))?
            .ok_or_else(|| missing("tokens"))?,
        scores: file
            .take_numbers(&key("scores"))?
            .map_or_else(Vec::new, |scores| {
                scores.into_iter().map(|score| score as f32).collect()
            }),
        kinds: file
            .take_numbers(&key("token_type"))?
            .map_or_else(Vec::new, |kinds| {
                kinds.into_iter().map(|kind| kind as i32).collect()
            }),
        merges,
    };
    Ok(Tokenizer::new(vocabulary)?)
}

/// The chat template; `None` if the file has none.
pub fn template<R: Read + Seek>(
    file: &Gguf<R>,
    tokenizer: &Tokenizer,
) -> Result<Option<ChatTemplate>, LoadError> {
    let source = file.text("tokenizer.chat_template")?;
    source.map(|source| parsed(source, tokenizer)).transpose()
}

/// The default template for a file without one.
pub(crate) fn usual_template(tokenizer: &Tokenizer) -> Result<ChatTemplate, LoadError> {
    parsed(CHATML, tokenizer)
}

fn parsed(source: &str, tokenizer: &Tokenizer) -> Result<ChatTemplate, LoadError> {
    let piece = |token: Option<u32>| token.and_then(|token| tokenizer.piece(token)).unwrap_or("");
    let (bos, eos) = (piece(tokenizer.bos()), piece(tokenizer.eos()));
    Ok(ChatTemplate::new(source, bos, eos)?)
}
