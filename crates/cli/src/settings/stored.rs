//! Stored plans. Flags given with one must agree with it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use ipw::naming;
use ipw_core::plan::Plan;
use ipw_store::plan;
use toml::Value;

use super::{allowed, check_slo, naming as given, overlay, read_plan};
use crate::args::ProfileArgs;
use crate::error::{CliError, Exit};

/// Number of differences to show at most.
const MOST: usize = 8;

/// The stored plan that `--resume` or `--plan` names; `None` without them.
pub(super) fn plan(args: &mut ProfileArgs) -> Result<Option<Plan>, CliError> {
    let Some((path, mut plan)) = read(args)? else {
        return Ok(None);
    };
    let is_resumed = args.resume.is_some();
    if is_resumed && plan.dataset.id == "stdin" {
        return Err(CliError::usage(
            "cannot resume: the questions came through a pipe, which cannot be read again",
        )
        .help("store the questions in a file, and start a new run with it"));
    }
    check_slo(plan.load.slo.as_deref())?;
    if !is_resumed {
        // The name does not change what the plan does, so a new one is allowed.
        plan.name = given::name(args)?.or(plan.name);
        plan.tags.extend(given::tags(args)?);
    }
    naming::check(&plan)?;
    refuse_changes(&plan, args)?;
    allowed::check(&plan, &path, args)?;
    if let Some(directory) = args.output_dir.take_if(|_| !is_resumed) {
        plan.output.directory = directory;
    }
    Ok(Some(plan))
}

/// The plan that `--resume` or `--plan` names, and its file; `None` without them.
pub(crate) fn read(args: &ProfileArgs) -> Result<Option<(PathBuf, Plan)>, CliError> {
    Ok(match (&args.resume, &args.plan) {
        (Some(run), _) => Some((run.join(plan::FILE), read_plan(plan::of_run(run))?)),
        (None, Some(path)) => Some((path.clone(), read_plan(plan::read(path))?)),
        (None, None) => None,
    })
}

/// Refuses flags and variables that would change the plan, and lists the differences.
fn refuse_changes(plan: &Plan, args: &ProfileArgs) -> Result<(), CliError> {
    let wanted = overlay::over(plan.clone(), args)?;
    if wanted == *plan {
        return Ok(());
    }
    let (stored, wanted) = (flat(plan)?, flat(&wanted)?);
    let names: Vec<&String> = wanted
        .keys()
        .chain(stored.keys().filter(|name| !wanted.contains_key(*name)))
        .filter(|name| stored.get(*name) != wanted.get(*name))
        .collect();
    let show = |side: &BTreeMap<String, Value>, name: &str| {
        side.get(name)
            .map_or("nothing".to_owned(), |value| format!("`{value}`"))
    };
    let mut text = "the flags or `IPW_*` variables differ from the stored plan".to_owned();
    for name in names.iter().take(MOST) {
        let (was, is) = (show(&stored, name), show(&wanted, name));
        let _ = write!(text, "\n  {name}: the plan has {was}, now {is}");
    }
    Err(CliError::usage(text).help("omit them, or start a new run"))
}

/// The values of the plan by dotted name.
fn flat(plan: &Plan) -> Result<BTreeMap<String, Value>, CliError> {
    fn walk(name: &str, value: Value, all: &mut BTreeMap<String, Value>) {
        match value {
            Value::Table(table) => {
                for (key, value) in table {
                    let dot = if name.is_empty() { "" } else { "." };
                    walk(&format!("{name}{dot}{key}"), value, all);
                }
            }
            value => drop(all.insert(name.to_owned(), value)),
        }
    }
    let mut all = BTreeMap::new();
    let value =
        toml::from_str(&plan::text(plan).map_err(|error| CliError::new(Exit::Usage, error))?)
            .map_err(|error| CliError::usage(format!("cannot parse the plan: {error}")))?;
    walk("", value, &mut all);
    Ok(all)
}
