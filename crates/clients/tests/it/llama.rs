//! A real llama.cpp server with four APIs: streams must have the same counts as unstreamed replies.

use std::sync::Arc;

use ipw_clients::{Client, connect};
use ipw_core::reply::{Failure, Outcome, Reply, TokenSource};
use ipw_core::time::Clock;
use ipw_runner::SystemClock;
use ipw_testkit::{LlamaServer, MODEL_NAME, or_skip};
use serde_json::{Map, Value, json};

use crate::bench::{Ask, PROMPT, runtime, send, spec};

fn client(id: &str, server: &LlamaServer, params: &[(&str, &str)]) -> Box<dyn Client> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let mut spec = spec(id, &server.url());
    for (name, value) in params {
        spec.params.insert(*name, *value);
    }
    connect(&spec, clock).unwrap()
}

fn ask(client: &dyn Client, parameters: Map<String, Value>) -> Reply {
    let ask = Ask {
        parameters,
        ..Ask::default()
    };
    runtime().block_on(send(client, ask))
}

/// Deterministic answers.
fn greedy(limit: &str) -> Map<String, Value> {
    let settings = [
        (limit, json!(24)),
        ("temperature", json!(0)),
        ("cache_prompt", json!(false)),
    ];
    settings
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

/// The server's unstreamed answer.
fn whole(server: &LlamaServer, path: &str, prompt: Value, limit: &str) -> Value {
    let mut body = prompt;
    for (name, value) in greedy(limit) {
        body[name] = value;
    }
    body["model"] = MODEL_NAME.into();
    let reply = server.post(path, &body).unwrap();
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.json().unwrap()
}

fn assert_answered(reply: &Reply, api: &str) {
    assert!(reply.outcome.is_answered(), "{api}: {:?}", reply.error);
    assert_eq!(reply.token_source, Some(TokenSource::Usage), "{api}");
    assert_eq!(reply.token_note, None, "{api}");
    assert!(reply.timing.first_token.is_some(), "{api}");
}

#[test]
fn every_api_of_a_real_server_counts_as_its_whole_replies_do() {
    let Some(server) = or_skip(LlamaServer::start(2)) else {
        return;
    };
    let messages = json!({"messages": [{"role": "user", "content": PROMPT}]});
    let prompt = json!({"prompt": PROMPT});
    for (api, path, prompt, text) in [
        (
            "chat",
            "/v1/chat/completions",
            messages.clone(),
            "/choices/0/message/content",
        ),
        ("completions", "/v1/completions", prompt, "/choices/0/text"),
    ] {
        let whole = whole(&server, path, prompt, "max_tokens");
        let client = client("llamacpp", &server, &[("api", api)]);
        let reply = ask(client.as_ref(), greedy("max_tokens"));
        assert_answered(&reply, api);
        assert_eq!(
            Some(reply.answer.as_str()),
            whole.pointer(text).unwrap().as_str()
        );
        let usage = &whole["usage"];
        assert_eq!(reply.tokens.input, usage["prompt_tokens"].as_u64(), "{api}");
        assert_eq!(
            reply.tokens.output,
            usage["completion_tokens"].as_u64(),
            "{api}"
        );
        let timing = reply.service_timing;
        assert!(timing.prompt.is_some() && timing.decode.is_some(), "{api}");
    }
    let responses = whole(
        &server,
        "/v1/responses",
        json!({"input": PROMPT}),
        "max_output_tokens",
    );
    let reply = ask(
        client("llamacpp", &server, &[("api", "responses")]).as_ref(),
        greedy("max_tokens"),
    );
    assert_answered(&reply, "responses");
    let usage = &responses["usage"];
    assert_eq!(reply.tokens.output, usage["output_tokens"].as_u64());
    assert_eq!(reply.tokens.input, usage["input_tokens"].as_u64());
    let said = whole(&server, "/v1/messages", messages, "max_tokens");
    let reply = ask(
        client("anthropic", &server, &[]).as_ref(),
        greedy("max_tokens"),
    );
    assert_answered(&reply, "messages");
    assert_eq!(
        Some(reply.answer.as_str()),
        said["content"][0]["text"].as_str()
    );
    assert_eq!(reply.tokens.output, said["usage"]["output_tokens"].as_u64());
    assert_tells(&server);
    assert_refuses_what_is_too_long(&server);
}

fn assert_tells(server: &LlamaServer) {
    let client = client("llamacpp", server, &[]);
    let about = runtime().block_on(async {
        client.health().await.unwrap();
        assert!(client.prepare(MODEL_NAME).await.unwrap().is_empty());
        client.describe().await
    });
    assert_eq!(about["model"], "SmolLM2-135M-Instruct.Q4_1.gguf", "{about}");
    assert_eq!(about["quantization"], "Q4_1", "{about}");
    assert_eq!(about["context_length"], 4096, "{about}");
    assert_eq!(about["flags"]["total_slots"], 2, "{about}");
    assert!(about["version"].is_string(), "{about}");
}

fn assert_refuses_what_is_too_long(server: &LlamaServer) {
    let client = client("llamacpp", server, &[]);
    let ask = Ask {
        system: Some(Box::leak("word ".repeat(6000).into_boxed_str())),
        ..Ask::default()
    };
    let reply = runtime().block_on(send(client.as_ref(), ask));
    assert_eq!(
        reply.outcome,
        Outcome::Failed(Failure::Context),
        "{:?}",
        reply.error
    );
}
