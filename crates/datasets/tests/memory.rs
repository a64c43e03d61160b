//! A file much larger than the memory that it takes. Alone in its process: the peak is that of all.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};

use ipw_core::params::Params;
use ipw_datasets::open;

const MIB: u64 = 1 << 20;
const SIZE: u64 = 200 * MIB;

fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("a peak");
    let kib: u64 = line
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("a number");
    kib * 1024
}

#[test]
fn a_long_table_takes_little_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("long.csv");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    let text = "many words, with \"\"quotes\"\"\nand lines, ".repeat(400);
    writeln!(file, "question,answer").unwrap();
    let mut written = 0;
    let mut rows = 0;
    while written < SIZE {
        written += text.len() as u64;
        writeln!(file, "\"{text}\",{rows}").unwrap();
        rows += 1;
    }
    file.into_inner().unwrap();
    let dataset = open(&ipw_datasets::named(
        path.to_str().unwrap(),
        Params::default(),
    ))
    .unwrap();
    assert_eq!(dataset.size(), Some(rows));
    let count = dataset.queries().unwrap().map(Result::unwrap).count();
    assert_eq!(count as u64, rows);
    let peak = peak_bytes();
    assert!(peak < 60 * MIB, "the peak is {} MiB", peak / MIB);
}
