//! The real model, beside llama.cpp.

use std::sync::Arc;

use ipw_engine::template::Message;
use ipw_engine::{Engine, Options, Part, Prompt, Settings};
use ipw_testkit::{LlamaServer, ManualClock, model, or_skip};
use serde_json::json;

/// The first ten of eighty short prompts on which llama.cpp agrees with itself: with and without
/// its fused attention, and with keys and values in 32 bits. On the others rounding decides which
/// token comes next, and llama.cpp's own settings give different texts (docs/benchmarks.md).
const PROMPTS: [&str; 10] = [
    "What is 2 + 3?",
    "Who wrote Romeo and Juliet?",
    "def add(a, b): what does this function return?",
    "List two animals that can fly 🐦.",
    "How do plants make food?",
    "Write a haiku about rain.",
    "What is the boiling point of water?",
    "Repeat after me: one two three four five.",
    "Count from 1 to 10.",
    "List the months of the year.",
];
const TOKENS: usize = 24;

#[test]
fn greedy_replies_are_those_of_llama_cpp() {
    let (Some(file), Some(server)) = (or_skip(model()), or_skip(LlamaServer::start(1))) else {
        return;
    };
    let engine = Engine::load(&file, Options::default(), Arc::new(ManualClock::default())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut same = 0;
    for prompt in PROMPTS {
        let body = json!({
            "messages": [{ "role": "user", "content": prompt }],
            "temperature": 0, "max_tokens": TOKENS, "cache_prompt": false,
        });
        let theirs = server
            .post("/v1/chat/completions", &body)
            .unwrap()
            .json()
            .unwrap();
        let settings = Settings {
            max_tokens: TOKENS,
            ..Settings::default()
        };
        let messages = vec![Message::new("user", prompt)];
        let mut generation = engine.generate(Prompt { messages, settings });
        let (mut ours, mut ended) = (String::new(), None);
        runtime.block_on(async {
            while let Some(part) = generation.next().await {
                match part {
                    Part::Text(text, _) => ours.push_str(&text),
                    Part::Ended(end) => ended = Some(end),
                }
            }
        });
        let ended = ended.unwrap();
        // The prompt is the same to the token, whatever comes of it.
        assert_eq!(
            Some(ended.prompt_tokens.unwrap()),
            theirs["usage"]["prompt_tokens"].as_u64()
        );
        let text = theirs["choices"][0]["message"]["content"].as_str().unwrap();
        if ours == text && Some(ended.reply_tokens) == theirs["usage"]["completion_tokens"].as_u64()
        {
            same += 1;
        } else {
            println!("differs for {prompt:?}\n  llama.cpp: {text:?}\n  ours:      {ours:?}");
        }
    }
    assert!(same >= 9, "only {same} of {} are the same", PROMPTS.len());
}
