//! What becomes of rows.

use ipw_core::params::Params;
use serde_json::json;

use super::*;

type Pairs<'a> = &'a [(&'a str, &'a str)];

fn columns(pairs: Pairs<'_>) -> Columns {
    let mut params = Params::default();
    for (name, value) in pairs {
        params.insert(*name, *value);
    }
    Columns::read(&mut params.reader("jsonl")).unwrap()
}

fn row(pairs: Pairs<'_>, value: &Value) -> Result<Row, String> {
    let object = value.as_object().cloned().unwrap_or_default();
    columns(pairs)
        .row(object)
        .map_err(|fault| fault.to_string())
}

impl Row {
    fn problem(&self) -> &str {
        match &self.asks {
            RowPrompt::Text(text) => text,
            RowPrompt::Chat(_, asked) => &asked.last().unwrap().problem,
        }
    }

    fn answer(&self) -> Option<&str> {
        match &self.answer {
            Answer::Last(answer) => answer.as_deref(),
            Answer::Each(all) => all.last().unwrap().as_deref(),
        }
    }
}

#[test]
fn the_usual_names_are_found_in_their_order() {
    for (usual, part) in [
        (USUAL_PROBLEM, 0),
        (USUAL_ANSWER, 1),
        (USUAL_SUBJECT, 2),
        (USUAL_ID, 3),
    ] {
        for (place, name) in usual.iter().enumerate() {
            let mut value: Map<_, _> = usual[place..]
                .iter()
                .rev()
                .map(|name| ((*name).to_owned(), json!(format!("the {name}"))))
                .collect();
            if part != 0 {
                value.insert("problem".to_owned(), json!("p"));
            }
            let row = row(&[], &Value::Object(value)).unwrap();
            let found = [
                Some(row.problem()),
                row.answer(),
                row.subject.as_deref(),
                row.id.as_deref(),
            ][part];
            assert_eq!(found, Some(format!("the {name}").as_str()));
            assert_eq!(row.rest.len(), usual.len() - place - 1);
        }
    }
}

#[test]
fn the_help_lists_the_usual_names() {
    let prompts = [chat::USUAL, USUAL_PROBLEM].concat();
    for ((_, help), usual) in [
        (PROBLEM, prompts.as_slice()),
        (ANSWER, USUAL_ANSWER),
        (SUBJECT, USUAL_SUBJECT),
        (ID, USUAL_ID),
    ] {
        let listed: Vec<_> = help.split('`').skip(1).step_by(2).collect();
        assert_eq!(listed, usual);
    }
}

#[test]
fn named_columns_win_and_are_not_repeated() {
    let pairs = [
        ("problem", "text"),
        ("answer", "problem"),
        ("subject", "s"),
        ("id", "row"),
    ];
    let value = json!({
        "row": 7, "text": "why?", "problem": "because", "s": "life", "answer": 1, "topic": "x", "id": 2,
    });
    let row = row(&pairs, &value).unwrap();
    assert_eq!(row.problem(), "why?");
    assert_eq!(row.answer(), Some("because"));
    assert_eq!(row.subject.as_deref(), Some("life"));
    assert_eq!(row.id.as_deref(), Some("7"));
    assert_eq!(
        Value::Object(row.rest).to_string(),
        r#"{"answer":1,"topic":"x","id":2}"#
    );
}

#[test]
fn a_column_that_was_named_for_one_part_is_not_guessed_for_another() {
    let row = row(
        &[("problem", "answer")],
        &json!({"answer": "why?", "solution": "x"}),
    )
    .unwrap();
    assert_eq!(row.problem(), "why?");
    assert_eq!(row.answer(), Some("x"));
}

#[test]
fn one_column_can_be_named_twice() {
    let row = row(&[("problem", "t"), ("answer", "t")], &json!({"t": "echo"})).unwrap();
    assert_eq!((row.problem(), row.answer()), ("echo", Some("echo")));
    assert!(row.rest.is_empty());
}

#[test]
fn an_answer_is_text_as_json_prints_it() {
    for (answer, expected) in [
        (json!("4"), Some("4")),
        (json!(""), Some("")),
        (json!(4), Some("4")),
        (json!(4.0), Some("4.0")),
        (json!(true), Some("true")),
        (json!(null), None),
        (json!(["a", 1]), Some(r#"["a",1]"#)),
        (json!({"b": 1, "a": null}), Some(r#"{"b":1,"a":null}"#)),
    ] {
        let row = row(&[], &json!({"problem": "p", "answer": answer})).unwrap();
        assert_eq!(row.answer(), expected);
    }
    assert_eq!(row(&[], &json!({"problem": "p"})).unwrap().answer(), None);
}

#[test]
fn an_id_is_a_text_or_a_number_and_all_else_is_metadata() {
    for (id, expected, kept) in [
        (json!("q-1"), Some("q-1"), 0),
        (json!(17), Some("17"), 0),
        (json!(""), None, 1),
        (json!(null), None, 1),
        (json!([1]), None, 1),
    ] {
        let row = row(&[], &json!({"problem": "p", "id": id})).unwrap();
        assert_eq!((row.id.as_deref(), row.rest.len()), (expected, kept));
    }
    let named = row(&[("id", "k")], &json!({"problem": "p", "k": null})).unwrap();
    assert_eq!(named.id, None);
}

#[test]
fn parameters_are_taken_out_and_the_rest_keeps_its_order() {
    let value = json!({
        "z": 1, "problem": "p", "scorer": "exact", "parameters": {"max_tokens": 5}, "choices": ["a"], "a": null,
    });
    let row = row(&[], &value).unwrap();
    assert_eq!(Value::Object(row.parameters), json!({"max_tokens": 5}));
    let names: Vec<_> = row.rest.keys().collect();
    assert_eq!(names, ["z", "scorer", "choices", "a"]);
}

#[test]
fn choices_as_arc_has_them_are_their_texts_and_the_answer_its_letter() {
    for (labels, answer, letter) in [
        (json!(["A", "B", "C"]), "C", "C"),
        (json!(["1", "2", "3"]), "2", "B"),
        (json!(["A", "B", "C"]), "elsewhere", "elsewhere"),
    ] {
        let choices = json!({"text": ["x", "y", "z"], "label": labels});
        let value = json!({"question": "q", "answerKey": answer, "choices": choices});
        let row = row(&[("answer", "answerKey")], &value).unwrap();
        assert_eq!(row.rest["choices"], json!(["x", "y", "z"]));
        assert_eq!(row.answer(), Some(letter));
    }
    for odd in [
        json!({"text": ["x", "y"], "label": ["A"]}),
        json!({"text": ["x", 1], "label": ["A", "B"]}),
        json!({"label": ["A"]}),
    ] {
        let message = row(&[], &json!({"problem": "p", "choices": odd})).unwrap_err();
        let expected = "expected a list of strings in `choices`, found an object";
        assert_eq!(message, expected);
    }
}

#[test]
fn null_is_as_good_as_absent() {
    let value = json!({"problem": "p", "scorer": null, "parameters": null, "choices": null});
    let row = row(&[], &value).unwrap();
    assert!(row.parameters.is_empty());
    assert_eq!(
        Value::Object(row.rest),
        json!({"scorer": null, "choices": null})
    );
}

#[test]
fn a_bad_row_says_what_was_expected_and_what_was_found() {
    let other = "; the parameter `problem` can name another column";
    let prompt = "expected a column with the prompt \
                  (one of `problem`, `question`, `prompt`, `input`, `instruction`), found";
    let string = "expected a non-empty string in";
    let table: [(Pairs<'_>, Value, String); 13] = [
        (&[], json!({}), format!("{prompt} no columns{other}")),
        (
            &[],
            json!({"a": 1}),
            format!("{prompt} only the column `a`{other}"),
        ),
        (
            &[],
            json!({"problem": null}),
            format!("{string} `problem`, found null{other}"),
        ),
        (
            &[],
            json!({"problem": 3}),
            format!("{string} `problem`, found the number 3{other}"),
        ),
        (
            &[],
            json!({"input": "", "instruction": "x"}),
            format!("{string} `input`, found an empty string{other}"),
        ),
        (
            &[],
            json!({"prompt": " \n"}),
            format!("{string} `prompt`, found a blank string{other}"),
        ),
        (
            &[("problem", "qestion")],
            json!({"id": 1, "question": "x", "\u{1b}": 0}),
            "expected the column `qestion` that the parameter `problem` names, \
             found the columns `id`, `question`, ``; did you mean `question`?"
                .to_owned(),
        ),
        (
            &[("answer", "zzz")],
            json!({"problem": "x"}),
            "expected the column `zzz` that the parameter `answer` names, \
             found only the column `problem`"
                .to_owned(),
        ),
        (
            &[("id", "k")],
            json!({"problem": "x", "k": true}),
            "expected a string or a number in `k`, found true".to_owned(),
        ),
        (
            &[],
            json!({"problem": "x", "scorer": 1}),
            "expected a string in `scorer`, found the number 1".to_owned(),
        ),
        (
            &[],
            json!({"problem": "x", "choices": "ab"}),
            "expected a list of strings in `choices`, found a string".to_owned(),
        ),
        (
            &[],
            json!({"problem": "x", "choices": ["a", 1]}),
            "expected a list of strings in `choices`, found a list of other things".to_owned(),
        ),
        (
            &[],
            json!({"problem": "x", "parameters": []}),
            "expected an object in `parameters`, found a list".to_owned(),
        ),
    ];
    for (pairs, value, message) in table {
        assert_eq!(row(pairs, &value), Err(message));
    }
}

#[test]
fn a_wide_row_is_not_listed_whole() {
    let wide: Map<_, _> = (0..500).map(|n| (format!("column{n}"), json!(n))).collect();
    let message = row(&[], &Value::Object(wide)).unwrap_err();
    assert!(message.contains("`column19` and more"), "{message}");
    assert!(!message.contains("`column20`"), "{message}");
}
