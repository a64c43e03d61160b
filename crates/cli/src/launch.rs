//! A service that is started for the run, and stopped after it with everything that it started.
//!
//! The command runs in a session of its own, without a shell. It is started through this very binary
//! ([`enter`]), which makes the session, asks the kernel to end it should we be killed, and becomes the
//! command. Orphans come back to us (a subreaper), so that none of its descendants is lost.

mod family;
mod preset;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use ipw_clients::ClientSpec;
use ipw_core::secret;
use ipw_core::text::{excerpt, printable};
use ipw_core::time::{Clock, Timestamp};
use ipw_runner::SystemClock;
use ipw_runner::plan::Launch;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::{ProfileArgs, Span};
use crate::error::{CliError, Exit};
use crate::{screen, settings};
use family::Family;

/// How long a service may take to become ready, unless somebody says otherwise.
const READY: Duration = Duration::from_mins(10);
/// Between two looks whether it is.
const LOOK: Duration = Duration::from_millis(250);
/// How long one look may take.
const ANSWER: Duration = Duration::from_secs(2);
/// Lines of its log that are shown when it fails.
const TAIL: usize = 20;

/// Runs `run` with the service that is to be launched, if one is.
pub(crate) fn around(
    mut args: ProfileArgs,
    run: impl FnOnce(ProfileArgs) -> Result<Exit, CliError>,
) -> Result<Exit, CliError> {
    let Some(launch) = wanted(&args)? else {
        return run(args);
    };
    preset::fill(&mut args, &launch);
    // What is wrong with the rest is said before anything is started.
    let plan = settings::resolve(&mut args.clone(), |_| Ok("launched".to_owned()))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting the runtime")?;
    let mut launched = runtime.block_on(Launched::start(&launch, &args, &plan.client))?;
    let ready = runtime.block_on(launched.until_ready(&args, &plan.client));
    drop(runtime);
    match ready {
        Ok(Some(about)) => args.launched = Some(about),
        Ok(None) => {
            launched.stop(args.quiet);
            return Ok(Exit::Interrupted);
        }
        Err(error) => {
            launched.stop(true);
            return Err(error);
        }
    }
    let quiet = args.quiet || args.json;
    let done = run(args);
    launched.stop(quiet);
    if matches!(done, Ok(Exit::Done)) {
        // Its log is of use to who has to find out what went wrong.
        let _ = std::fs::remove_file(&launched.log);
    }
    done
}

/// What is to be launched: as the flags say, or as a stored plan does, which takes a word.
fn wanted(args: &ProfileArgs) -> Result<Option<Launch>, CliError> {
    if let Some((path, plan)) = settings::stored(args)? {
        return of_plan(plan.launch, &path, args);
    }
    match (args.launch, args.command.is_empty()) {
        (false, true) => Ok(None),
        (true, true) => Err(CliError::usage("`--launch` takes the command behind `--`")
            .help("`ipw profile --launch -- llama-server -m model.gguf --port 8080`")),
        (false, false) => Err(CliError::usage("a command behind `--` takes `--launch`")),
        (true, false) => Ok(Some(Launch {
            command: args.command.clone(),
            ready_url: args
                .ready_url
                .clone()
                .or_else(|| preset::ready_url(&args.command)),
        })),
    }
}

/// What a stored plan starts. Its secrets are not in it: a command that has some is given again.
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
            let other = format!("{starts}, which is not the command behind `--`");
            Err(CliError::usage(other).help("give the same command, or start another run"))
        };
    }
    if launch
        .command
        .iter()
        .any(|word| word.contains(secret::MASK))
    {
        return Err(
            CliError::usage(format!("{starts}, and secrets are not stored"))
                .help("give the whole command again: `--launch -- COMMAND`"),
        );
    }
    if !args.allow_launch {
        return Err(CliError::usage(starts).help("`--allow-launch` lets it"));
    }
    Ok(Some(launch))
}

/// A service that was started.
struct Launched {
    process: Child,
    family: Family,
    /// As it is stored and shown: without secrets.
    command: Vec<String>,
    ready_url: Option<String>,
    log: PathBuf,
    clock: Arc<dyn Clock>,
    began: Timestamp,
    is_over: bool,
}

impl Launched {
    async fn start(
        launch: &Launch,
        args: &ProfileArgs,
        client: &ClientSpec,
    ) -> Result<Self, CliError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        if let Some(url) = &launch.ready_url {
            refuse_taken(url, &clock).await?;
        }
        // Queries may go elsewhere than the question whether it is ready.
        if let Ok(client) = ipw_clients::connect(client, Arc::clone(&clock)) {
            refuse_taken(client.base_url(), &clock).await?;
        }
        // Its log may show them.
        secret::secret_arguments(&launch.command)
            .into_iter()
            .for_each(secret::remember);
        let log = log_file(args)?;
        // Of an earlier process with the same number; a link is removed, not followed.
        let _ = std::fs::remove_file(&log);
        let file =
            File::create_new(&log).with_context(|| format!("cannot write `{}`", log.display()))?;
        let err = file.try_clone().context("opening the log twice")?;
        let family = Family::adopt();
        let own = std::env::current_exe().context("finding this program")?;
        let program = &launch.command[0];
        let process = Command::new(own)
            .arg("launched")
            .arg("--")
            .args(&launch.command)
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(err)
            .spawn()
            .with_context(|| format!("cannot start `{}`", printable(program)))?;
        Ok(Self {
            process,
            family,
            command: secret::masked_arguments(&launch.command),
            ready_url: launch.ready_url.clone(),
            log,
            began: clock.now(),
            clock,
            is_over: false,
        })
    }

    /// Waits until it answers; `None` when we were told to stop.
    async fn until_ready(
        &mut self,
        args: &ProfileArgs,
        client: &ClientSpec,
    ) -> Result<Option<Value>, CliError> {
        let limit = args.ready_timeout.map_or(READY, |Span(limit)| limit);
        let mut interrupt = signal(SignalKind::interrupt()).context("listening for signals")?;
        let mut terminate = signal(SignalKind::terminate()).context("listening for signals")?;
        let mut told = 0;
        loop {
            if let Some(status) = self.process.try_wait().context("looking at the service")? {
                return Err(
                    self.failed(&format!("it ended before it was ready ({})", words(status)))
                );
            }
            let why = tokio::select! {
                why = self.look(client) => why?,
                _ = interrupt.recv() => return Ok(None),
                _ = terminate.recv() => return Ok(None),
            };
            let waited = self.clock.now().since(self.began);
            let Some(why) = why else {
                if !args.quiet && !args.json {
                    screen::talk(&format!(
                        "ready after {}",
                        screen::seconds(waited.as_secs_f64())
                    ));
                }
                return Ok(Some(self.about(waited)));
            };
            if waited >= limit {
                return Err(self.failed(&format!("it was not ready within {limit:?} ({why})")));
            }
            let seconds = waited.as_secs() / 5;
            if seconds > told && !args.quiet && !args.json {
                told = seconds;
                let last = self.tail(1).pop().unwrap_or_default();
                screen::talk(&format!(
                    "waiting for the service, {} s: {last}",
                    seconds * 5
                ));
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                _ = interrupt.recv() => return Ok(None),
                _ = terminate.recv() => return Ok(None),
            }
        }
    }

    /// Why it is not ready; `None` if it is.
    async fn look(&self, client: &ClientSpec) -> Result<Option<String>, CliError> {
        let Some(url) = &self.ready_url else {
            let client = ipw_clients::connect(client, Arc::clone(&self.clock))
                .map_err(|error| CliError::new(Exit::Usage, error))?;
            let health = client.health().await;
            return Ok(health.err().map(|error| error.cause));
        };
        let answer = ipw_clients::probe(url, ANSWER, Arc::clone(&self.clock))
            .await
            .map_err(|error| CliError::new(Exit::Usage, error))?;
        Ok(match answer {
            Ok(status) if (200..400).contains(&status) => None,
            Ok(status) => Some(format!("{url} says {status}")),
            Err(text) => Some(text),
        })
    }

    fn about(&self, waited: Duration) -> Value {
        json!({
            "command": self.command,
            "ready_url": self.ready_url,
            "load_seconds": waited.as_secs_f64(),
        })
    }

    fn failed(&self, what: &str) -> CliError {
        let tail = self.tail(TAIL).join("\n  ");
        let said = if tail.is_empty() {
            "it said nothing".to_owned()
        } else {
            format!("its last words:\n  {tail}")
        };
        let program = printable(&self.command.join(" "));
        let error = anyhow::anyhow!("{what}; {said}").context(format!(
            "the service `{}` did not come up",
            excerpt(&program, 200)
        ));
        CliError::new(Exit::Service, error).help(format!(
            "its whole log is `{}`; `--ready-url` and `--ready-timeout` say what to wait for",
            self.log.display()
        ))
    }

    /// The last lines of its log.
    fn tail(&self, lines: usize) -> Vec<String> {
        tail(&self.log, lines).unwrap_or_default()
    }

    /// Ends it and all that it started: asks, waits, then makes it.
    fn stop(&mut self, quiet: bool) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let left = self.family.end(&mut self.process);
        if left > 0 && !quiet {
            screen::talk(&format!(
                "note: {left} processes of the service did not end when asked, and were killed"
            ));
        }
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.stop(true);
    }
}

/// Somebody else is there already: what would be measured is not what is started.
async fn refuse_taken(url: &str, clock: &Arc<dyn Clock>) -> Result<(), CliError> {
    let answer = ipw_clients::probe(url, ANSWER, Arc::clone(clock))
        .await
        .map_err(|error| CliError::new(Exit::Usage, error))?;
    match answer {
        Err(_) => Ok(()),
        Ok(_) => Err(CliError::new(
            Exit::Service,
            anyhow::anyhow!("something answers at {url} already"),
        )
        .help("stop it, give the new one another port, or leave `--launch` out")),
    }
}

/// Beside the runs, under a name that begins with a dot.
fn log_file(args: &ProfileArgs) -> Result<PathBuf, CliError> {
    let directory = args.output_dir.clone().unwrap_or_else(|| "runs".into());
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("cannot create `{}`", directory.display()))?;
    Ok(directory.join(format!(".launched-{}.log", std::process::id())))
}

fn tail(path: &Path, lines: usize) -> std::io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(64 << 10)))?;
    let mut last = VecDeque::with_capacity(lines + 1);
    for line in BufReader::new(file).split(b'\n') {
        let line = printable(&secret::hide(&String::from_utf8_lossy(&line?)));
        if !line.trim().is_empty() {
            last.push_back(excerpt(&line, 300));
        }
        if last.len() > lines {
            last.pop_front();
        }
    }
    Ok(last.into())
}

fn words(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no word".to_owned(),
    }
}

/// `ipw launched -- COMMAND`: becomes the command, in a session of its own that ends with us.
pub(crate) fn enter(command: &[OsString]) -> Result<Exit, CliError> {
    use std::os::unix::process::CommandExt as _;
    let Some((program, arguments)) = command.split_first() else {
        return Err(CliError::usage("a command is missing"));
    };
    rustix::process::setsid().context("making a session")?;
    family::end_with_parent();
    let error = Command::new(program).args(arguments).exec();
    let program = printable(&program.to_string_lossy());
    Err(CliError::from(
        anyhow::Error::from(error).context(format!("cannot start `{program}`")),
    ))
}
