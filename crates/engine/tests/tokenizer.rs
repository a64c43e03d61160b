//! The tokenizer against real llama.cpp: live for the model's own rules, recorded for the others.
//!
//! `data/record.py` has made the recordings.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;

use ipw_engine::gguf::Gguf;
use ipw_engine::tokenizer::{Tokenizer, Utf8Joiner, Vocabulary};
use ipw_testkit::{LlamaServer, model, or_skip};
use proptest::prelude::*;
use serde_json::{Value, json};

fn lines(data: &str) -> impl Iterator<Item = Value> {
    data.lines().map(|line| serde_json::from_str(line).unwrap())
}

fn corpus() -> Vec<String> {
    let text = |value: Value| value.as_str().unwrap().to_owned();
    lines(include_str!("data/corpus.jsonl")).map(text).collect()
}

fn tokens(value: &Value) -> Vec<u32> {
    let token = |token: &Value| u32::try_from(token.as_u64().unwrap()).unwrap();
    value.as_array().unwrap().iter().map(token).collect()
}

/// The vocabulary of the real model, and its chat template.
fn real() -> Option<(Vocabulary, String)> {
    let mut file = Gguf::open(&or_skip(model())?).unwrap();
    let key = |name: &str| format!("tokenizer.ggml.{name}");
    let id = |file: &Gguf<_>, name: &str| {
        let id = file.whole(&key(name)).unwrap();
        id.map(|id| u32::try_from(id).unwrap())
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "they are small whole numbers"
    )]
    let kinds = |numbers: Vec<f64>| numbers.into_iter().map(|kind| kind as i32).collect();
    let vocabulary = Vocabulary {
        model: file.text(&key("model")).unwrap().unwrap().to_owned(),
        pre: file.text(&key("pre")).unwrap().map(str::to_owned),
        bos: id(&file, "bos_token_id"),
        eos: id(&file, "eos_token_id"),
        eot: id(&file, "eot_token_id"),
        unknown: id(&file, "unknown_token_id"),
        add_bos: file.flag(&key("add_bos_token")).unwrap(),
        add_space_prefix: file.flag(&key("add_space_prefix")).unwrap(),
        tokens: file.take_texts(&key("tokens")).unwrap().unwrap(),
        scores: Vec::new(),
        kinds: kinds(file.take_numbers(&key("token_type")).unwrap().unwrap()),
        merges: file.take_texts(&key("merges")).unwrap().unwrap(),
    };
    let template = file.text("tokenizer.chat_template").unwrap().unwrap();
    Some((vocabulary, template.to_owned()))
}

/// The real model's tokenizer, made once.
fn tokenizer() -> Option<&'static Tokenizer> {
    static MADE: OnceLock<Option<Tokenizer>> = OnceLock::new();
    let make = || real().map(|(vocabulary, _)| Tokenizer::new(vocabulary).unwrap());
    MADE.get_or_init(make).as_ref()
}

#[test]
fn a_text_has_at_least_as_many_tokens_as_its_length_says() {
    let Some(tokenizer) = tokenizer() else { return };
    for text in corpus()
        .iter()
        .chain([&" ".repeat(5000), &"<|im_start|>".repeat(50)])
    {
        let (least, tokens) = (tokenizer.at_least(text), tokenizer.encode(text, false));
        assert!(least <= tokens.len(), "{least} {}: {text:?}", tokens.len());
    }
}

fn printed(tokenizer: &Tokenizer, tokens: &[u32]) -> String {
    let mut joiner = Utf8Joiner::new();
    let text: String = tokens
        .iter()
        .map(|token| joiner.push(tokenizer.bytes(*token)))
        .collect();
    text + &joiner.finish()
}

#[test]
fn it_agrees_with_a_llama_cpp_server_on_every_text_of_the_corpus() {
    let (Some(tokenizer), Some(server)) = (tokenizer(), or_skip(LlamaServer::start(1))) else {
        return;
    };
    let post = |path: &str, body: Value| server.post(path, &body).unwrap().json().unwrap();
    let mut differing = Vec::new();
    for text in corpus() {
        let ask = json!({"content": text, "add_special": false, "parse_special": true});
        let theirs = tokens(&post("/tokenize", ask)["tokens"]);
        let ours = tokenizer.encode(&text, false);
        if ours != theirs {
            differing.push(format!("{text:?}: {ours:?} instead of {theirs:?}"));
        }
        let special = theirs
            .iter()
            .any(|token| tokenizer.bytes(*token).is_empty());
        if !special {
            let back = post("/detokenize", json!({"tokens": theirs}));
            assert_eq!(back["content"], printed(tokenizer, &ours), "{text:?}");
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// Every byte and every pair of bytes is a token, so that any boundary between words shows.
fn pairs(pre: &str) -> Vocabulary {
    // Bytes that do not print are written with the characters from U+0100 on.
    let mut others = '\u{100}'..;
    let alphabet: Vec<char> = (0..=u8::MAX)
        .map(|byte| match byte {
            0x21..=0x7e | 0xa1..=0xac | 0xae.. => char::from(byte),
            _ => others.next().unwrap(),
        })
        .collect();
    let pairs = || {
        let second = |first: char| alphabet.iter().map(move |second| (first, *second));
        alphabet.iter().copied().flat_map(second)
    };
    let joined = pairs().map(|(first, second)| format!("{first}{second}"));
    Vocabulary {
        model: "gpt2".to_owned(),
        pre: Some(pre.to_owned()),
        tokens: alphabet.iter().map(char::to_string).chain(joined).collect(),
        merges: pairs()
            .map(|(first, second)| format!("{first} {second}"))
            .collect(),
        ..Vocabulary::default()
    }
}

#[test]
fn every_way_to_split_agrees_with_what_llama_cpp_gave_for_it() {
    // A line is left out where its tokens are those of `smollm`, which comes first.
    let mut recorded: BTreeMap<String, HashMap<String, Vec<u32>>> = BTreeMap::new();
    for line in lines(include_str!("data/pre.jsonl")) {
        let of = |key: &str| line[key].as_str().unwrap().to_owned();
        let texts = recorded.entry(of("pre")).or_default();
        texts.insert(of("text"), tokens(&line["tokens"]));
    }
    assert_eq!(recorded.len(), 9);
    let mut differing = Vec::new();
    for (pre, own) in &recorded {
        let tokenizer = Tokenizer::new(pairs(pre)).unwrap();
        for (text, common) in &recorded["smollm"] {
            let theirs = own.get(text).unwrap_or(common);
            let ours = tokenizer.encode(text, false);
            if ours != *theirs {
                differing.push(format!("{pre} {text:?}: {ours:?} instead of {theirs:?}"));
            }
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// The model's tokens as a vocabulary of the other kind: the earlier a token, the better its score.
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^24 tokens")]
fn scored(vocabulary: &Vocabulary, space_prefix: bool) -> Vocabulary {
    let own = Tokenizer::new(vocabulary.clone()).unwrap();
    let size = vocabulary.tokens.len();
    let mut all: Vec<(String, i32)> = vec![("<unk>".into(), 2), ("<s>".into(), 3)];
    all.push(("</s>".into(), 3));
    all.extend((0..=u8::MAX).map(|byte| (format!("<0x{byte:02X}>"), 6)));
    let mut known: HashSet<_> = all.iter().map(|one| one.0.clone()).collect();
    for ((text, kind), token) in vocabulary.tokens.iter().zip(&vocabulary.kinds).zip(0..) {
        let text = match std::str::from_utf8(own.bytes(token)) {
            _ if *kind == 3 => text.clone(),
            Ok(text) => text.replace(' ', "\u{2581}"),
            Err(_) => continue,
        };
        if known.insert(text.clone()) {
            // llama.cpp reads tokens as C strings; an empty one gets a name of its own.
            let read = text.split('\0').next().unwrap_or_default();
            all.push((read.to_owned(), *kind));
        }
    }
    all.truncate(size);
    all.extend((all.len()..size).map(|number| (format!("<unused_{number}>"), 5)));
    let (tokens, kinds) = all.into_iter().unzip();
    Vocabulary {
        model: "llama".to_owned(),
        tokens,
        kinds,
        scores: (0..size).map(|number| -(number as f32)).collect(),
        add_space_prefix: Some(space_prefix),
        ..Vocabulary::default()
    }
}

#[test]
fn it_agrees_with_what_llama_cpp_gave_for_a_vocabulary_with_scores() {
    let Some((vocabulary, _)) = real() else {
        return;
    };
    let with = [false, true].map(|prefix| Tokenizer::new(scored(&vocabulary, prefix)).unwrap());
    let mut differing = Vec::new();
    for line in lines(include_str!("data/spm.jsonl")) {
        let prefix = line["space_prefix"].as_bool().unwrap();
        let text = line["text"].as_str().unwrap();
        let ours = with[usize::from(prefix)].encode(text, false);
        let theirs = tokens(&line["tokens"]);
        if ours != theirs {
            differing.push(format!("{text:?}: {ours:?} instead of {theirs:?}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert_eq!(with[1].encode("a", true)[0], 1, "it begins with <s>");
    assert_eq!(
        printed(&with[1], &with[1].encode("a\u{378}é", false)),
        " a\u{378}é"
    );
}

#[test]
fn the_real_model_ends_with_its_own_tokens_and_begins_with_none() {
    let Some(tokenizer) = tokenizer() else {
        return;
    };
    let ends = (0..=u32::MAX).take(tokenizer.len() + 9);
    let ends: Vec<u32> = ends.filter(|token| tokenizer.is_end(*token)).collect();
    assert_eq!(ends, [0, 2, 4]);
    assert_eq!(tokenizer.encode("a", true), tokenizer.encode("a", false));
    assert_eq!(tokenizer.piece(2), Some("<|im_end|>"));
    assert_eq!((tokenizer.bos(), tokenizer.eos()), (Some(1), Some(2)));
    assert_eq!(
        (tokenizer.bytes(2), tokenizer.bytes(u32::MAX)),
        (&[][..], &[][..])
    );
}

#[test]
fn a_hundred_thousand_times_the_same_letter_is_no_trouble() {
    let Some(tokenizer) = tokenizer() else {
        return;
    };
    let text = "a".repeat(100_000);
    assert_eq!(printed(tokenizer, &tokenizer.encode(&text, false)), text);
}

proptest! {
    #[test]
    fn any_text_without_special_tokens_comes_back(text in any::<String>()) {
        if let Some(tokenizer) = tokenizer() {
            prop_assume!(!text.contains('<'));
            prop_assert_eq!(printed(tokenizer, &tokenizer.encode(&text, false)), text);
        }
    }

    #[test]
    fn any_mixture_of_the_awkward_comes_back(parts in prop::collection::vec(0_usize..12, 0..60)) {
        const PARTS: [&str; 12] = [
            " ", "\n", "\t", "a", "'s", "1", "é", "e\u{301}", "漢", "😀", "\u{a0}", "!",
        ];
        if let Some(tokenizer) = tokenizer() {
            let text: String = parts.iter().map(|part| PARTS[*part]).collect();
            prop_assert_eq!(printed(tokenizer, &tokenizer.encode(&text, false)), text);
        }
    }
}
