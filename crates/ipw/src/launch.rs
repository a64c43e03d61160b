//! Starts a service for the run, and stops it and all its descendants afterwards.
//!
//! The command runs without a shell, in its own session. It is started through this binary
//! ([`enter`]), which creates the session, asks the kernel to end it if this process is killed, and
//! then becomes the command. This process is a subreaper: orphaned descendants are reparented to
//! it, so that none escapes.

mod family;
mod preset;

pub use preset::{Preset, preset};

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
use ipw_core::plan::Launch;
use ipw_core::secret;
use ipw_core::setting::Setting;
use ipw_core::text::{excerpt, printable};
use ipw_core::time::{Clock, Timestamp};
use ipw_runner::SystemClock;
use serde_json::{Value, json};

use crate::error::{Error, Kind};
use family::Family;

/// Default limit for the service to become ready.
const READY: Duration = Duration::from_mins(10);
/// Interval between readiness checks.
const LOOK: Duration = Duration::from_millis(250);
/// Timeout of one readiness check.
const ANSWER: Duration = Duration::from_secs(2);
/// Number of log lines to show on failure.
const TAIL: usize = 20;

/// A running service that this process started. Dropping it stops the service.
pub struct LaunchedService {
    process: Child,
    family: Family,
    /// The command with secrets masked, as stored and shown.
    command: Vec<String>,
    ready_url: Option<String>,
    log: PathBuf,
    clock: Arc<dyn Clock>,
    began: Timestamp,
    is_over: bool,
}

impl LaunchedService {
    /// Starts the command. Its output goes to a log file in `directory`, where runs are created.
    /// `through` is a program with arguments that calls [`enter`] with the arguments that follow.
    pub async fn start(
        launch: &Launch,
        through: &[OsString],
        directory: &Path,
        client: &ClientSpec,
    ) -> Result<Self, Error> {
        if through.is_empty() {
            return Err(Error::invalid(
                "there is no program to start the command with",
            ));
        }
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        if let Some(url) = &launch.ready_url {
            refuse_taken(url, &clock).await?;
        }
        // Queries may go to another address than the readiness check, so check that one too.
        if let Ok(client) = ipw_clients::connect(client, Arc::clone(&clock)) {
            refuse_taken(client.base_url(), &clock).await?;
        }
        // Mask secret arguments wherever the log is shown.
        secret::secret_arguments(&launch.command)
            .into_iter()
            .for_each(secret::remember);
        let log = log_file(directory)?;
        // A stale log of an earlier process with the same id. A symbolic link is removed, not
        // followed.
        let _ = std::fs::remove_file(&log);
        let file =
            File::create_new(&log).with_context(|| format!("cannot write `{}`", log.display()))?;
        let err = file.try_clone().context("opening the log twice")?;
        let family = Family::adopt();
        let program = launch.command.first().context("the command is empty")?;
        let process = Command::new(&through[0])
            .args(&through[1..])
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

    /// Waits up to `limit` until the service answers; `None` if `stop` completes first. `waiting`
    /// is called now and then with the seconds so far and the last line of the log.
    pub async fn until_ready(
        &mut self,
        client: &ClientSpec,
        limit: Option<Duration>,
        stop: impl Future<Output = ()>,
        mut waiting: impl FnMut(u64, &str),
    ) -> Result<Option<Ready>, Error> {
        let limit = limit.unwrap_or(READY);
        let mut stop = std::pin::pin!(stop);
        let mut told = 0;
        loop {
            if let Some(status) = self.process.try_wait().context("looking at the service")? {
                return Err(self.failed(&format!(
                    "it exited before it was ready ({})",
                    words(status)
                )));
            }
            let why = tokio::select! {
                why = self.look(client) => why?,
                () = &mut stop => return Ok(None),
            };
            let waited = self.clock.now().since(self.began);
            let Some(why) = why else {
                return Ok(Some(Ready {
                    waited,
                    about: self.about(waited),
                }));
            };
            if waited >= limit {
                return Err(self.failed(&format!("it was not ready within {limit:?} ({why})")));
            }
            let seconds = waited.as_secs() / 5;
            if seconds > told {
                told = seconds;
                waiting(seconds * 5, &self.tail(1).pop().unwrap_or_default());
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = &mut stop => return Ok(None),
            }
        }
    }

    /// Why the service is not ready; `None` if it is.
    async fn look(&self, client: &ClientSpec) -> Result<Option<String>, Error> {
        let Some(url) = &self.ready_url else {
            let client = ipw_clients::connect(client, Arc::clone(&self.clock))
                .map_err(|error| Error::new(Kind::Invalid, error))?;
            let health = client.health().await;
            return Ok(health.err().map(|error| error.cause));
        };
        let answer = ipw_clients::probe(url, ANSWER, Arc::clone(&self.clock))
            .await
            .map_err(|error| Error::new(Kind::Invalid, error))?;
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

    fn failed(&self, what: &str) -> Error {
        let tail = self.tail(TAIL).join("\n  ");
        let said = if tail.is_empty() {
            "its log is empty".to_owned()
        } else {
            format!("end of its log:\n  {tail}")
        };
        let program = printable(&self.command.join(" "));
        let error = anyhow::anyhow!("{what}; {said}").context(format!(
            "the service `{}` did not start",
            excerpt(&program, 200)
        ));
        Error::new(Kind::Service, error).with_help(format!(
            "see its log `{}`; set `{}` and `{}` to change what to wait for",
            self.log.display(),
            Setting::ReadyUrl,
            Setting::ReadyTimeout
        ))
    }

    fn tail(&self, lines: usize) -> Vec<String> {
        tail(&self.log, lines).unwrap_or_default()
    }

    /// Path of the log with the service's output.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Stops the service and its descendants: sends a signal, waits, then kills. Returns the number
    /// of killed processes.
    pub fn stop(&mut self) -> usize {
        if std::mem::replace(&mut self.is_over, true) {
            return 0;
        }
        self.family.end(&mut self.process)
    }
}

impl Drop for LaunchedService {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A launched service that answers.
#[derive(Debug)]
pub struct Ready {
    /// Time until it was ready.
    pub waited: Duration,
    /// Facts about it to store with the run.
    pub about: Value,
}

/// Refuses an address where another service already answers: it would be measured instead of the
/// new one.
async fn refuse_taken(url: &str, clock: &Arc<dyn Clock>) -> Result<(), Error> {
    let answer = ipw_clients::probe(url, ANSWER, Arc::clone(clock))
        .await
        .map_err(|error| Error::new(Kind::Invalid, error))?;
    match answer {
        Err(_) => Ok(()),
        Ok(_) => Err(Error::new(
            Kind::Service,
            anyhow::anyhow!("a service already answers at {url}"),
        )
        .with_help(format!(
            "stop it, choose another port, or remove `{}`",
            Setting::Launch
        ))),
    }
}

/// A hidden log file beside the runs.
fn log_file(directory: &Path) -> Result<PathBuf, Error> {
    std::fs::create_dir_all(directory)
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
        (None, None) => "unknown status".to_owned(),
    }
}

/// Becomes the command, in a new session that ends with the parent process. Returns only on
/// failure.
pub fn enter(command: &[OsString]) -> Error {
    use std::os::unix::process::CommandExt as _;
    let Some((program, arguments)) = command.split_first() else {
        return Error::invalid("the command is empty");
    };
    if let Err(error) = rustix::process::setsid() {
        return anyhow::Error::from(error)
            .context("making a session")
            .into();
    }
    family::end_with_parent();
    let error = Command::new(program).args(arguments).exec();
    let program = printable(&program.to_string_lossy());
    anyhow::Error::from(error)
        .context(format!("cannot start `{program}`"))
        .into()
}
