//! What bad files, wrong paths and changes in the middle give.

use std::fs;

use ipw_datasets::DatasetError;

use crate::{Case, numbered, open_path, problems};

#[test]
fn a_bad_row_is_an_error_with_its_line() {
    let good = numbered(1);
    for (bad, message) in [
        (
            &b"{\"problem\": oops}"[..],
            "`…/my set.jsonl` line 4, column 13: expected one JSON object on the line, \
             found broken JSON (expected value), in `{\"problem\": oops}`",
        ),
        (
            b"\"text\"",
            "`…/my set.jsonl` line 4: expected one JSON object on the line, \
             found a string, in `\"text\"`",
        ),
        (
            b"{\"problem\": \"\xe9t\xe9\"}",
            "`…/my set.jsonl` line 4, column 14: expected text in UTF-8, \
             found the byte 0xe9, in `{\"problem\": \"\u{fffd}t\u{fffd}\"}`; save the file as UTF-8",
        ),
        (
            b"{\"problem\": []}",
            "`…/my set.jsonl` line 4: expected messages in `problem`, found an empty list, \
             in `{\"problem\": []}`; the parameter `problem` can name another column",
        ),
    ] {
        let content = [good.as_bytes(), b"\n\r\n", bad, b"\n", good.as_bytes()].concat();
        // Rows outside of the selection are checked too.
        for pairs in [&[][..], &[("limit", "1")], &[("shuffle", "true")]] {
            assert_eq!(Case::new(&content).message(pairs), message);
        }
    }
}

#[test]
fn a_named_column_must_be_in_every_row() {
    let case = Case::new("{\"q\": \"a\"}\n{\"qq\": \"b\", \"n\": 1}\n");
    assert_eq!(
        case.message(&[("problem", "q")]),
        "`…/my set.jsonl` line 2: expected the column `q` that the parameter `problem` names, \
         found the columns `qq`, `n`, in `{\"qq\": \"b\", \"n\": 1}`; did you mean `qq`?"
    );
}

#[test]
fn parameters_are_checked_before_the_file_is_opened() {
    for (pairs, message) in [
        (
            &[("limit", "0")][..],
            "parameter `limit` of `jsonl` is `0`, expected a whole number from 1 up",
        ),
        (
            &[("seed", "1")],
            "`jsonl` has a `seed` but does not shuffle: add `shuffle=true` or leave `seed` out",
        ),
        (
            &[("anser", "x")],
            "unknown parameter `anser` for `jsonl`; did you mean `answer`? \
             (known: path, problem, answer, subject, id, turns, history, limit, offset, shuffle, seed, on_error)",
        ),
    ] {
        let error = open_path("/no/such/file.jsonl", pairs).err().unwrap();
        assert_eq!(error.to_string(), message);
    }
    let error = open_path("jsonl", &[]).err().unwrap();
    assert_eq!(
        error.to_string(),
        "`jsonl` needs the parameter `path`: the file, with one JSON object on each line"
    );
}

#[test]
fn a_path_that_leads_nowhere_says_what_is_near() {
    let case = Case::new("");
    let directory = case.directory.path();
    for (name, rest) in [
        (
            "my sett.jsonl",
            "does not exist; did you mean `…/my set.jsonl`?",
        ),
        (
            "zzz.jsonl",
            "does not exist; expected the file, with one JSON object on each line",
        ),
        (
            "no/my set.jsonl",
            "does not exist; expected the file, with one JSON object on each line",
        ),
    ] {
        let path = directory.join(name);
        let error = open_path(path.to_str().unwrap(), &[]).err().unwrap();
        let message = error.to_string().replace(directory.to_str().unwrap(), "…");
        assert_eq!(message, format!("`…/{name}` {rest}"));
    }
}

#[test]
fn what_is_no_file_is_refused() {
    let case = Case::new("");
    let directory = case.directory.path().to_str().unwrap();
    let error = open_path(directory, &[]).err().unwrap().to_string();
    assert_eq!(
        error.replace(directory, "…"),
        "`…` holds no dataset: looked for `state.json` or `dataset_dict.json` of `save_to_disk`, \
         and files below it that end in `.parquet` or `.arrow`"
    );
    #[cfg(unix)]
    {
        let error = open_path("/dev/null", &[]).err().unwrap().to_string();
        assert!(
            error.starts_with("`/dev/null` is a pipe or a device"),
            "{error}"
        );
    }
}

#[test]
fn a_file_that_changed_is_noticed() {
    let shuffled = &[("shuffle", "true")][..];
    for (pairs, after, asked, change) in [
        (&[][..], numbered(2), 2, "row 2 is gone"),
        (&[], String::new(), 0, "row 0 is gone"),
        (&[("offset", "2")], numbered(1), 0, "row 2 is gone"),
        (
            &[],
            numbered(2) + "{\"problem\": \"p2\", \"new\": 1}\n",
            2,
            "row 2 is not what it was",
        ),
        (
            &[],
            numbered(2) + "{\"problem\": \"p2\", \"row\": 1}\n",
            2,
            "row 2 is not what it was",
        ),
        (
            &[],
            numbered(1) + "garbage\n" + &numbered(1),
            1,
            "row 1 is not what it was",
        ),
        (shuffled, numbered(1), 0, "row 1 is gone"),
        (shuffled, "\n".repeat(200), 0, "row 1 is gone"),
        (
            shuffled,
            format!("  {}", numbered(3)),
            0,
            "row 1 is not what it was",
        ),
    ] {
        let case = Case::new(numbered(3));
        let dataset = case.open(pairs).unwrap();
        fs::write(&case.path, &after).unwrap();
        let mut queries = dataset.queries().unwrap();
        for _ in 0..asked {
            assert!(queries.next().unwrap().is_ok());
        }
        let error = queries.next().unwrap().unwrap_err().to_string();
        assert_eq!(
            error.replace(case.directory.path().to_str().unwrap(), "…"),
            format!(
                "`…/my set.jsonl` changed while the run was reading it: {change}; \
                 leave the file as it is until the run has ended"
            ),
            "{after}"
        );
        assert!(queries.next().is_none(), "an error is the last item");
    }
}

#[test]
fn a_file_that_grew_gives_what_it_had() {
    let case = Case::new(numbered(2));
    let dataset = case.open(&[]).unwrap();
    fs::write(&case.path, numbered(5)).unwrap();
    assert_eq!(problems(dataset.as_ref()), "p0 p1");
}

#[test]
fn a_file_that_vanished_is_an_error() {
    let case = Case::new(numbered(2));
    let dataset = case.open(&[]).unwrap();
    fs::remove_file(&case.path).unwrap();
    let error = dataset.queries().err().map(|error| error.0.downcast());
    assert!(matches!(error, Some(Ok(error)) if matches!(*error, DatasetError::Open { .. })));
}
