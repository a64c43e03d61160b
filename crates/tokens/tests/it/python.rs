//! What we make of hostile texts is what Python's own `tokenizers` make of them.

use std::path::{Path, PathBuf};

use ::tokenizers::Tokenizer;
use ipw_core::query::Query;
use ipw_testkit::{or_skip, tokenizers};
use ipw_tokens::SentQuery;
use serde_json::{Value, json};

use crate::service::{answered, nothing};

/// How models of today split a text before they merge: Llama 3's, with its look-ahead.
const LLAMA_3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

fn hostile() -> Vec<String> {
    let corpus = include_str!("../../../engine/tests/data/corpus.jsonl").lines();
    let mut texts: Vec<String> = corpus
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    texts.extend(
        [
            "👩‍👩‍👧‍👦 👍🏽 🏴‍☠️ 🇪🇺",
            "e\u{301} o\u{308}\u{304} a\u{30a} Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚",
            "ﬁ ① ２０２４ Å ﷺ ½",
            "漢字かな交じり文、한국어도 中文。",
            "שלום \u{202e}olleh\u{202c} مرحبا",
            "a\r\nb\r\n\r\n c\n\n\n d\t\t e",
            "<|im_start|>user\nhi<|im_end|> <s></s> <|endoftext|> [CLS] [SEP] [PAD] [MASK]",
            "<META> <META_START> <EOT> <|im_start <|im_start|",
            "\n\nHuman: hello\n\nAssistant:",
            "it's IT'S we'LL don\u{2019}t",
            "12345678901234567890 3.14159 1,000,000",
            "\u{0}\u{1}\u{7f}\u{85}\u{a0}\u{200b}\u{feff}\u{ffff}\u{10ffff}",
            "    let x = |a, b| { a[b] != c };\n\t\treturn!!!",
            "",
            " ",
        ]
        .map(str::to_owned),
    );
    texts.push(" ".repeat(5_000));
    texts.push(format!("a{}b", " ".repeat(20_000)));
    texts.push("\r\n".repeat(3_000));
    texts.push("a".repeat(20_000));
    texts.push("word ".repeat(5_000));
    texts
}

fn assert_agrees(path: &Path) {
    let Some(venv) = or_skip(tokenizers::python()) else {
        return;
    };
    let texts = hostile();
    let theirs = tokenizers::encode(&venv, path, &texts).unwrap();
    assert_eq!(theirs.len(), texts.len());
    let mut ours = Tokenizer::from_file(path).unwrap();
    ours.with_padding(None).with_truncation(None).unwrap();
    let counter = ipw_tokens::load(path.to_str().unwrap(), None, &mut |_| {}).unwrap();
    for (text, (tokens, with_special)) in texts.into_iter().zip(theirs) {
        let shown: String = text.chars().take(80).collect();
        assert_eq!(
            ours.encode(&*text, false).unwrap().get_ids(),
            tokens,
            "{shown:?}"
        );
        let reply = answered(&text);
        let query = Query::asking(text);
        let asked = SentQuery {
            query: &query,
            system: None,
            parameters: nothing(),
            is_raw: true,
        };
        let Some(counted) = counter.count(&asked, &reply) else {
            assert!(
                reply.answer.is_empty(),
                "only what did not come is not counted"
            );
            continue;
        };
        assert_eq!(counted.output, Some(tokens.len() as u64), "{shown:?}");
        assert_eq!(counted.input, Some(with_special), "{shown:?}");
    }
}

#[test]
fn byte_pairs_are_those_of_python() {
    if let Some(path) = or_skip(tokenizers::claude()) {
        assert_agrees(&path);
    }
}

#[test]
fn word_pieces_are_those_of_python() {
    if let Some(path) = or_skip(tokenizers::mini_lm()) {
        assert_agrees(&path);
    }
}

/// The tokenizer in `path` with another way to split texts.
fn split_as_llama_3_does(path: &Path, directory: &Path) -> PathBuf {
    let mut file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    file["normalizer"] = Value::Null;
    file["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": LLAMA_3}, "behavior": "Isolated", "invert": false},
        {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
    ]});
    let other = directory.join("tokenizer.json");
    std::fs::write(&other, file.to_string()).unwrap();
    other
}

#[test]
fn a_pattern_with_look_ahead_splits_without_c_as_it_does_with_it() {
    let Some(path) = or_skip(tokenizers::claude()) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    assert_agrees(&split_as_llama_3_does(&path, directory.path()));
}
