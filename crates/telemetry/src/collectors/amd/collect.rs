//! The two collectors of a board: energy, polled often, and state, polled seldom.

use std::ops::RangeInclusive;
use std::time::Duration;

use ipw_core::counter::Rollover;
use ipw_core::hardware::Device;
use ipw_core::source::{Gauge, Method, Quantity, Source};
use ipw_core::time::{Clock, Timestamp};

use super::board::{Board, BoardCounter, Meters, Power, mebibytes, watts};
use super::card::{Card, SensorFile};
use super::{ID, LARGEST_WATTS};
use crate::collector::{Collector, PollError};
use crate::collectors::host::files::Reader;

/// Polling faster yields nothing new and keeps the board's firmware busy.
const ENERGY_INTERVAL: Duration = Duration::from_millis(50);
/// State changes slowly.
const STATE_INTERVAL: Duration = Duration::from_millis(500);

/// The energy or the state of one board.
pub(super) struct BoardCollector {
    id: String,
    /// The kernel's view of the board, which says whether it is suspended.
    card: Option<Card>,
    sources: Vec<Source>,
    devices: Vec<Device>,
    sensors: Vec<Sensor>,
    shortest: Duration,
    reader: Reader,
}

/// How one source is read; in the order of the sources.
enum Sensor {
    Counter(BoardCounter),
    Power(Power),
    Gauge(SensorFile, Scale),
}

/// Conversion of a gauge to its unit, with its plausible range.
struct Scale {
    convert: fn(u64) -> f64,
    plausible: RangeInclusive<f64>,
}

/// Why a source yielded no value.
struct Fault {
    words: String,
    is_gone: bool,
}

impl Fault {
    fn of_file(file: &SensorFile) -> Self {
        let (path, is_gone) = (file.path().display(), file.is_gone());
        let words = if is_gone {
            format!("cannot find `{path}`")
        } else {
            format!("`{path}` holds no usable value")
        };
        Self { words, is_gone }
    }

    fn into_poll_error(self) -> PollError {
        if self.is_gone {
            PollError::Gone(self.words)
        } else {
            PollError::Retry(self.words)
        }
    }
}

impl BoardCollector {
    /// The energy collector; `None` if the board reports neither energy nor power.
    pub(super) fn energy(board: &Board, meters: Meters, device: &Device) -> Option<Self> {
        let domain = meters.domain;
        let counter = meters.counter.map(|counter| {
            let quantity = Quantity::Energy {
                domain,
                rollover: Rollover::Resets,
            };
            let source = source(board, "", quantity, Method::Counter);
            (source, Sensor::Counter(counter))
        });
        let power = meters.power.map(|power| {
            // The firmware's averaging time is not documented: treated as an instantaneous value.
            let quantity = Quantity::Power {
                domain,
                averaging: Duration::ZERO,
            };
            let source = source(board, "/power", quantity, Method::Integrated);
            (source, Sensor::Power(power))
        });
        let collector = Self::of(board, counter.into_iter().chain(power), ENERGY_INTERVAL);
        (!collector.sources.is_empty()).then(|| Self {
            devices: vec![device.clone()],
            ..collector
        })
    }

    /// The state collector; `device` is set where no other collector carries it.
    pub(super) fn state(board: &Board, device: Option<&Device>) -> Option<Self> {
        let sensors = board.card.as_ref().map(gauges).unwrap_or_default();
        let is_asleep = board.is_asleep();
        let sensors = sensors.into_iter().filter_map(|(name, gauge, mut sensor)| {
            let is_heard = is_asleep || sensor.read(&mut Reader::default()).is_ok();
            let quantity = Quantity::Gauge { gauge };
            let source = || source(board, name, quantity, Method::Direct);
            is_heard.then(|| (source(), sensor))
        });
        let collector = Self::of(board, sensors, STATE_INTERVAL);
        let is_useful = !collector.sources.is_empty() || device.is_some();
        is_useful.then(|| Self {
            devices: device.cloned().into_iter().collect(),
            ..collector
        })
    }

    fn of(
        board: &Board,
        sensors: impl Iterator<Item = (Source, Sensor)>,
        shortest: Duration,
    ) -> Self {
        let (sources, sensors) = sensors.unzip();
        Self {
            id: board.id(),
            card: board.card.clone(),
            sources,
            devices: Vec::new(),
            sensors,
            shortest,
            reader: Reader::default(),
        }
    }
}

impl Collector for BoardCollector {
    fn id(&self) -> &'static str {
        ID
    }

    fn sources(&self) -> &[Source] {
        &self.sources
    }

    fn devices(&self) -> &[Device] {
        &self.devices
    }

    fn interval(&self, wanted: Duration) -> Duration {
        wanted.max(self.shortest)
    }

    /// Separate circles, so that energy never waits for state.
    fn circle(&self) -> Option<&'static str> {
        Some(if self.shortest == STATE_INTERVAL {
            "amd-state"
        } else {
            "amd"
        })
    }

    fn poll(
        &mut self,
        clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError> {
        if self.card.as_ref().is_some_and(Card::is_asleep) {
            let words = format!("`{}` is suspended: reading it would wake it", self.id);
            return Err(PollError::Gone(words));
        }
        let (mut is_heard, mut failed) = (false, None::<Fault>);
        for (place, sensor) in self.sensors.iter_mut().enumerate() {
            match sensor.read(&mut self.reader) {
                Ok(value) => {
                    take(place, clock.now(), value);
                    is_heard = true;
                }
                // A fault that may pass soon decides when to retry.
                Err(fault) => match &failed {
                    Some(before) if fault.is_gone || !before.is_gone => {}
                    _ => failed = Some(fault),
                },
            }
        }
        match failed {
            // While some sources work, poll at the normal pace.
            Some(fault) if is_heard => Err(PollError::Retry(fault.words)),
            Some(fault) => Err(fault.into_poll_error()),
            None => Ok(()),
        }
    }
}

impl Sensor {
    fn read(&mut self, reader: &mut Reader) -> Result<f64, Fault> {
        match self {
            Self::Counter(counter) => counter.joules(),
            Self::Power(Power::File(file)) => {
                let microwatts = file.read(reader);
                microwatts
                    .and_then(watts)
                    .ok_or_else(|| Fault::of_file(file))
            }
            Self::Power(Power::Asked(smi, processor)) => {
                let asked = smi.power(*processor).map_err(|refusal| Fault {
                    words: format!("amd-smi reports no power: {refusal}"),
                    is_gone: refusal.is_gone(),
                })?;
                let watts = asked.map(f64::from).filter(|watts| *watts <= LARGEST_WATTS);
                watts.ok_or_else(|| Fault {
                    words: "amd-smi reports an impossible power".to_owned(),
                    is_gone: false,
                })
            }
            Self::Gauge(file, scale) => {
                let value = file.read(reader).map(scale.convert);
                value
                    .filter(|value| scale.plausible.contains(value))
                    .ok_or_else(|| Fault::of_file(file))
            }
        }
    }
}

impl BoardCounter {
    fn joules(&self) -> Result<f64, Fault> {
        let energy = self.smi.energy(self.processor).map_err(|refusal| Fault {
            words: format!("amd-smi reports no energy: {refusal}"),
            is_gone: refusal.is_gone(),
        })?;
        let is_scaled = energy.resolution.to_bits() == self.resolution.to_bits();
        if matches!(energy.count, 0 | u64::MAX) || !is_scaled {
            return Err(Fault {
                words: format!(
                    "the energy counter of amd-smi reads {} of {} µJ, which is impossible",
                    energy.count, energy.resolution
                ),
                is_gone: false,
            });
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "2^53 counts of 15.3 µJ are 138 billion joules"
        )]
        let count = energy.count as f64;
        Ok(count * f64::from(self.resolution) * 1e-6)
    }
}

fn source(board: &Board, name: &str, quantity: Quantity, method: Method) -> Source {
    let id = board.id();
    let is_asked = matches!(quantity, Quantity::Energy { .. });
    let privilege = if is_asked || board.card.is_none() {
        "the groups render and video"
    } else {
        "none"
    };
    Source {
        name: format!("{id}{name}"),
        collector: ID.into(),
        host: None,
        device: Some(id),
        quantity,
        method,
        // The update period of the firmware is not documented.
        period: None,
        privilege: privilege.into(),
        relative_sigma: None,
    }
}

/// The state values of a card.
fn gauges(card: &Card) -> Vec<(&'static str, Gauge, Sensor)> {
    let percent = || Scale {
        convert: plain,
        plausible: 0.0..=100.0,
    };
    let megahertz = || Scale {
        convert: |hertz| plain(hertz) * 1e-6,
        plausible: 0.0..=100_000.0,
    };
    let memory = Scale {
        convert: mebibytes,
        plausible: 0.0..=1e9,
    };
    let celsius = Scale {
        convert: |millidegrees| plain(millidegrees) / 1000.0,
        plausible: 0.0..=150.0,
    };
    let limit = Scale {
        convert: |microwatts| plain(microwatts) * 1e-6,
        plausible: f64::MIN_POSITIVE..=LARGEST_WATTS,
    };
    let all = [
        (
            "/use",
            Gauge::GpuUse,
            card.file("gpu_busy_percent"),
            percent(),
        ),
        (
            "/memory_use",
            Gauge::GpuMemoryUse,
            card.file("mem_busy_percent"),
            percent(),
        ),
        (
            "/memory_used",
            Gauge::GpuMemoryUsed,
            card.file("mem_info_vram_used"),
            memory,
        ),
        (
            "/temperature",
            Gauge::GpuTemperature,
            card.temperature(),
            celsius,
        ),
        (
            "/clock",
            Gauge::GpuClock,
            card.sensor("freq1_input"),
            megahertz(),
        ),
        (
            "/memory_clock",
            Gauge::GpuMemoryClock,
            card.sensor("freq2_input"),
            megahertz(),
        ),
        (
            "/power_limit",
            Gauge::PowerLimit,
            card.sensor("power1_cap"),
            limit,
        ),
    ];
    let found = all
        .into_iter()
        .filter_map(|(name, gauge, file, scale)| Some((name, gauge, Sensor::Gauge(file?, scale))));
    found.collect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of gauges are far below 2^53"
)]
fn plain(number: u64) -> f64 {
    number as f64
}
