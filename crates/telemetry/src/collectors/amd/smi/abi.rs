//! The structures of `libamd_smi.so`, version by version.
//!
//! The library breaks them between major versions. Each layout below is that of the header
//! (`include/amd_smi/amdsmi.h` of ROCm/amdsmi, later ROCm/rocm-systems) and of the ctypes wrapper
//! that AMD generates from it and publishes as the Python package `amdsmi`: 6.3.3 for version 24,
//! 6.4.0 and 6.4.4 for 25, 7.0.0 and 7.0.2 for 26. zeus (`zeusd/src/devices/gpu/amdsmi/ffi.rs`)
//! uses the same layouts. A version that is not listed here is never called.

/// Major versions with known structures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Abi {
    /// ROCm 6.2 and 6.3.
    V24,
    /// ROCm 6.4.
    V25,
    /// ROCm 7.
    V26,
}

/// `amdsmi_version_t`: 24 bytes. Up to 25 it starts with the year, then the major version; from 26
/// on with the major version. The year of 24 and 25 is the number in the file name, so the first
/// word tells the layouts apart.
#[repr(C)]
#[derive(Default)]
pub(super) struct Version {
    pub(super) first: u32,
    pub(super) second: u32,
    pub(super) third: u32,
    pub(super) fourth: u32,
    build: usize,
}

impl Version {
    /// The layouts of this version; `None` if it is not supported.
    pub(super) const fn abi(&self) -> Option<Abi> {
        match self.first {
            24 => Some(Abi::V24),
            25 => Some(Abi::V25),
            26 => Some(Abi::V26),
            _ => None,
        }
    }

    /// The version as the library spells it.
    pub(super) fn spelled(&self) -> String {
        let Self {
            first,
            second,
            third,
            fourth,
            ..
        } = self;
        match self.abi() {
            Some(Abi::V24 | Abi::V25) => format!("{first}.{second}.{third}.{fourth}"),
            _ => format!("{first}.{second}.{third}"),
        }
    }
}

/// `amdsmi_power_info_t` of version 24: 68 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct PowerInfo24 {
    current_socket_power: u32,
    average_socket_power: u32,
    voltages_and_limit: [u32; 4],
    reserved: [u32; 11],
}

/// `amdsmi_power_info_t` of version 25: 40 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct PowerInfo25 {
    socket_power: u64,
    current_socket_power: u32,
    average_socket_power: u32,
    voltages_and_limit: [u32; 4],
    reserved: [u32; 2],
}

/// `amdsmi_power_info_t` of version 26: 192 bytes. Later releases of 26 use the padding after the
/// limit.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct PowerInfo26 {
    socket_power: u64,
    current_socket_power: u32,
    average_socket_power: u32,
    voltages: [u64; 3],
    power_limit: u32,
    padding: u32,
    reserved: [u64; 18],
}

/// Room for any of them; the library fills the layout of its version.
#[repr(C)]
pub(super) union PowerInfo {
    v24: PowerInfo24,
    v25: PowerInfo25,
    v26: PowerInfo26,
    room: [u64; 64],
}

impl PowerInfo {
    pub(super) const fn new() -> Self {
        Self { room: [0; 64] }
    }

    /// Current and average power, in W. MI300 and later report the current one, earlier ones and
    /// Navi the average one.
    pub(super) const fn watts(&self, abi: Abi) -> [u32; 2] {
        // SAFETY: `new` initialised every byte, and any bytes are valid integers.
        unsafe {
            match abi {
                Abi::V24 => [self.v24.current_socket_power, self.v24.average_socket_power],
                Abi::V25 => [self.v25.current_socket_power, self.v25.average_socket_power],
                Abi::V26 => [self.v26.current_socket_power, self.v26.average_socket_power],
            }
        }
    }
}

/// `amdsmi_asic_info_t`: it starts with the market name, 256 characters in all of these versions,
/// and has 456 bytes in 24, 896 in 25 and 26. This has room for all.
#[repr(C, align(8))]
pub(super) struct AsicInfo {
    pub(super) market_name: [u8; 256],
    rest: [u8; 1792],
}

impl AsicInfo {
    pub(super) const fn new() -> Self {
        Self {
            market_name: [0; 256],
            rest: [0; 1792],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn layouts_are_those_of_the_published_wrappers() {
        assert_eq!(size_of::<Version>(), 24);
        assert_eq!(offset_of!(Version, build), 16);
        assert_eq!(size_of::<PowerInfo24>(), 68);
        assert_eq!(size_of::<PowerInfo25>(), 40);
        assert_eq!(size_of::<PowerInfo26>(), 192);
        assert_eq!(offset_of!(PowerInfo24, current_socket_power), 0);
        assert_eq!(offset_of!(PowerInfo24, average_socket_power), 4);
        assert_eq!(offset_of!(PowerInfo25, current_socket_power), 8);
        assert_eq!(offset_of!(PowerInfo25, average_socket_power), 12);
        assert_eq!(offset_of!(PowerInfo26, current_socket_power), 8);
        assert_eq!(offset_of!(PowerInfo26, average_socket_power), 12);
        assert_eq!(offset_of!(PowerInfo26, power_limit), 40);
        assert_eq!(offset_of!(PowerInfo26, reserved), 48);
        assert!(size_of::<PowerInfo>() > size_of::<PowerInfo26>());
        assert!(size_of::<AsicInfo>() >= 2 * 896);
    }

    #[test]
    fn unseen_versions_have_no_layout() {
        for (first, known) in [(23, false), (24, true), (25, true), (26, true), (27, false)] {
            let version = Version {
                first,
                ..Version::default()
            };
            assert_eq!(version.abi().is_some(), known, "{first}");
        }
    }
}
