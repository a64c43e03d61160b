//! Sources on another machine, read from its monitor: ours or the original's.
//!
//! A thread with its own runtime holds the connection, converts the monitor's timestamps to our
//! clock, and reconnects with growing pauses. Readings wait in a bounded inbox until the sampler
//! polls. Lost readings are a gap, never a guess (docs/decisions/0008).

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

use ipw_core::alignment::ClockOffset;
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
use self::line::{Link, RemoteInfo};

/// Time limit for the first connection.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a monitor collects readings for one message.
const TOGETHER: Duration = Duration::from_millis(100);
/// How long to wait for the thread to end.
const GOODBYE: Duration = Duration::from_secs(2);

/// A monitor to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSpec {
    /// Where it is.
    pub address: Address,
    /// Name of its machine in source names; `None` uses the address or the monitor's own name.
    pub name: Option<String>,
    /// The role of its machine.
    pub role: Role,
    /// A file whose first line is the token.
    pub token_file: Option<PathBuf>,
}

/// Why a monitor cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The address is malformed.
    #[error("`{text}` is not the address of a monitor: {reason}")]
    Address {
        /// The text as given.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A parameter is invalid.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// The token cannot be used.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// No monitor answers.
    #[error("no monitor at `{address}`: {reason}")]
    Unreachable {
        /// The address.
        address: String,
        /// The reason.
        reason: String,
    },
    /// The monitor refuses the token.
    #[error("the monitor at `{address}` denies access: {reason}")]
    Denied {
        /// The address.
        address: String,
        /// The monitor's message.
        reason: String,
    },
    /// The monitor's answers are unusable.
    #[error("cannot use the monitor at `{address}`: {reason}")]
    Nonsense {
        /// The address.
        address: String,
        /// The reason.
        reason: String,
    },
    /// The thread cannot be started.
    #[error("cannot start the thread that reads `{address}`")]
    Thread {
        /// The address.
        address: String,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
}

impl RemoteError {
    /// Advice for the user.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Address { .. } | Self::Params(_) => format!(
                "`{}` or `{}`",
                Setting::Telemetry
                    .to("grpc://HOST:PORT[,role=service|client][,name=NAME][,token-file=PATH]"),
                Setting::Telemetry.to("unix:PATH")
            ),
            Self::Token(_) => "the first line of the file must be the monitor's token".to_owned(),
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
    /// Parses `address` and `K=V` pairs.
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

/// A collector of the sources of a remote monitor.
pub struct Remote {
    found: RemoteInfo,
    role: Role,
    inbox: Arc<Mutex<Inbox>>,
    /// Dropped with the collector, which ends the thread.
    stop: Option<watch::Sender<bool>>,
    thread: Option<JoinHandle<()>>,
    taken: Vec<(usize, Timestamp, f64)>,
    aligned: Option<ClockOffset>,
}

/// Connects, aligns the clocks, lists the sources, and starts to receive.
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
    /// The name of its machine in source names.
    pub fn host(&self) -> &str {
        &self.found.host
    }

    /// Whether it runs on the machine with this boot id.
    pub fn is_on(&self, boot_id: &str) -> bool {
        self.found.boot_id.as_deref() == Some(boot_id)
    }

    /// What to know before trusting its energy.
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

    fn aligned(&self) -> Option<ClockOffset> {
        self.aligned
    }

    fn delay(&self) -> Duration {
        // Time until the message is sent, on the network, and in the inbox until the next poll.
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
