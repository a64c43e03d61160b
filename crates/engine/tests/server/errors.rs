//! Every error, in OpenAI's shape.

use std::time::Duration;

use ipw_engine::server::Limits;
use ipw_testkit::tiny_model::{GgufValue, TinyModel};
use serde_json::{Value, json};

use crate::harness::{Answer, Running, chat};

const CHAT: &str = "/v1/chat/completions";

/// Checks the shape, and gives message, param and code.
fn error(answer: &Answer, status: u16) -> (String, Value, Value) {
    assert_eq!(answer.status, status, "{}", answer.body);
    let body = answer.json();
    assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
    let error = body["error"].as_object().unwrap();
    let names: Vec<_> = error.keys().collect();
    assert_eq!(names, ["message", "type", "param", "code"]);
    let kind = if status >= 500 {
        "server_error"
    } else {
        "invalid_request_error"
    };
    assert_eq!(error["type"], kind);
    let message = error["message"].as_str().unwrap().to_owned();
    (message, error["param"].clone(), error["code"].clone())
}

#[test]
fn a_body_that_is_not_a_request_is_explained() {
    let server = Running::start();
    for (body, says, param) in [
        ("", "line 1 column 0", json!(null)),
        ("{\"model\":\n oops}", "line 2 column 2", json!(null)),
        ("[1]", "a list, not an object", json!(null)),
        ("\"hello\"", "a text, not an object", json!(null)),
        ("{}", "`messages` is missing", json!("messages")),
        (
            r#"{"messages":[]}"#,
            "`messages` is empty",
            json!("messages"),
        ),
        (
            r#"{"messages":"hi"}"#,
            "`messages` is a text",
            json!("messages"),
        ),
        (
            r#"{"messages":[1]}"#,
            "`messages[0]` is a number",
            json!("messages[0]"),
        ),
        (
            r#"{"messages":[{"content":"x"}]}"#,
            "`messages[0].role` is missing",
            json!("messages[0].role"),
        ),
        (
            r#"{"messages":[{"role":"tool","content":"x"}]}"#,
            "is `tool`",
            json!("messages[0].role"),
        ),
        (
            r#"{"messages":[{"role":"user"}]}"#,
            "`messages[0].content` is missing",
            json!("messages[0].content"),
        ),
        (
            r#"{"messages":[{"role":"user","content":7}]}"#,
            "is a number",
            json!("messages[0].content"),
        ),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]}"#,
            "type `image_url`",
            json!("messages[0].content[0]"),
        ),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"text"}]}]}"#,
            "must be a text",
            json!("messages[0].content[0].text"),
        ),
        (
            r#"{"messages":[{"role":"user","content":["x"]}]}"#,
            "type",
            json!("messages[0].content[0].type"),
        ),
    ] {
        let answer = server.connect().ask("POST", CHAT, "", body);
        let (message, found, _) = error(&answer, 400);
        assert!(message.contains(says), "{body}: {message}");
        assert_eq!(found, param, "{body}");
    }
    // Nesting has an end, too.
    let deep = "[".repeat(100_000);
    error(&server.connect().ask("POST", CHAT, "", &deep), 400);
}

#[test]
fn a_parameter_that_cannot_be_is_named() {
    let server = Running::start();
    for (more, param) in [
        (json!({ "seed": 1, "temperature": "hot" }), "temperature"),
        (json!({ "max_tokens": 0 }), "max_tokens"),
        (json!({ "n": 2 }), "n"),
        (json!({ "temprature": 1 }), "temprature"),
        (json!({ "tools": [{ "type": "function" }] }), "tools"),
        (json!({ "stream": "yes" }), "stream"),
        (json!({ "stream_options": 1 }), "stream_options"),
        (
            json!({ "stream_options": { "include_usage": 1 } }),
            "stream_options.include_usage",
        ),
        (json!({ "model": 5 }), "model"),
    ] {
        let (message, found, _) = error(&server.chat(&more), 400);
        assert_eq!(found, param, "{more}");
        assert!(message.contains(&format!("`{param}`")), "{message}");
    }
}

#[test]
fn another_model_is_not_found() {
    let server = Running::start();
    let (message, param, code) = error(&server.chat(&json!({ "model": "gpt-4o" })), 404);
    assert!(
        message.contains("`gpt-4o`") && message.contains("`tiny`"),
        "{message}"
    );
    assert_eq!((param, code), (json!("model"), json!("model_not_found")));
    let (_, _, code) = error(&server.get("/v1/models/gpt-4o"), 404);
    assert_eq!(code, "model_not_found");
}

#[test]
fn a_prompt_beyond_the_context_is_refused_streamed_or_not() {
    let server = Running::start();
    let long = json!([{ "role": "user", "content": "x ".repeat(500) }]);
    for stream in [false, true] {
        let answer = server.chat(&json!({ "messages": long, "stream": stream }));
        let (message, param, code) = error(&answer, 400);
        assert!(message.contains("context is 256"), "{message}");
        assert_eq!(
            (param, code),
            (json!("messages"), json!("context_length_exceeded"))
        );
    }
}

#[test]
fn a_conversation_that_the_template_refuses_is_a_bad_request() {
    let mut file = TinyModel::default().builder();
    let source = "{{ raise_exception('users only') }}";
    file.set("tokenizer.chat_template", GgufValue::text(source));
    let server = Running::of(&file.bytes(), |server| server);
    for stream in [false, true] {
        let (message, param, _) = error(&server.chat(&json!({ "stream": stream })), 400);
        assert!(message.contains("users only"), "{message}");
        assert_eq!(param, "messages");
    }
}

#[test]
fn a_wrong_path_or_method_is_said() {
    let server = Running::start();
    for path in [
        "/",
        "/v1",
        "/v1/completions",
        "/v1models",
        "/v1/v1/models",
        "/v1/chat/completions/x",
    ] {
        let (message, ..) = error(&server.get(path), 404);
        assert!(message.contains("/v1/chat/completions"), "{message}");
    }
    for (method, path, allow) in [
        ("GET", CHAT, "post"),
        ("OPTIONS", CHAT, "post"),
        ("DELETE", "/v1/models/tiny", "get, head"),
        ("POST", "/v1/models", "get, head"),
        ("PUT", "/health", "get, head"),
    ] {
        let answer = server.connect().ask(method, path, "", "");
        error(&answer, 405);
        assert!(
            answer.head.contains(&format!("\r\nallow: {allow}\r\n")),
            "{}",
            answer.head
        );
    }
}

#[test]
fn a_body_beyond_the_limit_is_refused_and_one_at_it_is_not() {
    let body = chat(&json!({ "max_tokens": 1 })).to_string();
    let limits = Limits {
        body_bytes: body.len(),
        ..Limits::default()
    };
    let server = Running::with(&TinyModel::default(), |server| server.with_limits(limits));
    assert_eq!(server.connect().ask("POST", CHAT, "", &body).status, 200);
    for more in [1, 5 * body.len()] {
        let longer = body.clone() + &" ".repeat(more);
        let (message, ..) = error(&server.connect().ask("POST", CHAT, "", &longer), 413);
        assert!(
            message.contains(&limits.body_bytes.to_string()),
            "{message}"
        );
    }
    assert_eq!(Limits::default().body_bytes, 16 << 20);
}

#[test]
fn a_body_that_never_comes_is_given_up() {
    let limits = Limits {
        idle: Duration::from_millis(50),
        ..Limits::default()
    };
    let server = Running::with(&TinyModel::default(), |server| server.with_limits(limits));
    let mut connection = server.connect();
    let head = format!("POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{{");
    connection.write(head.as_bytes());
    error(&connection.answer("POST"), 408);
}

#[test]
fn what_is_not_http_ends_the_connection_only() {
    let server = Running::start();
    for garbage in [
        "\0\u{1}\u{2}\r\n\r\n".to_owned(),
        format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20)),
    ] {
        let mut connection = server.connect();
        connection.try_write(garbage.as_bytes());
        let rest = connection.rest();
        assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 4"), "{rest}");
    }
    assert_eq!(server.get("/health").status, 200);
}
