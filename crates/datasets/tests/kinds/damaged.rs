//! Files that were torn or in which bits flipped: an error or other rows, never a panic.

use std::fs;
use std::path::Path;

use ipw_testkit::fuzz::{Random, damaged, rounds, torn};

use crate::{fixtures, open_at};

fn read_through(path: &Path) {
    if let Ok(dataset) = open_at(path, &[("on_error", "skip")])
        && let Ok(queries) = dataset.queries()
    {
        let _ = queries.take(10_000).filter_map(Result::ok).count();
    }
}

fn mutate(name: &str, to: &str) {
    let Some(fixtures) = fixtures() else { return };
    let whole = fs::read(fixtures.join(name)).expect("a fixture");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join(to);
    let mut random = Random::new(7);
    for _ in 0..rounds(2000) {
        fs::write(&path, torn(&mut random, &whole)).expect("a written file");
        read_through(&path);
    }
}

/// Texts: what is damaged there is mostly still text, so the accidents are others.
fn mutate_text(to: &str, corpus: &[&str], pieces: &[&[u8]]) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join(to);
    let corpus: Vec<&[u8]> = corpus.iter().map(|text| text.as_bytes()).collect();
    let mut random = Random::new(11);
    for _ in 0..rounds(2000) {
        let bytes = damaged(&mut random, &corpus, pieces);
        fs::write(&path, &bytes).expect("a written file");
        for on_error in ["fail", "skip"] {
            let Ok(dataset) = open_at(&path, &[("on_error", on_error)]) else {
                continue;
            };
            let Ok(queries) = dataset.queries() else {
                continue;
            };
            for query in queries.take(100).flatten() {
                assert!(
                    query.metadata.contains_key("row"),
                    "{}",
                    String::from_utf8_lossy(&bytes)
                );
            }
        }
    }
}

#[test]
fn damaged_csv_rows_do_not_panic() {
    mutate_text(
        "a.csv",
        &[
            "problem,answer,subject\n\"one, two\",3,maths\nfour,\"fi\"\"ve\",x\n",
            "\u{feff}question;answer\r\n\"a\nb\";2\r\nc;d\r\n",
            "prompt\tanswer\nwhat?\tthat\nwho\t\n",
        ],
        &[
            b"\"",
            b"\"\"",
            b",",
            b"\n",
            b"\r",
            b";",
            b"\t",
            b"\xff",
            b"\0",
            b"problem",
            b"\xef\xbb\xbf",
        ],
    );
}

#[test]
fn damaged_json_lines_do_not_panic() {
    mutate_text(
        "a.jsonl",
        &[
            "{\"problem\":\"one\",\"answer\":1,\"row\":3}\n{\"problem\":\"two\",\"x\":[1,2]}\n",
            "{\"question\":\"q\",\"choices\":[\"a\",\"b\"],\"answer\":\"B\",\"scorer\":\"choice\"}\n",
            "{\"problem\":\"p\",\"parameters\":{\"max_tokens\":3},\"y\":{\"z\":null}}\n\n",
        ],
        &[
            b"{",
            b"}",
            b"[",
            b"]",
            b"\"",
            b":",
            b",",
            b"\n",
            b"null",
            b"1e999",
            b"\\u0000",
            b"\xff",
            b"\"row\":-1,",
            b"\"problem\":7,",
        ],
    );
}

#[test]
fn a_damaged_parquet_file_does_not_panic() {
    mutate("many/part-1.parquet", "a.parquet");
}

#[test]
fn a_damaged_arrow_stream_does_not_panic() {
    mutate("dict/train/data-00000-of-00001.arrow", "a.arrow");
}

#[test]
fn a_damaged_gzip_file_does_not_panic() {
    mutate("few.jsonl.gz", "a.jsonl.gz");
}

#[test]
fn a_damaged_zstd_file_does_not_panic() {
    mutate("few.jsonl.zst", "a.jsonl.zst");
}
