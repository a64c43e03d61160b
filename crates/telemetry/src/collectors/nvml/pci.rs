//! NVIDIA's boards in the kernel's PCI list. Reading it wakes no board.

use std::fs;
use std::path::{Path, PathBuf};

const VENDOR: &str = "0x10de";
/// Class of display controllers, with or without a display; a board's audio is a separate device.
const CLASS: &str = "0x03";

/// A board on the PCI bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PciBoard {
    /// The PCI address: `0000:3b:00.0`.
    pub(super) place: String,
    /// The kernel's runtime power status file.
    pub(super) status: PathBuf,
}

impl PciBoard {
    pub(super) fn is_suspended(&self) -> bool {
        is_suspended(&self.status)
    }
}

/// The boards below `sysfs`, by PCI address.
pub(super) fn listed(sysfs: &Path) -> Vec<PciBoard> {
    let Ok(entries) = fs::read_dir(sysfs.join("bus/pci/devices")) else {
        return Vec::new();
    };
    let mut found: Vec<PciBoard> = entries
        .flatten()
        .filter(|entry| {
            let says = |file, beginning| {
                fs::read_to_string(entry.path().join(file))
                    .is_ok_and(|text| text.trim().starts_with(beginning))
            };
            says("vendor", VENDOR) && says("class", CLASS)
        })
        .filter_map(|entry| {
            Some(PciBoard {
                place: place(entry.file_name().to_str()?)?,
                status: entry.path().join("power/runtime_status"),
            })
        })
        .collect();
    found.sort_by(|left, right| left.place.cmp(&right.place));
    found
}

/// Whether this status file says that its device is suspended.
pub(super) fn is_suspended(status: &Path) -> bool {
    fs::read_to_string(status).is_ok_and(|text| text.trim() == "suspended")
}

/// Normalises a PCI address to the kernel's form: `3B:00.0` and `00000000:3B:00.0` become
/// `0000:3b:00.0`.
pub(super) fn place(text: &str) -> Option<String> {
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    let (front, slot) = text.rsplit_once(':')?;
    let (domain, bus) = front.split_once(':').unwrap_or(("0", front));
    let (device, function) = slot.split_once('.').unwrap_or((slot, "0"));
    Some(format!(
        "{:04x}:{:02x}:{:02x}.{:x}",
        number(domain)?,
        number(bus)?,
        number(device)?,
        number(function)?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_as_the_kernel_writes_it() {
        for (text, wanted) in [
            ("0000:3b:00.0", Some("0000:3b:00.0")),
            ("00000000:3B:00.0", Some("0000:3b:00.0")),
            ("3B:00.0", Some("0000:3b:00.0")),
            ("3b:0", Some("0000:3b:00.0")),
            ("10000:E1:00.0", Some("10000:e1:00.0")),
            ("GPU-1:2", None),
            ("7", None),
            ("", None),
            ("::", None),
        ] {
            assert_eq!(place(text).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn only_boards_of_the_vendor_are_listed_and_not_their_sound() {
        let root = tempfile::tempdir().unwrap();
        for (name, vendor, class, status) in [
            ("0000:3b:00.0", "0x10de\n", "0x030200\n", "active\n"),
            ("0000:01:00.0", "0x10de\n", "0x030000\n", "suspended\n"),
            ("0000:01:00.1", "0x10de\n", "0x040300\n", "suspended\n"),
            ("0000:00:02.0", "0x8086\n", "0x030000\n", "active\n"),
        ] {
            let device = root.path().join("bus/pci/devices").join(name);
            fs::create_dir_all(device.join("power")).unwrap();
            fs::write(device.join("vendor"), vendor).unwrap();
            fs::write(device.join("class"), class).unwrap();
            fs::write(device.join("power/runtime_status"), status).unwrap();
        }
        let found: Vec<_> = listed(root.path())
            .iter()
            .map(|board| (board.place.clone(), board.is_suspended()))
            .collect();
        assert_eq!(
            found,
            [
                ("0000:01:00.0".to_owned(), true),
                ("0000:3b:00.0".to_owned(), false)
            ]
        );
    }
}
