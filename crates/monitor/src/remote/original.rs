//! Reads the original's monitor: one message with all values at a time, stamped by a wall clock
//! that cannot be queried.
//!
//! Values below zero are not available. A field that an old monitor does not know arrives as 0.0,
//! so a field that stays 0.0 is absent: energy and power are judged by the first second, state by
//! whether it ever differs.

use std::time::Duration;

use ipw_core::alignment::{Arrivals, SampleOutcome};
use ipw_core::counter::Rollover;
use ipw_core::hardware::Device;
use ipw_core::source::{Domain, Gauge, Method, Quantity, Source};
use ipw_core::time::Timestamp;
use tokio::time::{sleep, timeout};
use tonic::Streaming;

use super::RemoteError;
use super::inbox::{Inbox, Trail};
use super::line::{Client, Link, OpenLine, RemoteInfo, known, said, system};
use crate::pb;
use crate::pb::TelemetryReading as Message;

/// Length of the observation before the sources are known.
const PROBE: Duration = Duration::from_secs(1);
const LEAST_PROBE: usize = 5;
/// Time limit for the first messages.
const FIRST_MESSAGES: Duration = Duration::from_secs(4);
/// A monitor that is silent for longer is gone.
const LONGEST_SILENCE: Duration = Duration::from_secs(3);
/// Messages closer together than this, in nanoseconds, are dropped: no value changes this fast.
const CLOSEST: i64 = 1_000_000;
/// Number of messages between two measurements of the round trip.
const HEALTH_EVERY: u32 = 100;

/// A field of the message, and its source.
struct Field {
    name: &'static str,
    get: fn(&Message) -> f64,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Joules and watts of the original's "GPU", whose meaning depends on the platform.
    Main,
    MainPower,
    Energy(Domain),
    Power(Domain),
    Gauge(Gauge),
}

const FIELDS: [Field; 12] = [
    Field {
        name: "gpu",
        get: |message| message.energy_joules,
        kind: Kind::Main,
    },
    Field {
        name: "gpu/power",
        get: |message| message.power_watts,
        kind: Kind::MainPower,
    },
    Field {
        name: "cpu",
        get: |message| message.cpu_energy_joules,
        kind: Kind::Energy(Domain::CpuPackage),
    },
    Field {
        name: "cpu/power",
        get: |message| message.cpu_power_watts,
        kind: Kind::Power(Domain::CpuPackage),
    },
    Field {
        name: "ane",
        get: |message| message.ane_energy_joules,
        kind: Kind::Energy(Domain::Ane),
    },
    Field {
        name: "ane/power",
        get: |message| message.ane_power_watts,
        kind: Kind::Power(Domain::Ane),
    },
    Field {
        name: "gpu/temperature",
        get: |message| message.temperature_celsius,
        kind: Kind::Gauge(Gauge::GpuTemperature),
    },
    Field {
        name: "gpu/memory_used",
        get: |message| message.gpu_memory_usage_mb,
        kind: Kind::Gauge(Gauge::GpuMemoryUsed),
    },
    Field {
        name: "memory_used",
        get: |message| message.cpu_memory_usage_mb,
        kind: Kind::Gauge(Gauge::MemoryUsed),
    },
    Field {
        name: "gpu/use",
        get: |message| message.gpu_compute_utilization_pct,
        kind: Kind::Gauge(Gauge::GpuUse),
    },
    Field {
        name: "gpu/memory_use",
        get: |message| message.gpu_memory_bandwidth_utilization_pct,
        kind: Kind::Gauge(Gauge::GpuMemoryUse),
    },
    Field {
        name: "gpu/tensor_use",
        get: |message| message.gpu_tensor_core_utilization_pct,
        kind: Kind::Gauge(Gauge::GpuTensorUse),
    },
];

/// Receives from a monitor of the original.
pub(super) struct Reader {
    client: Client,
    stream: Streaming<Message>,
    arrivals: Arrivals,
    /// The field of each of our sources.
    fields: Vec<TrackedField>,
    trail: Trail,
    last_stamp: Option<i64>,
    until_health: u32,
    flood: Flood,
}

/// Number of dropped messages. Not reading applies back-pressure to a monitor that sends too many.
#[derive(Default)]
struct Flood(u32);

impl Flood {
    async fn hold_back(&mut self) {
        self.0 = self.0.wrapping_add(1);
        if self.0.is_multiple_of(8) {
            sleep(Duration::from_millis(1)).await;
        }
    }
}

/// A field in use, and whether it ever differed from 0.
struct TrackedField {
    field: &'static Field,
    speaks: bool,
}

impl Reader {
    pub(super) async fn start(
        line: &Link,
        open: OpenLine,
    ) -> Result<(Self, RemoteInfo), RemoteError> {
        let mut client = open.client;
        let mut stream = listen(line, &mut client).await?;
        let mut arrivals = Arrivals::default();
        arrivals.round_trip(open.round_trip);
        let seen = timeout(FIRST_MESSAGES, probe(line, &mut stream, &mut arrivals)).await;
        let seen = match seen {
            Ok(Ok(seen)) => seen,
            Ok(Err(why)) => return Err(line.nonsense(&why)),
            Err(_) => return Err(line.nonsense("its stream has too few messages")),
        };
        let last = seen
            .last()
            .ok_or_else(|| line.nonsense("its stream is empty"))?;
        let platform = known(&last.platform).unwrap_or_else(|| open.health.platform.clone());
        let reported = last.system_info.as_ref();
        let host = line.host(reported.map_or("", |info| &*info.host_name));
        let fields: Vec<&'static Field> = FIELDS
            .iter()
            .filter(|field| field.is_there(&platform, &seen))
            .collect();
        let sources: Vec<Source> = fields
            .iter()
            .filter_map(|field| field.source(&platform, &host))
            .collect();
        let found = RemoteInfo {
            devices: device(last, &host, &platform).into_iter().collect(),
            system: system(reported),
            boot_id: None,
            interval: interval(&seen),
            round_trip: open.round_trip,
            notes: notes(&host, open.health.healthy, &sources),
            host,
            sources,
        };
        line.inbox().align(arrivals.aligned(line.clock.now()));
        let reader = Self {
            client,
            stream,
            arrivals,
            trail: Trail::of(fields.len()),
            fields: fields
                .into_iter()
                .map(|field| TrackedField {
                    field,
                    speaks: seen.iter().any(|message| (field.get)(message) > 0.0),
                })
                .collect(),
            last_stamp: None,
            until_health: HEALTH_EVERY,
            flood: Flood::default(),
        };
        Ok((reader, found))
    }

    pub(super) async fn resume(&mut self, line: &Link, open: OpenLine) -> Result<(), RemoteError> {
        self.client = open.client;
        self.arrivals.round_trip(open.round_trip);
        self.last_stamp = None;
        self.stream = listen(line, &mut self.client).await?;
        Ok(())
    }

    /// Receives until the connection is lost. Returns the reason.
    pub(super) async fn listen(&mut self, line: &Link) -> String {
        loop {
            let message = timeout(LONGEST_SILENCE, self.stream.message()).await;
            let now = line.clock.now();
            match message {
                Err(_) => return "it stopped sending".to_owned(),
                Ok(Err(status)) => return said(&status),
                Ok(Ok(None)) => return "it ended the stream".to_owned(),
                Ok(Ok(Some(message))) => {
                    if !self.take(line, &message, now) {
                        self.flood.hold_back().await;
                    }
                }
            }
            self.until_health -= 1;
            if self.until_health == 0 {
                self.until_health = HEALTH_EVERY;
                self.measure_the_way(line).await;
            }
        }
    }

    async fn measure_the_way(&mut self, line: &Link) {
        let asked = line.clock.now();
        let answer = timeout(LONGEST_SILENCE, self.client.health(pb::HealthRequest {})).await;
        if let Ok(Ok(_)) = answer {
            self.arrivals.round_trip(line.clock.now().since(asked));
        }
    }

    /// Processes a message that arrived at `now`. Returns whether it was used.
    fn take(&mut self, line: &Link, message: &Message, now: Timestamp) -> bool {
        let stamp = message.timestamp_nanos;
        let is_new = self
            .last_stamp
            .is_none_or(|last| stamp.saturating_sub(last) >= CLOSEST);
        let went_back = self.last_stamp.is_some_and(|last| stamp < last);
        if !is_new && !went_back {
            line.fault(
                "its timestamps stand still, or it sends too fast: such messages are dropped",
            );
            return false;
        }
        self.last_stamp = Some(stamp);
        match self.arrivals.take(stamp, now) {
            SampleOutcome::Kept => {}
            SampleOutcome::Stepped => line.fault("its clock was set"),
            SampleOutcome::Nonsense => {
                line.fault("its clock is inconsistent");
                return false;
            }
        }
        let Some(at) = self.arrivals.ours(stamp, now) else {
            return false;
        };
        let mut inbox = line.inbox();
        for (place, taking) in self.fields.iter_mut().enumerate() {
            if let Some(value) = taking.value(message, &mut inbox, line) {
                // No reading is from the future.
                self.trail
                    .takes(&mut inbox, place, None, at.min(now), value);
            }
        }
        inbox.align(self.arrivals.aligned(now));
        true
    }
}

impl TrackedField {
    fn value(&mut self, message: &Message, inbox: &mut Inbox, line: &Link) -> Option<f64> {
        let value = (self.field.get)(message);
        if !value.is_finite() {
            inbox.fault(format!(
                "{}: `{}` is not a number",
                line.address, self.field.name
            ));
            return None;
        }
        self.speaks |= value > 0.0;
        (value >= 0.0 && self.speaks).then_some(value)
    }
}

impl Field {
    /// Whether a platform has this field, judged by its first messages.
    fn is_there(&self, platform: &str, seen: &[Message]) -> bool {
        let values = || seen.iter().map(|message| (self.get)(message));
        match self.kind {
            Kind::Gauge(_) => values().any(|value| value >= 0.0),
            _ => self.quantity(platform).is_some() && values().any(|value| value > 0.0),
        }
    }

    fn quantity(&self, platform: &str) -> Option<Quantity> {
        let energy = |domain| Quantity::Energy {
            domain,
            rollover: Rollover::Resets,
        };
        let power = |domain| Quantity::Power {
            domain,
            averaging: Duration::ZERO,
        };
        Some(match self.kind {
            Kind::Main => energy(main(platform)?),
            Kind::MainPower => power(main(platform)?),
            Kind::Energy(domain) => energy(domain),
            Kind::Power(domain) => power(domain),
            Kind::Gauge(gauge) => Quantity::Gauge { gauge },
        })
    }

    fn source(&self, platform: &str, host: &str) -> Option<Source> {
        let quantity = self.quantity(platform)?;
        // The CPU's joules come from RAPL, except on Apple silicon; of the boards only NVIDIA's
        // count.
        let counts = match self.kind {
            Kind::Main => platform == "nvidia",
            Kind::Energy(Domain::CpuPackage) => platform != "macos",
            _ => false,
        };
        let method = match quantity {
            Quantity::Gauge { .. } => Method::Direct,
            _ if counts => Method::Counter,
            _ => Method::Integrated,
        };
        let device = self.name.split('/').next().unwrap_or(self.name);
        let is_device = device != "memory_used";
        Some(Source {
            name: format!("{host}/monitor/{}", self.name),
            collector: "monitor".into(),
            host: Some(host.to_owned()),
            device: is_device.then(|| format!("{host}/monitor/{device}")),
            quantity,
            method,
            period: None,
            privilege: "a monitor elsewhere".into(),
            relative_sigma: None,
        })
    }
}

/// The domain of the original's first fields.
fn main(platform: &str) -> Option<Domain> {
    match platform {
        "null" => None,
        // The input of the whole board.
        "jetson" => Some(Domain::Soc),
        _ => Some(Domain::Gpu),
    }
}

async fn listen(line: &Link, client: &mut Client) -> Result<Streaming<Message>, RemoteError> {
    let asked = client.stream_telemetry(pb::StreamRequest::default());
    let stream = timeout(FIRST_MESSAGES, asked).await;
    let stream = stream.map_err(|_| line.nonsense("its stream does not begin"))?;
    let stream = stream.map_err(|status| line.refused(&status))?;
    Ok(stream.into_inner())
}

/// The messages of the first second.
async fn probe(
    line: &Link,
    stream: &mut Streaming<Message>,
    arrivals: &mut Arrivals,
) -> Result<Vec<Message>, String> {
    let began = line.clock.now();
    let mut seen: Vec<Message> = Vec::new();
    let mut flood = Flood::default();
    loop {
        let message = stream.message().await.map_err(|status| said(&status))?;
        let message = message.ok_or("it ended the stream")?;
        let now = line.clock.now();
        let last = seen.last().map(|last| last.timestamp_nanos);
        if last.is_some_and(|last| message.timestamp_nanos.saturating_sub(last) < CLOSEST) {
            flood.hold_back().await;
        } else {
            arrivals.take(message.timestamp_nanos, now);
            seen.push(message);
        }
        if now.since(began) >= PROBE && seen.len() >= LEAST_PROBE {
            return Ok(seen);
        }
    }
}

/// The median time between two messages.
fn interval(seen: &[Message]) -> Duration {
    let stamps = seen.iter().map(|message| message.timestamp_nanos);
    let mut apart: Vec<u64> = stamps
        .clone()
        .zip(stamps.skip(1))
        .filter_map(|(before, after)| u64::try_from(after.saturating_sub(before)).ok())
        .collect();
    apart.sort_unstable();
    let usual = apart.get(apart.len() / 2).copied().unwrap_or(50_000_000);
    Duration::from_nanos(usual).clamp(Duration::from_millis(10), Duration::from_secs(10))
}

fn device(message: &Message, host: &str, platform: &str) -> Option<Device> {
    let info = message.gpu_info.as_ref()?;
    main(platform)?;
    let total = message.gpu_memory_total_mb;
    Some(Device {
        id: format!("{host}/monitor/gpu"),
        name: Some(known(&info.name)?),
        vendor: known(&info.vendor),
        device_type: known(&info.device_type),
        backend: known(&info.backend),
        memory_total_mib: (total.is_finite() && total > 0.0).then_some(total),
        ..Device::default()
    })
}

fn notes(host: &str, is_healthy: bool, sources: &[Source]) -> Vec<String> {
    let mut notes = vec![format!(
        "`{host}` runs the original's monitor: its clock cannot be queried, so timestamps are aligned by the fastest message"
    )];
    if !is_healthy {
        notes.push(format!(
            "the monitor of `{host}` reports that it is not healthy"
        ));
    }
    if !sources.iter().any(|source| source.domain().is_some()) {
        notes.push(format!("nothing on `{host}` measures energy"));
    }
    notes
}
