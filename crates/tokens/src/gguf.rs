//! The tokenizer and the chat template inside a GGUF file, read by the engine's code.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use ipw_core::text::with_causes;
use ipw_engine::gguf::Gguf;
use ipw_engine::language;
use ipw_engine::tokenizer::Tokenizer;

use crate::about;
use crate::encoder::{Encoder, Role};
use crate::template::Template;

/// The contents of a GGUF file that matter here.
pub(crate) struct GgufParts {
    pub(crate) encoder: ModelTokenizer,
    pub(crate) template: Option<Template>,
    /// Why an existing template is not used.
    pub(crate) note: Option<String>,
    pub(crate) file: about::File,
}

/// The tokenizer of a model file.
pub(crate) struct ModelTokenizer(Tokenizer);

impl ModelTokenizer {
    /// Number of tokens.
    pub(crate) fn vocabulary(&self) -> u64 {
        self.0.len() as u64
    }
}

impl Encoder for ModelTokenizer {
    fn count(&self, text: &str, role: Role) -> Option<u64> {
        let tokens = match role {
            Role::Reply => self.0.encode(text, false),
            Role::Prompt => self.0.encode(text, true),
            Role::Rendered => self.0.encode_rendered(text),
        };
        Some(tokens.len() as u64)
    }
}

/// Reads everything before the tensors. The error says what is wrong with it.
pub(crate) fn read(path: &Path, name: &str) -> Result<GgufParts, String> {
    let open = || File::open(path).map_err(|error| error.to_string());
    let source = BufReader::with_capacity(1 << 20, open()?);
    let (mut file, bytes) = Gguf::read_metadata(source).map_err(|error| with_causes(&error))?;
    let tokenizer = language::tokenizer(&mut file).map_err(|error| with_causes(&error))?;
    let (template, note) = match language::template(&file, &tokenizer) {
        Ok(template) => (template, None),
        Err(error) => (None, Some(with_causes(&error))),
    };
    // Hash only this part, not the weights, which may be as large as the disk.
    let mut metadata = Vec::new();
    let beginning = open()?.take(bytes).read_to_end(&mut metadata);
    beginning.map_err(|error| error.to_string())?;
    Ok(GgufParts {
        encoder: ModelTokenizer(tokenizer),
        template: template.map(Template::of_file),
        note,
        file: about::File::of(name, &metadata),
    })
}
