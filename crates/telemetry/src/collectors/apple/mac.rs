//! The two sources of a chip's samples on a Mac.

mod library;
mod process;

use ipw_core::hardware::Device;

use super::channel::Part;
use super::chip::{Feed, Survey};
use super::{CHIP, absent};
use crate::{Absent, Collector};

/// Maximum number of samples for detection: some systems update their counters only about twice in
/// two seconds.
const SAMPLES: u32 = 25;

/// The note for a chip whose CPU counter does not move.
const FROZEN: &str = "the CPU's counter does not move on this system, so the chip's energy is \
                      unknown; run ipw with sudo to read powermetrics instead";

/// Tries `macmon` first, then `powermetrics`.
pub(super) fn detect() -> Result<Vec<Box<dyn Collector>>, Absent> {
    if library::is_virtual() {
        return Err(absent(false, "a virtual Mac has no counters", None));
    }
    let library = library::look(SAMPLES);
    if let Ok((look, device)) = &library
        && look.has_moved(Part::Cpu)
    {
        let chip = look
            .clone()
            .into_chip(device.clone(), "none", library::feed());
        return Ok(vec![Box::new(chip)]);
    }
    let device = library
        .as_ref()
        .map_or_else(|_| unnamed(), |(_, device)| device.clone());
    match process::look(SAMPLES) {
        Ok((look, feed)) => Ok(vec![Box::new(process_chip(look, device, feed))]),
        Err(process) => by_library_alone(library, &process),
    }
}

/// A chip with a silent CPU counter still reports its GPU; its total stays unknown.
fn by_library_alone(
    library: Result<(Survey, Device), String>,
    process: &str,
) -> Result<Vec<Box<dyn Collector>>, Absent> {
    let fix = Some("sudo ipw doctor");
    let (look, mut device) =
        library.map_err(|library| absent(true, format!("macmon: {library}; {process}"), fix))?;
    if !look.has_moved(Part::Gpu) {
        let reason = format!("no counter of the chip moves; {process}");
        return Err(absent(true, reason, fix));
    }
    device.notes.push(FROZEN.to_owned());
    Ok(vec![Box::new(look.into_chip(
        device,
        "none",
        library::feed(),
    ))])
}

fn process_chip(look: Survey, device: Device, feed: Feed) -> super::chip::Chip {
    let device = Device {
        backend: Some("powermetrics".to_owned()),
        ..device
    };
    look.into_chip(device, "root", feed)
}

fn unnamed() -> Device {
    Device {
        id: CHIP.to_owned(),
        vendor: Some("Apple".to_owned()),
        index: Some(0),
        device_type: Some("Integrated GPU".to_owned()),
        ..Device::default()
    }
}
