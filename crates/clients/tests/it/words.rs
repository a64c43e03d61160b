//! The same errors as worded by six servers, and the resulting outcomes and texts.

use std::sync::Arc;

use ipw_clients::{Client, connect};
use ipw_core::reply::{Failure, Outcome, Reply};
use ipw_core::time::Clock;
use ipw_runner::SystemClock;
use serde_json::json;

use crate::bench::{Ask, runtime, send, spec};
use crate::scripted::{Answer, JSON, STREAM, Scripted};

const NDJSON: &str = "application/x-ndjson";

fn made(id: &str, service: &Scripted) -> Box<dyn Client> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    connect(&spec(id, &service.url()), clock).unwrap()
}

/// The reply to one query of a service that gives every chat this answer.
fn reply(id: &str, answer: Answer) -> Reply {
    let chats = ["/v1/chat/completions", "/v1/messages", "/api/chat"];
    let service = Scripted::start(&chats.map(|path| match path {
        "/v1/chat/completions" => ("POST /v1/chat/completions", answer),
        "/v1/messages" => ("POST /v1/messages", answer),
        _ => ("POST /api/chat", answer),
    }));
    let parameters = json!({"max_tokens": 9}).as_object().unwrap().clone();
    let ask = Ask {
        parameters,
        ..Ask::default()
    };
    runtime().block_on(send(made(id, &service).as_ref(), ask))
}

/// Client, status and body of the answer, and a part of the expected error.
type Line = (&'static str, u16, &'static str, &'static str);

fn assert_all(lines: &[Line], outcome: impl Fn(u16) -> Outcome) {
    for (id, status, body, says) in lines {
        let reply = reply(id, (*status, JSON, body));
        let error = reply.error.unwrap_or_default();
        assert_eq!(reply.outcome, outcome(*status), "{id}: {error}");
        assert!(error.starts_with(&status.to_string()), "{id}: {error}");
        assert!(error.contains(says), "{id}: {error}");
        assert_eq!(reply.answer, "", "{id}");
    }
}

fn as_status(status: u16) -> Outcome {
    Outcome::Failed(Failure::Http(status))
}

#[test]
fn a_model_that_is_unknown_is_named_with_the_flag_that_names_it() {
    let named = "has no model `reference`, which `model` names";
    let lines: &[Line] = &[
        (
            "openai",
            404,
            r#"{"error":{"message":"The model `reference` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
            named,
        ),
        (
            "vllm",
            404,
            r#"{"error":{"message":"The model `reference` does not exist.","type":"NotFoundError","param":"model","code":404}}"#,
            named,
        ),
        (
            "llamacpp",
            400,
            r#"{"error":{"code":400,"message":"model 'reference' not found","type":"invalid_request_error"}}"#,
            named,
        ),
        (
            "anthropic",
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: reference"}}"#,
            named,
        ),
        (
            "ollama",
            404,
            r#"{"error":"model 'reference' not found"}"#,
            named,
        ),
    ];
    assert_all(lines, as_status);
}

#[test]
fn a_key_that_is_missing_or_wrong_is_a_status_with_the_services_words() {
    let lines: &[Line] = &[
        (
            "openai",
            401,
            r#"{"error":{"message":"You didn't provide an API key.","type":"invalid_request_error","param":null,"code":null}}"#,
            "You didn't provide an API key",
        ),
        (
            "openai",
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-wrong.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
            "Incorrect API key provided",
        ),
        ("vllm", 401, r#"{"error":"Unauthorized"}"#, "Unauthorized"),
        (
            "llamacpp",
            401,
            r#"{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}"#,
            "Invalid API Key",
        ),
        ("tgi", 401, "", "401"),
        (
            "anthropic",
            401,
            r#"{"type":"error","error":{"type":"authentication_error","message":"x-api-key header is required"}}"#,
            "x-api-key header is required",
        ),
        (
            "anthropic",
            401,
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
            "invalid x-api-key",
        ),
        (
            "anthropic",
            403,
            r#"{"type":"error","error":{"type":"permission_error","message":"Your API key does not have permission to use the specified resource"}}"#,
            "does not have permission",
        ),
        ("ollama", 401, r#"{"error":"unauthorized"}"#, "unauthorized"),
    ];
    assert_all(lines, as_status);
}

#[test]
fn a_quota_or_a_rate_is_a_status_with_the_services_words() {
    let lines: &[Line] = &[
        (
            "openai",
            429,
            r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
            "exceeded your current quota",
        ),
        (
            "openai",
            429,
            r#"{"error":{"message":"Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 9000.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
            "Rate limit reached",
        ),
        (
            "anthropic",
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your account's rate limit. Please try again later."}}"#,
            "exceed your account's rate limit",
        ),
        (
            "anthropic",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
            "credit balance is too low",
        ),
        (
            "tgi",
            429,
            r#"{"error":"Model is overloaded","error_type":"overloaded"}"#,
            "Model is overloaded",
        ),
        (
            "ollama",
            503,
            r#"{"error":"server busy, please try again.  maximum pending requests exceeded"}"#,
            "server busy",
        ),
    ];
    assert_all(lines, as_status);
}

#[test]
fn a_prompt_that_does_not_fit_is_a_context_failure_for_every_service() {
    let lines: &[Line] = &[
        (
            "openai",
            400,
            r#"{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#,
            "exceeds the context window",
        ),
        (
            "vllm",
            400,
            // Recorded from vLLM 0.16.
            r#"{"error":{"message":"You passed 2033 input tokens and requested 16 output tokens. However, the model's context length is only 2048 tokens, resulting in a maximum input length of 2032 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=2033)","type":"BadRequestError","param":"input_tokens","code":400}}"#,
            "You passed 2033 input tokens",
        ),
        (
            "vllm",
            400,
            r#"{"error":{"message":"The decoder prompt (length 6000) is longer than the maximum model length of 2048. Make sure that `max_model_len` is no smaller than the number of text tokens.","type":"BadRequestError","param":null,"code":400}}"#,
            "longer than the maximum model length",
        ),
        (
            "llamacpp",
            400,
            r#"{"error":{"code":400,"message":"request (6031 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":6031,"n_ctx":4096}}"#,
            "exceeds the available context size",
        ),
        (
            "tgi",
            422,
            r#"{"error":"Input validation error: `inputs` must have less than 4095 tokens. Given: 6000","error_type":"validation"}"#,
            "must have less than 4095 tokens",
        ),
        (
            "anthropic",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 209086 tokens > 200000 maximum"}}"#,
            "209086 tokens",
        ),
        (
            "ollama",
            400,
            r#"{"error":"the input length exceeds the context length"}"#,
            "exceeds the context length",
        ),
    ];
    assert_all(lines, |_| Outcome::Failed(Failure::Context));
}

#[test]
fn a_filter_is_a_refusal_for_every_service() {
    let lines: &[Line] = &[
        (
            "openai",
            400,
            r#"{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400}}"#,
            "content management policy",
        ),
        (
            "openai",
            400,
            r#"{"error":{"code":"content_policy_violation","message":"Your request was rejected as a result of our safety system.","param":null,"type":"invalid_request_error"}}"#,
            "our safety system",
        ),
        (
            "anthropic",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}"#,
            "Output blocked",
        ),
    ];
    assert_all(lines, |_| Outcome::Refused);
}

/// A reply with this end, in the stream of each API.
fn ended(id: &str, reason: &str) -> Reply {
    let (kind, body) = match id {
        "ollama" => (
            NDJSON,
            format!(
                "{{\"message\":{{\"role\":\"assistant\",\"content\":\"well\"}},\"done\":false}}\n\
                 {{\"message\":{{\"role\":\"assistant\",\"content\":\"\"}},\"done\":true,\"done_reason\":\"{reason}\",\"prompt_eval_count\":3,\"eval_count\":1}}\n"
            ),
        ),
        "anthropic" => (
            STREAM,
            format!(
                "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"usage\":{{\"input_tokens\":3,\"output_tokens\":1}}}}}}\n\n\
                 event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"text\",\"text\":\"\"}}}}\n\n\
                 event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"well\"}}}}\n\n\
                 event: content_block_stop\ndata: {{\"type\":\"content_block_stop\",\"index\":0}}\n\n\
                 event: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{reason}\"}},\"usage\":{{\"output_tokens\":1}}}}\n\n\
                 event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
            ),
        ),
        _ => (
            STREAM,
            format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"well\"}},\"finish_reason\":null}}]}}\n\n\
                 data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}],\"usage\":{{\"prompt_tokens\":3,\"completion_tokens\":1}}}}\n\n\
                 data: [DONE]\n\n"
            ),
        ),
    };
    reply(id, (200, kind, Box::leak(body.into_boxed_str())))
}

#[test]
fn each_end_of_a_reply_is_an_outcome_for_every_service() {
    for (id, reason, outcome) in [
        ("openai", "stop", Outcome::Complete),
        ("openai", "length", Outcome::Truncated),
        ("openai", "content_filter", Outcome::Refused),
        ("openai", "tool_calls", Outcome::Complete),
        ("vllm", "length", Outcome::Truncated),
        ("llamacpp", "length", Outcome::Truncated),
        ("tgi", "stop", Outcome::Complete),
        ("tgi", "length", Outcome::Truncated),
        ("anthropic", "end_turn", Outcome::Complete),
        ("anthropic", "max_tokens", Outcome::Truncated),
        ("anthropic", "refusal", Outcome::Refused),
        ("ollama", "stop", Outcome::Complete),
        ("ollama", "length", Outcome::Truncated),
    ] {
        let reply = ended(id, reason);
        assert_eq!(reply.outcome, outcome, "{id}, {reason}: {:?}", reply.error);
        assert_eq!(reply.answer, "well", "{id}, {reason}");
        assert_eq!(reply.tokens.output, Some(1), "{id}, {reason}");
    }
}

#[test]
fn a_model_that_refuses_in_its_own_words_is_a_refusal() {
    let body = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null,\"refusal\":\"I'm sorry, \"}}]}\n\n\
         data: {\"choices\":[{\"index\":0,\"delta\":{\"refusal\":\"I cannot help with that.\"}}]}\n\n\
         data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
         data: [DONE]\n\n";
    let reply = reply("openai", (200, STREAM, body));
    assert_eq!(reply.outcome, Outcome::Refused, "{:?}", reply.error);
    let said = format!("{}{}", reply.answer, reply.error.unwrap_or_default());
    assert!(said.contains("I cannot help with that."), "{said}");
}

/// The client, the answer, and a part of the expected error.
#[test]
fn a_service_of_another_api_is_named_with_the_client_that_speaks_it() {
    for (id, status, kind, body, says) in [
        (
            "openai",
            404,
            JSON,
            r#"{"detail":"Not Found"}"#,
            "a FastAPI server",
        ),
        (
            "openai",
            404,
            "text/plain",
            "404 page not found",
            "a Go server",
        ),
        (
            "openai",
            400,
            JSON,
            r#"{"error":"missing request body"}"#,
            "`client=ollama`",
        ),
        (
            "openai",
            422,
            JSON,
            r#"{"error":"Input validation error: `temperature` must be strictly positive","error_type":"validation"}"#,
            "`client=tgi`",
        ),
        (
            "openai",
            404,
            JSON,
            r#"{"type":"error","error":{"type":"not_found_error","message":"Not found"}}"#,
            "`client=anthropic`",
        ),
        (
            "ollama",
            404,
            JSON,
            r#"{"error":{"message":"File Not Found","type":"not_found_error","code":404}}"#,
            "`client=openai`",
        ),
        (
            "anthropic",
            404,
            JSON,
            r#"{"error":{"message":"File Not Found","type":"not_found_error","code":404}}"#,
            "`client=openai`",
        ),
    ] {
        let reply = reply(id, (status, kind, body));
        assert_eq!(reply.outcome, as_status(status), "{id}");
        let error = reply.error.unwrap();
        assert!(error.contains(says), "{id}: {error}");
    }
}
