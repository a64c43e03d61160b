//! Seconds since the start of the script's trace.

use std::ffi::{c_int, c_long};
use std::fs;

use crate::script::Script;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanos: c_long,
}

unsafe extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
}

/// `CLOCK_MONOTONIC`, which all processes of the machine share.
#[cfg(target_os = "macos")]
const MONOTONIC: c_int = 6;
#[cfg(not(target_os = "macos"))]
const MONOTONIC: c_int = 1;

/// Nanoseconds on the machine's monotonic clock.
pub(crate) fn monotonic_nanos() -> i64 {
    let mut time = Timespec {
        seconds: 0,
        nanos: 0,
    };
    // SAFETY: the structure is the system's, and is written to until the call returns.
    unsafe { clock_gettime(MONOTONIC, &raw mut time) };
    time.seconds * 1_000_000_000 + time.nanos
}

/// The present time: from the clock file if there is one, else from the machine's clock.
pub(crate) fn seconds(script: &Script) -> f64 {
    if let Some(file) = &script.clock {
        let text = fs::read_to_string(file).unwrap_or_default();
        return text.trim().parse().unwrap_or(0.0);
    }
    #[expect(clippy::cast_precision_loss, reason = "a trace lasts for minutes")]
    let seconds = (monotonic_nanos() - script.start) as f64 / 1e9;
    seconds.max(0.0)
}
