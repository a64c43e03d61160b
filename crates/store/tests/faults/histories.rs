//! Random histories, as Jepsen has them: parts, kills, a full disk, failed and cancelled queries,
//! clocks that are set, rewrites; checked against a model of what must be on disk.
//!
//! `IPW_HISTORY_SECONDS=600` makes it a long one (`cargo xtask night`), `IPW_SEED=N` repeats one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ipw_core::random::Random;
use ipw_core::record::Record;
use ipw_core::reply::{Failure, Outcome};
use ipw_core::time::Timestamp;
use ipw_store::StoreError;
use ipw_store::output::Existing;
use ipw_store::resume::Again;
use ipw_testkit::ManualClock;
use serde_json::Value;

use crate::chosen_seed;
use crate::scene::{
    Rewrite, Rows, create, orphans, place, readings_of, record, reopen, rows, verdict_sets,
    write_at,
};
use crate::shims::{Breaking, Fault};

const QUERIES: u64 = 12;
const STEPS: usize = 8;

/// What must be on disk, and how it came to be.
struct History {
    directory: PathBuf,
    random: Random,
    model: Rows,
    steps: Vec<String>,
}

/// What a step may have done to the rows.
enum Effect {
    /// These queries were sent in this order; rows that are sent again may have gone.
    Sent {
        part: u32,
        queries: Vec<u64>,
        again: Again,
    },
    /// Columns of these names are others.
    Rewritten(&'static [&'static str]),
}

impl History {
    fn below(&mut self, limit: usize) -> usize {
        self.random.up_to(limit - 1)
    }

    fn outcome(&mut self) -> Outcome {
        match self.below(8) {
            0 => Outcome::Failed(Failure::Closed),
            1 => Outcome::TimedOut,
            2 => Outcome::Cancelled,
            _ => Outcome::Complete,
        }
    }

    /// A clock that was set forward by up to two hours, or not.
    fn clock(&mut self) -> Arc<ManualClock> {
        let clock = Arc::new(ManualClock::default());
        if self.below(2) == 0 {
            let seconds = self.below(7200) as u64;
            clock.set(Timestamp::from_nanos(seconds * 1_000_000_000));
        }
        clock
    }

    /// Begins the run, or goes on with it.
    fn part(&mut self, most: u64) -> (Effect, Result<(), StoreError>) {
        let again = [Again::Cancelled, Again::Unanswered][self.below(2)];
        let durable = self.below(2) == 0;
        let effect = |part, queries| Effect::Sent {
            part,
            queries,
            again,
        };
        let opened = if self.directory.exists() {
            reopen(&self.directory, Some(again), durable)
        } else {
            create(&self.directory, Existing::Keep, durable).map(|run| (run, Vec::new(), 0))
        };
        let (run, done, part) = match opened {
            Ok(opened) => opened,
            Err(error) => return (effect(0, Vec::new()), Err(error)),
        };
        let missing = (0..QUERIES).filter(|index| !done.contains(index));
        let take = usize::try_from(most).unwrap();
        let queries: Vec<u64> = missing.take(take).collect();
        let effect = effect(part, queries.clone());
        let rows: Vec<Record> = queries
            .into_iter()
            .map(|index| record(index, part, self.outcome()))
            .collect();
        (effect, write_at(self.clock(), run, part, rows, durable))
    }

    fn act(&mut self) -> (Effect, Result<(), StoreError>) {
        let choice = if self.directory.exists() {
            self.below(6)
        } else {
            0
        };
        match choice {
            3 => {
                let columns = &["energy", "headline", "model_metrics", "phases"];
                let done = Rewrite::Attribute.apply(&self.directory);
                (Effect::Rewritten(columns), done)
            }
            4 => {
                let done = Rewrite::Score.apply(&self.directory);
                (Effect::Rewritten(&["model_metrics"]), done)
            }
            5 => {
                let done = Rewrite::UseSet.apply(&self.directory);
                (Effect::Rewritten(&["model_metrics"]), done)
            }
            _ => {
                let most = self.below(6) as u64;
                self.part(most)
            }
        }
    }

    fn step(&mut self) {
        let faults = [
            Fault::Io,
            Fault::Full,
            Fault::Dies,
            Fault::Short,
            Fault::DiesShort,
        ];
        let fault = faults[self.below(5)];
        let number = self.below(100);
        let fault = (self.below(4) > 0).then_some((number, fault));
        let root = self.directory.parent().unwrap().to_owned();
        let (shim, mounted) = Breaking::at(&root, fault);
        let (effect, done) = self.act();
        drop(mounted);
        let hit = if shim.is_hit() { fault } else { None };
        self.steps
            .push(format!("{}, {hit:?}: {done:?}", effect.name()));
        let must_work = hit.is_none() && matches!(effect, Effect::Sent { .. });
        self.check(&effect, done.is_ok(), must_work);
    }

    fn check(&mut self, effect: &Effect, is_done: bool, must_work: bool) {
        assert!(is_done || !must_work, "a step without a fault failed");
        if !self.directory.exists() {
            assert!(self.model.is_empty(), "the run is gone");
            return;
        }
        let found = rows(&self.directory).unwrap_or_else(|error| panic!("{error:?}"));
        readings_of(&self.directory);
        verdict_sets(&self.directory);
        match effect {
            Effect::Rewritten(columns) => {
                assert!(found.keys().eq(self.model.keys()), "rows came or went");
                for (index, row) in &found {
                    assert_eq!(without(row, columns), without(&self.model[index], columns));
                }
            }
            Effect::Sent {
                part,
                queries,
                again,
            } => self.check_sent(&found, (*part, queries), *again, is_done),
        }
        self.model = found;
    }

    fn check_sent(&self, found: &Rows, sent: (u32, &[u64]), again: Again, is_done: bool) {
        let (part, queries) = sent;
        let is_new = |row: &str| row.contains(&format!("part {part} says"));
        let mut new: BTreeSet<u64> = BTreeSet::new();
        for (index, row) in found {
            match self.model.get(index) {
                Some(old) if old == row => {}
                old => {
                    let is_again = old.is_none_or(|old| is_sent_again(old, again));
                    assert!(is_again && is_new(row), "query {index} has another row");
                    new.insert(*index);
                }
            }
        }
        for (index, row) in &self.model {
            let may_go = is_sent_again(row, again);
            assert!(
                found.contains_key(index) || may_go,
                "the row of {index} is gone"
            );
        }
        let first: BTreeSet<u64> = queries.iter().copied().take(new.len()).collect();
        assert_eq!(new, first, "rows are committed in their order");
        assert!(
            !is_done || new.len() == queries.len(),
            "a row of a finished part is missing"
        );
    }
}

impl Effect {
    fn name(&self) -> String {
        match self {
            Self::Sent {
                part,
                queries,
                again,
            } => format!("part {part} with {queries:?}, {again:?}"),
            Self::Rewritten(columns) => format!("rewrite of {columns:?}"),
        }
    }
}

fn is_sent_again(row: &str, again: Again) -> bool {
    let row: Value = serde_json::from_str(row).unwrap();
    match again {
        Again::Cancelled => row["outcome"] == "cancelled",
        Again::Unanswered => row["outcome"] != "complete",
    }
}

fn without(row: &str, columns: &[&str]) -> Value {
    let mut row: Value = serde_json::from_str(row).unwrap();
    for column in columns {
        row.as_object_mut().unwrap().remove(*column);
    }
    row
}

fn live(seed: u64) {
    let place = place();
    let mut history = History {
        directory: place.path().join("run"),
        random: Random::new(seed),
        model: Rows::new(),
        steps: Vec::new(),
    };
    let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for _ in 0..STEPS {
            history.step();
        }
        // Until every query has an answer or a failure that is not sent again.
        let (effect, done) = history.part(QUERIES);
        history.steps.push(format!("{}: {done:?}", effect.name()));
        history.check(&effect, done.is_ok(), true);
        assert_eq!(history.model.len() as u64, QUERIES, "every query has a row");
        assert_eq!(orphans(Path::new(&history.directory)), Vec::<String>::new());
    }));
    // What was wrong has been printed.
    assert!(
        lived.is_ok(),
        "IPW_SEED={seed}\n{}",
        history.steps.join("\n")
    );
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "histories are tried for a while; nothing is measured"
)]
fn random_histories_leave_what_the_model_says() {
    if let Some(seed) = chosen_seed() {
        return live(seed);
    }
    let asked = std::env::var("IPW_HISTORY_SECONDS").ok();
    let seconds = asked.and_then(|asked| asked.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(5));
    // The first are the same in every run; a long night takes others every time.
    let from = seconds.map_or(0, |_| u64::from(std::process::id()) << 32);
    let mut tried = 0;
    while tried < 20 || Instant::now() < end {
        live(from + tried);
        tried += 1;
    }
    assert!(tried >= 20);
}
