//! The real binary against the reference service.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use ipw_core::time::Clock;
use ipw_reference::{Received, Script, Service};
use ipw_runner::SystemClock;
use ipw_store::Run;
use serde_json::{Value, json};

/// Tests that take all cores, and one that promises something within a second, keep out of each
/// other's way.
static CORES: RwLock<()> = RwLock::new(());

/// Commands so far.
static COMMANDS: AtomicU64 = AtomicU64::new(0);

/// Held by a test that computes on all cores.
pub(crate) fn all_cores() -> RwLockReadGuard<'static, ()> {
    CORES.read().unwrap_or_else(PoisonError::into_inner)
}

/// Held by a test that needs the machine to answer in time.
pub(crate) fn no_other_load() -> RwLockWriteGuard<'static, ()> {
    CORES.write().unwrap_or_else(PoisonError::into_inner)
}

/// A place for one test: a service, and a directory for runs.
pub(crate) struct Place {
    pub(crate) service: Service,
    pub(crate) clock: Arc<dyn Clock>,
    directory: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new(script: impl Fn(&Received) -> Script + Send + Sync + 'static) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let service = Service::start(Arc::clone(&clock), script).unwrap();
        Self {
            service,
            clock,
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// `ipw profile` against this place's service.
    pub(crate) fn profile(&self, more: &[&str]) -> Command {
        self.profile_at(&self.service.url(), "reference", more)
    }

    /// `ipw profile` against whatever is there, into this place's runs.
    pub(crate) fn profile_at(&self, url: &str, model: &str, more: &[&str]) -> Command {
        let mut command = ipw();
        command
            .args([
                "profile",
                "--client",
                "openai",
                "--model",
                model,
                "--client-base-url",
                url,
            ])
            .arg("--output-dir")
            .arg(self.runs())
            .args(more);
        command
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.directory.path().join("runs")
    }

    /// Where `starter` goes: the latest run, whatever its load.
    pub(crate) fn run(&self) -> PathBuf {
        self.run_of("starter")
    }

    pub(crate) fn run_of(&self, dataset: &str) -> PathBuf {
        self.run_of_model("reference", dataset)
    }

    pub(crate) fn run_of_model(&self, model: &str, dataset: &str) -> PathBuf {
        let subject = format!("_{model}_{dataset}");
        let made = std::fs::read_dir(self.runs())
            .into_iter()
            .flatten()
            .flatten();
        // Behind it stand the client and the load.
        let runs = made.map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let load = name.split_once(&subject).map(|(_, load)| load);
            name.starts_with("profile_")
                && load.is_some_and(|load| load.is_empty() || load.starts_with('_'))
        });
        let begun = |run: &PathBuf| {
            let plan = run.join("plan.toml").metadata();
            plan.and_then(|plan| plan.modified()).ok()
        };
        // The hardware's label is the machine's own; before there is a run, any name does.
        runs.max_by_key(begun)
            .unwrap_or_else(|| self.runs().join(format!("profile_HARDWARE{subject}")))
    }

    /// Writes a dataset of these rows.
    pub(crate) fn jsonl(&self, name: &str, rows: impl IntoIterator<Item = Value>) -> PathBuf {
        let path = self.directory.path().join(format!("{name}.jsonl"));
        let lines: Vec<_> = rows.into_iter().map(|row| row.to_string()).collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        path
    }

    /// What stands for `/sys`.
    pub(crate) fn sysfs(&self) -> PathBuf {
        let path = self.directory.path().join("sys");
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// The binary, cut off from this machine's own configuration and keys.
pub(crate) fn ipw() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ipw"));
    command
        .stdin(Stdio::null())
        .env_remove("OPENAI_API_KEY")
        .env_remove("HOME");
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("IPW_")) {
        command.env_remove(name);
    }
    // What idle does is a test of its own; the others need not wait for it.
    command.env_remove("XDG_CONFIG_HOME").env("IPW_IDLE", "0");
    // Runs of other tests are not on this one's machine.
    let number = COMMANDS.fetch_add(1, Ordering::Relaxed);
    command.env("IPW_MACHINE_ID", format!("{}.{number}", std::process::id()));
    command
}

/// The command without this machine's own proxies.
pub(crate) fn without_proxies(command: &mut Command) -> &mut Command {
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
        command.env_remove(name).env_remove(name.to_uppercase());
    }
    command
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

pub(crate) fn said(command: &mut Command) -> Said {
    command.output().unwrap().into()
}

/// Starts a command with everything it says collected.
pub(crate) fn spawn(command: &mut Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The rows of a run as JSON, by our own reader.
pub(crate) fn rows(run: &Path) -> Vec<Value> {
    let run = Run::open(run).unwrap();
    let mut writer = arrow_json::WriterBuilder::new()
        .with_explicit_nulls(true)
        .build::<_, arrow_json::writer::LineDelimited>(Vec::new());
    for batch in run.batches() {
        writer.write(&batch.unwrap()).unwrap();
    }
    writer.finish().unwrap();
    let text = String::from_utf8(writer.into_inner()).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(crate) fn summary(run: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(run.join("summary.json")).unwrap()).unwrap()
}

pub(crate) fn events(run: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(run.join("events.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The model's metrics of a row.
pub(crate) fn metrics(row: &Value) -> &Value {
    &row["model_metrics"]["reference"]
}

/// Waits until `done` holds; the bound is for a broken test, not a measurement.
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("waited in vain until {what}");
}

/// Questions without an answer of their own.
pub(crate) fn questions(count: usize) -> Vec<Value> {
    (0..count)
        .map(|n| json!({"problem": format!("question number {n}")}))
        .collect()
}
