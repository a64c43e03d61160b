//! What good files give.

use std::fs;
use std::io::{BufWriter, Write};

use ipw_core::query::Query;
use ipw_core::shape::Shape;
use serde_json::{Value, json};

use crate::{Case, all, numbered, problems};

#[test]
fn a_file_becomes_queries() {
    let case = Case::new(
        "{\"question\": \"1+1?\", \"answer\": 2, \"topic\": \"sums\", \"id\": \"a\", \"level\": 1}\n\
         {\"question\": \"2+2?\", \"level\": 0.5, \"parameters\": {\"max_tokens\": 4}, \"choices\": [\"3\"]}\n",
    );
    let dataset = case.open(&[]).unwrap();
    assert_eq!(
        (dataset.id(), dataset.name(), dataset.size()),
        ("jsonl", "my set", Some(2))
    );
    assert_eq!(
        *dataset.metadata_shape(),
        Shape::Struct(vec![
            ("row".to_owned(), Shape::Int),
            ("level".to_owned(), Shape::Float),
            ("choices".to_owned(), Shape::List(Box::new(Shape::Text))),
        ])
    );
    let queries = all(dataset.as_ref());
    assert_eq!(
        queries[0],
        Query {
            index: 0,
            id: "a".to_owned(),
            problem: "1+1?".to_owned(),
            answer: Some("2".to_owned()),
            subject: Some("sums".to_owned()),
            metadata: object(json!({"row": 0, "level": 1.0, "choices": null})),
            parameters: object(json!({})),
            ..Query::asking(String::new())
        }
    );
    assert_eq!(
        queries[1],
        Query {
            index: 1,
            id: "1".to_owned(),
            problem: "2+2?".to_owned(),
            answer: None,
            subject: None,
            metadata: object(json!({"row": 1, "level": 0.5, "choices": ["3"]})),
            parameters: object(json!({"max_tokens": 4})),
            ..Query::asking(String::new())
        }
    );
    assert_eq!(all(dataset.as_ref()), queries, "each call starts anew");
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => serde_json::Map::new(),
    }
}

#[test]
fn marks_blank_lines_and_line_ends_do_not_matter() {
    let plain = Case::new(numbered(3));
    let odd = Case::new(format!(
        "\u{feff}\n{}",
        numbered(3).replace('\n', "\r\n \t\r\n\n").trim_end()
    ));
    for pairs in [&[][..], &[("shuffle", "true")]] {
        let (plain, odd) = (plain.open(pairs).unwrap(), odd.open(pairs).unwrap());
        assert_eq!(all(plain.as_ref()), all(odd.as_ref()));
    }
}

#[test]
fn an_empty_file_is_an_empty_dataset() {
    for content in ["", "\n\n", "\u{feff}"] {
        for pairs in [&[][..], &[("shuffle", "true")], &[("offset", "3")]] {
            let case = Case::new(content);
            let dataset = case.open(pairs).unwrap();
            let shape = Shape::Struct(vec![("row".to_owned(), Shape::Int)]);
            assert_eq!(
                (dataset.size(), dataset.metadata_shape()),
                (Some(0), &shape)
            );
            assert!(dataset.queries().unwrap().next().is_none());
        }
    }
}

#[test]
fn shuffle_comes_first_then_offset_then_limit() {
    let case = Case::new(numbered(10));
    for (pairs, expected) in [
        (&[("limit", "3")][..], "p0 p1 p2"),
        (&[("offset", "8")], "p8 p9"),
        (&[("offset", "2"), ("limit", "2")], "p2 p3"),
        (&[("offset", "99")], ""),
        (&[("shuffle", "false")], "p0 p1 p2 p3 p4 p5 p6 p7 p8 p9"),
        (&[("shuffle", "true")], "p4 p9 p2 p5 p1 p7 p6 p0 p3 p8"),
        (
            &[("shuffle", "true"), ("seed", "1")],
            "p9 p0 p1 p4 p8 p2 p3 p7 p6 p5",
        ),
        (
            &[("shuffle", "true"), ("offset", "2"), ("limit", "3")],
            "p2 p5 p1",
        ),
        (&[("shuffle", "true"), ("offset", "99")], ""),
    ] {
        let dataset = case.open(pairs).unwrap();
        assert_eq!(problems(dataset.as_ref()), expected, "{pairs:?}");
        let size = expected.split_whitespace().count() as u64;
        assert_eq!(dataset.size(), Some(size));
        for (index, query) in all(dataset.as_ref()).iter().enumerate() {
            assert_eq!(query.index, index as u64);
            assert_eq!(query.problem, format!("p{}", query.metadata["row"]));
            assert_eq!(query.id, query.metadata["row"].to_string());
        }
    }
}

#[test]
fn the_shape_is_that_of_all_rows_whatever_is_selected() {
    let case = Case::new("{\"problem\": \"a\", \"x\": 1}\n{\"problem\": \"b\", \"y\": {}}\n");
    let whole = case.open(&[]).unwrap();
    let part = case.open(&[("limit", "1")]).unwrap();
    assert_eq!(whole.metadata_shape(), part.metadata_shape());
    assert_eq!(
        all(part.as_ref())[0].metadata,
        object(json!({"row": 0, "x": 1, "y": null}))
    );
}

#[test]
fn a_column_called_row_gets_one_other_name_in_all_rows() {
    let case = Case::new(
        "{\"problem\": \"a\", \"row\": \"x\"}\n\
         {\"problem\": \"b\", \"source_row\": 7, \"row\": \"y\"}\n",
    );
    let dataset = case.open(&[]).unwrap();
    let found: Vec<_> = all(dataset.as_ref())
        .into_iter()
        .map(|query| Value::Object(query.metadata).to_string())
        .collect();
    assert_eq!(
        found,
        [
            r#"{"row":0,"source_row_":"x","source_row":null}"#,
            r#"{"row":1,"source_row_":"y","source_row":7}"#,
        ]
    );
}

#[test]
fn a_long_file_streams() {
    let shuffled = &[("shuffle", "true")][..];
    for (pairs, rows) in [(&[][..], 200_000), (shuffled, 10_000)] {
        let case = Case::new("");
        let mut file = BufWriter::new(fs::File::create(&case.path).unwrap());
        for row in 0..rows {
            writeln!(file, "{{\"problem\":\"p\",\"answer\":{row}}}").unwrap();
        }
        file.into_inner().unwrap();
        let dataset = case.open(pairs).unwrap();
        assert_eq!(dataset.size(), Some(rows));
        let mut sum = 0;
        for (index, query) in (0..).zip(dataset.queries().unwrap()) {
            let query = query.unwrap();
            assert_eq!(query.index, index);
            assert_eq!(query.answer, Some(query.id));
            sum += query.metadata["row"].as_u64().unwrap();
        }
        assert_eq!(sum, rows * (rows - 1) / 2);
    }
}

#[test]
fn a_row_of_several_turns_is_as_many_queries() {
    let rows = [
        json!({"problem": "plain", "answer": "p", "tools": "a plain row's own", "level": 1}),
        json!({"id": "c1", "turns": ["first?", "second?"], "answer": ["1", "2"], "level": 2}),
        json!({"conversation_id": "talk", "messages": [
            {"role": "user", "content": "one?"}, {"role": "assistant", "content": "ONE"},
            {"role": "user", "content": "two?"}, {"role": "assistant", "content": "TWO"},
        ], "prompt": "one?", "tools": [{"type": "function", "function": {"name": "f"}}]}),
        json!({"messages": [{"role": "user", "content": "last?"}], "answer": "l"}),
    ];
    let text: Vec<_> = rows.iter().map(Value::to_string).collect();
    let case = Case::new(text.join("\n"));
    let told = |pairs: &[(&str, &str)]| -> Vec<(u64, String, String, Option<String>)> {
        let dataset = case.open(pairs).unwrap();
        let queries = all(dataset.as_ref());
        assert_eq!(dataset.size(), Some(queries.len() as u64), "{pairs:?}");
        let told = queries.into_iter();
        told.map(|query| (query.index, query.id, query.problem, query.answer))
            .collect()
    };
    let line = |index, id: &str, problem: &str, answer: &str| {
        let answer = Some(answer.to_owned());
        (index, id.to_owned(), problem.to_owned(), answer)
    };
    let whole = [
        line(0, "0", "plain", "p"),
        line(1, "c1#1", "first?", "1"),
        line(2, "c1#2", "second?", "2"),
        line(3, "2#1", "one?", "ONE"),
        line(4, "2#2", "two?", "TWO"),
        line(5, "3", "last?", "l"),
    ];
    assert_eq!(told(&[]), whole);
    let part = told(&[("offset", "1"), ("limit", "2")]);
    let ids: Vec<_> = part.iter().map(|line| line.1.as_str()).collect();
    assert_eq!(ids, ["c1#1", "c1#2", "2#1", "2#2"]);
    assert_eq!(part[0].0, 0);
    let mixed = told(&[("shuffle", "true"), ("seed", "4")]);
    assert_eq!(mixed.len(), 6);
    for pair in [["c1#1", "c1#2"], ["2#1", "2#2"]] {
        let place = |id: &str| mixed.iter().position(|line| line.1 == id).unwrap();
        assert_eq!(place(pair[1]), place(pair[0]) + 1, "{mixed:?}");
    }
    let queries = all(case.open(&[]).unwrap().as_ref());
    let turns: Vec<_> = queries
        .iter()
        .map(|query| query.turn.as_ref())
        .map(|turn| turn.map(|turn| (turn.conversation.as_str(), turn.number, turn.live.is_some())))
        .collect();
    assert_eq!(
        turns,
        [
            None,
            Some(("c1", 1, true)),
            Some(("c1", 2, true)),
            Some(("talk", 1, false)),
            Some(("talk", 2, false)),
            Some(("3", 1, false)),
        ]
    );
    assert_eq!(queries[0].metadata["tools"], json!("a plain row's own"));
    assert_eq!(queries[3].metadata["prompt"], json!("one?"));
    assert_eq!(
        queries[3].parameters["tools"][0]["function"]["name"],
        json!("f")
    );
    let named = told(&[
        ("problem", "prompt"),
        ("limit", "1"),
        ("offset", "2"),
        ("on_error", "skip"),
    ]);
    assert_eq!(named, [], "only one row has that column");
}
