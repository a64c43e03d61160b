//! The power goes at any moment, and takes any choice of what was not synced with it.

use std::path::Path;
use std::sync::Arc;

use ipw_core::random::Random;
use ipw_core::record::Record;
use ipw_store::output::Existing;
use ipw_store::resume::Again;
use ipw_store::{Run, StoreError};

use crate::recorder::Recorder;
use crate::scene::{
    Rows, committed, create, outcome, record, reopen, rows, rows_before_damage, write,
};
use crate::{chosen_seed, rounds};

const QUERIES: u64 = 5;

fn whole_run(directory: &Path, durable: bool) -> Result<(), StoreError> {
    let run = create(directory, Existing::Keep, durable)?;
    let rows = (0..QUERIES).map(|index| long(record(index, 0, outcome(index))));
    write(run, 0, rows, durable)
}

/// The row with an answer over several pages: one that is missing changes nothing else.
fn long(mut record: Record) -> Record {
    record.reply.answer = record.reply.answer.repeat(80);
    record
}

fn recorded(durable: bool) -> (tempfile::TempDir, Arc<Recorder>, Rows) {
    let place = crate::scene::place();
    let directory = place.path().join("deep/er/run");
    let (recorder, mounted) = Recorder::over(place.path());
    whole_run(&directory, durable).unwrap();
    drop(mounted);
    let rows = rows(&directory).unwrap();
    (place, recorder, rows)
}

/// Calls `check` with what a power cut leaves of a recorded run, many times.
fn cut(recorder: &Recorder, usual: usize, check: impl Fn(&Path, usize, &str)) {
    let fixed = chosen_seed();
    for round in 0..rounds(usual) {
        let seed = fixed.unwrap_or(round as u64);
        let mut random = Random::new(seed);
        let moment = random.up_to(recorder.moments());
        let place = crate::scene::place();
        recorder.cut(moment, &mut random, place.path());
        let said = format!("IPW_SEED={seed}, power cut at {moment}");
        check(&place.path().join("deep/er/run"), moment, &said);
        if fixed.is_some() {
            break;
        }
    }
}

#[test]
fn with_durable_every_acknowledged_row_survives_a_power_cut() {
    let (_place, recorder, expected) = recorded(true);
    assert!(recorder.root().exists());
    cut(&recorder, 300, |directory, moment, said| {
        let owed = committed(
            recorder.acknowledged(moment),
            usize::try_from(QUERIES).unwrap(),
        );
        let most = committed(recorder.begun(moment), usize::try_from(QUERIES).unwrap());
        if owed == 0 && !directory.exists() {
            return;
        }
        let found = match rows(directory) {
            Ok(found) => found,
            // Nothing was promised yet.
            Err(_) if owed == 0 => return,
            Err(error) => panic!("{said}: {owed} rows owed, {error:?}"),
        };
        assert!(
            (owed..=most).contains(&found.len()),
            "{said}: {} rows, {owed} owed",
            found.len()
        );
        for ((index, row), number) in found.iter().zip(0..) {
            assert_eq!((*index, row), (number, &expected[index]), "{said}");
        }
        let (run, done, part) = reopen(directory, Some(Again::Cancelled), true)
            .unwrap_or_else(|error| panic!("{said}: resuming: {error:?}"));
        let missing = (0..QUERIES).filter(|index| !done.contains(index));
        let more = missing.map(|index| record(index, part, outcome(index)));
        write(run, part, more, true).unwrap_or_else(|error| panic!("{said}: resuming: {error:?}"));
        assert!(
            rows(directory).unwrap().keys().copied().eq(0..QUERIES),
            "{said}"
        );
    });
}

#[test]
fn without_durable_a_power_cut_leaves_rows_that_were_written_and_an_error_for_the_rest() {
    let (_place, recorder, expected) = recorded(false);
    cut(&recorder, 600, |directory, _, said| {
        let Ok(run) = Run::open(directory) else {
            return;
        };
        drop(run);
        let (found, _) = rows_before_damage(directory);
        for ((index, row), number) in found.iter().zip(0..) {
            assert_eq!((*index, row), (number, &expected[index]), "{said}");
        }
    });
}
