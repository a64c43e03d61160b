//! Reads a monitor of ours: all readings of all sources, with a clock that can be queried.

use std::collections::BTreeSet;
use std::time::Duration;

use ipw_core::alignment::{Alignment, Exchange, SampleOutcome};
use ipw_core::hardware::Device;
use ipw_core::source::{Quantity, Source};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tonic::Streaming;

use super::RemoteError;
use super::inbox::Trail;
use super::line::{Client, Link, OpenLine, RemoteInfo, known, said, shown, system};
use crate::pb;

/// Number of clock queries before the first reading, and at each later check.
const FIRST_LOOK: usize = 16;
const LOOK: usize = 3;
/// Time between two checks of the clock.
const PAUSE: Duration = Duration::from_secs(1);
/// Time limit for an answer.
const ANSWER: Duration = Duration::from_secs(2);
/// Pause between two queries, so that they do not queue behind each other on the network.
const BREATH: Duration = Duration::from_millis(2);
/// Maximum number of sources that is accepted.
const MOST_SOURCES: usize = 4096;
/// A monitor that is silent for longer is gone: it sends at every tick.
const LEAST_SILENCE: Duration = Duration::from_secs(3);

/// Receives from a monitor of ours.
pub(super) struct Reader {
    client: Client,
    stream: Streaming<pb::TelemetryReading>,
    alignment: Alignment,
    boot_id: String,
    /// The monitor's names of our sources.
    names: Vec<String>,
    is_counter: Vec<bool>,
    /// Our index of each of its sources.
    places: Vec<Option<usize>>,
    trail: Trail,
    longest_silence: Duration,
}

impl Reader {
    pub(super) async fn start(
        line: &Link,
        open: OpenLine,
        about: pb::MonitorInfo,
    ) -> Result<(Self, RemoteInfo), RemoteError> {
        let reported = about.system_info.as_ref();
        let host = line.host(reported.map_or("", |info| &*info.host_name));
        let described = described(line, &about)?;
        let names: Vec<String> = described.iter().map(|source| source.name.clone()).collect();
        let sources: Vec<Source> = described
            .into_iter()
            .map(|source| on(&host, source))
            .collect();
        let interval = u64::try_from(about.interval_nanos).unwrap_or(0);
        let interval =
            Duration::from_nanos(interval).clamp(Duration::from_millis(10), Duration::from_mins(1));
        let found = RemoteInfo {
            devices: devices(&host, &about),
            system: system(reported),
            boot_id: known(&about.boot_id),
            interval,
            round_trip: open.round_trip,
            notes: notes(&host, open.health.healthy, &about),
            host,
            sources,
        };
        let mut client = open.client;
        let mut alignment = Alignment::default();
        ask(line, &mut client, &mut alignment, FIRST_LOOK).await?;
        alignment.settle(line.clock.now(), PAUSE);
        line.inbox().align(alignment.aligned(line.clock.now()));
        let stream = listen(line, &mut client).await?;
        let is_counter = |source: &Source| matches!(source.quantity, Quantity::Energy { .. });
        let reader = Self {
            client,
            stream,
            alignment,
            boot_id: about.boot_id,
            is_counter: found.sources.iter().map(is_counter).collect(),
            places: (0..names.len()).map(Some).collect(),
            trail: Trail::of(names.len()),
            names,
            longest_silence: (interval * 10).max(LEAST_SILENCE),
        };
        Ok((reader, found))
    }

    /// Continues after a reconnection with the sources that still exist; the clock is aligned
    /// again.
    pub(super) async fn resume(
        &mut self,
        line: &Link,
        open: OpenLine,
        about: &pb::MonitorInfo,
    ) -> Result<(), RemoteError> {
        let there = described(line, about)?;
        let place = |source: &Source| self.names.iter().position(|name| *name == source.name);
        self.places = there.iter().map(place).collect();
        self.client = open.client;
        if about.boot_id != self.boot_id {
            self.boot_id.clone_from(&about.boot_id);
            self.alignment.forget();
            line.fault("its machine was restarted");
        }
        ask(line, &mut self.client, &mut self.alignment, FIRST_LOOK).await?;
        self.alignment.settle(line.clock.now(), PAUSE);
        self.stream = listen(line, &mut self.client).await?;
        Ok(())
    }

    /// Receives until the connection is lost. Returns the reason.
    pub(super) async fn listen(&mut self, line: &Link) -> String {
        let mut looks = interval(PAUSE);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        looks.reset();
        loop {
            tokio::select! {
                message = timeout(self.longest_silence, self.stream.message()) => match message {
                                        Err(_) => return "it stopped sending".to_owned(),
                    Ok(Err(status)) => return said(&status),
                    Ok(Ok(None)) => return "it ended the stream".to_owned(),
                    Ok(Ok(Some(message))) => self.take(line, &message),
                },
                _ = looks.tick() => {
                    let asked = ask(line, &mut self.client, &mut self.alignment, LOOK).await;
                    if let Err(error) = asked {
                        return error.to_string();
                    }
                }
            }
        }
    }

    fn take(&mut self, line: &Link, message: &pb::TelemetryReading) {
        let now = line.clock.now();
        let mut inbox = line.inbox();
        if let Some(batch) = &message.batch {
            if batch.skipped > 0 {
                inbox.fault(format!(
                    "{}: we were too slow for it, and it left messages out",
                    line.address
                ));
            }
            for fault in &batch.faults {
                inbox.fault(format!("{}: {}", line.address, shown(fault)));
            }
            for reading in &batch.readings {
                let place = usize::try_from(reading.source).ok();
                let Some(Some(place)) = place.and_then(|place| self.places.get(place)) else {
                    continue;
                };
                let Some(at) = self.alignment.ours(reading.nanos, now) else {
                    continue;
                };
                let previous = reading.previous_nanos.filter(|_| self.is_counter[*place]);
                let previous = previous.and_then(|nanos| self.alignment.ours(nanos, now));
                if reading.value.is_finite() {
                    self.trail
                        .takes(&mut inbox, *place, previous, at, reading.value);
                }
            }
            for (place, polled) in self.places.iter().zip(&batch.polled_nanos) {
                let Some(place) = place.filter(|place| self.is_counter[*place] && *polled > 0)
                else {
                    continue;
                };
                if let Some(at) = self.alignment.ours(*polled, now) {
                    self.trail.still(&mut inbox, place, at);
                }
            }
        }
        inbox.align(self.alignment.aligned(now));
    }
}

/// Queries the clock this many times.
async fn ask(
    line: &Link,
    client: &mut Client,
    alignment: &mut Alignment,
    times: usize,
) -> Result<(), RemoteError> {
    for _ in 0..times {
        let asked = line.clock.now();
        let answer = timeout(ANSWER, client.time(pb::TimeRequest {})).await;
        let answered = line.clock.now();
        let answer = match answer {
            Ok(Ok(answer)) => answer.into_inner(),
            Ok(Err(status)) => return Err(line.refused(&status)),
            Err(_) => return Err(line.nonsense("it does not answer queries for its clock")),
        };
        let taken = alignment.take(&Exchange {
            asked,
            received: answer.received_nanos,
            replied: answer.replied_nanos,
            answered,
        });
        match taken {
            SampleOutcome::Kept => {}
            SampleOutcome::Stepped => line.fault("its clock was set"),
            SampleOutcome::Nonsense => line.fault("its clock is inconsistent"),
        }
        sleep(BREATH).await;
    }
    Ok(())
}

async fn listen(
    line: &Link,
    client: &mut Client,
) -> Result<Streaming<pb::TelemetryReading>, RemoteError> {
    let request = pb::StreamRequest {
        with_readings: true,
    };
    let stream = timeout(ANSWER, client.stream_telemetry(request)).await;
    let stream = stream.map_err(|_| line.nonsense("its stream does not begin"))?;
    let stream = stream.map_err(|status| line.refused(&status))?;
    Ok(stream.into_inner())
}

/// Converts the sources that the monitor describes.
fn described(line: &Link, about: &pb::MonitorInfo) -> Result<Vec<Source>, RemoteError> {
    if about.sources.len() > MOST_SOURCES {
        return Err(line.nonsense("it has too many sources"));
    }
    let mut names = BTreeSet::new();
    let mut sources = Vec::with_capacity(about.sources.len());
    for source in &about.sources {
        let source: Source = serde_json::from_str(&source.about_json).map_err(|error| {
            line.nonsense(&format!(
                "cannot parse a source ({}); is the monitor of another version?",
                shown(&error.to_string())
            ))
        })?;
        let is_fit = !source.name.is_empty() && shown(&source.name) == source.name;
        if !is_fit || !names.insert(source.name.clone()) {
            let name = shown(&source.name);
            return Err(line.nonsense(&format!("the source name `{name}` is invalid or duplicate")));
        }
        sources.push(source);
    }
    Ok(sources)
}

/// Renames a source for this run.
fn on(host: &str, source: Source) -> Source {
    Source {
        name: format!("{host}/{}", source.name),
        device: source.device.map(|device| format!("{host}/{device}")),
        host: Some(host.to_owned()),
        ..source
    }
}

fn devices(host: &str, about: &pb::MonitorInfo) -> Vec<Device> {
    let devices = about.devices.iter();
    let devices = devices.filter_map(|device| serde_json::from_str(&device.about_json).ok());
    devices
        .map(|device: Device| Device {
            id: format!("{host}/{}", shown(&device.id)),
            name: device.name.map(|name| shown(&name)),
            ..device
        })
        .collect()
}

fn notes(host: &str, is_healthy: bool, about: &pb::MonitorInfo) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(estimate) = &about.estimate {
        let estimate = shown(estimate);
        notes.push(format!(
            "energy of `{host}` is estimated, not measured: {estimate} (`ipw doctor` there says more)"
        ));
    } else if !is_healthy {
        let fixes = about.absent.iter().filter_map(|absent| {
            let fix = absent.fix.as_ref()?;
            Some(format!("{}: {}", shown(&absent.collector), shown(fix)))
        });
        let fixes: Vec<String> = fixes.take(3).collect();
        let fixes = if fixes.is_empty() {
            String::new()
        } else {
            format!(" ({})", fixes.join("; "))
        };
        notes.push(format!("nothing on `{host}` measures energy{fixes}"));
    }
    notes
}
