//! A benchmark of a million rows takes no more memory than one of ten thousand. Alone in its process:
//! the peak is that of all.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use ipw_core::params::Params;
use ipw_datasets::open;
use serde_json::{Value, json};

const FEW: u64 = 10_000;

fn row(n: u64) -> Value {
    json!({
        "question": format!("what is {n} plus {n}?"), "subject": "arithmetic",
        "choices": [format!("{}", n + 1), format!("{}", n + n), "none"], "answer": 1,
    })
}

/// A directory with `count` rows in files of ten thousand, like a snapshot of the hub.
fn write_parquet(directory: &Path, count: u64) {
    fs::create_dir(directory).unwrap();
    let first = directory.join("test-00000.parquet");
    let file = File::create(&first).unwrap();
    ipw_testkit::write_parquet(file, &row(0), (0..FEW).map(row));
    for n in 1..count / FEW {
        fs::copy(&first, directory.join(format!("test-{n:05}.parquet"))).unwrap();
    }
}

fn write_lines(path: &Path, count: u64) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    for n in 0..count {
        writeln!(file, "{}", row(n)).unwrap();
    }
    file.into_inner().unwrap();
}

/// The largest memory since it was last asked.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let text = line.unwrap().trim().trim_end_matches(" kB");
    let peak = text.parse().unwrap();
    fs::write("/proc/self/clear_refs", "5").unwrap();
    peak
}

/// The peak of reading all of it, twice as every dataset is.
fn peak_of(path: &Path, count: u64) -> u64 {
    let params: Params = [("path".to_owned(), path.display().to_string())]
        .into_iter()
        .collect();
    peak_kib();
    let dataset = open(&ipw_datasets::named("mmlu", params)).unwrap();
    assert_eq!(dataset.size(), Some(count));
    let queries = dataset.queries().unwrap().map(Result::unwrap);
    let (mut seen, mut right) = (0, 0);
    for query in queries {
        seen += 1;
        right += u64::from(query.answer.as_deref() == Some("B"));
    }
    assert_eq!((seen, right), (count, count));
    peak_kib()
}

/// Without optimisation Parquet is read some ten times as slowly as lines, so that it has fewer rows.
#[test]
fn many_rows_take_the_memory_of_few() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    write_lines(&at("few.jsonl"), FEW);
    write_lines(&at("many.jsonl"), 100 * FEW);
    write_parquet(&at("few"), FEW);
    write_parquet(&at("many"), 10 * FEW);
    for (few, many, count) in [
        ("few.jsonl", "many.jsonl", 100 * FEW),
        ("few", "many", 10 * FEW),
    ] {
        // The first pass fills what the allocator keeps.
        peak_of(&at(few), FEW);
        let little = peak_of(&at(few), FEW);
        let much = peak_of(&at(many), count);
        assert!(
            much * 10 <= little * 12,
            "{little} KiB for {FEW} rows of {few}, {much} KiB for {count} of {many}"
        );
    }
}
