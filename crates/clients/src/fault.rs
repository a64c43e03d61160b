//! Classifies a service's error answers and guesses which kind of server sent them.
//!
//! Services report the same error in different words and with different statuses. The errors are a
//! prompt beyond the context, a refusal, an unknown model, and an unsupported API.

use std::fmt;

use ipw_core::reply::{Failure, Outcome};
use ipw_core::setting::Setting;
use serde_json::Value;

use crate::service::{error_text, said};

/// Phrases, in lower case, of a prompt that exceeds the context.
const CONTEXT: [&str; 11] = [
    "context length",
    "context_length",
    "context window",
    "maximum context",
    "context size",
    "exceed_context_size",
    "prompt is too long",
    "longer than the model's context",
    // vLLM's engine, for prompts that pass its front end.
    "maximum model length",
    // text-generation-inference.
    "`inputs` tokens + `max_new_tokens` must be",
    "`inputs` must have less than",
];
/// Phrases of a content filter.
const FILTER: [&str; 5] = [
    "content_filter",
    "content management policy",
    "content_policy_violation",
    // Anthropic.
    "content filtering policy",
    "responsibleaipolicyviolation",
];
/// Phrases of an unknown model.
const NO_MODEL: [&str; 7] = [
    "not found",
    "does not exist",
    "not exist",
    "no such model",
    "unknown model",
    "model_not_found",
    // Anthropic, whose message is only the model's name.
    "not_found_error",
];

/// The request that was answered with an error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FailedRequest<'a> {
    pub(crate) client: &'static str,
    pub(crate) endpoint: &'a str,
    pub(crate) model: &'a str,
}

/// Classifies an HTTP error: the outcome and the error text.
pub(crate) fn of_status(
    status: &impl fmt::Display,
    code: u16,
    body: &[u8],
    asked: FailedRequest<'_>,
) -> (Outcome, String) {
    let text = format!("{status}{}", said(body));
    let words = String::from_utf8_lossy(body).to_lowercase();
    // An exceeded token quota (429) is no context error. A server error (5xx) is no refusal.
    let outcome = match code {
        429 => Outcome::Failed(Failure::Http(code)),
        400..500 => meant(&words, Failure::Http(code), true),
        _ => meant(&words, Failure::Http(code), false),
    };
    if outcome != Outcome::Failed(Failure::Http(code)) {
        return (outcome, text);
    }
    let hint = match code {
        400 | 404 | 422 if lacks_model(&words) => Some(format!(
            "the service has no model `{}`, which `{}` names",
            asked.model,
            Setting::Model
        )),
        400 | 404 | 405 | 415 | 422 => another_api(body, asked),
        _ => None,
    };
    match hint {
        Some(hint) => (outcome, format!("{text} ({hint})")),
        None => (outcome, text),
    }
}

/// Classifies an error event within the stream.
pub(crate) fn of_event(error: &Value) -> (Outcome, String) {
    let text = error_text(error).unwrap_or_else(|| "no message".to_owned());
    let words = error.to_string().to_lowercase();
    let text = format!("the service sent an error: {text}");
    (meant(&words, Failure::Service, true), text)
}

/// Classifies `words`, else returns `otherwise`. Only a client error can be a refusal.
fn meant(words: &str, otherwise: Failure, may_refuse: bool) -> Outcome {
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    if may_refuse && has(&FILTER) {
        Outcome::Refused
    } else if has(&CONTEXT) {
        Outcome::Failed(Failure::Context)
    } else {
        Outcome::Failed(otherwise)
    }
}

fn lacks_model(words: &str) -> bool {
    words.contains("model") && NO_MODEL.iter().any(|phrase| words.contains(phrase))
}

/// A hint at the server's kind, where the body does not look like one of this client's services.
fn another_api(body: &[u8], asked: FailedRequest<'_>) -> Option<String> {
    let no_such = |who: &str| {
        format!(
            "the server looks like {who}, which has no `{}`",
            asked.endpoint
        )
    };
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        let is_go = body.trim_ascii() == b"404 page not found";
        return is_go.then(|| no_such("a Go server, such as Ollama"));
    };
    let hand = |who: &str, client: &str| {
        let client = Setting::Client.to(client);
        format!("the answer looks like {who}; use `{client}` for its own API")
    };
    let is = |clients: &[&str]| clients.contains(&asked.client);
    if let Some("Not Found" | "Method Not Allowed") = body.get("detail").and_then(Value::as_str) {
        return Some(no_such("a FastAPI server, such as vLLM or SGLang"));
    }
    if body.get("error_type").is_some() {
        return (!is(&["tgi"])).then(|| hand("text-generation-inference", "tgi"));
    }
    match body.get("error")? {
        Value::String(text) if text.starts_with("Unexpected endpoint") => {
            Some(no_such("LM Studio"))
        }
        Value::String(_) => (!is(&["ollama", "lmstudio"])).then(|| hand("Ollama", "ollama")),
        Value::Object(_) if body.get("type").and_then(Value::as_str) == Some("error") => {
            (!is(&["anthropic"])).then(|| hand("Anthropic's API", "anthropic"))
        }
        Value::Object(error) if error.contains_key("message") => {
            is(&["ollama", "anthropic"]).then(|| hand("an OpenAI-compatible service", "openai"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: u16, body: &str, client: &'static str) -> (Outcome, String) {
        let asked = FailedRequest {
            client,
            endpoint: "/v1/responses",
            model: "tiny",
        };
        of_status(&code, code, body.as_bytes(), asked)
    }

    /// Error answers from the services' documentation or source, each with its origin.
    #[test]
    fn a_prompt_that_is_too_long_is_a_context_failure_for_every_service() {
        for (code, body) in [
            // https://platform.openai.com/docs/guides/error-codes
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            ),
            // llama.cpp, tools/server/README.md and server.cpp (`ERROR_TYPE_EXCEED_CONTEXT_SIZE`).
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9001,"n_ctx":8192}}"#,
            ),
            // https://docs.claude.com/en/docs/build-with-claude/context-windows
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 209086 tokens > 200000 maximum"}}"#,
            ),
            // text-generation-inference, router/src/validation.rs
            (
                422,
                r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`","error_type":"validation"}"#,
            ),
            // SGLang, python/sglang/srt/managers/tokenizer_manager.py
            (
                400,
                r#"{"object":"error","message":"The input (9001 tokens) is longer than the model's context length (8192 tokens).","type":"BadRequestError","param":null,"code":400}"#,
            ),
        ] {
            let (outcome, text) = answer(code, body, "openai");
            assert_eq!(outcome, Outcome::Failed(Failure::Context), "{body}");
            assert!(text.starts_with(&code.to_string()), "{text}");
        }
    }

    #[test]
    fn a_filter_is_a_refusal_and_a_quota_stays_a_status() {
        // https://learn.microsoft.com/azure/ai-services/openai/concepts/content-filter
        let filtered = r#"{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400}}"#;
        let (outcome, text) = answer(400, filtered, "openai");
        assert_eq!(outcome, Outcome::Refused);
        assert!(text.contains("content management policy"), "{text}");
        // https://platform.openai.com/docs/guides/error-codes
        let quota = r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details. Limit: tokens in the context window per minute.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#;
        let (outcome, text) = answer(429, quota, "openai");
        assert_eq!(outcome, Outcome::Failed(Failure::Http(429)));
        assert!(text.contains("exceeded your current quota"), "{text}");
        let broken = answer(500, "content_filter crashed", "openai").0;
        assert_eq!(broken, Outcome::Failed(Failure::Http(500)));
    }

    #[test]
    fn a_model_that_the_service_lacks_is_told_as_such() {
        for (client, body) in [
            (
                "openai",
                r#"{"error":{"message":"The model `tiny` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
            ),
            ("ollama", r#"{"error":"model 'tiny' not found"}"#),
            (
                "anthropic",
                r#"{"type":"error","error":{"type":"not_found_error","message":"model: tiny not found"}}"#,
            ),
            (
                "vllm",
                r#"{"object":"error","message":"The model `tiny` does not exist.","type":"NotFoundError","param":null,"code":404}"#,
            ),
        ] {
            let (outcome, text) = answer(404, body, client);
            assert_eq!(outcome, Outcome::Failed(Failure::Http(404)));
            assert!(text.contains("has no model `tiny`"), "{text}");
        }
    }

    #[test]
    fn another_api_that_answers_is_named() {
        for (client, code, body, says) in [
            ("openai", 404, r#"{"detail":"Not Found"}"#, "FastAPI"),
            (
                "vllm",
                405,
                r#"{"detail":"Method Not Allowed"}"#,
                "no `/v1/responses`",
            ),
            ("openai", 404, "404 page not found", "Ollama"),
            (
                "openai",
                400,
                r#"{"error":"missing request body"}"#,
                "`client=ollama`",
            ),
            (
                "openai",
                422,
                r#"{"error":"Input validation error","error_type":"validation"}"#,
                "`client=tgi`",
            ),
            (
                "openai",
                404,
                r#"{"type":"error","error":{"type":"not_found_error","message":"Not found"}}"#,
                "`client=anthropic`",
            ),
            (
                "ollama",
                404,
                r#"{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}"#,
                "`client=openai`",
            ),
            (
                "lmstudio",
                404,
                r#"{"error":"Unexpected endpoint or method. (POST /v1/responses)"}"#,
                "LM Studio",
            ),
        ] {
            let (outcome, text) = answer(code, body, client);
            assert_eq!(outcome, Outcome::Failed(Failure::Http(code)), "{body}");
            assert!(text.contains(says), "{client}: {text}");
        }
    }

    #[test]
    fn an_error_in_the_clients_own_hand_gets_no_hint() {
        for (client, body) in [
            ("ollama", r#"{"error":"invalid options"}"#),
            ("tgi", r#"{"error":"bad","error_type":"validation"}"#),
            ("openai", r#"{"error":{"message":"bad temperature"}}"#),
            ("openai", "plain words"),
            ("openai", "{}"),
        ] {
            let text = answer(400, body, client).1;
            assert!(!text.contains('('), "{client}: {text}");
        }
    }

    #[test]
    fn an_error_in_the_stream_means_the_same() {
        for (error, outcome) in [
            (r#"{"message":"boom"}"#, Outcome::Failed(Failure::Service)),
            (
                r#"{"code":"context_length_exceeded","message":"too long"}"#,
                Outcome::Failed(Failure::Context),
            ),
            (
                r#"{"code":"content_filter","message":"no"}"#,
                Outcome::Refused,
            ),
            ("1", Outcome::Failed(Failure::Service)),
        ] {
            let error = serde_json::from_str(error).unwrap();
            assert_eq!(of_event(&error).0, outcome, "{error}");
        }
    }
}
