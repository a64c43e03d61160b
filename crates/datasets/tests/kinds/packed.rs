//! Text that was packed.

use std::fs;

use crate::{all, fixtures, message, open_at};

#[test]
fn packed_text_is_the_same_dataset() {
    let Some(fixtures) = fixtures() else { return };
    for pairs in [
        &[][..],
        &[("shuffle", "true"), ("seed", "3")],
        &[("offset", "1990")],
    ] {
        let plain = all(&fixtures.join("plain.jsonl"), pairs);
        for name in ["members.jsonl.gz", "frames.jsonl.zst", "unnamed"] {
            assert_eq!(all(&fixtures.join(name), pairs), plain, "{name} {pairs:?}");
        }
    }
    let dataset = open_at(&fixtures.join("members.jsonl.gz"), &[]).unwrap();
    assert_eq!((dataset.id(), dataset.name()), ("jsonl", "members"));
}

#[test]
fn a_name_that_lies_does_not_matter() {
    let Some(fixtures) = fixtures() else { return };
    let directory = tempfile::tempdir().unwrap();
    let plain = all(&fixtures.join("plain.jsonl"), &[]);
    for (from, to) in [
        ("members.jsonl.gz", "a.jsonl"),
        ("plain.jsonl", "b.jsonl.gz"),
    ] {
        let path = directory.path().join(to);
        fs::copy(fixtures.join(from), &path).unwrap();
        assert_eq!(all(&path, &[]), plain);
    }
}

#[test]
fn a_torn_archive_is_an_error() {
    let Some(fixtures) = fixtures() else { return };
    let directory = tempfile::tempdir().unwrap();
    for name in ["members.jsonl.gz", "frames.jsonl.zst"] {
        let whole = fs::read(fixtures.join(name)).unwrap();
        let path = directory.path().join(name);
        fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        let message = message(&path, &[]);
        assert!(
            message.starts_with(&format!("cannot read `…/{name}`: ")),
            "{message}"
        );
    }
}
