//! The time, and the path of this library: two C functions, which the standard library lacks.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use crate::script::Script;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

#[repr(C)]
struct DlInfo {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

unsafe extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
}

const CLOCK_MONOTONIC: c_int = if cfg!(target_os = "macos") { 6 } else { 1 };

/// Seconds since the script's start.
pub(crate) fn seconds(script: &Script) -> f64 {
    let now = script.clock.as_ref().map_or_else(monotonic, |file| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    });
    std::time::Duration::from_nanos(now.saturating_sub(script.start)).as_secs_f64()
}

fn monotonic() -> u64 {
    let mut time = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: the structure is that of 64-bit systems, and ours.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &raw mut time) };
    let nanos = time.seconds * 1_000_000_000 + time.nanoseconds;
    u64::try_from(nanos).unwrap_or(0)
}

/// `<this library>.script`.
pub(crate) fn script_beside() -> Option<PathBuf> {
    let mut info = DlInfo {
        file: std::ptr::null(),
        base: std::ptr::null_mut(),
        symbol: std::ptr::null(),
        address: std::ptr::null_mut(),
    };
    let here: extern "C" fn(u64) -> u32 = crate::amdsmi_init;
    // SAFETY: the address is one of this library, and the structure is ours.
    let found = unsafe { dladdr(here as *const c_void, &raw mut info) };
    if found == 0 || info.file.is_null() {
        return None;
    }
    // SAFETY: on success it is the loader's own text, which ends in NUL.
    let file = unsafe { CStr::from_ptr(info.file) };
    let mut path = OsStr::from_bytes(file.to_bytes()).to_owned();
    path.push(".script");
    Some(path.into())
}
