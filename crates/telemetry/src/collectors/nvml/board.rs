//! One board: its handle, how to get that again, and whether it may be asked now.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ipw_core::time::{Clock, Timestamp};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings::nvmlDevice_t;

use super::library::absent;
use super::pci::{self, Listed};
use super::select::BoardIds;
use crate::{Absent, PollError};

/// How often it is looked whether the board has fallen asleep.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A board that can be asked.
pub(super) struct Board {
    nvml: Arc<Nvml>,
    handle: nvmlDevice_t,
    /// How people may name it.
    pub(super) known: BoardIds,
    /// The file that tells whether it sleeps.
    status: Option<PathBuf>,
    looked: Option<Timestamp>,
    /// Its handle holds no longer.
    is_lost: bool,
}

#[expect(unsafe_code, reason = "the handle is a pointer")]
// SAFETY: NVML may be called from any thread, and its device handles belong to none; the wrapper
// says the same of its `Device`.
unsafe impl Send for Board {}

impl Board {
    fn new(nvml: &Arc<Nvml>, device: &Device<'_>, place: u32, listed: &[Listed]) -> Self {
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

    /// The same board for another thread.
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

    /// What sources call it.
    pub(super) fn id(&self) -> String {
        format!("{}/{}", super::ID, self.known.index)
    }

    /// The library that it was found through.
    pub(super) fn nvml(&self) -> &Arc<Nvml> {
        &self.nvml
    }

    /// The wrapper's view of it.
    #[expect(unsafe_code, reason = "the wrapper's own view borrows the library")]
    pub(super) fn device(&self) -> Device<'_> {
        // SAFETY: the handle came from this very library, which is open for as long as `self.nvml`
        // lives. NVML checks handles: one of a board that was lost is answered with an error.
        unsafe { Device::new(self.handle, &self.nvml) }
    }

    /// Whether it may be asked now: it is awake, and its handle holds. Gets a new handle after a
    /// loss.
    pub(super) fn ready(&mut self, clock: &dyn Clock) -> Result<(), PollError> {
        if self.is_asleep(clock.now()) {
            let words = format!("`{}` is suspended and is not woken", self.id());
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

    /// Notes that the handle is of no use any more.
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
        // Whoever sleeps is looked at every time, so that the first poll after waking counts.
        self.looked = (!is_asleep).then_some(now);
        is_asleep
    }

    /// By what does not change when boards come and go.
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

/// Whether this error says that the board is not there any more.
pub(super) fn is_loss(error: &NvmlError) -> bool {
    matches!(
        error,
        NvmlError::GpuLost | NvmlError::Uninitialized | NvmlError::DriverNotLoaded
    )
}

#[expect(unsafe_code, reason = "the wrapper gives out its handles with care")]
fn handle(device: &Device<'_>) -> nvmlDevice_t {
    // SAFETY: it is kept beside an `Arc` of the library that it belongs to, and only given back to
    // that library.
    unsafe { device.handle() }
}

/// What a look at all boards showed.
pub(super) struct Found {
    pub(super) boards: Vec<Board>,
    /// What should be known of those that are left out.
    pub(super) notes: Vec<String>,
}

/// All boards that are awake. As asking for a handle wakes a board, those are asked for by place
/// where one of them sleeps.
pub(super) fn find(nvml: &Arc<Nvml>, listed: &[Listed]) -> Result<Found, Absent> {
    let (asleep, awake): (Vec<_>, Vec<_>) = listed.iter().partition(|board| board.is_suspended());
    let mut found = Found {
        boards: Vec::new(),
        notes: asleep
            .iter()
            .map(|board| format!("`{}` is suspended: left out, not woken", board.place))
            .collect(),
    };
    let count = nvml
        .device_count()
        .map_err(|error| absent(true, format!("the boards cannot be counted: {error}"), None))?;
    let mut see = |place: u32, name: String, device: Result<Device<'_>, NvmlError>| match device {
        Ok(device) => found.boards.push(Board::new(nvml, &device, place, listed)),
        Err(error) => found.notes.push(format!("{name} is left out: {error}")),
    };
    if asleep.is_empty() {
        for index in 0..count {
            let device = nvml.device_by_index(index);
            see(index, format!("board {index}"), device);
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
            "NVIDIA's driver knows no board".to_owned()
        } else {
            found.notes.join("; ")
        };
        return Err(absent(!listed.is_empty() || count > 0, reason, None));
    }
    Ok(found)
}
