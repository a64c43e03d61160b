//! `ipw score RUN --list` and `--use ID`: the sets of verdicts of a run.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use ipw::score;
use ipw_core::text::printable;
use ipw_store::verdicts::{self, ScorerRows, VerdictSet, VerdictSets};
use serde_json::{Value, json};

use super::{close, counted};
use crate::args::ScoreArgs;
use crate::error::{CliError, Exit};
use crate::screen;

/// Lists the sets, and marks the one in use.
pub(super) fn list(args: &ScoreArgs) -> Result<Exit, CliError> {
    let found = found(args)?;
    if args.json {
        let sets: Vec<Value> = found
            .sets
            .iter()
            .map(|set| {
                let mut shown = json!(set);
                shown["in_use"] = json!(set.id == found.in_use);
                shown
            })
            .collect();
        let shown = json!({ "directory": args.run, "in_use": found.in_use, "sets": sets });
        screen::print(&screen::json(&shown));
    } else {
        screen::print(&table(&found));
    }
    Ok(Exit::Done)
}

/// Puts the verdicts of a set into the rows.
pub(super) fn switch(args: &ScoreArgs, id: u64) -> Result<Exit, CliError> {
    let found = found(args)?;
    let Some(set) = found.sets.iter().find(|set| set.id == id) else {
        let ids: Vec<String> = found.sets.iter().map(|set| set.id.to_string()).collect();
        return Err(
            CliError::usage(format!("the run has no set of verdicts `{id}`")).help(format!(
                "known sets: {}; `--list` shows them",
                ids.join(", ")
            )),
        );
    };
    if id == found.in_use {
        if args.json {
            let shown = json!({ "directory": args.run, "in_use": id, "changed": 0 });
            screen::print(&screen::json(&shown));
        } else {
            screen::print(&format!("set {id} is already in use: nothing changed\n"));
        }
        return Ok(Exit::Done);
    }
    let graded = score::use_set(&args.run, id)?;
    screen::refreshed(&graded.files, false);
    let done = &graded.done;
    let left = done.overview.rows.saturating_sub(done.graded);
    if args.json {
        let shown = json!({
            "directory": args.run,
            "in_use": id,
            "rows": done.overview.rows,
            "graded": done.graded,
            "changed": done.changed,
            "not_in_the_set": left,
            "earlier_set": done.earlier,
            "before": done.before,
            "after": done.overview.verdicts,
            "files": graded.files,
        });
        screen::print(&screen::json(&shown));
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<9} {value}");
    };
    line("set", &format!("{id}: {}", scorers(&set.scorers)));
    line("before", &counted(done.before));
    line("now", &counted(done.overview.verdicts));
    if left > 0 {
        let why = "keep their verdict: they are not in the set, or their answer has changed";
        line("kept", &format!("{left} rows {why}"));
    }
    close(&mut text, done, &graded.metrics, &graded.files, &args.run);
    screen::print(&text);
    Ok(Exit::Done)
}

fn found(args: &ScoreArgs) -> Result<VerdictSets, CliError> {
    let run = crate::commands::open(&args.run, None)?;
    let found = verdicts::sets(&run).context("cannot read the sets of verdicts")?;
    for path in &found.damaged {
        let path = printable(&path.display().to_string());
        screen::talk(&format!("warning: ignoring `{path}`: it is damaged"));
    }
    Ok(found)
}

fn table(found: &VerdictSets) -> String {
    let mut text = String::new();
    for set in &found.sets {
        let mark = if set.id == found.in_use { "*" } else { " " };
        let _ = writeln!(
            text,
            "{mark} {:<4} {:<20}  {}; {}",
            set.id,
            moment(set),
            counted(set.verdicts),
            scorers(&set.scorers)
        );
    }
    text.push_str("\n* in use; `--use ID` switches to another set\n");
    text
}

/// Time of the verdicts, in UTC.
fn moment(set: &VerdictSet) -> String {
    /// The last second that a date of four digits has.
    const LAST: f64 = 253_402_300_799.0;
    let at = set.at.filter(|at| *at <= LAST);
    let since = at.and_then(|at| Duration::try_from_secs_f64(at).ok());
    let at = since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
    let text = at.map(|at| humantime::format_rfc3339_seconds(at).to_string());
    let text = text.and_then(|text| Some(format!("{} {} UTC", text.get(..10)?, text.get(11..16)?)));
    text.unwrap_or_else(|| "unknown time".to_owned())
}

/// `numeric 12`, `judge gpt-5-nano 9, numeric 3`
fn scorers(scorers: &[ScorerRows]) -> String {
    let named = |one: &ScorerRows| {
        let judge = one.judge.as_deref().map(|judge| format!(" {judge}"));
        let name = format!("{}{}", one.scorer, judge.unwrap_or_default());
        format!("`{}` {}", printable(&name), one.rows)
    };
    let named: Vec<String> = scorers.iter().map(named).collect();
    if named.is_empty() {
        "no scorer".to_owned()
    } else {
        named.join(", ")
    }
}
