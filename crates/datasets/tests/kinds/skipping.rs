//! `on_error=skip`.

use crate::{file, message, open_at, problems, queries};

const LINES: &str =
    "{\"problem\": \"a\"}\nbad\n{\"problem\": \"b\"}\n{\"problem\": 1}\n{\"problem\": \"c\"}\n";

#[test]
fn bad_rows_are_left_out_counted_and_listed() {
    let (_directory, path) = file("a.jsonl", LINES);
    assert!(message(&path, &[]).starts_with("`…/a.jsonl` line 2"));
    let dataset = open_at(&path, &[("on_error", "skip")]).unwrap();
    assert_eq!(dataset.size(), Some(3));
    let rows: Vec<_> = queries(dataset.as_ref())
        .iter()
        .map(|query| (query.problem.clone(), query.metadata["row"].as_u64()))
        .collect();
    assert_eq!(
        rows,
        [("a", 0), ("b", 2), ("c", 4)].map(|(p, n)| (p.to_owned(), Some(n)))
    );
    let shown = path.display().to_string();
    let notes: Vec<_> = dataset
        .notes()
        .iter()
        .map(|note| note.replace(&shown, "a.jsonl"))
        .collect();
    assert_eq!(
        notes,
        [
            "skipped 2 bad rows of `a.jsonl`",
            "`a.jsonl` line 2, column 1: expected one JSON object on the line, \
             found broken JSON (expected value), in `bad`",
            "`a.jsonl` line 4: expected a non-empty string in `problem`, found the number 1, \
             in `{\"problem\": 1}`; the parameter `problem` can name another column",
        ]
    );
}

#[test]
fn the_selection_is_made_among_the_good_rows() {
    let (_directory, path) = file("a.jsonl", LINES);
    let skip = ("on_error", "skip");
    assert_eq!(problems(&path, &[skip, ("offset", "1")]), "b c");
    assert_eq!(
        problems(&path, &[skip, ("offset", "1"), ("limit", "1")]),
        "b"
    );
    let mut shuffled: Vec<_> = problems(&path, &[skip, ("shuffle", "true")])
        .split(' ')
        .map(str::to_owned)
        .collect();
    shuffled.sort();
    assert_eq!(shuffled, ["a", "b", "c"]);
    assert_eq!(
        message(&path, &[("on_error", "ignore")]),
        "parameter `on_error` of `jsonl` is `ignore`, expected `fail` or `skip`"
    );
}

#[test]
fn a_long_list_is_cut() {
    let (_directory, path) = file("a.csv", format!("problem\nx\n{}", "a,b\n".repeat(2000)));
    let notes = open_at(&path, &[("on_error", "skip")]).unwrap().notes();
    assert_eq!(notes.len(), 7);
    assert_eq!(notes[6], "and 1995 more");
    assert!(open_at(&path, &[]).is_err());
    let (_directory, path) = file("a.csv", "problem\nx\n");
    assert!(open_at(&path, &[]).unwrap().notes().is_empty());
}
