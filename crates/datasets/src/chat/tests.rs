//! What lists of messages ask.

use ipw_core::params::Params;
use serde_json::json;

use super::*;

fn asked(pairs: &[(&str, &str)], list: &Value) -> Result<Vec<Question>, String> {
    let mut params = Params::default();
    for (name, value) in pairs {
        params.insert(*name, *value);
    }
    let manner =
        ChatOptions::read(&mut params.reader("jsonl")).map_err(|error| error.to_string())?;
    manner
        .questions("messages", list)
        .map_err(|fault| fault.to_string())
}

/// Number, texts of what is sent, recorded reply, and where live replies go.
type Told<'a> = (u32, String, Option<&'a str>, Option<&'a [usize]>);

fn told(asked: &[Question]) -> Vec<Told<'_>> {
    asked
        .iter()
        .map(|asked| {
            let sent: Vec<_> = asked.messages.iter().map(Message::text).collect();
            (
                asked.number,
                sent.join(" "),
                asked.recorded.as_deref(),
                asked.replies_before.as_deref(),
            )
        })
        .collect()
}

fn said(role: &str, content: &str) -> Value {
    json!({"role": role, "content": content})
}

#[test]
fn a_list_that_ends_with_a_question_is_one_query_as_it_stands() {
    let list = json!([
        said("system", "S"),
        said("user", "a"),
        said("assistant", "A"),
        said("user", "b"),
    ]);
    let found = asked(&[], &list).unwrap();
    assert_eq!(told(&found), [(2, "S a A b".to_owned(), None, None)]);
    assert_eq!(found[0].problem, "b");
    let each = asked(&[("turns", "each")], &list).unwrap();
    assert_eq!(
        told(&each),
        [
            (1, "S a".to_owned(), Some("A"), None),
            (2, "S a A b".to_owned(), None, None),
        ]
    );
}

#[test]
fn a_recorded_conversation_is_a_query_for_each_reply() {
    let list = json!([
        said("assistant", "hello"),
        said("user", "a"),
        said("user", "b"),
        said("assistant", "B"),
        said("user", "c"),
        said("assistant", "C"),
    ]);
    let found = asked(&[], &list).unwrap();
    assert_eq!(
        told(&found),
        [
            (1, "hello a b".to_owned(), Some("B"), None),
            (2, "hello a b B c".to_owned(), Some("C"), None),
        ]
    );
    let last = asked(&[("turns", "last")], &list).unwrap();
    assert_eq!(told(&last), told(&found)[1..]);
}

#[test]
fn live_replies_go_where_the_recorded_ones_were() {
    let list = json!([
        said("system", "S"),
        said("user", "a"),
        said("assistant", "A"),
        said("user", "b"),
        said("assistant", "B"),
        said("user", "c"),
        said("assistant", "C"),
    ]);
    let live = asked(&[("history", "live")], &list).unwrap();
    assert_eq!(
        told(&live),
        [
            (1, "S a".to_owned(), Some("A"), Some(&[][..])),
            (2, "S a b".to_owned(), Some("B"), Some(&[2][..])),
            (3, "S a b c".to_owned(), Some("C"), Some(&[2, 3][..])),
        ]
    );
}

#[test]
fn turns_without_replies_are_asked_live() {
    for list in [
        json!(["a", "b"]),
        json!([said("user", "a"), said("user", "b")]),
    ] {
        let found = asked(&[("turns", "each")], &list).unwrap();
        assert_eq!(
            told(&found),
            [
                (1, "a".to_owned(), None, Some(&[][..])),
                (2, "a b".to_owned(), None, Some(&[1][..])),
            ]
        );
    }
    assert_eq!(asked(&[], &json!(["a", "b"])).unwrap().len(), 2);
    let one = asked(&[], &json!([said("user", "a"), said("user", "b")])).unwrap();
    assert_eq!(told(&one), [(1, "a b".to_owned(), None, None)]);
    let alone = asked(&[], &json!(["a"])).unwrap();
    assert_eq!(told(&alone), [(1, "a".to_owned(), None, None)]);
}

#[test]
fn calls_of_tools_are_turns_too_and_their_results_are_sent() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let list = json!([
        said("user", "weather?"),
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "sun", "name": null},
        said("assistant", "It is sunny."),
    ]);
    let found = asked(&[], &list).unwrap();
    assert_eq!(
        told(&found),
        [
            (1, "weather?".to_owned(), None, None),
            (2, "weather?  sun".to_owned(), Some("It is sunny."), None),
        ]
    );
    assert_eq!(found[1].problem, "weather?");
    assert_eq!(
        serde_json::to_value(&found[1].messages).unwrap(),
        json!([
            said("user", "weather?"),
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "sun"},
        ])
    );
    let live = asked(&[("history", "live")], &list).unwrap_err();
    assert!(live.contains("results of tools"), "{live}");
}

#[test]
fn the_shape_of_sharegpt_is_understood() {
    let list = json!([
        {"from": "system", "value": "S"},
        {"from": "human", "value": "a"},
        {"from": "gpt", "value": "A", "weight": null},
    ]);
    let found = asked(&[], &list).unwrap();
    assert_eq!(told(&found), [(1, "S a".to_owned(), Some("A"), None)]);
    let roles: Vec<_> = found[0].messages.iter().map(Message::role).collect();
    assert_eq!(roles, ["system", "user"]);
}

#[test]
fn bad_lists_say_what_is_wrong_and_where() {
    for (pairs, list, message) in [
        (
            &[][..],
            json!([]),
            "expected messages in `messages`, found an empty list; the parameter `problem` can name another column",
        ),
        (
            &[],
            json!([said("user", "a"), 3]),
            "expected an object with `role` and `content` as message 2 of `messages`, \
             found the number 3",
        ),
        (
            &[],
            json!([{"content": "x"}]),
            "expected a role such as `user` in `role` of message 1 of `messages`, found nothing",
        ),
        (
            &[],
            json!([{"role": "user", "content": 3}]),
            "expected a text or a list of parts in `content` of message 1 of `messages`, \
             found the number 3",
        ),
        (
            &[],
            json!([{"from": "narrator", "value": "x"}]),
            "expected `human`, `gpt`, `system` or `tool` in `from` of message 1 of `messages`, \
             found `narrator`",
        ),
        (
            &[],
            json!([said("system", "S"), said("assistant", "A")]),
            "expected a message to reply to in `messages`, found none of a user",
        ),
        (
            &[],
            json!([said("user", " ")]),
            "expected something to reply to in `messages`, found a blank question",
        ),
        (
            &[("history", "recorded")],
            json!(["a", "b"]),
            "expected replies between the turns in `messages`, found none; leave \
             `history=recorded` out: the turns are asked with the service's own replies",
        ),
        (
            &[("turns", "last")],
            json!(["a", "b"]),
            "expected replies between the turns in `messages`, as only the last is to be asked, \
             found none; leave `turns=last` out",
        ),
        (
            &[("turns", "some")],
            json!(["a"]),
            "parameter `turns` of `jsonl` is `some`, expected `each` or `last`",
        ),
    ] {
        assert_eq!(asked(pairs, &list).unwrap_err(), message);
    }
}

#[test]
fn what_belongs_into_the_request_comes_along() {
    let object = |value: Value| value.as_object().cloned().unwrap();
    let mut rest = object(json!({
        "tools": "[{\"type\": \"function\", \"function\": {\"name\": \"f\"}}]",
        "tool_choice": "auto",
        "response_format": {"type": "json_object", "json_schema": null},
        "parallel_tool_calls": null,
        "level": 3,
    }));
    let mut parameters = object(json!({"tool_choice": "none"}));
    along(&mut rest, &mut parameters).unwrap();
    assert_eq!(rest, object(json!({"level": 3})));
    assert_eq!(
        parameters,
        object(json!({
            "tool_choice": "none",
            "tools": [{"type": "function", "function": {"name": "f"}}],
            "response_format": {"type": "json_object"},
        }))
    );
    for (odd, expected) in [
        (json!({"tools": ["x"]}), "a list of objects in `tools`"),
        (json!({"tools": "none"}), "a list of objects in `tools`"),
        (
            json!({"response_format": 3}),
            "an object in `response_format`",
        ),
    ] {
        let fault = along(&mut object(odd), &mut Map::new()).unwrap_err();
        assert!(fault.to_string().contains(expected), "{fault}");
    }
}
