//! The two collectors of a board: energy with power, and state.

use std::time::Duration;

use ipw_core::hardware::Device;
use ipw_core::source::{Domain, Source};
use ipw_core::time::{Clock, Timestamp};
use nvml_wrapper::error::NvmlError;

use super::ID;
use super::board::{Board, is_loss};
use super::probe::{self, Probe};
use crate::{Collector, PollError};

/// Drivers sometimes refuse calls at shorter intervals, and the counter has not moved by then.
const ENERGY_INTERVAL: Duration = Duration::from_millis(50);
/// State changes slowly, and reading it takes the driver's locks.
const STATE_INTERVAL: Duration = Duration::from_millis(500);

/// One group of a board's sources.
struct BoardCollector {
    board: Board,
    sources: Vec<Source>,
    probes: Vec<Probe>,
    /// The board itself, in the first of its collectors only.
    devices: Vec<Device>,
    shortest: Duration,
}

/// The collectors of one board. `notes` become part of its description.
pub(super) fn collectors(
    board: Board,
    driver: Option<&str>,
    notes: Vec<String>,
) -> Vec<Box<dyn Collector>> {
    let energy = probe::energy(&board);
    let state = probe::state(&board);
    let device = about(&board, &energy, driver, notes);
    let again = board.again();
    let mut collectors = vec![
        BoardCollector::new(again, energy, ENERGY_INTERVAL),
        BoardCollector::new(board, state, STATE_INTERVAL),
    ];
    // A board without any source is still listed as a device.
    if collectors
        .iter()
        .any(|collector| !collector.probes.is_empty())
    {
        collectors.retain(|collector| !collector.probes.is_empty());
    } else {
        collectors.drain(..1);
    }
    if let Some(first) = collectors.first_mut() {
        first.devices.push(device);
    }
    collectors
        .into_iter()
        .map(|collector| Box::new(collector) as Box<dyn Collector>)
        .collect()
}

impl BoardCollector {
    fn new(board: Board, probes: Vec<Probe>, shortest: Duration) -> Self {
        let id = board.id();
        Self {
            sources: probes.iter().map(|probe| probe.source(&id)).collect(),
            board,
            probes,
            devices: Vec::new(),
            shortest,
        }
    }

    fn passing(&self, place: usize, error: Option<&NvmlError>) -> PollError {
        let name = &self.sources[place].name;
        PollError::Retry(match error {
            Some(error) => format!("cannot read `{name}`: {error}"),
            None => format!("`{name}` reports an impossible value"),
        })
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
        Some(if self.shortest == ENERGY_INTERVAL {
            "nvml"
        } else {
            "nvml-state"
        })
    }

    fn poll(
        &mut self,
        clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError> {
        self.board.ready(clock)?;
        let mut is_heard = false;
        let mut failed = None;
        for (place, probe) in self.probes.iter_mut().enumerate() {
            match probe.read(&self.board.device()) {
                Ok(Some(value)) => {
                    take(place, clock.now(), value);
                    is_heard = true;
                }
                Ok(None) => failed = failed.or(Some((place, None))),
                Err(error) if is_loss(&error) => return Err(self.board.lose(&error)),
                Err(error) => failed = failed.or(Some((place, Some(error)))),
            }
        }
        match failed {
            Some((place, error)) if !is_heard => Err(self.passing(place, error.as_ref())),
            _ => Ok(()),
        }
    }
}

/// Describes the board.
fn about(board: &Board, energy: &[Probe], driver: Option<&str>, mut notes: Vec<String>) -> Device {
    let device = board.device();
    let known = &board.known;
    let mig = device.mig_mode().ok().map(|mode| mode.current == 1);
    let tells = |domain| energy.iter().any(|probe| probe.domain() == Some(domain));
    if mig == Some(true) {
        notes.push("energy is measured for the whole board, not per MIG instance".to_owned());
    }
    if energy.is_empty() {
        notes.push("the driver reports neither energy nor power of this board".to_owned());
    } else if tells(Domain::Module) && !tells(Domain::Gpu) {
        notes.push("energy covers the whole module, CPU and memory included".to_owned());
    } else if tells(Domain::Module) {
        notes.push(
            "the energy counter covers the whole module, CPU and memory included: the GPU's own \
             energy is integrated from its power"
                .to_owned(),
        );
    }
    Device {
        id: board.id(),
        name: known.name.clone(),
        vendor: Some("NVIDIA".to_owned()),
        index: Some(known.index),
        device_type: Some("GPU".to_owned()),
        backend: Some(ID.to_owned()),
        uuid: known.uuid.clone(),
        pci: known.pci.clone(),
        driver_version: driver.map(str::to_owned),
        memory_total_mib: device
            .memory_info()
            .ok()
            .map(|memory| probe::mebibytes(memory.total)),
        power_limit_watts: device
            .enforced_power_limit()
            .ok()
            .and_then(|limit| probe::watts(f64::from(limit))),
        mig_enabled: mig,
        ecc_enabled: device
            .is_ecc_enabled()
            .ok()
            .map(|state| state.currently_enabled),
        notes,
    }
}
