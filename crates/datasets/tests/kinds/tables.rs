//! Parquet and what Hugging Face's tools leave on disk.

use std::fs;

use serde_json::{Value, json};

use crate::{all, fixtures, message, open_at, problems, queries};

/// What the fixtures' row `n` is.
fn expected(n: u32) -> Value {
    let tags: Vec<_> = (0..n % 3).map(|_| json!({"name": "x"})).collect();
    json!({
        "problem": format!("p{n}"),
        "answer": (!n.is_multiple_of(3)).then(|| format!("a{n}")),
        "choices": (n % 2 == 1).then(|| [format!("c{n}"), "d".to_owned()]),
        "nested": {"level": n, "tags": tags, "none": null},
        "always_null": null,
        "score": f64::from(n) / 2.0,
    })
}

fn check(query: &ipw_core::query::Query) {
    let row = query.metadata["row"].as_u64().expect("a place");
    let expected = expected(u32::try_from(row).expect("few rows"));
    assert_eq!(query.problem, expected["problem"]);
    assert_eq!(json!(query.answer), expected["answer"]);
    for name in ["choices", "nested", "always_null", "score"] {
        assert_eq!(query.metadata[name], expected[name], "{name} of {row}");
    }
}

#[test]
fn a_saved_dataset_gives_every_row_in_any_order() {
    let Some(fixtures) = fixtures() else { return };
    for name in [
        "saved",
        "snappy.parquet",
        "zstd.parquet",
        "gzip.parquet",
        "none.parquet",
    ] {
        let path = fixtures.join(name);
        let found = all(&path, &[]);
        assert_eq!(found.len(), 1000, "{name}");
        for (index, query) in (0..).zip(&found) {
            assert_eq!(
                (query.index, &query.metadata["row"]),
                (index, &json!(index))
            );
            check(query);
        }
        let shuffled = all(
            &path,
            &[("shuffle", "true"), ("offset", "10"), ("limit", "300")],
        );
        assert_eq!(shuffled.len(), 300);
        shuffled.iter().for_each(check);
        assert_ne!(shuffled[..9], found[..9]);
        let part = all(&path, &[("offset", "998")]);
        assert_eq!(part.len(), 2, "{name}");
        part.iter().for_each(check);
    }
}

#[test]
fn types_that_json_does_not_have_become_text_numbers_or_null() {
    let Some(fixtures) = fixtures() else { return };
    let found = all(&fixtures.join("zstd.parquet"), &[("limit", "2")]);
    let metadata = &found[1].metadata;
    assert_eq!(metadata["when"], "2024-02-03T04:05:06Z");
    assert_eq!(metadata["kind"], "v");
    assert_eq!(metadata["bytes"], "00ff");
    assert_eq!(metadata["nan"], Value::Null);
    assert_eq!(metadata["big"], "9223372036854775809");
}

#[test]
fn a_split_is_chosen_or_asked_for() {
    let Some(fixtures) = fixtures() else { return };
    for name in ["dict", "datasets--org--my_set"] {
        let path = fixtures.join(name);
        let (train, test) = match name {
            "dict" => ("p0 p1 p2 p3 p4", "p5 p6"),
            _ => ("p0 p1 p2 p3", "p4 p5"),
        };
        assert_eq!(problems(&path, &[("split", "train")]), train);
        assert_eq!(problems(&path, &[("split", "test")]), test);
    }
    let hub = fixtures.join("datasets--org--my_set");
    assert_eq!(problems(&hub, &[("split", "main/test")]), "p4 p5");
    assert_eq!(
        problems(&hub.join("snapshots/0123abcd"), &[("split", "test")]),
        "p4 p5"
    );
    assert_eq!(
        message(&fixtures.join("dict"), &[]),
        "`…/dict` has more than one split; choose with `dataset_param=split=…` \
         (available: train, test)"
    );
    assert_eq!(
        message(&hub, &[("split", "tset")]),
        "`…/datasets--org--my_set` has no single split `tset`; choose with \
         `dataset_param=split=…` (available: main/test, main/train)"
    );
    assert_eq!(
        message(&fixtures.join("dict"), &[("split", "tran")]),
        "`…/dict` has no single split `tran`; did you mean `train`?; choose with \
         `dataset_param=split=…` (available: train, test)"
    );
    let cached = fixtures.join("cached");
    assert_eq!(problems(&cached, &[("split", "train")]), "p0 p1");
    assert_eq!(
        message(&cached, &[]),
        "`…/cached` has more than one split; choose with `dataset_param=split=…` \
         (available: default/0.0.0/abc/test, default/0.0.0/abc/train)"
    );
    let name = |path, split| {
        let dataset = open_at(path, &[("split", split)]).unwrap();
        dataset.name().to_owned()
    };
    assert_eq!(name(&hub, "train"), "my_set-train");
    assert_eq!(name(&fixtures.join("dict"), "test"), "dict-test");
}

#[test]
fn a_directory_of_parts_is_one_dataset() {
    let Some(fixtures) = fixtures() else { return };
    let path = fixtures.join("many");
    assert_eq!(problems(&path, &[]), "p0 p1 p2 p3 p4 p5");
    let text = path.to_str().unwrap();
    let explicit = crate::spec("parquet", &[("path", text)]);
    let dataset = ipw_datasets::open(&explicit).unwrap();
    assert_eq!((dataset.id(), dataset.name()), ("parquet", "many"));
    assert_eq!(queries(dataset.as_ref()), all(&path, &[]));
}

#[test]
fn the_originals_bundled_set_is_asked_again_without_its_measurements() {
    let Some(fixtures) = fixtures() else { return };
    let found = all(&fixtures.join("bundled"), &[]);
    assert_eq!(found.len(), 3);
    assert_eq!(found[2].subject.as_deref(), Some("s"));
    assert_eq!(
        Value::Object(found[2].metadata.clone()),
        json!({
            "row": 2, "anthropic_index_category": "c", "config": {"dataset_name": "x"}, "n": 2,
        })
    );
}

#[test]
fn a_feather_file_is_told_from_a_stream() {
    let Some(fixtures) = fixtures() else { return };
    let message = message(&fixtures.join("feather.arrow"), &[]);
    assert!(
        message.starts_with("cannot read the Arrow stream `…/feather.arrow`: "),
        "{message}"
    );
    assert!(message.ends_with("it is an Arrow file (Feather), not a stream; save it as Parquet"));
}

#[test]
fn a_table_without_rows_is_an_empty_dataset() {
    let Some(fixtures) = fixtures() else { return };
    let dataset = open_at(&fixtures.join("no_rows"), &[]).unwrap();
    assert_eq!(dataset.size(), Some(0));
}

#[test]
fn a_bad_row_is_an_error_with_its_file_and_row() {
    let Some(fixtures) = fixtures() else { return };
    assert_eq!(
        message(&fixtures.join("holes.parquet"), &[]),
        "`…/holes.parquet` row 700: expected a non-empty string in `problem`, found null; \
         the parameter `problem` can name another column"
    );
    assert_eq!(
        message(&fixtures.join("many"), &[("problem", "qestion")]),
        "`…/many/part-0.parquet` row 0: expected the column `qestion` that the parameter \
         `problem` names, found the columns `question`, `answer`, `choices`, `nested`, \
         `always_null`, `score`; did you mean `question`?"
    );
    let skipped = open_at(&fixtures.join("holes.parquet"), &[("on_error", "skip")]).unwrap();
    assert_eq!(skipped.size(), Some(711));
    assert_eq!(skipped.notes().len(), 3);
    assert!(skipped.notes()[0].starts_with("skipped 2 bad rows of "));
    assert_eq!(
        queries(skipped.as_ref()).last().unwrap().metadata["row"],
        712
    );
}

#[test]
fn a_directory_without_a_dataset_says_what_was_looked_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("nothing");
    fs::create_dir(&path).unwrap();
    assert!(message(&path, &[]).starts_with("`…/nothing` holds no dataset: looked for `state"));
    fs::write(
        path.join("state.json"),
        "{\"_data_files\": [{\"filename\": \"../x\"}]}",
    )
    .unwrap();
    assert!(message(&path, &[]).contains("is damaged"), "no fingerprint");
    let state = "{\"_data_files\": [{\"filename\": \"../x\"}], \"_fingerprint\": \"\"}";
    fs::write(path.join("state.json"), state).unwrap();
    assert_eq!(
        message(&path, &[]),
        "`…/nothing` is not a run directory: its `state.json` names the data file `../x`, which is not a plain file name"
    );
}
