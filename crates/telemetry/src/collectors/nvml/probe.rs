//! The values that a board can report: one call each, and the range of plausible answers.
//!
//! The driver says "unknown" in many ways: an error, zero, the largest number of the type. Only
//! plausible values are passed on.

use std::time::Duration;

use ipw_core::counter::Rollover;
use ipw_core::source::{Domain, Gauge, Method, Quantity, Source};
use nvml_wrapper::Device;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper::struct_wrappers::device::FieldValueSample;
use nvml_wrapper_sys::bindings::{
    NVML_POWER_SCOPE_GPU, NVML_POWER_SCOPE_MEMORY, NVML_POWER_SCOPE_MODULE, field_id,
    nvmlFieldValue_t, nvmlValue_t,
};

use super::ID;
use super::board::Board;
use super::gpm::Gpm;

/// The driver's update period of the counter on data-centre boards; others were seen to be faster.
const COUNTER_PERIOD: Duration = Duration::from_millis(100);
/// Update period of power: 100 ms on Turing and newer, 20 ms on Pascal and Volta (Yang, Adámek
/// and Armour, 2023, on more than seventy boards).
const POWER_PERIOD: Duration = Duration::from_millis(100);
const OLD_POWER_PERIOD: Duration = Duration::from_millis(20);
/// Length of the driver's average, where it averages.
const AVERAGED: Duration = Duration::from_secs(1);

/// Relative uncertainty of the scale: the vendor states 5 % of power, and boards were found about
/// that far off a meter, each by its own constant factor (the same study).
const RELATIVE_SIGMA: f64 = 0.05;

/// Upper bound for any board, in milliwatts; larger values mean "unknown".
const LARGEST_POWER: f64 = 20_000_000.0;
/// Upper bound for any counter, in millijoules: a megawatt for thirty years.
const LARGEST_ENERGY: u64 = 1_000_000_000_000_000_000;

/// Reasons that slow work down. Idle and clocks set by the user are not among them.
const SLOWED: ThrottleReasons = ThrottleReasons::SW_POWER_CAP
    .union(ThrottleReasons::HW_SLOWDOWN)
    .union(ThrottleReasons::HW_THERMAL_SLOWDOWN)
    .union(ThrottleReasons::SW_THERMAL_SLOWDOWN)
    .union(ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN);

/// One value that can be read.
pub(super) enum Probe {
    /// The energy counter.
    Counter(Domain),
    /// A power field.
    Field(Field),
    /// The power call without a choice of kind; the board's generation decides what it means.
    Power(Era),
    /// A gauge of the board's state.
    State(Gauge),
    /// Utilization of the matrix units.
    Tensor(Gpm),
}

/// A power value by scope and kind.
#[derive(Clone, Copy)]
pub(super) struct Field {
    /// The scope.
    domain: Domain,
    is_averaged: bool,
    era: Era,
}

/// The board's generation, which decides how its power sensor works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Era {
    /// CUDA's compute capability.
    capability: Option<(i32, i32)>,
}

impl Era {
    fn of(device: &Device<'_>) -> Self {
        let capability = device.cuda_compute_capability().ok();
        Self {
            capability: capability.map(|capability| (capability.major, capability.minor)),
        }
    }

    /// Whether plain power is an average: on Ampere and newer, except the GA100 (8.0). A board of
    /// unknown generation counts as new.
    fn averages(self) -> bool {
        self.capability.is_none_or(|capability| capability > (8, 0))
    }

    /// Pascal is 6, Volta 7.0 and 7.2, Turing 7.5.
    fn power_period(self) -> Option<Duration> {
        match self.capability? {
            (..=5, _) => None,
            (6, _) | (7, ..=2) => Some(OLD_POWER_PERIOD),
            _ => Some(POWER_PERIOD),
        }
    }
}

/// The energy and power values of this board, the counter first. Where the module's power is
/// available, the counter covers the module too, as on the GH200.
pub(super) fn energy(board: &Board) -> Vec<Probe> {
    let era = Era::of(&board.device());
    let field = |domain, is_averaged| {
        Probe::Field(Field {
            domain,
            is_averaged,
            era,
        })
    };
    let offered = |mut probe: Probe| probe.is_offered(board).then_some(probe);
    let module = offered(field(Domain::Module, false));
    // Boards that report memory power have no instantaneous value of it.
    let memory = offered(field(Domain::GpuMemory, false))
        .or_else(|| offered(field(Domain::GpuMemory, true)));
    let counted = if module.is_some() {
        Domain::Module
    } else {
        Domain::Gpu
    };
    let counter = offered(Probe::Counter(counted));
    let power = offered(field(Domain::Gpu, false)).or_else(|| {
        let is_needed = counter.is_none() && module.is_none();
        is_needed.then(|| offered(Probe::Power(era))).flatten()
    });
    [counter, power, module, memory]
        .into_iter()
        .flatten()
        .collect()
}

/// The state values of this board.
pub(super) fn state(board: &Board) -> Vec<Probe> {
    let gauges = [
        Gauge::GpuTemperature,
        Gauge::GpuMemoryUsed,
        Gauge::GpuUse,
        Gauge::GpuMemoryUse,
        Gauge::GpuClock,
        Gauge::GpuMemoryClock,
        Gauge::PowerLimit,
        Gauge::Throttle,
        Gauge::Processes,
    ];
    let mut probes: Vec<Probe> = gauges
        .into_iter()
        .map(Probe::State)
        .filter_map(|mut probe| probe.is_offered(board).then_some(probe))
        .collect();
    probes.extend(Gpm::begin(board.nvml(), &board.device()).map(Probe::Tensor));
    probes
}

impl Probe {
    /// Whether the board supports it. Tries more than once: drivers sometimes refuse a supported
    /// call.
    fn is_offered(&mut self, board: &Board) -> bool {
        (0..3).any(|_| matches!(self.read(&board.device()), Ok(Some(_))))
    }

    /// The value in the source's unit; `None` if it is implausible.
    pub(super) fn read(&mut self, device: &Device<'_>) -> Result<Option<f64>, NvmlError> {
        match self {
            Self::Counter(_) => Ok(joules(device.total_energy_consumption()?)),
            Self::Field(field) => Ok(watts(field.read(device)?)),
            Self::Power(_) => Ok(watts(f64::from(device.power_usage()?))),
            Self::State(gauge) => state_of(*gauge, device),
            Self::Tensor(gpm) => Ok(percent(gpm.read(device)?)),
        }
    }

    /// The source of this value on the board `id`.
    pub(super) fn source(&self, id: &str) -> Source {
        let (quantity, method) = match self {
            Self::Counter(domain) => (
                Quantity::Energy {
                    domain: *domain,
                    rollover: Rollover::Resets,
                },
                Method::Counter,
            ),
            Self::Field(field) => (power(field.domain, field.is_averaged), Method::Integrated),
            Self::Power(era) => (power(Domain::Gpu, era.averages()), Method::Integrated),
            Self::State(gauge) => (Quantity::Gauge { gauge: *gauge }, Method::Direct),
            Self::Tensor(_) => (
                Quantity::Gauge {
                    gauge: Gauge::GpuTensorUse,
                },
                Method::Direct,
            ),
        };
        let is_board = matches!(
            quantity,
            Quantity::Energy {
                domain: Domain::Gpu,
                ..
            } | Quantity::Power {
                domain: Domain::Gpu,
                ..
            }
        );
        Source {
            name: format!("{id}{}", self.suffix()),
            collector: ID.into(),
            host: None,
            device: Some(id.to_owned()),
            quantity,
            method,
            period: match self {
                Self::Counter(_) => Some(COUNTER_PERIOD),
                Self::Field(Field { era, .. }) | Self::Power(era) => era.power_period(),
                Self::State(_) | Self::Tensor(_) => None,
            },
            privilege: "none".into(),
            relative_sigma: is_board.then_some(RELATIVE_SIGMA),
        }
    }

    fn suffix(&self) -> &'static str {
        match self {
            Self::Counter(_) => "",
            Self::Field(field) => match field.domain {
                Domain::Module => "/module_power",
                Domain::GpuMemory => "/memory_power",
                _ => "/power",
            },
            Self::Power(_) => "/power",
            Self::State(gauge) => match gauge {
                Gauge::GpuTemperature => "/temperature",
                Gauge::GpuMemoryUsed => "/memory_used",
                Gauge::GpuUse => "/use",
                Gauge::GpuMemoryUse => "/memory_use",
                Gauge::GpuClock => "/clock",
                Gauge::GpuMemoryClock => "/memory_clock",
                Gauge::PowerLimit => "/power_limit",
                Gauge::Throttle => "/throttle",
                _ => "/processes",
            },
            Self::Tensor(_) => "/tensor_use",
        }
    }

    /// The domain of its energy; `None` for state.
    pub(super) fn domain(&self) -> Option<Domain> {
        match self {
            Self::Counter(domain) => Some(*domain),
            Self::Field(field) => Some(field.domain),
            Self::Power(_) => Some(Domain::Gpu),
            Self::State(_) | Self::Tensor(_) => None,
        }
    }
}

fn power(domain: Domain, is_averaged: bool) -> Quantity {
    let averaging = if is_averaged {
        AVERAGED
    } else {
        Duration::ZERO
    };
    Quantity::Power { domain, averaging }
}

impl Field {
    /// The value in milliwatts. Called directly because the wrapper supports the GPU scope only.
    #[expect(unsafe_code, reason = "the wrapper does not pass on scopes")]
    fn read(self, device: &Device<'_>) -> Result<f64, NvmlError> {
        let library = device.nvml().lib();
        let call = nvml_sym(library.nvmlDeviceGetFieldValues.as_ref())?;
        let mut value = nvmlFieldValue_t {
            fieldId: if self.is_averaged {
                field_id::NVML_FI_DEV_POWER_AVERAGE
            } else {
                field_id::NVML_FI_DEV_POWER_INSTANT
            },
            scopeId: match self.domain {
                Domain::Module => NVML_POWER_SCOPE_MODULE,
                Domain::GpuMemory => NVML_POWER_SCOPE_MEMORY,
                _ => NVML_POWER_SCOPE_GPU,
            },
            timestamp: 0,
            latencyUsec: 0,
            valueType: 0,
            nvmlReturn: 0,
            value: nvmlValue_t { ullVal: 0 },
        };
        // SAFETY: the device belongs to this library. One value is requested, and `value` has room
        // for it until the call returns.
        let code = unsafe { call(device.handle(), 1, &raw mut value) };
        nvml_try(code)?;
        Ok(match FieldValueSample::try_from(value)?.value? {
            SampleValue::F64(value) => value,
            SampleValue::U32(value) => f64::from(value),
            #[expect(clippy::cast_precision_loss, reason = "milliwatts are far below 2^53")]
            SampleValue::U64(value) => value as f64,
            #[expect(clippy::cast_precision_loss, reason = "milliwatts are far below 2^53")]
            SampleValue::I64(value) => value as f64,
        })
    }
}

fn state_of(gauge: Gauge, device: &Device<'_>) -> Result<Option<f64>, NvmlError> {
    let up_to = |most: u32, value: u32| (value <= most).then(|| f64::from(value));
    Ok(match gauge {
        Gauge::GpuTemperature => up_to(250, device.temperature(TemperatureSensor::Gpu)?),
        Gauge::GpuMemoryUsed => {
            let memory = device.memory_info()?;
            (memory.used <= memory.total).then(|| mebibytes(memory.used))
        }
        Gauge::GpuUse => up_to(100, device.utilization_rates()?.gpu),
        Gauge::GpuMemoryUse => up_to(100, device.utilization_rates()?.memory),
        Gauge::GpuClock => up_to(100_000, device.clock_info(Clock::SM)?),
        Gauge::GpuMemoryClock => up_to(100_000, device.clock_info(Clock::Memory)?),
        Gauge::PowerLimit => watts(f64::from(device.enforced_power_limit()?)),
        Gauge::Throttle => {
            let slowed = device.current_throttle_reasons()? & SLOWED;
            u32::try_from(slowed.bits()).ok().map(f64::from)
        }
        _ => up_to(1_000_000, device.running_compute_processes_count()?),
    })
}

/// From millijoules; `None` if implausible.
fn joules(energy: u64) -> Option<f64> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "2^53 mJ are more than a board uses in its life"
    )]
    (energy < LARGEST_ENERGY).then(|| energy as f64 / 1000.0)
}

/// From milliwatts; `None` if implausible. A running board never draws zero.
pub(super) fn watts(power: f64) -> Option<f64> {
    (power > 0.0 && power < LARGEST_POWER).then_some(power / 1000.0)
}

fn percent(share: f64) -> Option<f64> {
    (0.0..=100.0).contains(&share).then_some(share)
}

#[expect(clippy::cast_precision_loss, reason = "no board has 2^53 bytes")]
pub(super) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_stand_for_nothing_are_not_taken() {
        for nothing in [
            0.0,
            -1.0,
            f64::NAN,
            f64::from(u32::MAX),
            f64::from(i32::MAX),
        ] {
            assert_eq!(watts(nothing), None, "{nothing}");
        }
        assert_eq!(watts(350_500.0), Some(350.5));
        for nothing in [u64::MAX, u64::MAX - 1, u64::MAX / 2] {
            assert_eq!(joules(nothing), None, "{nothing}");
        }
        assert_eq!(joules(4_294_967_295), Some(4_294_967.295));
        assert_eq!((percent(100.1), percent(f64::NAN)), (None, None));
    }

    #[test]
    fn plain_power_is_a_mean_on_ampere_and_newer_but_for_the_ga100() {
        let era = |major, minor| Era {
            capability: Some((major, minor)),
        };
        for (era, averages) in [
            (era(7, 0), false),
            (era(7, 5), false),
            (era(8, 0), false),
            (era(8, 6), true),
            (era(9, 0), true),
            (era(12, 1), true),
            (Era { capability: None }, true),
        ] {
            assert_eq!(era.averages(), averages, "{era:?}");
        }
        assert_eq!(era(7, 0).power_period(), Some(OLD_POWER_PERIOD));
        assert_eq!(era(7, 5).power_period(), Some(POWER_PERIOD));
        assert_eq!(era(5, 2).power_period(), None);
    }
}
