//! Where tokenizers come from, and what is said when they do not.

use std::path::Path;

use ipw_hub::{Hub, Patience, Token};
use ipw_testkit::mimic_hub::{Files, Manners, MimicHub};
use ipw_tokens::{Access, Kind, TokenCounter, TokensError, load};

/// Words, with one token before every prompt.
pub(crate) const WORDS: &str = r#"{
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
const CONFIG: &str = r#"{"chat_template": "{{messages[0].content}}"}"#;

const REPOSITORY: &str = "owner/name";

fn files(of: &[(&str, &str)]) -> Files {
    let of = of.iter();
    of.map(|(path, content)| {
        (
            ("main".to_owned(), (*path).to_owned()),
            content.as_bytes().to_vec(),
        )
    })
    .collect()
}

fn hub(of: &[(&str, &str)], manners: Manners) -> MimicHub {
    MimicHub::start([(REPOSITORY.to_owned(), files(of))], manners)
}

fn access(hub: &MimicHub, cache: &Path) -> Access {
    Access {
        hub: Hub {
            endpoint: hub.url(),
            token: None,
            patience: Patience::default(),
            is_offline: false,
        },
        cache: cache.to_owned(),
    }
}

fn fetched(access: &Access) -> Result<TokenCounter, TokensError> {
    load("hf:owner/name", Some(access.clone()), &mut |_| {})
}

/// What is said, and whether it is the caller's mistake.
fn refused(loaded: Result<TokenCounter, TokensError>) -> (String, bool) {
    let error = loaded.map(drop).unwrap_err();
    (error.to_string(), error.is_usage())
}

#[test]
fn a_tokenizer_of_the_hub_is_fetched_once_with_what_lies_beside_it() {
    let cache = tempfile::tempdir().unwrap();
    let hub = hub(
        &[
            ("tokenizer.json", WORDS),
            ("tokenizer_config.json", CONFIG),
            ("model.safetensors", "never asked for"),
        ],
        Manners::default(),
    );
    let mut access = access(&hub, cache.path());
    let first = fetched(&access).unwrap();
    let about = first.about();
    assert_eq!((about.kind, about.vocabulary), (Kind::Json, 4));
    assert_eq!(
        about.chat_template.as_deref(),
        Some("tokenizer_config.json")
    );
    let names: Vec<_> = about.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["tokenizer.json", "tokenizer_config.json"]);
    assert_eq!(about.files[0].bytes, WORDS.len() as u64);
    assert_eq!(hub.asked_of_store().len(), 2);
    let asked = hub.asked().len();
    access.hub.is_offline = true;
    assert_eq!(fetched(&access).unwrap().about(), about);
    assert_eq!(hub.asked().len(), asked, "what is here needs no question");
}

#[test]
fn what_cannot_be_fetched_says_why_and_what_to_do() {
    let gated = Manners {
        token: Some("hf_right".to_owned()),
        ..Manners::default()
    };
    let plain = &[("tokenizer.json", WORDS)][..];
    for (files, manners, named, is_offline, says, is_usage) in [
        (
            plain,
            gated.clone(),
            "hf:owner/name",
            false,
            "set `HF_TOKEN`",
            false,
        ),
        (
            plain,
            Manners::default(),
            "hf:owner/other",
            false,
            "no such repository (404)",
            false,
        ),
        (
            plain,
            Manners::default(),
            "hf:owner/name@v9",
            false,
            "it has no revision `v9`",
            false,
        ),
        (
            plain,
            Manners::default(),
            "hf:owner/name",
            true,
            "`HF_HUB_OFFLINE` is set",
            false,
        ),
        (
            &[("tokenizer.model", "sentence pieces")],
            Manners::default(),
            "hf:owner/name",
            false,
            "`owner/name` has no `tokenizer.json` at `main`",
            true,
        ),
        (
            &[("tokenizer.json", "{}")],
            Manners::default(),
            "hf:owner/name",
            false,
            "is not a tokenizer",
            true,
        ),
    ] {
        let cache = tempfile::tempdir().unwrap();
        let hub = hub(files, manners);
        let mut access = access(&hub, cache.path());
        access.hub.is_offline = is_offline;
        let (text, usage) = refused(load(named, Some(access), &mut |_| {}));
        assert!(text.contains(says), "{text}");
        assert!(text.contains("\nhelp: "), "{text}");
        assert_eq!(usage, is_usage, "{text}");
    }
    let cache = tempfile::tempdir().unwrap();
    let hub = hub(plain, gated);
    let mut access = access(&hub, cache.path());
    access.hub.token = Token::new("hf_wrong");
    let (text, _) = refused(fetched(&access));
    assert!(
        text.contains("your `HF_TOKEN` is wrong or may not read it yet"),
        "{text}"
    );
    assert!(!text.contains("hf_wrong"), "{text}");
    access.hub.token = Token::new("hf_right");
    assert!(fetched(&access).is_ok());
}

#[test]
fn a_path_that_holds_no_tokenizer_is_named_with_what_would_do() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str, content: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let nowhere = directory.path().join("nowhere").display().to_string();
    let empty = directory.path().display().to_string();
    let damaged = [b"GGUF\x03\0\0\0".as_slice(), &[0xff; 16]].concat();
    for (named, says) in [
        (nowhere, "it does not exist"),
        (empty, "the directory has no `tokenizer.json`"),
        (at("a.json", b"{\"a\": 1}"), "is not a tokenizer"),
        (at("b.json", b"\xff\xfe"), "is not a tokenizer"),
        (at("c.json", b""), "is not a tokenizer"),
        (at("d.gguf", b"PK\x03\x04"), "it is not a GGUF file"),
        (at("e.gguf", &damaged), "is not a tokenizer"),
        (at("f.GGUF", b""), "it is empty"),
        ("hf:owner".to_owned(), "names no repository"),
    ] {
        let (text, usage) = refused(load(&named, None, &mut |_| {}));
        assert!(text.contains(says) && text.contains(&named), "{text}");
        assert!(text.contains("\nhelp: ") && usage, "{text}");
    }
}

#[test]
fn a_file_of_another_name_stands_for_itself() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("words.json");
    std::fs::write(&path, WORDS).unwrap();
    std::fs::write(directory.path().join("tokenizer_config.json"), CONFIG).unwrap();
    let counter = load(path.to_str().unwrap(), None, &mut |_| {}).unwrap();
    assert_eq!(counter.about().files.len(), 1);
    assert_eq!(counter.about().chat_template, None);
    assert_eq!(counter.note(), None);
    let sha256 = &counter.about().files[0].sha256;
    assert!(ipw_hub::is_sha256(sha256), "{sha256}");
}
