//! `ipw profile`: one run, its progress and its results.

mod start;

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use ipw::derived::Page;
use ipw::profile::{Resend, open_dataset};
use ipw::{Finished, Profile, clients, counting, discover};
use ipw_core::plan::Plan;
use ipw_core::slug::model_label;
use ipw_core::text::printable;
use ipw_core::time::Clock;
use ipw_findings::{calibration, quality};
use ipw_runner::{Interrupter, SystemClock};
use ipw_store::Status;
use ipw_store::output::Existing;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::args::ProfileArgs;
use crate::error::{CliError, Exit};
use crate::observe::{JsonLines, Progress, Transfer};
use crate::{next, screen, settings, signals};

pub(crate) use start::{only_model, resolve, runtime};

pub(crate) fn run(mut args: ProfileArgs) -> Result<Exit, CliError> {
    let plan = resolve(&mut args)?;
    match carry_out(&args, plan)? {
        Some(finished) => conclude(&args, finished),
        None => Ok(Exit::Interrupted),
    }
}

/// Runs the plan; `None` if interrupted before the first query.
pub(crate) fn carry_out(args: &ProfileArgs, plan: Plan) -> Result<Option<Finished>, CliError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let resume_flags = settings::resume_flags(&plan);
    let profile = assemble(args, plan, &clock)?;
    raise_file_limit();
    let finished = runtime()?.block_on(async {
        let (interrupter, interrupt) = Interrupter::new();
        signals::listen(interrupter, args.quiet).context("cannot listen for signals")?;
        Ok::<_, CliError>(profile.interrupt(interrupt).run().await)
    })?;
    match finished {
        Ok(finished) => Ok(Some(finished)),
        Err(error) if error.kind() == ipw::Kind::Interrupted => Ok(None),
        Err(error) => {
            let left = error.run_directory().map(Path::to_owned);
            let error = CliError::from(error);
            Err(match left {
                Some(directory) => error.help(resume_help(&directory, &resume_flags)),
                None => error,
            })
        }
    }
}

/// Puts the run together, and shows the downloads that it needs.
fn assemble(args: &ProfileArgs, plan: Plan, clock: &Arc<dyn Clock>) -> Result<Profile, CliError> {
    let quiet = args.quiet || args.json;
    let tokens = Transfer::during(quiet, |progress| {
        let named = plan.tokenizer.as_deref();
        named
            .map(|named| counting::load(named, progress))
            .transpose()
    })?;
    let dataset = Transfer::during(quiet, |progress| open_dataset(&plan, progress))?;
    let client = Transfer::during(quiet, |progress| {
        clients::connect(&plan.client, &plan.model, Arc::clone(clock), progress)
    })?;
    let may_replace = args.overwrite || args.yes;
    let page = if args.no_report {
        Page::Never
    } else {
        Page::Always
    };
    let mut profile = Profile::from_plan(plan)
        .clock(Arc::clone(clock))
        .client_boxed(client)
        .dataset_boxed(dataset)
        .report(page)
        .on_existing(move |directory| {
            if may_replace || ask_to_replace(directory) {
                Existing::Replace
            } else {
                Existing::Keep
            }
        });
    if let Some(tokens) = tokens {
        profile = profile.tokenizer(tokens);
    }
    if let Some(launched) = &args.launched {
        profile = profile.service_fact("launch", launched.clone());
    }
    if args.json {
        profile = profile.observer(JsonLines);
    } else if !args.quiet {
        profile = profile.observer(Progress::new());
    }
    match &args.resume {
        Some(directory) => resume(args, profile, directory),
        None => Ok(profile),
    }
}

fn resume(args: &ProfileArgs, profile: Profile, directory: &Path) -> Result<Profile, CliError> {
    let (resend, what) = if args.retry_failed {
        (Resend::Unanswered, "have no answer")
    } else {
        (Resend::Cancelled, "were cut off by the interrupt")
    };
    let profile = profile.resuming(directory, resend)?;
    let (resent, unanswered) = profile.resent().unwrap_or_default();
    if resent > 0 && !args.quiet {
        screen::talk(&format!("note: {resent} queries {what} and are sent again"));
    }
    if unanswered > 0 && !args.retry_failed && !args.quiet {
        screen::talk(&format!(
            "note: {unanswered} queries have no answer; `--retry-failed` sends them again"
        ));
    }
    Ok(profile)
}

/// Shows the results and determines the exit code.
pub(crate) fn conclude(args: &ProfileArgs, finished: Finished) -> Result<Exit, CliError> {
    screen::refreshed(&finished.files, args.quiet);
    show(args, &finished);
    let talks = !args.quiet && !args.json;
    if finished.status != Status::Complete && talks {
        let run = next::quoted(&printable(&finished.directory.display().to_string()));
        let flags = settings::resume_flags(&finished.plan);
        screen::talk(&format!("to continue: ipw profile --resume {run}{flags}"));
    }
    let close_warning = finished.close_warning.clone();
    let done = finished.checked();
    if let (Ok(finished), true) = (&done, talks && args.sweep().is_none()) {
        suggest_next(finished)?;
    }
    if let Some(warning) = close_warning {
        screen::talk(&format!("warning: {warning}"));
    }
    Ok(match done?.status {
        Status::Interrupted => Exit::Interrupted,
        _ => Exit::Done,
    })
}

/// After a run on the embedded engine: services that answer on this machine.
fn suggest_next(finished: &Finished) -> Result<(), CliError> {
    if finished.plan.client.id == clients::EMBEDDED {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let found = runtime()?.block_on(discover::look(&clock));
        screen::print(&next::advice(
            &found,
            &finished.directory.display().to_string(),
        ));
    }
    Ok(())
}

fn show(args: &ProfileArgs, finished: &Finished) {
    if args.quiet {
        return;
    }
    let (directory, report) = (&finished.directory, finished.files.page.as_deref());
    if args.json {
        let line = json!({
            "event": "overview", "directory": directory, "report": report,
            "overview": finished.overview, "metrics": finished.summary.metrics,
        });
        screen::print(&format!("{line}\n"));
        return;
    }
    let plan = &finished.plan;
    let name = plan.name.iter().map(|name| ("name", name.clone()));
    let head: Vec<_> = name
        .chain([
            ("model", model_label(&plan.model)),
            ("service", finished.service.clone()),
            ("dataset", finished.dataset.clone()),
            ("status", finished.status.label().to_owned()),
        ])
        .collect();
    screen::print(&screen::overview(
        &head,
        &finished.overview,
        screen::Results {
            values: &finished.metrics,
            basis: plan.telemetry.basis,
            summary: &finished.summary,
        },
        &calibration::quoted(finished.summary.calibration.as_ref()),
        &quality::lines(&finished.warnings),
        directory,
    ));
    if let Some(path) = report {
        let path = printable(&path.display().to_string());
        screen::print(&format!("{path}\n"));
    }
}

fn resume_help(directory: &Path, flags: &str) -> String {
    let run = next::quoted(&directory.display().to_string()) + flags;
    format!(
        "committed rows are in `{}`; fix the cause, then run `ipw profile --resume {run}`",
        directory.display()
    )
}

/// Raises the limit of open files: every stream in flight is one.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // On failure, the old limit stays.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// Asks on a terminal; without one the answer is no.
fn ask_to_replace(directory: &Path) -> bool {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return false;
    }
    let mut talk = std::io::stderr().lock();
    let _ = write!(
        talk,
        "`{}` exists. Replace it when the new run has finished? [y/N] ",
        printable(&directory.display().to_string())
    );
    let _ = talk.flush();
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}
