//! Whatever a file holds, it opens or says which row is bad.

use std::fs;

use ipw_core::params::Params;
use ipw_core::shape::Shape;
use ipw_datasets::{DatasetError, RowPosition, open};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "problem",
            "question",
            "answer",
            "subject",
            "id",
            "row",
            "source_row",
            "scorer",
            "choices",
            "parameters",
            "a",
            "b",
        ])
        .prop_map(str::to_owned),
        ".{0,4}",
    ]
}

fn row() -> impl Strategy<Value = Value> {
    (prop::collection::vec((name(), value()), 0..6), 0..8u8).prop_map(|(fields, sound)| {
        let mut row: Map<String, Value> = fields.into_iter().collect();
        // Most rows are made sound, else hardly a file would open.
        if sound > 0 {
            row.insert("problem".to_owned(), json!("p"));
            for name in ["scorer", "choices", "parameters"] {
                row.remove(name);
            }
        }
        Value::Object(row)
    })
}

fn check(content: &[u8], shuffle: bool) -> Result<(), TestCaseError> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("rows.jsonl");
    fs::write(&path, content).expect("a written file");
    let mut params = Params::default();
    params.insert("shuffle", shuffle.to_string());
    let spec = ipw_datasets::named(path.to_str().expect("a path in UTF-8"), params);
    let dataset = match open(&spec) {
        Ok(dataset) => dataset,
        Err(DatasetError::Row { fault, at, .. }) => {
            prop_assert!(matches!(at, RowPosition::Line(1..)));
            prop_assert!(fault.excerpt.chars().count() <= 60);
            prop_assert!(!fault.to_string().chars().any(char::is_control));
            return Ok(());
        }
        // Bytes may happen to begin like a gzip file.
        Err(DatasetError::Read { .. }) if content.starts_with(b"\x1f\x8b") => return Ok(()),
        Err(other) => return Err(TestCaseError::fail(other.to_string())),
    };
    let Shape::Struct(fields) = dataset.metadata_shape() else {
        return Err(TestCaseError::fail("the shape is not a struct"));
    };
    prop_assert_eq!(&fields[0], &("row".to_owned(), Shape::Int));
    prop_assert_eq!(
        dataset.metadata_shape().clone().settled(),
        dataset.metadata_shape().clone()
    );
    let mut count = 0;
    for query in dataset.queries().expect("a stream") {
        let query = query.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(query.index, count);
        prop_assert!(!query.problem.is_empty() && !query.id.is_empty());
        let names: Vec<_> = query.metadata.keys().collect();
        let shaped: Vec<_> = fields.iter().map(|(name, _)| name).collect();
        prop_assert_eq!(names, shaped);
        let metadata = Value::Object(query.metadata);
        prop_assert_eq!(dataset.metadata_shape().fit(&metadata), Some(metadata));
        count += 1;
    }
    prop_assert_eq!(dataset.size(), Some(count));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn objects_open_and_fit_or_are_named(
        rows in prop::collection::vec(row(), 0..8),
        shuffle: bool,
    ) {
        let lines: Vec<_> = rows.iter().map(Value::to_string).collect();
        check(lines.join("\n").as_bytes(), shuffle)?;
    }

    #[test]
    fn any_bytes_open_or_are_named(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        shuffle: bool,
    ) {
        check(&bytes, shuffle)?;
    }

    #[test]
    fn torn_rows_open_or_are_named(row in row(), cut: prop::sample::Index, shuffle: bool) {
        let text = row.to_string();
        check(&text.as_bytes()[..cut.index(text.len())], shuffle)?;
    }
}
