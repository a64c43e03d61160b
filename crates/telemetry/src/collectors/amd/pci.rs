//! PCI addresses.

use std::fmt;

/// Domain, bus, device and function, ordered as on the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pci {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

impl Pci {
    /// Parses `0000:03:00.0`, or `03:00.0` in domain 0.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (rest, function) = text.trim().split_once('.')?;
        let (rest, device) = rest.rsplit_once(':')?;
        let (domain, bus) = rest.rsplit_once(':').unwrap_or(("0", rest));
        let (device, function) = (hex(device)?, hex(function)?);
        let is_valid = device < 0x20 && function < 8;
        is_valid.then_some(Self {
            domain: hex(domain)?,
            bus: hex(bus)?.try_into().ok()?,
            device: device.try_into().ok()?,
            function: function.try_into().ok()?,
        })
    }

    /// Decodes the number of `amdsmi_get_gpu_bdf_id`: domain in bits 63 to 32, bus in 15 to 8,
    /// device in 7 to 3, function in 2 to 0; bits 31 to 28 may contain a partition (the function's
    /// documentation in `amdsmi.h`).
    pub(super) fn from_bdf_id(id: u64) -> Self {
        let [function_and_device, bus, ..] = id.to_le_bytes();
        let domain = u32::try_from(id >> 32).unwrap_or(u32::MAX);
        Self {
            domain,
            bus,
            device: function_and_device >> 3,
            function: function_and_device & 7,
        }
    }

    /// The address of the board. Partitions of one board differ in the function, which ROCm uses
    /// for the partition number; the kernel lists one function only.
    pub(super) const fn board(self) -> Self {
        Self {
            function: 0,
            ..self
        }
    }
}

fn hex(text: &str) -> Option<u32> {
    let is_hex = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(text, 16).ok())?
}

impl fmt::Display for Pci {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            domain,
            bus,
            device,
            function,
        } = self;
        write!(
            formatter,
            "{domain:04x}:{bus:02x}:{device:02x}.{function:x}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_people_and_the_library_write_it() {
        for (text, expected) in [
            ("0000:03:00.0", Some("0000:03:00.0")),
            ("03:00.0", Some("0000:03:00.0")),
            ("0001:C5:1F.7\n", Some("0001:c5:1f.7")),
            ("0000:03:20.0", None),
            ("0000:03:00.8", None),
            ("0000:103:00.0", None),
            ("+1:00.0", None),
            ("3", None),
            ("", None),
        ] {
            let parsed = Pci::parse(text).map(|pci| pci.to_string());
            assert_eq!(parsed.as_deref(), expected, "{text:?}");
        }
        let id = (1 << 32) | (0xc5 << 8) | (2 << 3) | 1;
        assert_eq!(Pci::from_bdf_id(id).to_string(), "0001:c5:02.1");
        let partition = Pci::from_bdf_id(id | (3 << 28));
        assert_eq!(partition.board().to_string(), "0001:c5:02.0");
    }
}
