//! Tables as text.

use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{all, file, fixtures, message, open_at, problems};

#[test]
fn what_pythons_csv_writes_is_read_back() {
    let Some(fixtures) = fixtures() else { return };
    let written: Value =
        serde_json::from_str(&fs::read_to_string(fixtures.join("torture.json")).unwrap()).unwrap();
    for name in [
        "comma.csv",
        "semicolon.csv",
        "pipe.csv",
        "tab.tsv",
        "comma.csv.zst",
    ] {
        let found = all(&fixtures.join(name), &[]);
        assert_eq!(found.len(), written.as_array().unwrap().len(), "{name}");
        for (query, row) in found.iter().zip(written.as_array().unwrap()) {
            assert_eq!(query.problem, row["prompt"].as_str().unwrap(), "{name}");
            // Python writes an empty text as an empty cell, unless it quotes everything.
            let note = query.metadata["note"].as_str().unwrap_or("");
            assert_eq!(note, row["note"].as_str().unwrap(), "{name}");
        }
        let shuffled = all(
            &fixtures.join(name),
            &[("shuffle", "true"), ("limit", "50")],
        );
        assert_eq!(shuffled.len(), 50);
        for query in shuffled {
            let row = usize::try_from(query.metadata["row"].as_u64().unwrap()).unwrap();
            assert_eq!(query.problem, found[row].problem);
        }
    }
}

#[test]
fn cells_are_text_and_empty_ones_nothing() {
    let (_directory, path) = file(
        "a.csv",
        "id,question,answer,level,note,choices,parameters\n\
         7,why?,42,1.5,,\"[\"\"a\"\"]\",\"{\"\"max_tokens\"\": 4}\"\n\
         ,how?,\"\",,\"\",,\n",
    );
    let dataset = open_at(&path, &[]).unwrap();
    assert_eq!((dataset.id(), dataset.name()), ("csv", "a"));
    let found = crate::queries(dataset.as_ref());
    assert_eq!(found[0].id, "7");
    assert_eq!(found[0].answer.as_deref(), Some("42"));
    assert_eq!(found[0].parameters["max_tokens"], 4);
    assert_eq!(
        Value::Object(found[0].metadata.clone()),
        json!({"row": 0, "level": "1.5", "note": null, "choices": ["a"], "id": null})
    );
    assert_eq!(found[1].id, "1");
    assert_eq!(found[1].answer.as_deref(), Some(""));
    assert_eq!(found[1].metadata["note"], "");
}

#[test]
fn the_delimiter_can_be_said() {
    let (_directory, path) = file("a.csv", "question:a,b,c\nx:1,2,3\n");
    assert_eq!(problems(&path, &[("delimiter", ":")]), "x");
    assert_eq!(
        message(&path, &[("delimiter", "::")]),
        "parameter `delimiter` of `csv` is `::`, expected one character of ASCII other than a \
         quote, or `tab`"
    );
    let (_directory, path) = file("a.txt", "question\tn\nx,y\t1\n");
    assert_eq!(problems(&path, &[("delimiter", "tab")]), "x,y");
}

#[test]
fn a_bad_row_is_an_error_with_its_line() {
    for (content, expected) in [
        (
            "",
            "line 1: expected a first line with the names of the columns, found an empty file",
        ),
        (
            "question,a\nx,1\n\n\"y\nz\",1,2\n",
            "line 4: expected 2 cells, as in the first line, found 3 cells, in `\"y z\",1,2`; \
             put a cell with `,` in it into quotes",
        ),
        (
            "question,a\nx\n",
            "line 2: expected 2 cells, as in the first line, found 1 cell, in `x`",
        ),
        (
            "question,question\nx,y\n",
            "line 1: expected a different name for each column, found `question` twice, \
             in `question,question`; the first line must name the columns",
        ),
        (
            "question,a\n\"x\"y,1\n",
            "line 2, column 4: expected the delimiter or the end of the line after a quote, \
             found `y`, in `\"x\"y,1`; write a quote inside of quotes twice",
        ),
        (
            "question,a\nx,1\n\"y,1\nz,1\n",
            "line 3: expected a quote that ends the cell, found the end of the file, \
             in `\"y,1 z,1`",
        ),
        (
            "qestion,a\nx,1\n",
            "line 2: expected a column with the prompt (one of `problem`, `question`, `prompt`, \
             `input`, `instruction`), found the columns `qestion`, `a`, in `x,1`; \
             the parameter `problem` can name another column",
        ),
        (
            "question,choices\nx,1\n",
            "line 2: expected a list of strings in `choices`, found a string, in `x,1`",
        ),
    ] {
        let (_directory, path) = file("a.csv", content);
        assert_eq!(message(&path, &[]), format!("`…/a.csv` {expected}"));
    }
    let (_directory, path) = file("a.csv", b"question\n\xe9t\xe9\n");
    assert_eq!(
        message(&path, &[]),
        "`…/a.csv` line 2, column 1: expected text in UTF-8, found the byte 0xe9, \
         in `\u{fffd}t\u{fffd}`; save the file as UTF-8"
    );
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_rows_as_csv_and_as_jsonl_are_the_same_queries(
        rows in prop::collection::vec(
            ("[a-z\"]{1,4}[ -~\n\r\u{e4}]{0,8}", "[ -~\n\r]{0,8}", "[ -~\t;|]{0,8}"), 0..8
        ),
        delimiter in prop::sample::select(vec![',', ';', '\t', '|']),
        line_end in prop::sample::select(vec!["\n", "\r\n"]),
        shuffle: bool,
    ) {
        let names = ["problem", "subject", "note"];
        let joined = |cells: Vec<String>| cells.join(&delimiter.to_string()) + line_end;
        let mut text = joined(names.map(str::to_owned).to_vec());
        let mut lines = String::new();
        for (problem, subject, note) in &rows {
            text += &joined([problem, subject, note].map(|cell| quoted(cell)).to_vec());
            let row = json!({"problem": problem, "subject": subject, "note": note});
            lines.extend([row.to_string().as_str(), "\n"]);
        }
        let (_one, table) = file("rows.csv", text);
        let (_other, lines) = file("rows.jsonl", lines);
        let shuffle = shuffle.to_string();
        let pairs = [("shuffle", shuffle.as_str())];
        prop_assert_eq!(all(&table, &pairs), all(&lines, &pairs));
    }

    #[test]
    fn any_bytes_open_or_are_named(bytes in prop::collection::vec(
        prop_oneof![Just(b'"'), Just(b','), Just(b'\n'), Just(b'\r'), any::<u8>()], 0..100
    )) {
        let (_directory, path) = file("a.csv", [b"problem,a\n", bytes.as_slice()].concat());
        if let Ok(dataset) = open_at(&path, &[("on_error", "skip")]) {
            let count = dataset.queries().unwrap().map(Result::unwrap).count();
            prop_assert_eq!(dataset.size(), Some(count as u64));
        }
    }
}
