//! What a path leads to.

use std::fs;

use crate::{file, fixtures, message, open_at, spec};

#[test]
fn the_content_says_what_the_name_does_not() {
    for (content, id) in [
        ("{\"problem\": \"x\"}\n", "jsonl"),
        ("\u{feff}\n  {\"problem\": \"x\"}\n", "jsonl"),
        ("id;\"question\"\n1;x\n", "csv"),
        ("prompt\nx\n", "csv"),
    ] {
        for name in ["rows", "rows.txt"] {
            let (_directory, path) = file(name, content);
            assert_eq!(spec(path.to_str().unwrap(), &[]).id, id, "{content}");
            assert_eq!(open_at(&path, &[]).unwrap().size(), Some(1), "{content}");
        }
    }
    let (_directory, path) = file("rows", "frage,antwort\nx,y\n");
    assert_eq!(open_at(&path, &[("problem", "frage")]).unwrap().id(), "csv");
}

#[test]
fn first_bytes_win_over_the_name() {
    let Some(fixtures) = fixtures() else { return };
    let directory = tempfile::tempdir().unwrap();
    for (from, to, id) in [
        ("snappy.parquet", "a.jsonl", "parquet"),
        ("saved/data-00000-of-00003.arrow", "b.csv", "hf"),
        ("unnamed", "c", "jsonl"),
    ] {
        let path = directory.path().join(to);
        fs::copy(fixtures.join(from), &path).unwrap();
        assert_eq!(open_at(&path, &[]).unwrap().id(), id);
    }
}

#[test]
fn what_cannot_be_told_says_what_was_looked_for() {
    let (_directory, path) = file("rows.txt", "some prose, and more\n");
    let message_of_text = message(&path, &[]);
    assert!(
        message_of_text.starts_with("cannot tell the format of `…/rows.txt` by its name"),
        "{message_of_text}"
    );
    let (_directory, path) = file("rows", "");
    assert_eq!(
        message(&path, &[]),
        "`…/rows` is empty; expected a row for each prompt"
    );
    let nowhere = path.with_file_name("nowhere");
    assert_eq!(
        message(&nowhere, &[]),
        "`…/nowhere` does not exist; expected the path of a file with a row for each prompt"
    );
}
