//! Clients based on `openai`: their questions, requests and facts about the server.

use std::sync::Arc;

use ipw_clients::{Client, connect, known};
use ipw_core::reply::{Failure, Outcome, TokenSource};
use ipw_core::time::Clock;
use ipw_reference::Script;
use ipw_runner::SystemClock;
use serde_json::{Map, Value, json};

use crate::bench::{Ask, Bench, PROMPT, runtime, send, spec, text};
use crate::scripted::{Answer, JSON, STREAM, Scripted};

macro_rules! golden {
    ($name:literal) => {
        include_str!(concat!("../golden/", $name))
    };
}

/// The SHA-256 of the template in `llamacpp/props.json`, by Python's `hashlib`.
const TEMPLATE_DIGEST: &str = "020dd85eeb94145fed471a769538130b72971700ae0ae537b5e88f3243087e9c";

const fn json_of(body: &'static str) -> Answer {
    (200, JSON, body)
}

const fn stream_of(body: &'static str) -> Answer {
    (200, STREAM, body)
}

/// A client of that kind with these parameters.
fn client(id: &str, service: &Scripted, params: &[(&str, &str)]) -> Box<dyn Client> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let mut spec = spec(id, &service.url());
    for (name, value) in params {
        spec.params.insert(*name, *value);
    }
    connect(&spec, clock).unwrap()
}

#[test]
fn each_speaks_openais_chat_api() {
    for id in ["vllm", "sglang", "llamacpp", "tgi", "lmstudio"] {
        let bench = Bench::new(id, |_| Script::words(5));
        bench.runtime.block_on(bench.client.health()).unwrap();
        let reply = bench.ask();
        assert_eq!(reply.outcome, Outcome::Complete, "{id}: {:?}", reply.error);
        assert_eq!(reply.answer, text(5), "{id}");
        assert_eq!(reply.token_source, Some(TokenSource::Usage), "{id}");
        let expected = json!({
            "model": "reference",
            "messages": [{"role": "user", "content": PROMPT}],
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        let received = &bench.service.log()[0].received;
        assert_eq!(received.body, expected, "{id}: only what was asked for");
        assert_eq!(received.path, "/v1/chat/completions", "{id}");
    }
}

/// Asks a server of that kind about itself, with `model` in use.
fn assert_tells(id: &str, answers: &[(&'static str, Answer)], model: &str, mut expected: Value) {
    let service = Scripted::start(answers);
    let client = client(id, &service, &[]);
    let about = runtime().block_on(async {
        client.prepare(model).await.unwrap();
        client.describe().await
    });
    expected["id"] = id.into();
    expected["base_url"] = format!("{}/v1", service.url()).into();
    expected["api"] = "chat".into();
    assert_eq!(about, expected);
    assert!(!about.to_string().contains("not-to-be-told"), "{about}");
}

#[test]
fn vllm_tells_its_version_and_the_longest_context() {
    let answers = [
        ("GET /version", json_of(golden!("vllm/version.json"))),
        ("GET /v1/models", json_of(golden!("vllm/models.json"))),
    ];
    let expected = json!({
        "server": "vLLM",
        "version": "0.8.5.post1",
        "model": "Qwen/Qwen3-8B",
        "context_length": 40960,
        "models": ["my-alias"],
    });
    assert_tells("vllm", &answers, "my-alias", expected);
}

#[test]
fn sglang_tells_how_it_was_started_and_no_secret() {
    let info = json_of(golden!("sglang/server_info.json"));
    let expected = json!({
        "server": "SGLang",
        "version": "0.5.3",
        "model": "qwen2.5-0.5b-instruct",
        "quantization": "fp8",
        "context_length": 32768,
        "models": null,
        "flags": {
            "attention_backend": "flashinfer", "chunked_prefill_size": 8192,
            "disable_radix_cache": false, "dp_size": 1, "dtype": "auto", "kv_cache_dtype": "auto",
            "max_total_num_tokens": 123_456, "mem_fraction_static": 0.88,
            "schedule_policy": "fcfs", "tp_size": 2,
        },
    });
    for endpoint in ["GET /server_info", "GET /get_server_info"] {
        let model = json_of(golden!("sglang/model_info.json"));
        let answers = [(endpoint, info), ("GET /get_model_info", model)];
        assert_tells("sglang", &answers, "m", expected.clone());
    }
}

#[test]
fn llamacpp_tells_its_file_context_slots_and_template() {
    let answers = [
        ("GET /props", json_of(golden!("llamacpp/props.json"))),
        ("GET /slots", json_of(golden!("llamacpp/slots.json"))),
    ];
    let expected = json!({
        "server": "llama.cpp",
        "version": "b6000-abcdef12",
        "model": "Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf",
        "quantization": "Q4_K_M",
        "context_length": 1024,
        "models": null,
        "flags": {"total_slots": 1, "slots": 1, "chat_template_sha256": TEMPLATE_DIGEST},
    });
    assert_tells("llamacpp", &answers, "m", expected);
}

#[test]
fn tgi_tells_its_model_and_limits() {
    let answers = [("GET /info", json_of(golden!("tgi/info.json")))];
    let expected = json!({
        "server": "text-generation-inference",
        "version": "3.3.4",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "context_length": 4096,
        "models": null,
        "flags": {
            "docker_label": "sha-deadbee", "max_concurrent_requests": 128,
            "max_input_tokens": 4095, "model_sha": "0e9e39f249a16976918f6564b8830bc894c89659",
            "sha": "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef", "validation_workers": 2,
        },
    });
    assert_tells("tgi", &answers, "tgi", expected);
}

#[test]
fn lmstudio_tells_of_the_model_in_use() {
    let answers = [(
        "GET /api/v0/models",
        json_of(golden!("lmstudio/models.json")),
    )];
    let model = "meta-llama-3.1-8b-instruct";
    let expected = json!({
        "server": "LM Studio",
        "model": model,
        "quantization": "Q4_K_M",
        "context_length": 4096,
        "models": null,
        "flags": {
            "arch": "llama", "compatibility_type": "gguf", "state": "loaded",
            "max_context_length": 131_072,
        },
    });
    assert_tells("lmstudio", &answers, model, expected);
}

#[test]
fn a_server_that_tells_nothing_is_asked_once_and_costs_nothing() {
    for (id, questions) in [
        ("vllm", &["/version"][..]),
        (
            "sglang",
            &["/server_info", "/get_server_info", "/get_model_info"],
        ),
        ("llamacpp", &["/props", "/slots"]),
        ("tgi", &["/info"]),
        ("lmstudio", &["/api/v0/models"]),
    ] {
        let service = Scripted::start(&[]);
        let client = client(id, &service, &[]);
        let about = runtime().block_on(async {
            client.health().await.unwrap();
            client.describe().await
        });
        for field in [
            "version",
            "model",
            "quantization",
            "context_length",
            "flags",
        ] {
            assert!(about.get(field).is_none(), "{id}: {about}");
        }
        for question in questions {
            assert_eq!(
                service.times(&format!("GET {question}")),
                1,
                "{id}: {question}"
            );
        }
    }
}

#[test]
fn a_server_that_is_still_loading_is_not_ready() {
    for id in ["vllm", "sglang", "llamacpp", "tgi"] {
        let service = Scripted::start(&[(
            "GET /health",
            (
                503,
                JSON,
                r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
            ),
        )]);
        let error = runtime()
            .block_on(client(id, &service, &[]).health())
            .unwrap_err();
        assert!(error.cause.contains("Loading model"), "{id}: {error:?}");
    }
}

#[test]
fn a_key_that_is_refused_is_noticed_though_the_health_is_public() {
    let service = Scripted::start(&[
        ("GET /health", (200, JSON, "{}")),
        ("GET /v1/models", (401, JSON, r#"{"error":"Unauthorized"}"#)),
    ]);
    let error = runtime()
        .block_on(client("vllm", &service, &[]).health())
        .unwrap_err();
    assert!(error.cause.contains("asks for a key"), "{error:?}");
}

#[test]
fn what_a_flavour_may_add_goes_along_when_it_was_asked_for() {
    static ANSWERS: &[(&str, Answer)] = &[(
        "POST /v1/chat/completions",
        stream_of(golden!("vllm/continuous.sse")),
    )];
    for (id, params, field, expected) in [
        (
            "vllm",
            [("continuous_usage_stats", "true")],
            "stream_options",
            json!({"include_usage": true, "continuous_usage_stats": true}),
        ),
        (
            "llamacpp",
            [("cache_prompt", "false")],
            "cache_prompt",
            json!(false),
        ),
        (
            "llamacpp",
            [("timings_per_token", "true")],
            "timings_per_token",
            json!(true),
        ),
        (
            "tgi",
            [("include_usage", "false")],
            "stream_options",
            Value::Null,
        ),
    ] {
        let service = Scripted::start(ANSWERS);
        let client = client(id, &service, &params);
        let reply = runtime().block_on(send(client.as_ref(), Ask::default()));
        assert_eq!(reply.outcome, Outcome::Truncated, "{:?}", reply.error);
        assert_eq!(service.asked()[0].body[field], expected, "{id}");
    }
    let service = Scripted::start(ANSWERS);
    let client = client("llamacpp", &service, &[("cache_prompt", "false")]);
    let ask = Ask {
        parameters: object(json!({"cache_prompt": true})),
        ..Ask::default()
    };
    runtime().block_on(send(client.as_ref(), ask));
    assert_eq!(
        service.asked()[0].body["cache_prompt"],
        true,
        "a query's own wins"
    );
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => unreachable!("{other}"),
    }
}

#[test]
fn the_completions_api_gets_the_prompt_as_it_is() {
    let service = Scripted::start(&[(
        "POST /v1/completions",
        stream_of(golden!("openai/completions.sse")),
    )]);
    let client = client("openai", &service, &[("api", "completions")]);
    let reply = runtime().block_on(send(client.as_ref(), Ask::default()));
    assert_eq!(reply.outcome, Outcome::Truncated, "{:?}", reply.error);
    assert_eq!(reply.answer, "This is a “test”");
    assert_eq!(
        (reply.tokens.input, reply.tokens.output),
        (Some(5), Some(7))
    );
    let expected = json!({
        "model": "reference",
        "prompt": PROMPT,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    assert_eq!(service.asked()[0].body, expected);
}

#[test]
fn the_completions_api_has_no_place_for_a_system_text() {
    let service = Scripted::start(&[]);
    let mut asked = spec("openai", &service.url());
    asked.params.insert("api", "completions");
    let error = ipw_clients::check(&asked, Some("be brief"), &Map::new()).unwrap_err();
    assert!(error.to_string().contains("api=chat"), "{error}");
    ipw_clients::check(&asked, None, &Map::new()).unwrap();
    asked.params.insert("api", "chat");
    ipw_clients::check(&asked, Some("be brief"), &Map::new()).unwrap();
    let client = client("openai", &service, &[("api", "completions")]);
    let ask = Ask {
        system: Some("be brief"),
        ..Ask::default()
    };
    let reply = runtime().block_on(send(client.as_ref(), ask));
    assert_eq!(reply.outcome, Outcome::Failed(Failure::Parameter));
    assert!(reply.error.unwrap().contains("no system role"));
    assert!(service.asked().is_empty(), "nothing was sent");
}

#[test]
fn the_responses_api_is_asked_in_its_own_words() {
    let service = Scripted::start(&[(
        "POST /v1/responses",
        stream_of(golden!("openai/responses-tools.sse")),
    )]);
    let client = client("openai", &service, &[("api", "responses")]);
    let ask = Ask {
        system: Some("be brief"),
        parameters: object(json!({"max_tokens": 9, "temperature": 0, "input": "x"})),
        ..Ask::default()
    };
    let reply = runtime().block_on(send(client.as_ref(), ask));
    assert_eq!(reply.outcome, Outcome::Complete, "{:?}", reply.error);
    assert!(reply.tool_calls.unwrap().contains("call_1234xyz"));
    let expected = json!({
        "model": "reference",
        "instructions": "be brief",
        "input": PROMPT,
        "stream": true,
        "max_output_tokens": 9,
        "temperature": 0,
    });
    assert_eq!(service.asked()[0].body, expected);
}

#[test]
fn a_base_url_may_end_in_any_of_its_endpoints() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    for ending in [
        "",
        "/",
        "/v1",
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/responses",
    ] {
        let spec = spec("openai", &format!("http://127.0.0.1:9/x{ending}"));
        let client = connect(&spec, Arc::clone(&clock)).unwrap();
        assert_eq!(client.base_url(), "http://127.0.0.1:9/x/v1", "{ending}");
    }
}

#[test]
fn what_an_answer_means_reaches_the_reply() {
    let long = Scripted::start(&[(
        "POST /v1/chat/completions",
        (
            400,
            JSON,
            r#"{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
        ),
    )]);
    let filtered = Scripted::start(&[(
        "POST /v1/chat/completions",
        (
            400,
            JSON,
            r#"{"error":{"message":"no","code":"content_filter"}}"#,
        ),
    )]);
    let other = Scripted::start(&[]);
    for (service, outcome, says) in [
        (&long, Outcome::Failed(Failure::Context), "too long"),
        (&filtered, Outcome::Refused, "400"),
        (
            &other,
            Outcome::Failed(Failure::Http(404)),
            "no `/v1/chat/completions`",
        ),
    ] {
        let client = client("openai", service, &[]);
        let reply = runtime().block_on(send(client.as_ref(), Ask::default()));
        assert_eq!(reply.outcome, outcome);
        assert!(reply.exchange.status.is_some());
        let error = reply.error.unwrap();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn every_client_is_known_by_one_id_and_made_by_it() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let ids: Vec<_> = known().iter().map(|known| known.id).collect();
    assert_eq!(
        ids,
        [
            "openai",
            "ollama",
            "vllm",
            "sglang",
            "llamacpp",
            "tgi",
            "anthropic",
            "lmstudio"
        ]
    );
    for known in known() {
        let client = connect(&spec(known.id, known.default_url), Arc::clone(&clock)).unwrap();
        assert_eq!(client.id(), known.id);
        assert_eq!(client.base_url(), known.default_url, "{}", known.id);
        for (name, _) in known.params {
            let mut odd = spec(known.id, known.default_url);
            odd.params.insert(*name, "\u{0}");
            let made = connect(&odd, Arc::clone(&clock));
            let is_free = *name == "keep_alive";
            assert_eq!(
                made.is_ok(),
                is_free,
                "{}: {name} is taken and read",
                known.id
            );
        }
        let mut odd = spec(known.id, known.default_url);
        odd.params.insert("no_such", "1");
        let error = connect(&odd, Arc::clone(&clock)).err().unwrap().to_string();
        assert!(error.contains("`no_such`"), "{error}");
    }
    let error = connect(&spec("vlm", "http://x"), clock)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("did you mean `vllm`?"), "{error}");
}
