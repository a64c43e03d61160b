//! The form of replies in both dialects.

use ipw_reference::{LineEnding, RoleChunk, Script, SendKind, words};
use serde_json::{Value, json};

use crate::client::{Client, ReplyEnd, always, question};

#[test]
fn a_stream_is_role_tokens_finish_usage_and_done() {
    use SendKind::{Content, Done, Finish, Head, Role, Usage};
    let service = always(Script::words(3));
    let reply = Client::connect(&service).ask(&question());
    assert_eq!((reply.status, &reply.ended), (200, &ReplyEnd::Properly));
    assert!(reply.head.contains("Content-Type: text/event-stream\r\n"));
    assert_eq!(reply.data().last(), Some(&"[DONE]"));
    let objects = reply.objects();
    let choices: Vec<&Value> = objects.iter().map(|object| &object["choices"]).collect();
    let choice = |delta: Value, finish_reason: Value| json!([{"index": 0, "delta": delta, "finish_reason": finish_reason}]);
    assert_eq!(
        *choices[0],
        choice(json!({"role": "assistant"}), Value::Null)
    );
    assert_eq!(
        *choices[1],
        choice(json!({"content": "word0"}), Value::Null)
    );
    assert_eq!(
        *choices[3],
        choice(json!({"content": " word2"}), Value::Null)
    );
    assert_eq!(*choices[4], choice(json!({}), json!("stop")));
    assert_eq!(*choices[5], json!([]));
    for object in &objects {
        assert_eq!(object["id"], "chatcmpl-0");
        assert_eq!(object["object"], "chat.completion.chunk");
        assert_eq!(object["model"], "m");
        assert_eq!(object["created"], 1_700_000_000);
    }
    let kinds: Vec<_> = service.log()[0]
        .sends
        .iter()
        .map(|send| send.kind)
        .collect();
    assert_eq!(
        kinds,
        [Head, Role, Content, Content, Content, Finish, Usage, Done]
    );
}

#[test]
fn usage_comes_only_if_asked_for_and_scripted() {
    for (asked, scripted) in [(true, true), (true, false), (false, true), (false, false)] {
        let service = always(Script {
            usage: scripted,
            ..Script::default()
        });
        let mut body = question();
        body["stream_options"]["include_usage"] = asked.into();
        let reply = Client::connect(&service).ask(&body);
        let has_usage = reply
            .objects()
            .iter()
            .any(|object| object.get("usage").is_some());
        assert_eq!(has_usage, asked && scripted, "{asked} {scripted}");
    }
}

#[test]
fn usage_counts_prompt_words_reasoning_and_extra_tokens() {
    let service = always(Script {
        reasoning: words(2),
        extra_output_tokens: 1,
        cached_tokens: 3,
        ..Script::words(5)
    });
    let reply = Client::connect(&service).ask(&question());
    let usage = reply.objects().pop().unwrap()["usage"].take();
    let expected = json!({
        "prompt_tokens": 4,
        "completion_tokens": 8,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 2},
    });
    assert_eq!(usage, expected);
}

#[test]
fn timings_are_in_the_last_json_chunk() {
    for usage in [true, false] {
        let service = always(Script {
            timings: true,
            usage,
            ..Script::words(2)
        });
        let objects = Client::connect(&service).ask(&question()).objects();
        let (last, before) = objects.split_last().unwrap();
        assert_eq!(last["timings"]["predicted_n"], 2);
        assert_eq!(last["timings"]["prompt_n"], 4);
        assert!(before.iter().all(|object| object.get("timings").is_none()));
    }
}

#[test]
fn servers_differ_in_their_first_chunk() {
    let cases = [
        (RoleChunk::None, json!({"content": "word0"})),
        (RoleChunk::RoleOnly, json!({"role": "assistant"})),
        (
            RoleChunk::ContentNull,
            json!({"role": "assistant", "content": null}),
        ),
        (
            RoleChunk::EmptyContent,
            json!({"role": "assistant", "content": ""}),
        ),
    ];
    for (role_chunk, expected) in cases {
        let service = always(Script {
            role_chunk,
            ..Script::default()
        });
        let reply = Client::connect(&service).ask(&question());
        assert_eq!(reply.objects()[0]["choices"][0]["delta"], expected);
    }
}

#[test]
fn lines_may_end_in_crlf_and_comments_may_stand_between() {
    let service = always(Script {
        line_ending: LineEnding::CrLf,
        comments: true,
        ..Script::words(2)
    });
    let reply = Client::connect(&service).ask(&question());
    assert_eq!(reply.answer(), "word0 word1");
    assert_eq!(
        reply.text().matches(": ping\r\n\r\n").count(),
        reply.data().len()
    );
    assert!(reply.text().ends_with("data: [DONE]\r\n\r\n"));
    assert_eq!(
        reply.text().matches('\n').count(),
        reply.text().matches("\r\n").count()
    );
}

#[test]
fn tokens_may_share_a_chunk_and_reasoning_comes_first() {
    let service = always(Script {
        reasoning: words(3),
        tokens_per_chunk: 2,
        role_chunk: RoleChunk::None,
        ..Script::words(4)
    });
    let reply = Client::connect(&service).ask(&question());
    let deltas: Vec<Value> = reply
        .objects()
        .iter()
        .map(|object| object["choices"][0]["delta"].clone())
        .collect();
    assert_eq!(deltas[0], json!({"reasoning_content": "word0 word1"}));
    assert_eq!(deltas[1], json!({"reasoning_content": " word2"}));
    assert_eq!(deltas[2], json!({"content": "word0 word1"}));
    assert_eq!(deltas[3], json!({"content": " word2 word3"}));
    let exchange = &service.log()[0];
    let tokens = |kind| {
        exchange
            .of(kind)
            .map(|send| send.tokens)
            .collect::<Vec<_>>()
    };
    assert_eq!(tokens(SendKind::Reasoning), [2, 1]);
    assert_eq!(tokens(SendKind::Content), [2, 2]);
}

#[test]
fn without_stream_the_completion_is_one_body() {
    let service = always(Script {
        reasoning: words(1),
        finish_reason: "length",
        ..Script::words(2)
    });
    let mut body = question();
    body.as_object_mut().unwrap().remove("stream");
    let completion = Client::connect(&service).ask(&body).json();
    assert_eq!(completion["object"], "chat.completion");
    let message =
        json!({"role": "assistant", "content": "word0 word1", "reasoning_content": "word0"});
    assert_eq!(completion["choices"][0]["message"], message);
    assert_eq!(completion["choices"][0]["finish_reason"], "length");
    assert_eq!(completion["usage"]["completion_tokens"], 3);
    assert_eq!(service.log()[0].of(SendKind::Body).count(), 1);
}

#[test]
fn ollama_streams_objects_and_counts_in_the_last() {
    let service = always(Script {
        reasoning: words(1),
        first_token: std::time::Duration::from_millis(2),
        gap: std::time::Duration::from_millis(1),
        ..Script::words(2)
    });
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "one two"}]});
    let reply = Client::connect(&service).ask_ollama(&body);
    assert!(
        reply
            .head
            .contains("Content-Type: application/x-ndjson\r\n")
    );
    let objects = reply.objects();
    assert_eq!(objects.len(), reply.text().lines().count());
    assert_eq!(
        objects[0]["message"],
        json!({"role": "assistant", "content": "", "thinking": "word0"})
    );
    assert_eq!(
        objects[1]["message"],
        json!({"role": "assistant", "content": "word0"})
    );
    assert_eq!(objects[2]["done"], false);
    let last = &objects[3];
    assert_eq!(
        (&last["done"], &last["done_reason"]),
        (&json!(true), &json!("stop"))
    );
    assert_eq!(
        (&last["prompt_eval_count"], &last["eval_count"]),
        (&json!(2), &json!(3))
    );
    assert_eq!(last["prompt_eval_duration"], 2_000_000);
    assert_eq!(last["eval_duration"], 2_000_000);
    assert_eq!(last["total_duration"], 4_000_000);
    assert_eq!(last["load_duration"], 0);
    for object in &objects {
        assert_eq!(object["model"], "m");
        assert!(
            object["created_at"]
                .as_str()
                .unwrap()
                .starts_with("2023-11-14T22:13:")
        );
    }
    assert_eq!(reply.answer(), "word0 word1");
}

#[test]
fn ollama_without_stream_answers_one_object() {
    let service = always(Script::words(2));
    let body = json!({"stream": false, "messages": []});
    let object = Client::connect(&service).ask_ollama(&body).json();
    assert_eq!(object["message"]["content"], "word0 word1");
    assert_eq!(
        (&object["done"], &object["eval_count"]),
        (&json!(true), &json!(2))
    );
    assert_eq!(object["model"], "reference");
}

#[test]
fn a_stream_may_be_ended_by_the_connection() {
    let service = always(Script {
        chunked: false,
        ..Script::default()
    });
    let reply = Client::connect(&service).ask(&question());
    assert!(reply.head.contains("Connection: close\r\n"));
    assert_eq!(reply.ended, ReplyEnd::Closed);
    assert_eq!(reply.data().last(), Some(&"[DONE]"));
    assert_eq!(service.completed(), 1);
}
