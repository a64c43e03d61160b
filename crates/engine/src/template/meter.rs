//! Limits what a template may use while it is rendered: bytes that it creates and bytes that it
//! reads.
//!
//! minijinja counts instructions only, and one instruction can double a text. So each step that
//! creates or reads a value is charged with the size of that value, before the next step runs.

use std::cell::RefCell;

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};

use crate::generate::CancelFlag;

/// Maximum bytes of all values of one rendering, including those already dropped.
pub(super) const MADE: u64 = 256 << 20;
/// Maximum bytes that one rendering may read: a bound on its time.
const READ: u64 = 4 << 30;
/// The largest single value.
pub(super) const LARGEST: u64 = 16 << 20;
/// Memory of one item of a list besides its own bytes.
pub(super) const ITEM: u64 = 64;
/// Cost of reading one item: more than a byte of a text.
const LOOK: u64 = 256;
/// Maximum nesting of values: deeper ones would overflow the stack when dropped.
const DEEPEST: usize = 64;

/// Why a rendering was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stop {
    #[error("a value is larger than {} MiB", LARGEST >> 20)]
    Large,
    #[error("the values add up to more than {} MiB", MADE >> 20)]
    Made,
    #[error("it reads more than {} MiB", READ >> 20)]
    Read,
    #[error("a value is nested more than {DEEPEST} levels deep")]
    Deep,
    #[error("it was cancelled")]
    Cancelled,
}

struct Meter {
    made: u64,
    read: u64,
    cancelled: CancelFlag,
    /// Kept, so that no filter can suppress it.
    stop: Option<Stop>,
}

thread_local! {
    static METER: RefCell<Option<Meter>> = const { RefCell::new(None) };
}

/// Runs `render` with a fresh meter, and reports what stopped it.
pub(super) fn metered<T>(cancelled: &CancelFlag, render: impl FnOnce() -> T) -> (T, Option<Stop>) {
    /// Clears the meter, even after a panic.
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            METER.with_borrow_mut(|meter| *meter = None);
        }
    }
    METER.with_borrow_mut(|meter| {
        *meter = Some(Meter {
            made: MADE,
            read: READ,
            cancelled: cancelled.clone(),
            stop: None,
        });
    });
    let reset = Reset;
    let rendered = render();
    let stop = METER.with_borrow(|meter| meter.as_ref().and_then(|meter| meter.stop));
    drop(reset);
    (rendered, stop)
}

/// Updates the meter; outside a rendering nothing is counted.
fn charge(take: impl FnOnce(&mut Meter) -> Result<(), Stop>) -> Result<(), Error> {
    let stop = METER.with_borrow_mut(|meter| {
        let meter = meter.as_mut()?;
        if meter.stop.is_none() {
            meter.stop = if meter.cancelled.is_set() {
                Some(Stop::Cancelled)
            } else {
                take(meter).err()
            };
        }
        meter.stop
    });
    match stop {
        None => Ok(()),
        Some(stop) => Err(Error::new(ErrorKind::InvalidOperation, "stopped").with_source(stop)),
    }
}

/// Charges for a new value of this many bytes.
pub(super) fn make(bytes: u64) -> Result<(), Error> {
    charge(|meter| {
        if bytes > LARGEST {
            return Err(Stop::Large);
        }
        meter.made = meter.made.checked_sub(bytes).ok_or(Stop::Made)?;
        Ok(())
    })
}

/// Whether a value of this many bytes may be created; it is charged once it exists.
pub(super) fn fit(bytes: u64) -> Result<(), Error> {
    charge(|meter| match bytes {
        bytes if bytes > LARGEST => Err(Stop::Large),
        bytes if bytes > meter.made => Err(Stop::Made),
        _ => Ok(()),
    })
}

/// Charges for reading this many bytes.
pub(super) fn read(bytes: u64) -> Result<(), Error> {
    charge(|meter| {
        meter.read = meter.read.checked_sub(bytes).ok_or(Stop::Read)?;
        Ok(())
    })
}

fn stopped(stop: Stop) -> Error {
    match charge(|_| Err(stop)) {
        Err(error) => error,
        Ok(()) => Error::new(ErrorKind::InvalidOperation, "stopped").with_source(stop),
    }
}

/// The bytes of a value with everything in it. Reading is charged on the way: the same list can be
/// in a value a billion times.
pub(super) fn size(value: &Value) -> Result<u64, Error> {
    let mut total = 0;
    add_size(value, 0, &mut total)?;
    Ok(total)
}

fn add_size(value: &Value, depth: usize, total: &mut u64) -> Result<(), Error> {
    if depth > DEEPEST {
        return Err(stopped(Stop::Deep));
    }
    let own = own_length(value);
    read(own + if depth > 0 { LOOK } else { 16 })?;
    *total += own + if depth > 0 { ITEM } else { 0 };
    if *total > LARGEST {
        return Err(stopped(Stop::Large));
    }
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            for item in value.try_iter()? {
                add_size(&item, depth + 1, total)?;
            }
        }
        ValueKind::Map => {
            for key in value.try_iter()? {
                add_size(&key, depth + 1, total)?;
                add_size(&value.get_item(&key)?, depth + 1, total)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The bytes of a text; 0 for other values.
fn own_length(value: &Value) -> u64 {
    let length = value.as_str().map(str::len);
    let length = length.or_else(|| value.as_bytes().map(<[u8]>::len));
    length.unwrap_or(0) as u64
}

/// The bytes of a value without the contents of its items.
pub(super) fn outer_size(value: &Value) -> u64 {
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => {
            ITEM * value.len().unwrap_or(0) as u64
        }
        _ => own_length(value),
    }
}
