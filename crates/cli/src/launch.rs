//! `ipw profile --launch -- COMMAND`: starts a service for the run.

use std::path::Path;

use anyhow::Context as _;
use ipw::clients;
use ipw::launch::{LaunchedService, Ready, preset};
use ipw_core::client::ClientSpec;
use ipw_core::plan::Launch;
use ipw_core::secret;
use ipw_core::text::printable;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::{ProfileArgs, Span};
use crate::error::{CliError, Exit};
use crate::{screen, settings};

/// Runs `run`, with a launched service around it if one is asked for.
pub(crate) fn around(
    mut args: ProfileArgs,
    run: impl FnOnce(ProfileArgs) -> Result<Exit, CliError>,
) -> Result<Exit, CliError> {
    let Some(launch) = wanted(&args)? else {
        return run(args);
    };
    fill(&mut args, &launch);
    // Report errors in the other settings before starting the service.
    let plan = settings::resolve(&mut args.clone(), |_| Ok("launched".to_owned()))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let directory = args.output_dir.clone().unwrap_or_else(|| "runs".into());
    let own = std::env::current_exe().context("cannot find this program")?;
    let through = [own.into_os_string(), "launched".into(), "--".into()];
    let mut launched = runtime.block_on(LaunchedService::start(
        &launch,
        &through,
        &directory,
        &plan.client,
    ))?;
    let talks = !args.quiet && !args.json;
    let ready = runtime.block_on(until_ready(&mut launched, &args, &plan.client, talks));
    drop(runtime);
    let Some(ready) = ready? else {
        stop(&mut launched, !args.quiet);
        return Ok(Exit::Interrupted);
    };
    args.launched = Some(ready.about);
    let done = run(args);
    stop(&mut launched, talks);
    if matches!(done, Ok(Exit::Done)) {
        // After a failure, the log helps to find its cause.
        let _ = std::fs::remove_file(launched.log());
    }
    done
}

/// Waits until the service answers; `None` if a signal arrives first.
async fn until_ready(
    launched: &mut LaunchedService,
    args: &ProfileArgs,
    client: &ClientSpec,
    talks: bool,
) -> Result<Option<Ready>, CliError> {
    let limit = args.ready_timeout.map(|Span(limit)| limit);
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for signals")?;
    let signal = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    let waiting = |seconds: u64, last: &str| {
        if talks {
            screen::talk(&format!("waiting for the service, {seconds} s: {last}"));
        }
    };
    let ready = launched.until_ready(client, limit, signal, waiting).await?;
    if let Some(ready) = ready.as_ref().filter(|_| talks) {
        let waited = screen::seconds(ready.waited.as_secs_f64());
        screen::talk(&format!("ready after {waited}"));
    }
    Ok(ready)
}

fn stop(launched: &mut LaunchedService, talks: bool) {
    let killed = launched.stop();
    if killed > 0 && talks {
        screen::talk(&format!(
            "note: {killed} processes of the service did not exit on request and were killed"
        ));
    }
}

/// Sets client and address from the command, if they are not given.
fn fill(args: &mut ProfileArgs, launch: &Launch) {
    let is_stored = args.plan.is_some() || args.resume.is_some();
    let Some(preset) = preset(&launch.command).filter(|_| !is_stored) else {
        return;
    };
    if args.client.is_none() && args.client_base_url.is_none() {
        let mut known = clients::known().into_iter();
        let is_known = known.any(|known| known.id == preset.client);
        args.client = Some(if is_known { preset.client } else { "openai" }.to_owned());
    }
    args.client_base_url.get_or_insert(preset.base_url);
    args.ready_url.clone_from(&launch.ready_url);
}

/// What to launch, from the flags or from a stored plan. A stored plan needs permission.
fn wanted(args: &ProfileArgs) -> Result<Option<Launch>, CliError> {
    if let Some((path, plan)) = settings::stored(args)? {
        return of_plan(plan.launch, &path, args);
    }
    match (args.launch, args.command.is_empty()) {
        (false, true) => Ok(None),
        (true, true) => Err(CliError::usage("`--launch` needs a command after `--`")
            .help("for example `ipw profile --launch -- llama-server -m model.gguf --port 8080`")),
        (false, false) => Err(CliError::usage("a command after `--` needs `--launch`")),
        (true, false) => Ok(Some(Launch {
            command: args.command.clone(),
            ready_url: args
                .ready_url
                .clone()
                .or_else(|| Some(preset(&args.command)?.ready_url)),
        })),
    }
}

/// What a stored plan starts. Plans store no secrets: a command with secrets must be given again.
fn of_plan(
    stored: Option<Launch>,
    path: &Path,
    args: &ProfileArgs,
) -> Result<Option<Launch>, CliError> {
    let Some(launch) = stored else {
        return Ok(None);
    };
    let shown = printable(&launch.command.join(" "));
    let starts = format!("the plan `{}` starts `{shown}`", path.display());
    if args.launch {
        return if secret::masked_arguments(&args.command) == launch.command {
            let command = args.command.clone();
            Ok(Some(Launch { command, ..launch }))
        } else {
            let other = format!("{starts}, not the command after `--`");
            Err(CliError::usage(other).help("give the same command, or start a new run"))
        };
    }
    if launch
        .command
        .iter()
        .any(|word| word.contains(secret::MASK))
    {
        return Err(
            CliError::usage(format!("{starts}, and its secrets are not stored"))
                .help("give the whole command again: `--launch -- COMMAND`"),
        );
    }
    if !args.allow_launch {
        return Err(
            CliError::usage(format!("{starts}, which needs your permission"))
                .help("check the command, then add `--allow-launch`"),
        );
    }
    Ok(Some(launch))
}
