//! The two ways to a chip's samples on a Mac.

mod library;
mod process;

use ipw_core::hardware::Device;

use super::channel::Part;
use super::chip::{Feed, Look};
use super::{CHIP, absent};
use crate::{Absent, Collector};

/// Looks at the chip for so many samples at most: some systems publish their counters only about
/// twice in two seconds.
const SAMPLES: u32 = 25;

/// What to say of a chip whose CPU cannot be seen.
const FROZEN: &str = "the CPU's counter stands still on this system, so that the chip's energy is \
                      not known; run ipw with sudo: it then asks powermetrics";

/// Looks through `macmon` first, then through `powermetrics`.
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

/// A chip whose CPU is silent still tells of its GPU; its sum stays unknown.
fn by_library_alone(
    library: Result<(Look, Device), String>,
    process: &str,
) -> Result<Vec<Box<dyn Collector>>, Absent> {
    let fix = Some("sudo ipw doctor");
    let (look, mut device) =
        library.map_err(|library| absent(true, format!("macmon: {library}; {process}"), fix))?;
    if !look.has_moved(Part::Gpu) {
        let reason = format!("all counters of the chip stand still; {process}");
        return Err(absent(true, reason, fix));
    }
    device.notes.push(FROZEN.to_owned());
    Ok(vec![Box::new(look.into_chip(
        device,
        "none",
        library::feed(),
    ))])
}

fn process_chip(look: Look, device: Device, feed: Feed) -> super::chip::Chip {
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
