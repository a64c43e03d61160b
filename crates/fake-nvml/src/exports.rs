//! The exported C functions.

use std::ffi::{c_char, c_int, c_longlong, c_uint, c_ulonglong, c_void};
use std::sync::atomic::Ordering;

use crate::call::{
    Code, GPU_IS_LOST, Handle, INSUFFICIENT_SIZE, INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED, OPEN,
    SUCCESS, UNKNOWN, board, handle, machine, note, put, put_text, text, unpacked,
};
use crate::script::{Board, current};

/// `nvmlPciInfo_t`.
#[repr(C)]
struct PciInfo {
    legacy: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    device_id: c_uint,
    subsystem_id: c_uint,
    id: [c_char; 32],
}

/// `nvmlUtilization_t`.
#[repr(C)]
struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}

/// `nvmlMemory_v2_t`.
#[repr(C)]
struct Memory {
    version: c_uint,
    total: c_ulonglong,
    reserved: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

/// `nvmlFieldValue_t`; of its union, the unsigned integer.
#[repr(C)]
struct FieldValue {
    field: c_uint,
    scope: c_uint,
    timestamp: c_longlong,
    latency: c_longlong,
    kind: c_uint,
    code: Code,
    value: c_ulonglong,
}

/// `nvmlGpmSupport_t`.
#[repr(C)]
struct GpmSupport {
    version: c_uint,
    is_supported: c_uint,
}

/// `nvmlGpmMetric_t`.
#[repr(C)]
struct GpmMetric {
    id: c_uint,
    code: Code,
    value: f64,
    names: [*mut c_char; 3],
}

/// `nvmlGpmMetricsGet_t`; as many metrics follow as are asked for.
#[repr(C)]
struct GpmMetrics {
    version: c_uint,
    count: c_uint,
    first: *mut f64,
    second: *mut f64,
    metrics: [GpmMetric; 1],
}

const UNSIGNED_INT: c_uint = 1;
const UNSIGNED_LONG_LONG: c_uint = 3;
const ENERGY: c_uint = 83;
const AVERAGE: c_uint = 185;
const INSTANT: c_uint = 186;
/// Averaging time of plain power and average power.
const SECOND: f64 = 1.0;

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> Code {
    let Some(script) = current() else {
        return UNKNOWN;
    };
    note(&script, "nvmlInit_v2", "-");
    if script.init == SUCCESS {
        OPEN.fetch_add(1, Ordering::SeqCst);
    }
    script.init
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> Code {
    machine("nvmlShutdown", |_| {
        OPEN.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetDriverVersion(version: *mut c_char, length: c_uint) -> Code {
    machine("nvmlSystemGetDriverVersion", |script| {
        // SAFETY: as the header asks of its caller.
        unsafe { put_text(version, length, &script.driver) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCount_v2(count: *mut c_uint) -> Code {
    machine("nvmlDeviceGetCount_v2", |script| {
        let boards = c_uint::try_from(script.boards.len()).map_err(|_| UNKNOWN)?;
        // SAFETY: as the header asks of its caller.
        unsafe { put(count, boards) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: *mut Handle) -> Code {
    machine("nvmlDeviceGetHandleByIndex_v2", |script| {
        // SAFETY: as the header asks of its caller.
        unsafe { put(device, handle(script, index as usize, 0)?) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, device: *mut Handle) -> Code {
    machine("nvmlDeviceGetHandleByUUID", |script| {
        // SAFETY: as the header asks of its caller.
        let uuid = unsafe { text(uuid) }?;
        let fits = |board: &Board| {
            let instance = board.instances.iter().position(|known| *known == uuid);
            let instance = instance.map(|instance| instance + 1);
            instance.or((board.uuid == uuid).then_some(0))
        };
        let found = script.boards.iter().enumerate();
        let found = found.filter_map(|(place, board)| Some((place, fits(board)?)));
        let (place, instance) = found.into_iter().next().ok_or(NOT_FOUND)?;
        // SAFETY: as the header asks of its caller.
        unsafe { put(device, handle(script, place, instance)?) }
    })
}

/// Domain, bus, device and function, however many digits they have.
fn place_on_bus(text: &str) -> Option<[u32; 4]> {
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    let (front, slot) = text.rsplit_once(':')?;
    let (domain, bus) = front.split_once(':').unwrap_or(("0", front));
    let (device, function) = slot.split_once('.').unwrap_or((slot, "0"));
    Some([
        number(domain)?,
        number(bus)?,
        number(device)?,
        number(function)?,
    ])
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(
    bus_id: *const c_char,
    device: *mut Handle,
) -> Code {
    machine("nvmlDeviceGetHandleByPciBusId_v2", |script| {
        // SAFETY: as the header asks of its caller.
        let wanted = place_on_bus(&unsafe { text(bus_id) }?).ok_or(INVALID_ARGUMENT)?;
        let mut boards = script.boards.iter();
        let place = boards
            .position(|board| place_on_bus(&board.pci) == Some(wanted))
            .ok_or(NOT_FOUND)?;
        // SAFETY: as the header asks of its caller.
        unsafe { put(device, handle(script, place, 0)?) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
    instance: Handle,
    device: *mut Handle,
) -> Code {
    machine("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", |script| {
        let (place, instance, _) = unpacked(instance);
        if instance == 0 {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: as the header asks of its caller.
        unsafe { put(device, handle(script, place, 0)?) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetIndex(device: Handle, index: *mut c_uint) -> Code {
    board("nvmlDeviceGetIndex", device, |_, _| {
        let (place, ..) = unpacked(device);
        let place = c_uint::try_from(place).map_err(|_| UNKNOWN)?;
        // SAFETY: as the header asks of its caller.
        unsafe { put(index, place) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetName(device: Handle, name: *mut c_char, length: c_uint) -> Code {
    board("nvmlDeviceGetName", device, |board, _| {
        // SAFETY: as the header asks of its caller.
        unsafe { put_text(name, length, &board.name) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetUUID(device: Handle, uuid: *mut c_char, length: c_uint) -> Code {
    board("nvmlDeviceGetUUID", device, |board, _| {
        // SAFETY: as the header asks of its caller.
        unsafe { put_text(uuid, length, &board.uuid) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(device: Handle, info: *mut PciInfo) -> Code {
    board("nvmlDeviceGetPciInfo_v3", device, |board, _| {
        let [domain, bus, slot, _] = place_on_bus(&board.pci).ok_or(UNKNOWN)?;
        let mut about = PciInfo {
            legacy: [0; 16],
            domain,
            bus,
            device: slot,
            device_id: 0x2330_10de,
            subsystem_id: 0,
            id: [0; 32],
        };
        // SAFETY: the array is as long as is said.
        unsafe { put_text(about.id.as_mut_ptr(), 32, &board.pci) }?;
        // SAFETY: as the header asks of its caller.
        unsafe { put(info, about) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCudaComputeCapability(
    device: Handle,
    major: *mut c_int,
    minor: *mut c_int,
) -> Code {
    board("nvmlDeviceGetCudaComputeCapability", device, |board, _| {
        // SAFETY: as the header asks of its caller.
        unsafe {
            put(major, board.capability.0)?;
            put(minor, board.capability.1)
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetTotalEnergyConsumption(
    device: Handle,
    energy: *mut c_ulonglong,
) -> Code {
    board(
        "nvmlDeviceGetTotalEnergyConsumption",
        device,
        |board, now| {
            if !board.has_energy {
                return Err(NOT_SUPPORTED);
            }
            // SAFETY: as the header asks of its caller.
            unsafe { put(energy, board.millijoules(now)) }
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetPowerUsage(device: Handle, power: *mut c_uint) -> Code {
    board("nvmlDeviceGetPowerUsage", device, |board, now| {
        if !board.has_power {
            return Err(NOT_SUPPORTED);
        }
        let is_averaged = board.capability > (8, 0);
        let window = if is_averaged { SECOND } else { board.window };
        let milliwatts = board.milliwatts(now, window);
        let milliwatts = c_uint::try_from(milliwatts).unwrap_or(c_uint::MAX);
        // SAFETY: as the header asks of its caller.
        unsafe { put(power, milliwatts) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetFieldValues(
    device: Handle,
    count: c_int,
    values: *mut FieldValue,
) -> Code {
    board("nvmlDeviceGetFieldValues", device, |board, now| {
        let count = usize::try_from(count).map_err(|_| INVALID_ARGUMENT)?;
        if values.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: as the header asks of its caller.
        let values = unsafe { std::slice::from_raw_parts_mut(values, count) };
        for value in values {
            value.answer(board, now);
        }
        Ok(())
    })
}

impl FieldValue {
    fn answer(&mut self, board: &Board, now: f64) {
        self.kind = UNSIGNED_INT;
        let (scopes, window) = match self.field {
            ENERGY if board.has_energy => {
                self.kind = UNSIGNED_LONG_LONG;
                self.value = board.millijoules(now);
                self.code = SUCCESS;
                return;
            }
            INSTANT => (&board.scopes, board.window),
            AVERAGE => (&board.averaged, SECOND),
            _ => {
                self.code = NOT_SUPPORTED;
                return;
            }
        };
        let Some(factor) = scopes.get(&self.scope) else {
            self.code = NOT_SUPPORTED;
            return;
        };
        let milliwatts = u32::try_from(board.milliwatts(now, window)).unwrap_or(u32::MAX);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the largest number stays what it is"
        )]
        let scaled = (f64::from(milliwatts) * factor) as u32;
        self.value = if milliwatts == u32::MAX {
            u32::MAX.into()
        } else {
            scaled.into()
        };
        self.code = SUCCESS;
    }
}

/// A state as a whole number.
fn state(board: &Board, word: &str) -> Result<u64, Code> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "scripts have whole numbers from zero here"
    )]
    let whole = |value: &f64| *value as u64;
    board.state.get(word).map(whole).ok_or(NOT_SUPPORTED)
}

/// The same, of 32 bits.
fn small(board: &Board, word: &str) -> Result<c_uint, Code> {
    c_uint::try_from(state(board, word)?).map_err(|_| UNKNOWN)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetTemperature(
    device: Handle,
    _sensor: c_uint,
    temperature: *mut c_uint,
) -> Code {
    board("nvmlDeviceGetTemperature", device, |board, _| {
        // SAFETY: as the header asks of its caller.
        unsafe { put(temperature, small(board, "temperature")?) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(device: Handle, memory: *mut Memory) -> Code {
    board("nvmlDeviceGetMemoryInfo_v2", device, |board, _| {
        let total = state(board, "memory_mib")? << 20;
        let used = state(board, "memory_used_mib")? << 20;
        let version = 0x0200_0028;
        let info = Memory {
            version,
            total,
            reserved: 0,
            free: total.saturating_sub(used),
            used,
        };
        // SAFETY: as the header asks of its caller.
        unsafe { put(memory, info) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetUtilizationRates(
    device: Handle,
    rates: *mut Utilization,
) -> Code {
    board("nvmlDeviceGetUtilizationRates", device, |board, _| {
        let utilization = Utilization {
            gpu: small(board, "use")?,
            memory: small(board, "memory_use")?,
        };
        // SAFETY: as the header asks of its caller.
        unsafe { put(rates, utilization) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetClockInfo(
    device: Handle,
    kind: c_uint,
    megahertz: *mut c_uint,
) -> Code {
    board("nvmlDeviceGetClockInfo", device, |board, _| {
        let word = if kind == 2 {
            "memory_clock_mhz"
        } else {
            "clock_mhz"
        };
        // SAFETY: as the header asks of its caller.
        unsafe { put(megahertz, small(board, word)?) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetEnforcedPowerLimit(device: Handle, limit: *mut c_uint) -> Code {
    board("nvmlDeviceGetEnforcedPowerLimit", device, |board, _| {
        let watts = state(board, "limit")?;
        let milliwatts = c_uint::try_from(watts * 1000).unwrap_or(c_uint::MAX);
        // SAFETY: as the header asks of its caller.
        unsafe { put(limit, milliwatts) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCurrentClocksThrottleReasons(
    device: Handle,
    reasons: *mut c_ulonglong,
) -> Code {
    board(
        "nvmlDeviceGetCurrentClocksThrottleReasons",
        device,
        |board, _| {
            // SAFETY: as the header asks of its caller.
            unsafe { put(reasons, state(board, "throttle")?) }
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    device: Handle,
    count: *mut c_uint,
    _processes: *mut c_void,
) -> Code {
    board(
        "nvmlDeviceGetComputeRunningProcesses_v3",
        device,
        |board, _| {
            let running = small(board, "processes")?;
            // SAFETY: as the header asks of its caller.
            unsafe { put(count, running) }?;
            // Callers ask only for the number of processes.
            if running > 0 {
                return Err(INSUFFICIENT_SIZE);
            }
            Ok(())
        },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMigMode(
    device: Handle,
    mode: *mut c_uint,
    pending: *mut c_uint,
) -> Code {
    board("nvmlDeviceGetMigMode", device, |board, _| {
        let is_on = board.mig.ok_or(NOT_SUPPORTED)?;
        // SAFETY: as the header asks of its caller.
        unsafe {
            put(mode, is_on.into())?;
            put(pending, is_on.into())
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetEccMode(
    device: Handle,
    mode: *mut c_uint,
    pending: *mut c_uint,
) -> Code {
    board("nvmlDeviceGetEccMode", device, |board, _| {
        let is_on = board.ecc.ok_or(NOT_SUPPORTED)?;
        // SAFETY: as the header asks of its caller.
        unsafe {
            put(mode, is_on.into())?;
            put(pending, is_on.into())
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpmQueryDeviceSupport(device: Handle, support: *mut GpmSupport) -> Code {
    board("nvmlGpmQueryDeviceSupport", device, |board, _| {
        let is_supported = board.state.contains_key("tensor").into();
        let support_of = GpmSupport {
            version: 1,
            is_supported,
        };
        // SAFETY: as the header asks of its caller.
        unsafe { put(support, support_of) }
    })
}

/// A sample holds how busy the units were when it was taken.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpmSampleAlloc(sample: *mut *mut f64) -> Code {
    machine("nvmlGpmSampleAlloc", |_| {
        if sample.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: as the header asks of its caller.
        unsafe { put(sample, Box::into_raw(Box::new(0.0))) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpmSampleFree(sample: *mut f64) -> Code {
    machine("nvmlGpmSampleFree", |_| {
        if !sample.is_null() {
            // SAFETY: it came from `nvmlGpmSampleAlloc`, and it is freed once only.
            drop(unsafe { Box::from_raw(sample) });
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpmSampleGet(device: Handle, sample: *mut f64) -> Code {
    board("nvmlGpmSampleGet", device, |board, _| {
        let share = *board.state.get("tensor").ok_or(NOT_SUPPORTED)?;
        // SAFETY: as the header asks of its caller.
        unsafe { put(sample, share) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpmMetricsGet(request: *mut GpmMetrics) -> Code {
    machine("nvmlGpmMetricsGet", |_| {
        if request.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: as the header asks of its caller: `count` metrics lie one after the other, and
        // both samples are of `nvmlGpmSampleAlloc`.
        unsafe {
            if (*request).second.is_null() || (*request).first.is_null() {
                return Err(GPU_IS_LOST);
            }
            let metrics = (&raw mut (*request).metrics).cast::<GpmMetric>();
            for place in 0..(*request).count as usize {
                let metric = metrics.add(place);
                (*metric).code = SUCCESS;
                (*metric).value = *(*request).second;
            }
        }
        Ok(())
    })
}
