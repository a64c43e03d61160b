//! The steps of every call: read the script, apply its defects, find the board, answer.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::clock;
use crate::script::{Board, Script, current};

/// A device handle: the board's place counted from one, which of its instances, and how often the
/// board had been lost when it was given out.
pub(crate) type Handle = *mut c_void;

/// `nvmlReturn_t`.
pub(crate) type Code = c_uint;
pub(crate) const SUCCESS: Code = 0;
pub(crate) const UNINITIALIZED: Code = 1;
pub(crate) const INVALID_ARGUMENT: Code = 2;
pub(crate) const NOT_SUPPORTED: Code = 3;
pub(crate) const NOT_FOUND: Code = 6;
pub(crate) const INSUFFICIENT_SIZE: Code = 7;
pub(crate) const FUNCTION_NOT_FOUND: Code = 13;
pub(crate) const GPU_IS_LOST: Code = 15;
pub(crate) const UNKNOWN: Code = 999;

/// How often the library has been initialised.
pub(crate) static OPEN: AtomicU32 = AtomicU32::new(0);

/// A call that is about no board.
pub(crate) fn machine(function: &str, answer: impl FnOnce(&Script) -> Result<(), Code>) -> Code {
    let answered = enter(function, "-").and_then(|script| answer(&script));
    answered.map_or_else(|code| code, |()| SUCCESS)
}

/// A call about a board; `answer` gets it and the moment.
pub(crate) fn board(
    function: &str,
    handle: Handle,
    answer: impl FnOnce(&Board, f64) -> Result<(), Code>,
) -> Code {
    let (place, _, losses) = unpacked(handle);
    let answered = enter(function, &place.to_string()).and_then(|script| {
        let board = script.boards.get(place).ok_or(INVALID_ARGUMENT)?;
        std::thread::sleep(Duration::from_millis(board.delay_ms));
        let now = clock::seconds(&script);
        if board.is_lost(now) || board.losses(now) != losses {
            return Err(GPU_IS_LOST);
        }
        answer(board, now)
    });
    answered.map_or_else(|code| code, |()| SUCCESS)
}

/// The script, if the function is there and the library has been initialised.
fn enter(function: &str, about: &str) -> Result<Arc<Script>, Code> {
    let script = current().ok_or(UNKNOWN)?;
    note(&script, function, about);
    if script.missing.iter().any(|missing| missing == function) {
        return Err(FUNCTION_NOT_FOUND);
    }
    if OPEN.load(Ordering::SeqCst) == 0 {
        return Err(UNINITIALIZED);
    }
    Ok(script)
}

/// A handle of the board at `place`, or of its instance counted from one.
pub(crate) fn handle(script: &Script, place: usize, instance: usize) -> Result<Handle, Code> {
    let board = script.boards.get(place).ok_or(INVALID_ARGUMENT)?;
    let now = clock::seconds(script);
    if board.is_lost(now) {
        return Err(GPU_IS_LOST);
    }
    let packed = (board.losses(now) << 16) | (instance << 8) | (place + 1);
    Ok(std::ptr::without_provenance_mut(packed))
}

/// Place, instance and losses of a handle.
pub(crate) fn unpacked(handle: Handle) -> (usize, usize, usize) {
    let packed = handle.addr();
    (
        (packed & 0xff).wrapping_sub(1),
        (packed >> 8) & 0xff,
        packed >> 16,
    )
}

/// Writes down that a function was called.
pub(crate) fn note(script: &Script, function: &str, about: &str) {
    if let Some(calls) = &script.calls {
        let line = format!("{function} {about}\n");
        let file = OpenOptions::new().append(true).create(true).open(calls);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// Writes a value where the caller wants it.
///
/// # Safety
///
/// `place` is null or can be written to.
pub(crate) unsafe fn put<T>(place: *mut T, value: T) -> Result<(), Code> {
    if place.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: the caller promises it.
    unsafe { place.write(value) };
    Ok(())
}

/// Writes a string with its end.
///
/// # Safety
///
/// `place` is null or `length` bytes can be written there.
pub(crate) unsafe fn put_text(place: *mut c_char, length: c_uint, text: &str) -> Result<(), Code> {
    if place.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    if text.len() >= length as usize {
        return Err(INSUFFICIENT_SIZE);
    }
    // SAFETY: the text and its end fit into what the caller promises.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast(), text.len());
        place.add(text.len()).write(0);
    }
    Ok(())
}

/// Reads a string.
///
/// # Safety
///
/// `text` is null or NUL-terminated.
pub(crate) unsafe fn text(text: *const c_char) -> Result<String, Code> {
    if text.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: the caller promises it.
    let text = unsafe { CStr::from_ptr(text) };
    Ok(text.to_string_lossy().into_owned())
}

#[repr(C)]
struct DlInfo {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

unsafe extern "C" {
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
}

/// Where this library was loaded from.
pub(crate) fn own_path() -> Option<PathBuf> {
    let mut info = DlInfo {
        file: std::ptr::null(),
        base: std::ptr::null_mut(),
        symbol: std::ptr::null(),
        address: std::ptr::null_mut(),
    };
    // SAFETY: the structure is the loader's, and the address is of something of ours.
    let found = unsafe { dladdr((&raw const OPEN).cast(), &raw mut info) };
    if found == 0 || info.file.is_null() {
        return None;
    }
    // SAFETY: the loader's string lives for as long as this library does.
    let file = unsafe { CStr::from_ptr(info.file) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(file.to_bytes())))
}
