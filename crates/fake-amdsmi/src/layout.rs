//! The structures of the library, whole, so that a caller with too little room or another layout
//! is found out. From `py-interface/amdsmi_wrapper.py` as AMD publishes it in the Python package
//! `amdsmi`: 6.3.3 (24), 6.4.0 (25), 7.0.2 (26).

use std::ffi::c_char;

use crate::script::{Board, Field};

/// Years before 26 came first.
#[repr(C)]
pub(crate) struct Version25 {
    year: u32,
    major: u32,
    minor: u32,
    release: u32,
    build: *const c_char,
}

#[repr(C)]
pub(crate) struct Version26 {
    major: u32,
    minor: u32,
    release: u32,
    padding: u32,
    build: *const c_char,
}

#[repr(C)]
pub(crate) struct PowerInfo24 {
    current_socket_power: u32,
    average_socket_power: u32,
    gfx_voltage: u32,
    soc_voltage: u32,
    mem_voltage: u32,
    power_limit: u32,
    reserved: [u32; 11],
}

#[repr(C)]
pub(crate) struct PowerInfo25 {
    socket_power: u64,
    current_socket_power: u32,
    average_socket_power: u32,
    gfx_voltage: u32,
    soc_voltage: u32,
    mem_voltage: u32,
    power_limit: u32,
    reserved: [u32; 2],
}

#[repr(C)]
pub(crate) struct PowerInfo26 {
    socket_power: u64,
    current_socket_power: u32,
    average_socket_power: u32,
    gfx_voltage: u64,
    soc_voltage: u64,
    mem_voltage: u64,
    power_limit: u32,
    padding: u32,
    reserved: [u64; 18],
}

#[repr(C)]
pub(crate) struct AsicInfo24 {
    market_name: [u8; 256],
    rest: [u64; 25],
}

#[repr(C)]
pub(crate) struct AsicInfo26 {
    market_name: [u8; 256],
    rest: [u64; 80],
}

const _: () = {
    assert!(size_of::<Version25>() == 24);
    assert!(size_of::<Version26>() == 24);
    assert!(size_of::<PowerInfo24>() == 68);
    assert!(size_of::<PowerInfo25>() == 40);
    assert!(size_of::<PowerInfo26>() == 192);
    assert!(size_of::<AsicInfo24>() == 456);
    assert!(size_of::<AsicInfo26>() == 896);
};

impl Version25 {
    pub(crate) const fn of(version: u32) -> Self {
        Self {
            year: version,
            major: if version == 25 { 25 } else { 7 },
            minor: 3,
            release: 0,
            build: c"fake".as_ptr(),
        }
    }
}

impl Version26 {
    pub(crate) const fn of(version: u32) -> Self {
        Self {
            major: version,
            minor: 1,
            release: 0,
            padding: 0,
            build: c"fake".as_ptr(),
        }
    }
}

/// Current and average power, and the value for "unknown".
fn powers(board: &Board, seconds: f64, unknown: u32) -> (u32, u32) {
    let watts = board.watts(seconds);
    match board.power {
        Field::Current => (watts, unknown),
        Field::Average => (unknown, watts),
        Field::Neither => (unknown, unknown),
    }
}

impl PowerInfo24 {
    pub(crate) fn of(board: &Board, seconds: f64) -> Self {
        let (current, average) = powers(board, seconds, 0xFFFF);
        Self {
            current_socket_power: current,
            average_socket_power: average,
            gfx_voltage: 850,
            soc_voltage: 700,
            mem_voltage: 1200,
            power_limit: 750,
            reserved: [u32::MAX; 11],
        }
    }
}

impl PowerInfo25 {
    pub(crate) fn of(board: &Board, seconds: f64) -> Self {
        let (current, average) = powers(board, seconds, 0xFFFF);
        Self {
            socket_power: 999,
            current_socket_power: current,
            average_socket_power: average,
            gfx_voltage: 850,
            soc_voltage: 700,
            mem_voltage: 1200,
            power_limit: 750,
            reserved: [u32::MAX; 2],
        }
    }
}

impl PowerInfo26 {
    pub(crate) fn of(board: &Board, seconds: f64) -> Self {
        let (current, average) = powers(board, seconds, u32::MAX);
        Self {
            socket_power: 999,
            current_socket_power: current,
            average_socket_power: average,
            gfx_voltage: 850,
            soc_voltage: 700,
            mem_voltage: 1200,
            power_limit: 750,
            padding: 1,
            reserved: [u64::MAX; 18],
        }
    }
}

fn letters(name: &str) -> [u8; 256] {
    let mut letters = [0; 256];
    let name = name.as_bytes();
    let length = name.len().min(255);
    letters[..length].copy_from_slice(&name[..length]);
    letters
}

impl AsicInfo24 {
    pub(crate) fn of(board: &Board) -> Self {
        Self {
            market_name: letters(&board.name),
            rest: [u64::MAX; 25],
        }
    }
}

impl AsicInfo26 {
    pub(crate) fn of(board: &Board) -> Self {
        Self {
            market_name: letters(&board.name),
            rest: [u64::MAX; 80],
        }
    }
}
