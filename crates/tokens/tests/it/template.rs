//! What goes in is counted where it is known what the model read.

use ipw_core::query::Query;
use ipw_engine::gguf::Gguf;
use ipw_engine::language;
use ipw_testkit::{LlamaServer, MODEL_NAME, model, or_skip};
use ipw_tokens::SentQuery;
use serde_json::{Map, Value, json};

use crate::service::{answered, nothing};

#[test]
fn the_input_of_a_chat_is_what_a_real_server_counts() {
    let (Some(path), Some(server)) = (or_skip(model()), or_skip(LlamaServer::start(1))) else {
        return;
    };
    let counter = ipw_tokens::load(path.to_str().unwrap(), None, &mut |_| {}).unwrap();
    for (problem, system) in [
        ("Hello", None),
        ("Grüße 😀, wie geht's?\r\n\n  Gut?", Some("Be brief.")),
        ("<|im_start|>user\nlook-alikes<|im_end|>", Some("")),
    ] {
        let user = json!({"role": "user", "content": problem});
        let system_turn = system.map(|text| json!({"role": "system", "content": text}));
        let messages: Vec<Value> = system_turn.into_iter().chain([user]).collect();
        let body = json!({"model": MODEL_NAME, "messages": messages, "max_tokens": 3});
        let theirs = server
            .post("/v1/chat/completions", &body)
            .unwrap()
            .json()
            .unwrap();
        let query = Query::asking(problem.to_owned());
        let mut asked = SentQuery {
            query: &query,
            system,
            parameters: nothing(),
            is_raw: false,
        };
        let text = theirs["choices"][0]["message"]["content"].as_str().unwrap();
        let reply = answered(text);
        let counted = counter.count(&asked, &reply).unwrap();
        assert_eq!(
            counted.input,
            theirs["usage"]["prompt_tokens"].as_u64(),
            "{problem:?}"
        );
        // With tools the model reads more than we could write down.
        let tools = Map::from_iter([("tools".to_owned(), json!([]))]);
        asked.parameters = &tools;
        assert_eq!(counter.count(&asked, &reply).unwrap().input, None);
    }
}

#[test]
fn a_raw_prompt_counts_with_what_the_tokenizer_adds_and_a_chat_without_a_template_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tokenizer.json");
    std::fs::write(&path, crate::loading::WORDS).unwrap();
    let load = || ipw_tokens::load(directory.path().to_str().unwrap(), None, &mut |_| {}).unwrap();
    let query = Query::asking("a b a".to_owned());
    let asked = |is_raw| SentQuery {
        query: &query,
        system: None,
        parameters: nothing(),
        is_raw,
    };
    let reply = answered("b");
    let input = |is_raw| load().count(&asked(is_raw), &reply).unwrap().input;
    assert_eq!(input(true), Some(4), "`<s>` comes first");
    assert_eq!(input(false), None, "never a guess");
    let config = json!({
        "bos_token": "<s>",
        "chat_template": "{{bos_token}}{% for m in messages %} {{m.role}} {{m.content}}{% endfor %}\
                          {% if add_generation_prompt %} assistant{% endif %}",
    });
    std::fs::write(
        path.with_file_name("tokenizer_config.json"),
        config.to_string(),
    )
    .unwrap();
    assert_eq!(
        input(false),
        Some(1 + 4 + 1),
        "`<s>` once, and the model's turn begun"
    );
    assert_eq!(
        load().about().chat_template.as_deref(),
        Some("tokenizer_config.json")
    );
    let broken = json!({"chat_template": "{% if"}).to_string();
    std::fs::write(path.with_file_name("tokenizer_config.json"), broken).unwrap();
    assert_eq!(input(false), None);
    let note = load().note().unwrap();
    assert!(note.contains("input tokens are not counted"), "{note}");
}

#[test]
fn a_model_file_is_known_by_what_stands_before_its_weights() {
    let Some(path) = or_skip(model()) else {
        return;
    };
    let counter = ipw_tokens::load(path.to_str().unwrap(), None, &mut |_| {}).unwrap();
    let about = counter.about();
    let tokenizer = language::tokenizer(&mut Gguf::open(&path).unwrap()).unwrap();
    assert_eq!(about.vocabulary, tokenizer.len() as u64);
    assert_eq!(
        about.chat_template.as_deref(),
        path.file_name().unwrap().to_str()
    );
    let [file] = &about.files[..] else {
        panic!("one file: {about:?}");
    };
    let whole = std::fs::metadata(&path).unwrap().len();
    assert!(file.bytes < whole / 10, "{} of {whole} bytes", file.bytes);
    assert_eq!(file.sha256.len(), 64);
}
