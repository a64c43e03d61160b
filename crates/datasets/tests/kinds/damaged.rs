//! Files that were torn or in which bits flipped: an error or other rows, never a panic.

use std::fs;
use std::path::Path;

use crate::{fixtures, open_at};

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % bound
    }
}

fn read_through(path: &Path) {
    if let Ok(dataset) = open_at(path, &[("on_error", "skip")])
        && let Ok(queries) = dataset.queries()
    {
        let _ = queries.take(10_000).filter_map(Result::ok).count();
    }
}

fn mutate(name: &str, to: &str, rounds: usize) {
    let Some(fixtures) = fixtures() else { return };
    let whole = fs::read(fixtures.join(name)).expect("a fixture");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join(to);
    let mut random = Random(7);
    for round in 0..rounds {
        let mut bytes = whole.clone();
        if round % 4 == 0 {
            bytes.truncate(random.below(whole.len()));
        } else {
            for _ in 0..=random.below(3) {
                // Half of them near an end, where the heads and footers are.
                let near = 600.min(bytes.len());
                let place = match random.below(4) {
                    0 => random.below(near),
                    1 => bytes.len() - 1 - random.below(near),
                    _ => random.below(bytes.len()),
                };
                bytes[place] ^= 1 << random.below(8);
            }
        }
        fs::write(&path, &bytes).expect("a written file");
        read_through(&path);
    }
}

/// A few thousand in every test run; `IPW_MUTATIONS` says how many when there is time.
fn rounds() -> usize {
    let asked = std::env::var("IPW_MUTATIONS").ok();
    asked.and_then(|asked| asked.parse().ok()).unwrap_or(2000)
}

#[test]
fn a_damaged_parquet_file_does_not_panic() {
    mutate("many/part-1.parquet", "a.parquet", rounds());
}

#[test]
fn a_damaged_arrow_stream_does_not_panic() {
    mutate("dict/train/data-00000-of-00001.arrow", "a.arrow", rounds());
}

#[test]
fn a_damaged_gzip_file_does_not_panic() {
    mutate("few.jsonl.gz", "a.jsonl.gz", rounds());
}

#[test]
fn a_damaged_zstd_file_does_not_panic() {
    mutate("few.jsonl.zst", "a.jsonl.zst", rounds());
}
