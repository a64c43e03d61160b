//! One board: its handle, how to get a new one, and whether it may be queried now.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ipw_core::time::{Clock, Timestamp};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings::nvmlDevice_t;

use super::library::absent;
use super::pci::{self, PciBoard};
use super::select::BoardIds;
use crate::{Absent, PollError};

/// How often to check whether the board was suspended.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A board that can be queried.
pub(super) struct Board {
    nvml: Arc<Nvml>,
    handle: nvmlDevice_t,
    /// Identifiers by which a user may name it.
    pub(super) known: BoardIds,
    /// The kernel's runtime power status file.
    status: Option<PathBuf>,
    looked: Option<Timestamp>,
    /// The handle is no longer valid.
    is_lost: bool,
}

#[expect(unsafe_code, reason = "the handle is a pointer")]
// SAFETY: NVML may be called from any thread, and its device handles belong to no thread; the
// wrapper declares the same of its `Device`.
unsafe impl Send for Board {}

impl Board {
    fn new(nvml: &Arc<Nvml>, device: &Device<'_>, place: u32, listed: &[PciBoard]) -> Self {
        let pci = device
            .pci_info()
            .ok()
            .and_then(|info| pci::place(&info.bus_id));
        let on_bus = listed
            .iter()
            .find(|board| Some(&board.place) == pci.as_ref());
        Self {
            nvml: Arc::clone(nvml),
            handle: handle(device),
            known: BoardIds {
                index: device.index().unwrap_or(place),
                name: device.name().ok(),
                uuid: device.uuid().ok(),
                pci,
            },
            status: on_bus.map(|board| board.status.clone()),
            looked: None,
            is_lost: false,
        }
    }

    /// A second view of the same board, for another thread.
    pub(super) fn again(&self) -> Self {
        Self {
            nvml: Arc::clone(&self.nvml),
            handle: self.handle,
            known: self.known.clone(),
            status: self.status.clone(),
            looked: None,
            is_lost: self.is_lost,
        }
    }

    /// The device id in source names.
    pub(super) fn id(&self) -> String {
        format!("{}/{}", super::ID, self.known.index)
    }

    /// The library that it was found through.
    pub(super) fn nvml(&self) -> &Arc<Nvml> {
        &self.nvml
    }

    /// The wrapper's view of the board.
    #[expect(unsafe_code, reason = "the wrapper's own view borrows the library")]
    pub(super) fn device(&self) -> Device<'_> {
        // SAFETY: the handle came from this library, which stays open while `self.nvml` lives. NVML
        // checks handles: the handle of a lost board yields an error.
        unsafe { Device::new(self.handle, &self.nvml) }
    }

    /// Whether the board may be queried: it is awake and its handle is valid. Gets a new handle
    /// after a loss.
    pub(super) fn ready(&mut self, clock: &dyn Clock) -> Result<(), PollError> {
        if self.is_asleep(clock.now()) {
            let words = format!("`{}` is suspended; reading would wake it", self.id());
            return Err(PollError::Gone(words));
        }
        if self.is_lost {
            self.handle = self
                .found_again()
                .map_err(|error| self.gone(&error.to_string()))?;
            self.is_lost = false;
        }
        Ok(())
    }

    /// Marks the handle as invalid.
    pub(super) fn lose(&mut self, error: &NvmlError) -> PollError {
        self.is_lost = true;
        self.gone(&error.to_string())
    }

    fn gone(&self, words: &str) -> PollError {
        PollError::Gone(format!("`{}` is gone: {words}", self.id()))
    }

    fn is_asleep(&mut self, now: Timestamp) -> bool {
        let Some(status) = &self.status else {
            return false;
        };
        if self
            .looked
            .is_some_and(|looked| now.since(looked) < LOOK_AGAIN)
        {
            return false;
        }
        let is_asleep = pci::is_suspended(status);
        // A suspended board is checked at every poll, so that the first poll after waking counts.
        self.looked = (!is_asleep).then_some(now);
        is_asleep
    }

    /// Finds the board by identifiers that stay the same when boards come and go.
    fn found_again(&self) -> Result<nvmlDevice_t, NvmlError> {
        let device = if let Some(uuid) = &self.known.uuid {
            self.nvml.device_by_uuid(uuid.as_str())
        } else if let Some(pci) = &self.known.pci {
            self.nvml.device_by_pci_bus_id(pci.as_str())
        } else {
            self.nvml.device_by_index(self.known.index)
        };
        device.map(|device| handle(&device))
    }
}

/// Whether this error means that the board is gone.
pub(super) fn is_loss(error: &NvmlError) -> bool {
    matches!(
        error,
        NvmlError::GpuLost | NvmlError::Uninitialized | NvmlError::DriverNotLoaded
    )
}

#[expect(unsafe_code, reason = "the wrapper gives out its handles with care")]
fn handle(device: &Device<'_>) -> nvmlDevice_t {
    // SAFETY: the handle is kept beside an `Arc` of its library, and passed back only to that
    // library.
    unsafe { device.handle() }
}

/// The boards of this machine.
pub(super) struct BoardList {
    pub(super) boards: Vec<Board>,
    /// Notes about boards that are left out.
    pub(super) notes: Vec<String>,
}

/// All boards that are awake. Getting a handle wakes a board, so if one is suspended, the others
/// are looked up by PCI address.
pub(super) fn find(nvml: &Arc<Nvml>, listed: &[PciBoard]) -> Result<BoardList, Absent> {
    let (asleep, awake): (Vec<_>, Vec<_>) = listed.iter().partition(|board| board.is_suspended());
    let mut found = BoardList {
        boards: Vec::new(),
        notes: asleep
            .iter()
            .map(|board| format!("`{}` is suspended: left out, not woken", board.place))
            .collect(),
    };
    let count = nvml
        .device_count()
        .map_err(|error| absent(true, format!("cannot count the GPUs: {error}"), None))?;
    let mut see = |place: u32, name: String, device: Result<Device<'_>, NvmlError>| match device {
        Ok(device) => found.boards.push(Board::new(nvml, &device, place, listed)),
        Err(error) => found.notes.push(format!("{name} is left out: {error}")),
    };
    if asleep.is_empty() {
        for index in 0..count {
            let device = nvml.device_by_index(index);
            see(index, format!("GPU {index}"), device);
        }
    } else {
        for (place, board) in (0..).zip(awake) {
            let device = nvml.device_by_pci_bus_id(board.place.as_str());
            see(place, format!("`{}`", board.place), device);
        }
    }
    found.boards.sort_by_key(|board| board.known.index);
    if found.boards.is_empty() {
        let reason = if found.notes.is_empty() {
            "NVIDIA's driver lists no GPU".to_owned()
        } else {
            found.notes.join("; ")
        };
        return Err(absent(!listed.is_empty() || count > 0, reason, None));
    }
    Ok(found)
}
