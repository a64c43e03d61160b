//! A board: what the kernel and amd-smi know of one PCI address.

use std::sync::Arc;

use ipw_core::hardware::Device;
use ipw_core::source::Domain;

use super::card::{Card, SensorFile};
use super::pci::Pci;
use super::smi::Smi;
use super::{ID, LARGEST_WATTS};
use crate::collectors::host::files::Reader;

/// PCI device ids of MI250 and MI250X: two dies in one package.
const TWO_DIES: [u16; 2] = [0x7408, 0x740c];
/// PCI device id of MI300A: a GPU and a CPU in one package.
const WITH_CPU: u16 = 0x74a0;

/// Plausible microjoules per count; 15.3 is usual.
const RESOLUTIONS: std::ops::RangeInclusive<f32> = 1e-3..=1e6;

const MIB: f64 = 1024.0 * 1024.0;

/// A board, from the kernel's card and amd-smi's processors at the same PCI address.
pub(super) struct Board {
    /// Its number in the order of the PCI bus.
    pub(super) number: u32,
    pub(super) pci: Option<Pci>,
    pub(super) card: Option<Card>,
    /// Index of its first processor in amd-smi's list.
    processor: Option<usize>,
    /// Number of processors that amd-smi lists for it.
    partitions: u32,
    /// The market name according to amd-smi.
    market_name: Option<String>,
}

/// Where a board's power is read.
pub(super) enum Power {
    /// The kernel's file, in µW.
    File(SensorFile),
    /// amd-smi, in W.
    Asked(Arc<Smi>, usize),
}

/// The energy counter of a board.
pub(super) struct BoardCounter {
    pub(super) smi: Arc<Smi>,
    pub(super) processor: usize,
    /// Microjoules per count.
    pub(super) resolution: f32,
}

/// The energy sources of a board.
pub(super) struct Meters {
    pub(super) domain: Domain,
    pub(super) counter: Option<BoardCounter>,
    pub(super) power: Option<Power>,
    /// What the user should know about its energy.
    pub(super) notes: Vec<String>,
}

/// Cards and processors at the same PCI address are one board. Boards are numbered in the order of
/// the bus; those without an address come last.
pub(super) fn boards(cards: Vec<Card>, smi: Option<&Smi>) -> Vec<Board> {
    let mut boards: Vec<Board> = cards.into_iter().map(Board::of_card).collect();
    let places = smi.map_or(&[][..], |smi| &smi.places);
    for (processor, place) in places.iter().enumerate() {
        let pci = place.map(Pci::board);
        let same = boards.iter_mut();
        let mut same = same.filter(|board| pci.is_some() && board.pci.map(Pci::board) == pci);
        match same.next() {
            Some(board) => {
                board.partitions += 1;
                board.processor.get_or_insert(processor);
            }
            None => boards.push(Board::of_processor(processor, pci)),
        }
    }
    boards.sort_by_key(|board| (board.pci.is_none(), board.pci, board.processor));
    for (number, board) in (0..).zip(&mut boards) {
        board.number = number;
        let processor = board.processor;
        board.market_name = smi.zip(processor).and_then(|(smi, it)| smi.name(it));
    }
    boards
}

/// The first die of the package if `board` is its second one. The dies of a package follow each
/// other on the bus, and the first one reports the energy of both.
pub(super) fn first_die(boards: &[Board], board: &Board) -> Option<u32> {
    let dies: Vec<u32> = boards
        .iter()
        .filter(|board| board.has_two_dies())
        .map(|board| board.number)
        .collect();
    let place = dies.iter().position(|die| *die == board.number)?;
    (place % 2 == 1).then(|| dies[place - 1])
}

impl Board {
    fn of_card(card: Card) -> Self {
        Self {
            number: 0,
            pci: card.pci,
            card: Some(card),
            processor: None,
            partitions: 0,
            market_name: None,
        }
    }

    fn of_processor(processor: usize, pci: Option<Pci>) -> Self {
        Self {
            number: 0,
            pci,
            card: None,
            processor: Some(processor),
            partitions: 1,
            market_name: None,
        }
    }

    /// The device id: `amd/0`.
    pub(super) fn id(&self) -> String {
        format!("{ID}/{}", self.number)
    }

    pub(super) fn unique_id(&self) -> Option<&str> {
        self.card.as_ref()?.unique_id.as_deref()
    }

    /// How messages name it.
    pub(super) fn called(&self) -> String {
        self.pci
            .map_or_else(|| format!("`{}`", self.id()), |pci| format!("`{pci}`"))
    }

    /// Whether it is suspended: reading it would wake it.
    pub(super) fn is_asleep(&self) -> bool {
        self.card.as_ref().is_some_and(Card::is_asleep)
    }

    fn is_integrated(&self) -> bool {
        self.card.as_ref().is_some_and(Card::is_integrated)
    }

    fn model(&self) -> Option<u16> {
        self.card.as_ref()?.model
    }

    fn has_two_dies(&self) -> bool {
        match self.model() {
            Some(model) => TWO_DIES.contains(&model),
            None => self.is_called("MI250"),
        }
    }

    fn is_called(&self, product: &str) -> bool {
        let name = self.market_name.as_deref();
        name.is_some_and(|name| name.contains(product))
    }

    /// Its energy sources. `first_die` is the board that reports this one's energy too.
    pub(super) fn meters(&self, smi: Option<&Arc<Smi>>, first_die: Option<u32>) -> Meters {
        let mut notes = Vec::new();
        let domain = if self.is_integrated() {
            notes.push(
                "power covers the whole chip, CPU included: it counts only where nothing else is \
                 measured"
                    .to_owned(),
            );
            Domain::Platform
        } else {
            Domain::Gpu
        };
        if let Some(first) = first_die {
            notes.push(format!(
                "the second die of a package: `{ID}/{first}` reports the energy of both"
            ));
            return Meters {
                domain,
                counter: None,
                power: None,
                notes,
            };
        }
        if self.has_two_dies() {
            notes.push("energy covers both dies of the package".to_owned());
        }
        if self.model() == Some(WITH_CPU) || self.is_called("MI300A") {
            notes.push("energy covers the whole package, CPU cores included".into());
        }
        if self.partitions > 1 {
            let partitions = self.partitions;
            notes.push(format!(
                "split into {partitions} partitions: energy covers all of them"
            ));
        }
        if self.is_asleep() {
            notes.push("suspended: not read, as that would wake it".to_owned());
        }
        if smi.is_some() && self.processor.is_none() {
            notes.push("amd-smi does not list it: power is integrated".to_owned());
        }
        let asked = smi.zip(self.processor);
        let counter = asked.and_then(|(smi, processor)| {
            let found = counter(smi, processor);
            found.map_err(|note| notes.push(note)).ok()
        });
        Meters {
            domain,
            counter,
            power: self.power(asked),
            notes,
        }
    }

    fn power(&self, asked: Option<(&Arc<Smi>, usize)>) -> Option<Power> {
        let file = self.card.as_ref().and_then(Card::power);
        let file = file.filter(|file| {
            let read = file.clone().read(&mut Reader::default());
            self.is_asleep() || read.and_then(watts).is_some()
        });
        file.map(Power::File).or_else(|| {
            let (smi, processor) = asked?;
            smi.power(processor).ok()??;
            Some(Power::Asked(Arc::clone(smi), processor))
        })
    }

    /// Describes the board.
    pub(super) fn device(&self, driver_version: Option<String>, notes: Vec<String>) -> Device {
        let card = self.card.as_ref();
        let awake = card.filter(|_| !self.is_asleep());
        let number = |file: Option<SensorFile>| file?.read(&mut Reader::default());
        let memory = awake.and_then(|card| number(card.file("mem_info_vram_total")));
        let limit = awake.and_then(|card| number(card.sensor("power1_cap")));
        let device_type = if self.is_integrated() {
            "Integrated GPU"
        } else {
            "GPU"
        };
        Device {
            id: self.id(),
            name: self.name(),
            vendor: Some("AMD".to_owned()),
            index: Some(self.number),
            device_type: Some(device_type.to_owned()),
            backend: Some(ID.to_owned()),
            uuid: self.unique_id().map(str::to_owned),
            pci: self.pci.map(|pci| pci.to_string()),
            driver_version: driver_version.filter(|_| card.is_some()),
            memory_total_mib: memory.map(mebibytes),
            power_limit_watts: limit.and_then(watts),
            mig_enabled: (self.partitions > 0).then_some(self.partitions > 1),
            ecc_enabled: None,
            notes,
        }
    }

    /// The product name, else vendor and device id.
    fn name(&self) -> Option<String> {
        let product = self.card.as_ref().and_then(|card| card.name.clone());
        let number = || Some(format!("AMD Device {0:04x} (1002:{0:04x})", self.model()?));
        product.or_else(|| self.market_name.clone()).or_else(number)
    }
}

/// The energy counter if it works, else why not.
fn counter(smi: &Arc<Smi>, processor: usize) -> Result<BoardCounter, String> {
    let energy = smi
        .energy(processor)
        .map_err(|refusal| format!("amd-smi has no energy counter for it: {refusal}"))?;
    if matches!(energy.count, 0 | u64::MAX) {
        return Err(format!(
            "the energy counter of amd-smi reads {}: left out",
            energy.count
        ));
    }
    if !RESOLUTIONS.contains(&energy.resolution) {
        return Err(format!(
            "the energy counter of amd-smi counts in {} µJ: left out",
            energy.resolution
        ));
    }
    Ok(BoardCounter {
        smi: Arc::clone(smi),
        processor,
        resolution: energy.resolution,
    })
}

/// Converts µW to W; `None` if implausible: a running board never draws zero.
#[expect(clippy::cast_precision_loss, reason = "2^53 µW are nine billion watts")]
pub(super) fn watts(microwatts: u64) -> Option<f64> {
    let watts = microwatts as f64 * 1e-6;
    (watts > 0.0 && watts <= LARGEST_WATTS).then_some(watts)
}

#[expect(clippy::cast_precision_loss, reason = "2^53 bytes are 8 PiB")]
pub(super) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / MIB
}
