//! What each endpoint gives.

use serde_json::{Value, json};

use crate::harness::{Answer, MODEL, Running, chat};

fn text_of(events: &[Value]) -> String {
    let deltas = events
        .iter()
        .map(|event| &event["choices"][0]["delta"]["content"]);
    deltas.filter_map(Value::as_str).collect()
}

#[test]
fn health_says_ok() {
    let server = Running::start();
    let answer = server.get("/health");
    assert_eq!(
        (answer.status, answer.json()),
        (200, json!({ "status": "ok" }))
    );
    assert!(!answer.head.contains("access-control"), "{}", answer.head);
    let head = server.connect().ask("HEAD", "/health", "", "");
    assert_eq!((head.status, &*head.body), (200, ""));
}

#[test]
fn the_list_has_the_one_model_and_what_it_is() {
    let server = Running::start();
    for path in ["/v1/models", "/models", "/v1/models/", "/v1/models?limit=3"] {
        let list = server.get(path).json();
        assert_eq!(list["object"], "list");
        assert_eq!(list["data"].as_array().unwrap().len(), 1);
        let model = &list["data"][0];
        assert_eq!(
            (&model["id"], &model["object"]),
            (&json!(MODEL), &json!("model"))
        );
        assert_eq!(model["created"], 1_700_000_000);
        assert_eq!(model["ipw"]["architecture"], "llama");
        assert_eq!(model["ipw"]["context"], 256);
        let one = server.get(&format!("/v1/models/{}", "t%69ny"));
        assert_eq!((one.status, &one.json()), (200, model));
    }
}

#[test]
fn a_whole_reply_has_text_usage_and_a_reason() {
    let server = Running::start();
    let answer = server.chat(&json!({ "max_tokens": 12, "ignore_eos": true }));
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.head.contains("content-type: application/json\r\n"));
    let reply = answer.json();
    assert_eq!(reply["object"], "chat.completion");
    assert_eq!(
        (&reply["model"], &reply["created"]),
        (&json!(MODEL), &json!(1_700_000_000))
    );
    assert!(reply["id"].as_str().unwrap().starts_with("chatcmpl-"));
    let choice = &reply["choices"][0];
    assert_eq!(
        (&choice["index"], &choice["finish_reason"]),
        (&json!(0), &json!("length"))
    );
    assert_eq!(choice["message"]["role"], "assistant");
    assert!(!choice["message"]["content"].as_str().unwrap().is_empty());
    let usage = &reply["usage"];
    assert_eq!(usage["completion_tokens"], 12);
    let prompt = usage["prompt_tokens"].as_u64().unwrap();
    assert!(prompt > 5, "{usage}");
    assert_eq!(usage["total_tokens"], prompt + 12);
    let other = server.chat(&json!({ "max_tokens": 1 })).json();
    assert_ne!(reply["id"], other["id"]);
}

#[test]
fn a_stream_has_a_role_text_a_reason_the_usage_and_an_end() {
    let server = Running::start();
    let asked = json!({
        "max_tokens": 20, "ignore_eos": true,
        "stream": true, "stream_options": { "include_usage": true },
    });
    let answer = server.chat(&asked);
    assert_eq!(answer.status, 200);
    assert!(
        answer.head.contains("content-type: text/event-stream\r\n"),
        "{}",
        answer.head
    );
    let events = answer.events();
    let [first, middle @ .., reason, usage, done] = &*events else {
        panic!("{events:?}")
    };
    let delta = |event: &Value| event["choices"][0]["delta"].clone();
    assert_eq!(delta(first), json!({ "role": "assistant", "content": "" }));
    assert!(
        middle
            .iter()
            .all(|event| delta(event).as_object().unwrap().len() == 1)
    );
    assert!(
        middle
            .iter()
            .all(|event| event["choices"][0]["finish_reason"].is_null())
    );
    assert_eq!(delta(reason), json!({}));
    assert_eq!(reason["choices"][0]["finish_reason"], "length");
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(usage["usage"]["completion_tokens"], 20);
    assert_eq!(done, "[DONE]");
    let chunks = &events[..events.len() - 1];
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk["object"] == "chat.completion.chunk")
    );
    assert!(chunks.iter().all(|chunk| chunk["id"] == first["id"]));
    // All but the last say that there is no usage yet.
    assert!(
        chunks[..chunks.len() - 1]
            .iter()
            .all(|chunk| chunk["usage"].is_null())
    );
    assert!(first.as_object().unwrap().contains_key("usage"));
}

#[test]
fn a_stream_says_what_a_whole_reply_says() {
    let server = Running::start();
    for more in [
        json!({}),
        json!({ "max_tokens": 60, "ignore_eos": true }),
        json!({ "stop": ["e"] }),
    ] {
        let whole = server.chat(&more).json();
        let mut streamed = more.clone();
        streamed["stream"] = json!(true);
        let events = server.chat(&streamed).events();
        assert_eq!(
            text_of(&events),
            whole["choices"][0]["message"]["content"].as_str().unwrap()
        );
        let reasons = events
            .iter()
            .filter_map(|event| event["choices"][0]["finish_reason"].as_str());
        assert_eq!(
            json!(reasons.collect::<Vec<_>>()),
            json!([whole["choices"][0]["finish_reason"]])
        );
        // Not asked for, not given.
        assert!(events.iter().all(|event| event.get("usage").is_none()));
    }
}

#[test]
fn content_may_come_in_parts_and_roles_by_their_new_names() {
    let server = Running::start();
    let ask = |messages: Value| -> Answer {
        server.chat(&json!({ "messages": messages, "max_tokens": 8, "ignore_eos": true }))
    };
    let plain = ask(json!([
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": "one\ntwo" },
        { "role": "assistant", "content": "three" },
        { "role": "user", "content": "four" },
    ]));
    let parts = ask(json!([
        { "role": "developer", "content": [{ "type": "text", "text": "Be brief." }] },
        { "role": "user", "name": "me", "content": [
            { "type": "text", "text": "one" }, { "type": "text", "text": "two" } ] },
        { "role": "assistant", "content": "three", "refusal": null },
        { "role": "user", "content": "four" },
    ]));
    assert_eq!(
        (plain.status, parts.status),
        (200, 200),
        "{}{}",
        plain.body,
        parts.body
    );
    let (plain, parts) = (plain.json(), parts.json());
    assert_eq!(plain["choices"], parts["choices"]);
    assert_eq!(plain["usage"], parts["usage"]);
}

#[test]
fn what_sdks_send_beside_the_question_is_no_hindrance() {
    let server = Running::start();
    let answer = server.chat(&json!({
        "user": "me", "metadata": { "a": "b" }, "store": false, "service_tier": "auto",
        "n": 1, "top_p": null, "stream": false, "stream_options": null, "seed": 7,
        "max_completion_tokens": 3, "tools": [], "ignore_eos": true,
    }));
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.json()["usage"]["completion_tokens"], 3);
    // One model needs no name, JSON needs no content type, and `/v1` may be left out.
    let mut body = chat(&json!({ "max_tokens": 1 }));
    body.as_object_mut().unwrap().remove("model");
    for kind in ["", "Content-Type: text/plain\r\n"] {
        let mut connection = server.connect();
        let answer = connection.ask("POST", "/chat/completions", kind, &body.to_string());
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
}
