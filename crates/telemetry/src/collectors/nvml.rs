//! NVIDIA GPUs, through the driver's management library (NVML), loaded at run time.
//!
//! Each board has two collectors, hence two threads: energy and power, which nothing may delay, and
//! the slow state beside it. No call for one board waits for another. Detection finds out once what
//! the driver and the board support, and leaves out the rest.
//!
//! A suspended board is not woken, and any NVML call would wake it. The kernel's own files say
//! whether a board is suspended; they are read before the library is loaded and regularly later.

#[cfg(target_os = "linux")]
mod board;
#[cfg(target_os = "linux")]
mod collect;
#[cfg(target_os = "linux")]
mod gpm;
#[cfg(target_os = "linux")]
mod library;
#[cfg(target_os = "linux")]
mod pci;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod select;

#[cfg(target_os = "linux")]
use crate::collectors::host::files::numbered;
use crate::{Absent, Collector, Options};
#[cfg(target_os = "linux")]
use pci::PciBoard;

/// The collector's id.
const ID: &str = "nvml";

/// Finds the selected boards and what each of them reports: two collectors for each board.
#[cfg(target_os = "linux")]
pub fn detect(options: &Options) -> Result<Vec<Box<dyn Collector>>, Absent> {
    let listed = pci::listed(&options.sysfs);
    if !listed.is_empty() && listed.iter().all(PciBoard::is_suspended) {
        return Err(asleep(&listed));
    }
    let is_here = !listed.is_empty() || has_nodes(options) || options.nvml.is_some();
    let nvml = library::open(options, is_here)?;
    let found = board::find(&nvml, &listed)?;
    let known: Vec<_> = found
        .boards
        .iter()
        .map(|board| board.known.clone())
        .collect();
    let parent_of = |mig: &str| library::parent_of(&nvml, mig);
    let selection = select::select(&options.gpus, &known, parent_of)
        .map_err(|nothing| nothing.into_absent(&known, &found.notes))?;
    let mut notes = found.notes;
    notes.extend(selection.notes);
    let driver = nvml.sys_driver_version().ok();
    let meant = found.boards.into_iter().enumerate();
    let meant = meant.filter(|(place, _)| selection.places.contains(place));
    let mut collectors = Vec::new();
    for (_, board) in meant {
        // Notes about boards that are not measured go with the first measured one.
        let notes = std::mem::take(&mut notes);
        collectors.extend(collect::collectors(board, driver.as_deref(), notes));
    }
    Ok(collectors)
}

/// NVML is supported on Linux only.
#[cfg(not(target_os = "linux"))]
pub fn detect(_options: &Options) -> Result<Vec<Box<dyn Collector>>, Absent> {
    Err(Absent {
        collector: ID.into(),
        is_here: false,
        reason: "NVML is supported on Linux only".to_owned(),
        fix: None,
        risk: None,
    })
}

/// Whether the driver has created its device files.
#[cfg(target_os = "linux")]
fn has_nodes(options: &Options) -> bool {
    options.dev.join("nvidiactl").exists() || !numbered(&options.dev, "nvidia").is_empty()
}

#[cfg(target_os = "linux")]
fn asleep(listed: &[PciBoard]) -> Absent {
    let places: Vec<_> = listed
        .iter()
        .map(|board| format!("`{}`", board.place))
        .collect();
    Absent {
        collector: ID.into(),
        is_here: true,
        reason: format!("suspended, and NVML would wake it: {}", places.join(", ")),
        fix: Some("start the service first: it wakes the GPU".to_owned()),
        risk: None,
    }
}
