//! Tests only: a `libamd_smi.so` that follows a script, with the C functions that ipw calls.
//!
//! The script is the file that `IPW_FAKE_AMDSMI` names, else `<this library>.script`. It is text, a
//! word and its values in each line, `#` for remarks; seconds count from the script's `start`.
//!
//! | line | meaning |
//! |---|---|
//! | `version 24` / `25` / `26` / other | whose structures are filled in (26) |
//! | `clock FILE` | the file holds the time in nanoseconds; without it `CLOCK_MONOTONIC` |
//! | `start NANOSECONDS` | when second 0 is (0) |
//! | `slow MILLISECONDS` | how long each call takes (0) |
//! | `overlap FILE` | is written when two calls overlap |
//! | `status FUNCTION CODE` | what a function returns, of all boards or of the one above |
//! | `board BDF NAME…` | a board; what follows is about it |
//! | `steps SECONDS:WATTS …` | its power, from the beginning again at the end (1:100) |
//! | `period SECONDS` | between two updates of its counter (0.001) |
//! | `resolution MICROJOULES` | of one count (15.3) |
//! | `count COUNTS` | where its counter starts (1000000) |
//! | `rate FACTOR` | on what it counts (1) |
//! | `frozen` | its counter stands still |
//! | `reset SECONDS` | its counter begins anew at 1 |
//! | `lost FROM TO` | every call about it fails with `AMDSMI_STATUS_NOT_FOUND` |
//! | `power current` / `average` / `none` | which field has its power (`current`) |

#![expect(
    unsafe_code,
    reason = "this is a C library: exported names, and pointers from the caller"
)]

mod layout;
mod script;
mod system;
#[path = "../../testkit/src/trace.rs"]
mod trace;

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use layout::{AsicInfo24, AsicInfo26, PowerInfo24, PowerInfo25, PowerInfo26, Version25, Version26};
use script::{Board, Script};

const SUCCESS: u32 = 0;
const INVAL: u32 = 1;
const NO_PERM: u32 = 10;
const NOT_FOUND: u32 = 31;
const NOT_INIT: u32 = 32;

static SCRIPT: Mutex<Option<Script>> = Mutex::new(None);
static IN_CALLS: AtomicUsize = AtomicUsize::new(0);

/// A call on its way, which notices others.
struct Call {
    script: Option<Script>,
    seconds: f64,
}

impl Call {
    fn enter() -> Self {
        let others = IN_CALLS.fetch_add(1, Ordering::SeqCst);
        let script = SCRIPT
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(script) = &script {
            if let Some(marker) = script.overlap.as_ref().filter(|_| others > 0) {
                let _ = std::fs::write(marker, "two calls at once\n");
            }
            std::thread::sleep(Duration::from_millis(script.slow));
        }
        let seconds = script.as_ref().map_or(0.0, system::seconds);
        Self { script, seconds }
    }

    /// Does `act` with the script unless the script says that `function` fails.
    fn with(&self, function: &str, act: impl FnOnce(&Script) -> u32) -> u32 {
        let Some(script) = &self.script else {
            return NOT_INIT;
        };
        match script.statuses.get(function) {
            Some(status) => *status,
            None => act(script),
        }
    }

    /// The same with the board behind a handle.
    fn with_board(
        &self,
        function: &str,
        handle: *mut c_void,
        act: impl FnOnce(&Script, &Board) -> u32,
    ) -> u32 {
        self.with(function, |script| {
            let place = handle.addr().wrapping_sub(BOARDS);
            let Some(board) = script.boards.get(place) else {
                return INVAL;
            };
            if board.is_lost(self.seconds) {
                return NOT_FOUND;
            }
            match board.statuses.get(function) {
                Some(status) => *status,
                None => act(script, board),
            }
        })
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        IN_CALLS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Handles are numbers from here on: never null, never memory.
const BOARDS: usize = 0x1000;
const SOCKETS: usize = 0x2000;

/// Writes `values` to a caller that asks for the count first.
///
/// # Safety
///
/// `count` is null or valid; `handles` is null or has room for `*count` handles.
unsafe fn hand_out(values: &[usize], count: *mut u32, handles: *mut *mut c_void) -> u32 {
    if count.is_null() {
        return INVAL;
    }
    // SAFETY: promised by the caller.
    unsafe {
        if !handles.is_null() {
            let room = usize::try_from(*count).unwrap_or(0);
            for (place, value) in values.iter().take(room).enumerate() {
                *handles.add(place) = std::ptr::without_provenance_mut(*value);
            }
        }
        *count = u32::try_from(values.len()).unwrap_or(u32::MAX);
    }
    SUCCESS
}

/// Reads the script.
#[unsafe(no_mangle)]
pub extern "C" fn amdsmi_init(_flags: u64) -> u32 {
    let script = Script::read();
    let status = match &script {
        Ok(script) => script.statuses.get("init").copied().unwrap_or(SUCCESS),
        Err(_) => NOT_FOUND,
    };
    if status == SUCCESS {
        *SCRIPT.lock().unwrap_or_else(PoisonError::into_inner) = script.ok();
    }
    status
}

/// Forgets the script.
#[unsafe(no_mangle)]
pub extern "C" fn amdsmi_shut_down() -> u32 {
    *SCRIPT.lock().unwrap_or_else(PoisonError::into_inner) = None;
    SUCCESS
}

/// One socket for each board that is no partition of another.
///
/// # Safety
///
/// As the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn amdsmi_get_socket_handles(
    count: *mut u32,
    handles: *mut *mut c_void,
) -> u32 {
    Call::enter().with("socket_handles", |script| {
        let sockets: Vec<usize> = (0..script.boards.len())
            .filter(|place| script.socket(*place) == *place)
            .map(|place| SOCKETS + place)
            .collect();
        // SAFETY: promised by the caller.
        unsafe { hand_out(&sockets, count, handles) }
    })
}

/// The boards of a socket.
///
/// # Safety
///
/// As the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn amdsmi_get_processor_handles(
    socket: *mut c_void,
    count: *mut u32,
    handles: *mut *mut c_void,
) -> u32 {
    Call::enter().with("processor_handles", |script| {
        let socket = socket.addr().wrapping_sub(SOCKETS);
        let boards: Vec<usize> = (0..script.boards.len())
            .filter(|place| script.socket(*place) == socket)
            .map(|place| BOARDS + place)
            .collect();
        // SAFETY: promised by the caller.
        unsafe { hand_out(&boards, count, handles) }
    })
}

/// # Safety
///
/// As the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn amdsmi_get_gpu_bdf_id(handle: *mut c_void, id: *mut u64) -> u32 {
    Call::enter().with_board("bdf_id", handle, |_, board| {
        // SAFETY: promised by the caller.
        unsafe { *id = board.bdf_id };
        SUCCESS
    })
}

/// # Safety
///
/// As the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn amdsmi_get_energy_count(
    handle: *mut c_void,
    count: *mut u64,
    resolution: *mut f32,
    timestamp: *mut u64,
) -> u32 {
    let call = Call::enter();
    call.with_board("energy_count", handle, |_, board| {
        // SAFETY: promised by the caller.
        unsafe {
            *count = board.counts(call.seconds);
            *resolution = board.resolution;
            *timestamp = 1;
        }
        SUCCESS
    })
}

/// # Safety
///
/// As the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn amdsmi_get_power_info(handle: *mut c_void, info: *mut c_void) -> u32 {
    let call = Call::enter();
    call.with_board("power_info", handle, |script, board| {
        // SAFETY: promised by the caller: there is room for the structure of the version.
        unsafe {
            match script.version {
                24 => *info.cast() = PowerInfo24::of(board, call.seconds),
                25 => *info.cast() = PowerInfo25::of(board, call.seconds),
                _ => *info.cast() = PowerInfo26::of(board, call.seconds),
            }
        }
        SUCCESS
    })
}

/// # Safety
///
/// As the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn amdsmi_get_gpu_asic_info(handle: *mut c_void, info: *mut c_void) -> u32 {
    Call::enter().with_board("asic_info", handle, |script, board| {
        // SAFETY: promised by the caller: there is room for the structure of the version.
        unsafe {
            match script.version {
                24 => *info.cast() = AsicInfo24::of(board),
                _ => *info.cast() = AsicInfo26::of(board),
            }
        }
        SUCCESS
    })
}

/// # Safety
///
/// As the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn amdsmi_get_lib_version(version: *mut c_void) -> u32 {
    Call::enter().with("lib_version", |script| {
        // SAFETY: promised by the caller: there is room for the structure of the version.
        unsafe {
            match script.version {
                24 | 25 => *version.cast() = Version25::of(script.version),
                other => *version.cast() = Version26::of(other),
            }
        }
        SUCCESS
    })
}

/// # Safety
///
/// As the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn amdsmi_status_code_to_string(
    status: u32,
    text: *mut *const c_char,
) -> u32 {
    let words = match status {
        NO_PERM => c"AMDSMI_STATUS_NO_PERM: Permission Denied",
        NOT_FOUND => c"AMDSMI_STATUS_NOT_FOUND: Device Not found",
        2 => c"AMDSMI_STATUS_NOT_SUPPORTED: Command not supported",
        _ => c"AMDSMI_STATUS_UNKNOWN_ERROR: An unknown error occurred",
    };
    // SAFETY: promised by the caller.
    unsafe { *text = words.as_ptr() };
    SUCCESS
}
