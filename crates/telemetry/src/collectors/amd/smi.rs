//! AMD's management library, `libamd_smi.so`, loaded at run time if installed.
//!
//! The functions and their signatures are those of `amdsmi.h`, the same in versions 24 to 26; the
//! structures are in [`abi`]. Calls are serialised: before 26.2 parallel calls are not safe and can
//! swap values between boards (ml-energy/zeus#256).

#![expect(
    unsafe_code,
    reason = "a C library is loaded and called through pointers"
)]

mod abi;
mod elf;

use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use libloading::Library;

use self::abi::{Abi, AsicInfo, PowerInfo, Version};
use super::pci::Pci;

/// File names for the loader: the newest known version first, then ROCm's own directory.
const NAMES: [&str; 6] = [
    "libamd_smi.so.26",
    "libamd_smi.so.25",
    "libamd_smi.so",
    "/opt/rocm/lib/libamd_smi.so.26",
    "/opt/rocm/lib/libamd_smi.so.25",
    "/opt/rocm/lib/libamd_smi.so",
];

/// `AMDSMI_INIT_AMD_GPUS`.
const INIT_GPUS: u64 = 1 << 1;

/// Upper bound for the number of boards and partitions of a machine.
const MOST_HANDLES: u32 = 1024;

type Status = u32;
type Handle = *mut c_void;

/// Why the library cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SmiError {
    /// It is not installed.
    Missing(String),
    /// It is installed, but cannot be used.
    Unusable(String),
    /// It is installed, but failed to initialise.
    Refused(Refusal),
    /// It would wake this suspended board.
    WouldWake(String),
}

impl fmt::Display for SmiError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(words) | Self::Unusable(words) => formatter.write_str(words),
            Self::Refused(refusal) => write!(formatter, "cannot start amd-smi: {refusal}"),
            Self::WouldWake(board) => {
                write!(formatter, "amd-smi would wake {board}, which is suspended")
            }
        }
    }
}

/// A status other than success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    status: Status,
    words: String,
}

impl Refusal {
    /// `AMDSMI_STATUS_NO_PERM`.
    pub(super) const fn is_denied(&self) -> bool {
        self.status == 10
    }

    /// Whether retrying soon is pointless: not supported, no permission, not found, not
    /// initialised, no slot, driver not loaded.
    pub(super) const fn is_gone(&self) -> bool {
        matches!(self.status, 2 | 10 | 31 | 32 | 33 | 34)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (status {})", self.words, self.status)
    }
}

/// The energy counter of a board.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Energy {
    /// Counts since an unspecified start.
    pub(super) count: u64,
    /// Microjoules per count.
    pub(super) resolution: f32,
}

/// The loaded and initialised library.
pub(super) struct Smi {
    calls: Mutex<Calls>,
    abi: Abi,
    /// The version as the library spells it.
    pub(super) version: String,
    /// PCI addresses of the processors, in the library's order; `None` where unknown.
    pub(super) places: Vec<Option<Pci>>,
}

/// The library's functions, and the handles that it returned.
struct Calls {
    shut_down: unsafe extern "C" fn() -> Status,
    socket_handles: unsafe extern "C" fn(*mut u32, *mut Handle) -> Status,
    processor_handles: unsafe extern "C" fn(Handle, *mut u32, *mut Handle) -> Status,
    bdf_id: unsafe extern "C" fn(Handle, *mut u64) -> Status,
    lib_version: unsafe extern "C" fn(*mut Version) -> Status,
    energy_count: unsafe extern "C" fn(Handle, *mut u64, *mut f32, *mut u64) -> Status,
    power_info: unsafe extern "C" fn(Handle, *mut PowerInfo) -> Status,
    asic_info: unsafe extern "C" fn(Handle, *mut AsicInfo) -> Status,
    status_text: unsafe extern "C" fn(Status, *mut *const c_char) -> Status,
    processors: Vec<Handle>,
    /// Never unloaded: such libraries leave threads and handlers behind that must stay mapped.
    _library: ManuallyDrop<Library>,
}

// SAFETY: the functions are plain addresses, and the handles identify processors for the whole
// process, not for one thread (`amdsmi.h`); every use holds the lock around them.
unsafe impl Send for Calls {}

impl Smi {
    /// Loads and initialises the library `named`, or else the first one found.
    pub(super) fn open(named: Option<&Path>) -> Result<Self, SmiError> {
        let candidates: Vec<PathBuf> = match named {
            Some(named) => vec![named.to_owned()],
            None => NAMES.iter().map(PathBuf::from).collect(),
        };
        let mut closed = None;
        for candidate in &candidates {
            match Self::load(candidate) {
                Ok(smi) => return Ok(smi),
                // This is the library; loading it by another name would not help.
                Err(refused @ SmiError::Refused(_)) => return Err(refused),
                // A library that exists gives a better reason than one that does not.
                Err(SmiError::Missing(_)) => {}
                Err(other) => {
                    closed.get_or_insert(other);
                }
            }
        }
        Err(closed.unwrap_or_else(|| {
            let name = named.unwrap_or(Path::new("libamd_smi.so"));
            SmiError::Missing(format!("cannot find `{}`", name.display()))
        }))
    }

    fn load(path: &Path) -> Result<Self, SmiError> {
        if let Some(words) = elf::foreign(path) {
            return Err(SmiError::Unusable(format!("`{}` {words}", path.display())));
        }
        // SAFETY: loading runs the library's initialisers. It is AMD's own, from the loader's path
        // or ROCm's, or one that the user named; it is never unloaded.
        let library = unsafe { Library::new(path) }.map_err(|error| unloaded(path, &error))?;
        // SAFETY: the type is that of the function in `amdsmi.h`.
        let init = unsafe {
            let name = b"amdsmi_init\0";
            symbol::<unsafe extern "C" fn(u64) -> Status>(&library, name, path)?
        };
        let mut calls = Calls::of(library, path)?;
        // SAFETY: the function takes flags and no memory of ours.
        let started = unsafe { init(INIT_GPUS) };
        calls.check(started).map_err(SmiError::Refused)?;
        Self::started(&mut calls, path)
            .inspect_err(|_| calls.stop())
            .map(|(abi, version, places)| Self {
                calls: Mutex::new(calls),
                abi,
                version,
                places,
            })
    }

    fn started(
        calls: &mut Calls,
        path: &Path,
    ) -> Result<(Abi, String, Vec<Option<Pci>>), SmiError> {
        let version = calls.version().map_err(SmiError::Refused)?;
        let spelled = version.spelled();
        let abi = version.abi().ok_or_else(|| {
            SmiError::Unusable(format!(
                "`{}` is version {spelled}; ipw supports versions 24 to 26",
                path.display()
            ))
        })?;
        calls.enumerate().map_err(SmiError::Refused)?;
        let places = calls.processors.iter();
        let places = places.map(|handle| calls.place(*handle)).collect();
        Ok((abi, spelled, places))
    }

    /// The energy counter of a processor.
    pub(super) fn energy(&self, processor: usize) -> Result<Energy, Refusal> {
        let calls = self.calls();
        let (mut count, mut resolution, mut timestamp) = (0, 0.0, 0);
        // SAFETY: the handle belongs to the library; the three places are ours and have the types
        // of `amdsmi_get_energy_count`.
        let status = unsafe {
            (calls.energy_count)(
                calls.processors[processor],
                &raw mut count,
                &raw mut resolution,
                &raw mut timestamp,
            )
        };
        calls.check(status)?;
        Ok(Energy { count, resolution })
    }

    /// The power of a processor in W: the current one, else the average; `None` if unknown.
    pub(super) fn power(&self, processor: usize) -> Result<Option<u32>, Refusal> {
        let calls = self.calls();
        let mut info = PowerInfo::new();
        // SAFETY: the handle belongs to the library; the structure has room for that of every
        // supported version.
        let status = unsafe { (calls.power_info)(calls.processors[processor], &raw mut info) };
        calls.check(status)?;
        // Unknown values are all ones, in 16 or 32 bits; a second die reports 0.
        let is_known = |watts: &u32| !matches!(*watts, 0 | 0xFFFF | u32::MAX);
        Ok(info.watts(self.abi).into_iter().find(is_known))
    }

    /// The market name of a processor.
    pub(super) fn name(&self, processor: usize) -> Option<String> {
        let calls = self.calls();
        let mut info = AsicInfo::new();
        // SAFETY: the handle belongs to the library; the structure has room for that of every
        // supported version.
        let status = unsafe { (calls.asic_info)(calls.processors[processor], &raw mut info) };
        calls.check(status).ok()?;
        let name = info.market_name.split(|byte| *byte == 0).next()?;
        let name = String::from_utf8_lossy(name).trim().to_owned();
        (!name.is_empty() && name != "N/A").then_some(name)
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Smi {
    fn drop(&mut self) {
        self.calls().stop();
    }
}

impl Calls {
    fn of(library: Library, path: &Path) -> Result<Self, SmiError> {
        // SAFETY: the types are those of the functions in `amdsmi.h`. Structures are checked
        // against the version before a function that fills one is called.
        unsafe {
            Ok(Self {
                shut_down: symbol(&library, b"amdsmi_shut_down\0", path)?,
                socket_handles: symbol(&library, b"amdsmi_get_socket_handles\0", path)?,
                processor_handles: symbol(&library, b"amdsmi_get_processor_handles\0", path)?,
                bdf_id: symbol(&library, b"amdsmi_get_gpu_bdf_id\0", path)?,
                lib_version: symbol(&library, b"amdsmi_get_lib_version\0", path)?,
                energy_count: symbol(&library, b"amdsmi_get_energy_count\0", path)?,
                power_info: symbol(&library, b"amdsmi_get_power_info\0", path)?,
                asic_info: symbol(&library, b"amdsmi_get_gpu_asic_info\0", path)?,
                status_text: symbol(&library, b"amdsmi_status_code_to_string\0", path)?,
                processors: Vec::new(),
                _library: ManuallyDrop::new(library),
            })
        }
    }

    fn check(&self, status: Status) -> Result<(), Refusal> {
        if status == 0 {
            return Ok(());
        }
        let mut text = ptr::null();
        // SAFETY: the function writes one pointer to where ours is.
        let told = unsafe { (self.status_text)(status, &raw mut text) };
        let words = if told == 0 && !text.is_null() {
            // SAFETY: on success it is a static NUL-terminated text of the library.
            let text = unsafe { CStr::from_ptr(text) };
            text.to_string_lossy().trim().to_owned()
        } else {
            "no explanation".to_owned()
        };
        Err(Refusal { status, words })
    }

    fn version(&self) -> Result<Version, Refusal> {
        let mut version = Version::default();
        // SAFETY: both layouts of the structure are as large as ours.
        let status = unsafe { (self.lib_version)(&raw mut version) };
        self.check(status).map(|()| version)
    }

    /// Lists all processors of all sockets.
    fn enumerate(&mut self) -> Result<(), Refusal> {
        let sockets = self.handles(|count, handles| {
            // SAFETY: `handles` is null, or has room for `count` handles.
            unsafe { (self.socket_handles)(count, handles) }
        })?;
        let mut processors = Vec::new();
        for socket in sockets {
            processors.extend(self.handles(|count, handles| {
                // SAFETY: as above, and the socket handle belongs to the library.
                unsafe { (self.processor_handles)(socket, count, handles) }
            })?);
        }
        self.processors = processors;
        Ok(())
    }

    /// Gets the number of handles first, then the handles.
    fn handles(
        &self,
        ask: impl Fn(*mut u32, *mut Handle) -> Status,
    ) -> Result<Vec<Handle>, Refusal> {
        let mut count = 0;
        self.check(ask(&raw mut count, ptr::null_mut()))?;
        let room = count.min(MOST_HANDLES);
        let mut handles = vec![ptr::null_mut(); room as usize];
        if room > 0 {
            count = room;
            self.check(ask(&raw mut count, handles.as_mut_ptr()))?;
            handles.truncate(count as usize);
        }
        handles.retain(|handle| !handle.is_null());
        Ok(handles)
    }

    fn place(&self, processor: Handle) -> Option<Pci> {
        let mut id = 0;
        // SAFETY: the handle belongs to the library, and the place for the number is ours.
        let status = unsafe { (self.bdf_id)(processor, &raw mut id) };
        (status == 0).then(|| Pci::from_bdf_id(id))
    }

    fn stop(&self) {
        // SAFETY: the library was initialised, and nothing calls it afterwards.
        unsafe { (self.shut_down)() };
    }
}

/// # Safety
///
/// `T` must be the type of the function of this name.
unsafe fn symbol<T: Copy>(library: &Library, name: &[u8], path: &Path) -> Result<T, SmiError> {
    // SAFETY: guaranteed by the caller.
    let found = unsafe { library.get::<T>(name) };
    found.map(|symbol| *symbol).map_err(|_| {
        let name = String::from_utf8_lossy(name.strip_suffix(b"\0").unwrap_or(name));
        SmiError::Unusable(format!(
            "`{}` lacks `{name}`: it is not amd-smi, or too old",
            path.display()
        ))
    })
}

/// Tells a missing file from a missing dependency: the loader's message is the same for both.
fn unloaded(path: &Path, error: &libloading::Error) -> SmiError {
    let words = error.to_string();
    let name = path.display().to_string();
    let is_missing = !path.exists() && words.starts_with(&name);
    if is_missing && words.contains("No such file") {
        SmiError::Missing(format!("cannot find `{name}`"))
    } else {
        SmiError::Unusable(format!("cannot load `{name}`: {words}"))
    }
}
