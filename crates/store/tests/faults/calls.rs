//! A fault at every call of a small run, and of everything that changes one.

use std::path::Path;
use std::sync::Arc;

use ipw_store::StoreError;
use ipw_store::output::Existing;
use ipw_store::resume::Again;

use crate::scene::{
    Rewrite, Rows, committed, copy, create, orphans, outcome, readings_of, record, reopen, rows,
    verdict_sets, write,
};
use crate::shims::{Breaking, Fault};

const QUERIES: u64 = 5;

fn whole_run(directory: &Path, durable: bool) -> Result<(), StoreError> {
    let run = create(directory, Existing::Replace, durable)?;
    let rows = (0..QUERIES).map(|index| record(index, 0, outcome(index)));
    write(run, 0, rows, durable)
}

/// Goes on with what is there; all queries have a row afterwards.
fn go_on(directory: &Path, again: Option<Again>) -> Result<(), StoreError> {
    let (run, done, part) = reopen(directory, again, false)?;
    let missing = (0..QUERIES).filter(|index| !done.contains(index));
    let rows = missing.map(|index| record(index, part, outcome(index)));
    write(run, part, rows, false)
}

/// Calls `scene` with every fault at call 0, 1, 2, … until there is no such call.
fn at_every_call(scene: impl Fn(&Path, usize, Fault) -> Arc<Breaking>) -> usize {
    for number in 0.. {
        let mut faults = vec![Fault::Io];
        while let Some(fault) = faults.pop() {
            let place = crate::scene::place();
            let shim = scene(place.path(), number, fault);
            if !shim.is_hit() {
                return number;
            }
            if fault == Fault::Io {
                faults.extend(shim.other_faults());
            }
        }
    }
    unreachable!("a run makes a finite number of calls")
}

/// What a run without faults has.
fn expected() -> Rows {
    let place = crate::scene::place();
    let directory = place.path().join("run");
    whole_run(&directory, false).unwrap();
    rows(&directory).unwrap()
}

#[test]
fn a_run_with_a_fault_at_any_call_has_every_committed_row_and_is_resumed() {
    let expected = expected();
    let calls = at_every_call(|place, number, fault| {
        let durable = number % 2 == 0;
        let directory = place.join("run");
        let (shim, mounted) = Breaking::at(place, Some((number, fault)));
        let done = whole_run(&directory, durable);
        drop(mounted);
        if !shim.is_hit() {
            done.unwrap();
            return shim;
        }
        let said = format!("{fault:?} at {number}, {done:?}\n{}", shim.trace());
        let owed = committed(shim.commits(), usize::try_from(QUERIES).unwrap());
        if !directory.exists() {
            assert_eq!(owed, 0, "{said}");
            assert!(done.is_err(), "{said}");
            whole_run(&directory, false).unwrap();
            return shim;
        }
        let found = rows(&directory).unwrap_or_else(|error| panic!("{error:?}: {said}"));
        let owed: Rows = expected.clone().into_iter().take(owed).collect();
        assert_eq!(found, owed, "{said}");
        readings_of(&directory);
        go_on(&directory, None).unwrap_or_else(|error| panic!("resuming: {error:?}: {said}"));
        let resumed = rows(&directory).unwrap();
        assert!(resumed.keys().copied().eq(0..QUERIES), "{said}");
        for (index, row) in &owed {
            assert_eq!(&resumed[index], row, "{said}");
        }
        assert!(readings_of(&directory) >= Some(100), "{said}");
        assert_eq!(orphans(&directory), Vec::<String>::new(), "{said}");
        shim
    });
    assert!(calls > 50, "{calls}");
}

fn a_rewrite_with_a_fault(rewrite: Rewrite) {
    let base = crate::scene::place();
    let old = base.path().join("old");
    whole_run(&old, false).unwrap();
    if rewrite == Rewrite::UseSet {
        Rewrite::Score.apply(&old).unwrap();
        // The set that is switched back to.
        Rewrite::Attribute.apply(&old).unwrap();
        let grades_anew = |_: &ipw_store::verdicts::Answer<'_>| {
            Some(ipw_core::verdict::Grade::unscored(None, "none"))
        };
        ipw_store::verdicts::score(&old, grades_anew, |_, _, _| {}).unwrap();
    }
    let new = base.path().join("new");
    copy(&old, &new);
    rewrite.apply(&new).unwrap();
    let (before, after) = (rows(&old).unwrap(), rows(&new).unwrap());
    assert!(before != after, "{rewrite:?} changes nothing");
    let sets = verdict_sets(&new);
    at_every_call(|place, number, fault| {
        let directory = place.join("run");
        copy(&old, &directory);
        let (shim, mounted) = Breaking::at(place, Some((number, fault)));
        let done = rewrite.apply(&directory);
        drop(mounted);
        if !shim.is_hit() {
            done.unwrap();
            return shim;
        }
        let said = format!(
            "{rewrite:?}, {fault:?} at {number}, {done:?}\n{}",
            shim.trace()
        );
        let found = rows(&directory).unwrap_or_else(|error| panic!("{error:?}: {said}"));
        assert!(found == before || found == after, "{said}");
        assert!(done.is_err() || found == after, "{said}");
        assert_eq!(readings_of(&directory), Some(100), "{said}");
        verdict_sets(&directory);
        rewrite
            .apply(&directory)
            .unwrap_or_else(|error| panic!("again: {error:?}: {said}"));
        assert_eq!(rows(&directory).unwrap(), after, "{said}");
        assert_eq!(verdict_sets(&directory), sets, "{said}");
        assert_eq!(orphans(&directory), Vec::<String>::new(), "{said}");
        shim
    });
}

#[test]
fn energy_with_a_fault_at_any_call_is_the_old_or_the_new() {
    a_rewrite_with_a_fault(Rewrite::Attribute);
}

#[test]
fn verdicts_with_a_fault_at_any_call_are_the_old_or_the_new() {
    a_rewrite_with_a_fault(Rewrite::Score);
}

#[test]
fn an_earlier_set_with_a_fault_at_any_call_is_there_or_not() {
    a_rewrite_with_a_fault(Rewrite::UseSet);
}

/// Rows that a part made, told from those of the part before.
fn of_part(rows: &Rows, part: u32) -> Vec<u64> {
    let word = format!("part {part} says");
    let own = rows.iter().filter(|(_, row)| row.contains(&word));
    own.map(|(index, _)| *index).collect()
}

#[test]
fn queries_sent_again_with_a_fault_at_any_call_have_one_row_or_none() {
    let base = crate::scene::place();
    let old = base.path().join("old");
    whole_run(&old, false).unwrap();
    let before = rows(&old).unwrap();
    let answered: Vec<u64> = (0..QUERIES)
        .filter(|index| outcome(*index).is_answered())
        .collect();
    at_every_call(|place, number, fault| {
        let directory = place.join("run");
        copy(&old, &directory);
        let (shim, mounted) = Breaking::at(place, Some((number, fault)));
        let done = go_on(&directory, Some(Again::Unanswered));
        drop(mounted);
        if !shim.is_hit() {
            done.unwrap();
            return shim;
        }
        let said = format!("{fault:?} at {number}, {done:?}\n{}", shim.trace());
        let found = rows(&directory).unwrap_or_else(|error| panic!("{error:?}: {said}"));
        for index in &answered {
            assert_eq!(found.get(index), before.get(index), "{said}");
        }
        let new = of_part(&found, 1);
        assert_eq!(new.len(), committed(shim.commits(), 2), "{said}");
        assert!(readings_of(&directory) >= Some(100), "{said}");
        go_on(&directory, Some(Again::Unanswered))
            .unwrap_or_else(|error| panic!("resuming: {error:?}: {said}"));
        assert!(
            rows(&directory).unwrap().keys().copied().eq(0..QUERIES),
            "{said}"
        );
        assert_eq!(orphans(&directory), Vec::<String>::new(), "{said}");
        shim
    });
}
