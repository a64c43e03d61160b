//! Sources on another machine, read from its monitor: ours or the original's.
//!
//! A thread with a runtime of its own holds the connection, brings the monitor's instants to our
//! clock, and comes back with a growing pause when the line is cut. What arrives waits in a bounded
//! box until the sampler polls. What was lost on the way is a gap, never a guess.

mod address;
mod inbox;
mod line;
mod original;
mod ours;

use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ipw_core::alignment::Aligned;
use ipw_core::hardware::{Device, SystemInfo};
use ipw_core::params::{ParamError, Params};
use ipw_core::setting::Setting;
use ipw_core::source::{Role, Source};
use ipw_core::time::{Clock, Timestamp};
use ipw_telemetry::{Collector, PollError};
use tokio::sync::watch;

pub use address::{Address, DEFAULT_PORT};

use crate::{Token, TokenError};

use self::inbox::Inbox;
use self::line::{Found, Link};

/// How long the first connection may take, all in all.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a monitor collects readings for one message.
const TOGETHER: Duration = Duration::from_millis(100);
/// How long the thread may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(2);

/// A monitor that is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSpec {
    /// Where it is.
    pub address: Address,
    /// What its machine is called in the names of its sources.
    pub name: Option<String>,
    /// Whose machine it is on.
    pub role: Role,
    /// The file whose first line is the token.
    pub token_file: Option<PathBuf>,
}

/// A monitor cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// Its address is none.
    #[error("`{text}` is no address of a monitor: {reason}")]
    Address {
        /// As given.
        text: String,
        /// Why not.
        reason: &'static str,
    },
    /// A parameter of it is wrong.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// The token cannot be used.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// Nobody answers.
    #[error("no monitor at `{address}`: {reason}")]
    Unreachable {
        /// Where.
        address: String,
        /// Why not.
        reason: String,
    },
    /// It wants another token.
    #[error("the monitor at `{address}` refuses us: {reason}")]
    Denied {
        /// Where.
        address: String,
        /// What it said.
        reason: String,
    },
    /// What it says cannot be used.
    #[error("the monitor at `{address}` makes no sense: {reason}")]
    Nonsense {
        /// Where.
        address: String,
        /// Why not.
        reason: String,
    },
    /// The thread cannot be started.
    #[error("cannot start the thread that reads `{address}`")]
    Thread {
        /// Where.
        address: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

impl RemoteError {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Address { .. } | Self::Params(_) => format!(
                "`{}` or `{}`",
                Setting::Telemetry
                    .to("grpc://HOST:PORT[,role=service|client][,name=NAME][,token-file=PATH]"),
                Setting::Telemetry.to("unix:PATH")
            ),
            Self::Token(_) => {
                "its first line is the token that the monitor was started with".to_owned()
            }
            Self::Unreachable { .. } => format!(
                "start `ipw monitor` on that machine; it listens on loopback, so reach it by `ssh -N -L {DEFAULT_PORT}:127.0.0.1:{DEFAULT_PORT} HOST` and `{}`",
                Setting::Telemetry.to(format_args!("grpc://127.0.0.1:{DEFAULT_PORT}"))
            ),
            Self::Denied { .. } => format!(
                "add `,token-file=PATH` with the token of its `{}`",
                Setting::TokenFile
            ),
            Self::Nonsense { .. } | Self::Thread { .. } => return None,
        })
    }
}

impl RemoteSpec {
    /// What `address` and `K=V` pairs say.
    pub fn parse(address: &str, params: &Params) -> Result<Self, RemoteError> {
        let mut reader = params.reader(address);
        let role = reader.parsed("role", "`service` or `client`")?;
        let name = reader.text("name");
        let token_file = reader.text("token-file").map(PathBuf::from);
        reader.finish()?;
        Ok(Self {
            address: Address::parse(address)?,
            name,
            role: role.unwrap_or_default(),
            token_file,
        })
    }
}

/// The sources of a monitor elsewhere.
pub struct Remote {
    found: Found,
    role: Role,
    inbox: Arc<Mutex<Inbox>>,
    /// Drops when the collector does: the thread ends.
    stop: Option<watch::Sender<bool>>,
    thread: Option<JoinHandle<()>>,
    taken: Vec<(usize, Timestamp, f64)>,
    aligned: Option<Aligned>,
}

/// Connects, aligns the clocks, learns what there is, and begins to listen.
pub fn connect(spec: &RemoteSpec, clock: &Arc<dyn Clock>) -> Result<Remote, RemoteError> {
    let address = spec.address.to_string();
    let token = spec.token_file.as_deref().map(Token::read).transpose()?;
    let inbox = Arc::new(Mutex::new(Inbox::default()));
    let (stop, stopped) = watch::channel(false);
    let (told, tell) = sync_channel(1);
    let line = Link {
        address: spec.address.clone(),
        name: spec.name.clone(),
        token,
        clock: Arc::clone(clock),
        inbox: Arc::clone(&inbox),
    };
    let thread = std::thread::Builder::new()
        .name("ipw-remote".to_owned())
        .spawn(move || line.run(&told, stopped))
        .map_err(|source| RemoteError::Thread {
            address: address.clone(),
            source,
        })?;
    let unreachable = |reason: &str| RemoteError::Unreachable {
        address,
        reason: reason.to_owned(),
    };
    let found = tell
        .recv_timeout(PATIENCE)
        .map_err(|_| unreachable("it did not answer in time"))??;
    let aligned = lock(&inbox).aligned();
    Ok(Remote {
        found,
        role: spec.role,
        inbox,
        stop: Some(stop),
        thread: Some(thread),
        taken: Vec::new(),
        aligned,
    })
}

impl Remote {
    /// What its machine is called in the names of its sources.
    pub fn host(&self) -> &str {
        &self.found.host
    }

    /// Whether it runs on the machine that has this boot id.
    pub fn is_on(&self, boot_id: &str) -> bool {
        self.found.boot_id.as_deref() == Some(boot_id)
    }

    /// What a person should know before trusting its joules.
    pub fn notes(&self) -> &[String] {
        &self.found.notes
    }
}

impl Collector for Remote {
    fn id(&self) -> &'static str {
        "remote"
    }

    fn sources(&self) -> &[Source] {
        &self.found.sources
    }

    fn devices(&self) -> &[Device] {
        &self.found.devices
    }

    fn role(&self) -> Option<Role> {
        Some(self.role)
    }

    fn system(&self) -> Option<&SystemInfo> {
        Some(&self.found.system)
    }

    fn aligned(&self) -> Option<Aligned> {
        self.aligned
    }

    fn delay(&self) -> Duration {
        // Until its message goes, on the way, and in the box until the next poll.
        self.found.interval * 2 + TOGETHER + self.found.round_trip
    }

    fn interval(&self, _wanted: Duration) -> Duration {
        self.found.interval
    }

    fn poll(
        &mut self,
        _clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError> {
        let mut inbox = lock(&self.inbox);
        let fault = inbox.empty_into(&mut self.taken);
        self.aligned = inbox.aligned();
        drop(inbox);
        for (place, at, value) in self.taken.drain(..) {
            take(place, at, value);
        }
        match fault {
            None => Ok(()),
            Some(fault) => Err(PollError::Retry(fault)),
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        drop(self.stop.take());
        let Some(thread) = self.thread.take() else {
            return;
        };
        let tick = Duration::from_millis(5);
        let mut waited = Duration::ZERO;
        while !thread.is_finished() && waited < GOODBYE {
            std::thread::sleep(tick);
            waited += tick;
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}

fn lock(inbox: &Mutex<Inbox>) -> std::sync::MutexGuard<'_, Inbox> {
    inbox.lock().unwrap_or_else(PoisonError::into_inner)
}
