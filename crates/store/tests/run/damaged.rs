//! Runs whose files were torn, cut off or in which bits flipped: an error or fewer rows, never a
//! panic, and never a row that was not written.

use std::fs;
use std::path::Path;

use arrow_array::Int64Array;
use ipw_store::reader::column;
use ipw_store::{Overview, Run, readings};
use ipw_testkit::fuzz::{Random, rounds, torn};

use crate::{finished_run, temporary};

/// Reads everything that a reader reads.
fn read_through(directory: &Path) {
    if let Ok(run) = Run::open(directory) {
        let _ = run.summary();
        for batch in run.batches() {
            if batch.is_err() {
                break;
            }
        }
        let _ = run.rows();
        let _ = Overview::of(&run);
        let _ = run.for_each_query(|row| drop(row.shares.iter().collect::<Vec<_>>()));
        let _ = ipw_store::resume::look(&run, ipw_store::resume::Again::Cancelled);
    }
    let _ = readings::read(directory);
}

fn damage(file: impl Fn(&str) -> bool) {
    let (_parent, directory) = temporary();
    finished_run(&directory, 40);
    let names = fs::read_dir(&directory).unwrap().flatten();
    let path = names
        .map(|entry| entry.path())
        .find(|path| file(&path.file_name().unwrap().to_string_lossy()))
        .unwrap();
    let whole = fs::read(&path).unwrap();
    let mut random = Random::new(3);
    for _ in 0..rounds(1000) {
        fs::write(&path, torn(&mut random, &whole)).unwrap();
        read_through(&directory);
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(Run::open(&directory).unwrap().rows().unwrap(), 40);
}

#[test]
fn damaged_rows_do_not_panic() {
    let has_ending = |name: &str| Path::new(name).extension().is_some_and(|e| e == "arrow");
    damage(has_ending);
}

#[test]
fn a_damaged_state_does_not_panic() {
    damage(|name| name == "state.json");
}

#[test]
fn a_damaged_summary_does_not_panic() {
    damage(|name| name == "summary.json");
}

#[test]
fn rows_of_a_stream_that_was_cut_off_are_those_that_were_written() {
    let (_parent, directory) = temporary();
    finished_run(&directory, 40);
    let names = fs::read_dir(&directory).unwrap().flatten();
    let path = names
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|ending| ending == "arrow"))
        .unwrap();
    let whole = fs::read(&path).unwrap();
    let mut random = Random::new(5);
    for _ in 0..rounds(500).min(whole.len()) {
        fs::write(&path, &whole[..random.below(whole.len())]).unwrap();
        let Ok(run) = Run::open(&directory) else {
            continue;
        };
        let mut next = 0;
        for batch in run.batches().map_while(Result::ok) {
            let indices = column::<Int64Array>(&batch, "query_index").unwrap();
            for index in indices.iter().flatten() {
                assert_eq!(index, next, "rows in order, none made up");
                next += 1;
            }
        }
        assert!(next <= 40, "{next}");
    }
}
