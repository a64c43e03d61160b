//! The connection to a monitor: opened, read, and opened again when it breaks.

use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ipw_core::hardware::{Device, SystemInfo};
use ipw_core::source::Source;
use ipw_core::text::{excerpt, printable};
use ipw_core::time::Clock;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

use super::inbox::Inbox;
use super::{Address, RemoteError, lock, original, ours};
use crate::pb::energy_monitor_client::EnergyMonitorClient;
use crate::{Token, pb};

/// Time limit for a connection or a single query.
const ANSWER: Duration = Duration::from_secs(4);
/// Number of health queries; the fastest gives the round trip.
const HEALTHS: usize = 5;
/// Shortest pause before a reconnection.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Maximum size of a message.
const LARGEST_MESSAGE: usize = 4 << 20;
/// Maximum length of a monitor's text that is shown.
const LONGEST_TEXT: usize = 200;

pub(super) type Client = EnergyMonitorClient<InterceptedService<Channel, Bearer>>;

/// What is known of a monitor when the first readings arrive.
pub(super) struct RemoteInfo {
    pub(super) host: String,
    pub(super) sources: Vec<Source>,
    pub(super) devices: Vec<Device>,
    pub(super) system: SystemInfo,
    pub(super) boot_id: Option<String>,
    pub(super) interval: Duration,
    pub(super) round_trip: Duration,
    pub(super) notes: Vec<String>,
}

/// How to reach a monitor, and where its readings go.
pub(super) struct Link {
    pub(super) address: Address,
    pub(super) name: Option<String>,
    pub(super) token: Option<Token>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) inbox: Arc<Mutex<Inbox>>,
}

/// An open connection whose monitor has identified itself.
pub(super) struct OpenLine {
    pub(super) client: Client,
    pub(super) health: pb::HealthResponse,
    pub(super) round_trip: Duration,
}

/// Adds the token to every request.
#[derive(Clone)]
pub(super) struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request
                .metadata_mut()
                .insert("authorization", token.clone());
        }
        Ok(request)
    }
}

/// The reader for the kind of monitor.
enum Reader {
    Ours(ours::Reader),
    Original(original::Reader),
}

impl Link {
    /// Reports what was found, then receives until stopped.
    pub(super) fn run(
        self,
        told: &SyncSender<Result<RemoteInfo, RemoteError>>,
        mut stop: watch::Receiver<bool>,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(source) => {
                let address = self.address.to_string();
                let _ = told.send(Err(RemoteError::Thread { address, source }));
                return;
            }
        };
        runtime.block_on(async {
            tokio::select! {
                () = self.listen(told) => {}
                // The collector stops this thread by dropping its end.
                _ = stop.changed() => {}
            }
        });
    }

    async fn listen(&self, told: &SyncSender<Result<RemoteInfo, RemoteError>>) {
        let mut reader = match self.first().await {
            Ok((reader, found)) => {
                if told.send(Ok(found)).is_err() {
                    return;
                }
                reader
            }
            Err(error) => {
                let _ = told.send(Err(error));
                return;
            }
        };
        loop {
            let why = match &mut reader {
                Reader::Ours(reader) => reader.listen(self).await,
                Reader::Original(reader) => reader.listen(self).await,
            };
            self.fault(&format!("the connection was lost: {why}"));
            self.reopen(&mut reader).await;
        }
    }

    async fn first(&self) -> Result<(Reader, RemoteInfo), RemoteError> {
        let mut open = self.open().await?;
        if let Some(about) = open.health.monitor.take() {
            let (reader, found) = ours::Reader::start(self, open, about).await?;
            return Ok((Reader::Ours(reader), found));
        }
        let (reader, found) = original::Reader::start(self, open).await?;
        Ok((Reader::Original(reader), found))
    }

    /// Reconnects with growing pauses until that succeeds.
    async fn reopen(&self, reader: &mut Reader) {
        let mut pause = FIRST_PAUSE;
        loop {
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            match self.again(reader).await {
                Ok(()) => return,
                Err(error) => self.fault(&error.to_string()),
            }
        }
    }

    async fn again(&self, reader: &mut Reader) -> Result<(), RemoteError> {
        let mut open = self.open().await?;
        match (reader, open.health.monitor.take()) {
            (Reader::Ours(reader), Some(about)) => reader.resume(self, open, &about).await,
            (Reader::Original(reader), None) => reader.resume(self, open).await,
            _ => Err(self.nonsense("another kind of monitor answers there now")),
        }
    }

    /// Connects, and asks the monitor to identify itself.
    async fn open(&self) -> Result<OpenLine, RemoteError> {
        let endpoint = Endpoint::from_shared(self.address.uri())
            .map_err(|error| self.unreachable(&words(&error)))?
            .connect_timeout(ANSWER)
            .http2_keep_alive_interval(Duration::from_secs(10))
            .keep_alive_timeout(ANSWER)
            // Data buffered on the network is stale when it arrives: allow no more than needed.
            .initial_stream_window_size(16 << 10)
            .http2_max_header_list_size(16 << 10);
        let channel = timeout(ANSWER, endpoint.connect())
            .await
            .map_err(|_| self.unreachable("it did not answer in time"))?
            .map_err(|error| self.unreachable(&words(&error)))?;
        let token = self.bearer()?;
        let client = EnergyMonitorClient::with_interceptor(channel, Bearer(token));
        let mut client = client.max_decoding_message_size(LARGEST_MESSAGE);
        let mut health = None;
        let mut round_trip = Duration::MAX;
        for _ in 0..HEALTHS {
            let asked = self.clock.now();
            let answer = timeout(ANSWER, client.health(pb::HealthRequest {})).await;
            let answer = answer.map_err(|_| self.unreachable("it did not answer in time"))?;
            round_trip = round_trip.min(self.clock.now().since(asked));
            health = Some(answer.map_err(|status| self.refused(&status))?.into_inner());
        }
        Ok(OpenLine {
            client,
            health: health.unwrap_or_default(),
            round_trip,
        })
    }

    fn bearer(&self) -> Result<Option<MetadataValue<Ascii>>, RemoteError> {
        let Some(token) = &self.token else {
            return Ok(None);
        };
        let mut value = MetadataValue::try_from(token.bearer())
            .map_err(|_| self.denied("the token has characters that no header takes"))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// The name of its machine: the user's, else the host as typed, else the monitor's own.
    pub(super) fn host(&self, reported: &str) -> String {
        let named = self.name.as_deref().or_else(|| self.address.host());
        let host = named.unwrap_or(reported).trim();
        let host = if host.is_empty() { "remote" } else { host };
        let kept = excerpt(&printable(host), 64).replace(['/', ' '], "_");
        kept.replace(',', "_")
    }

    pub(super) fn inbox(&self) -> MutexGuard<'_, Inbox> {
        lock(&self.inbox)
    }

    pub(super) fn fault(&self, words: &str) {
        self.inbox().fault(format!("{}: {words}", self.address));
    }

    pub(super) fn refused(&self, status: &Status) -> RemoteError {
        let said = said(status);
        match status.code() {
            Code::Unauthenticated | Code::PermissionDenied => self.denied(&said),
            Code::Unimplemented => self.nonsense(&format!("it is not an energy monitor ({said})")),
            _ => self.unreachable(&said),
        }
    }

    fn unreachable(&self, reason: &str) -> RemoteError {
        RemoteError::Unreachable {
            address: self.address.to_string(),
            reason: reason.to_owned(),
        }
    }

    fn denied(&self, reason: &str) -> RemoteError {
        RemoteError::Denied {
            address: self.address.to_string(),
            reason: reason.to_owned(),
        }
    }

    pub(super) fn nonsense(&self, reason: &str) -> RemoteError {
        RemoteError::Nonsense {
            address: self.address.to_string(),
            reason: reason.to_owned(),
        }
    }
}

/// Makes a foreign text safe to show.
pub(super) fn shown(text: &str) -> String {
    excerpt(&printable(text), LONGEST_TEXT)
}

/// The text of a status.
pub(super) fn said(status: &Status) -> String {
    match status.message() {
        "" => status.code().to_string(),
        message => shown(message),
    }
}

/// An error with its causes: tonic hides the one that matters.
fn words(error: &dyn std::error::Error) -> String {
    shown(&ipw_core::text::with_causes(error))
}

/// A text; `None` if empty.
pub(super) fn known(text: &str) -> Option<String> {
    let text = shown(text.trim());
    (!text.is_empty()).then_some(text)
}

pub(super) fn system(info: Option<&pb::SystemInfo>) -> SystemInfo {
    let Some(info) = info else {
        return SystemInfo::default();
    };
    SystemInfo {
        os_name: known(&info.os_name),
        os_version: known(&info.os_version),
        kernel_version: known(&info.kernel_version),
        host_name: known(&info.host_name),
        cpu_count: (info.cpu_count > 0).then_some(info.cpu_count),
        // The original's text for an unknown CPU.
        cpu_brand: known(&info.cpu_brand).filter(|brand| brand != "Unknown CPU"),
    }
}
